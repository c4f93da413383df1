#!/bin/sh
# The capture tool's other half, which needs a GPU, on something in a GPU's place (tests/cuda): the
# whole of a session, from the self-test to the comparison of a replay with its simulation, and what
# was put in must come out. `make test-capture` builds what it runs.
. tests/shell.sh

BUILD=${BUILD:-build}
SAN_BUILD=${SAN_BUILD:-$BUILD/sanitized}
capture=$BUILD/capture
esgsim=$BUILD/esgsim
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:exitcode=99}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-exitcode=99}"

# What the stand-in takes for true.
STAND_IN_RATE=4e8      # multiply-accumulates in a millisecond on a multiprocessor
STAND_IN_SLOWDOWN=0.08 # for each other context at work
STAND_IN_FAULTS=$folder/faults
STAND_IN_MEMORY=$folder/memory
ESGSIM_CUDA_LIBRARIES=$BUILD/tests/cuda/libraries
export STAND_IN_RATE STAND_IN_SLOWDOWN STAND_IN_FAULTS STAND_IN_MEMORY ESGSIM_CUDA_LIBRARIES
sanitized="env ESGSIM_CUDA_LIBRARIES=$SAN_BUILD/tests/cuda/libraries"

# flawless NAME: the last command and its children did nothing that a device would not stand.
flawless() {
    if [ -s "$STAND_IN_FAULTS" ]; then
        fail "$1" "$(sort "$STAND_IN_FAULTS" | uniq -c | head -n 10)"
        rm -f "$STAND_IN_FAULTS"
    else
        pass "$1"
    fi
}

# rows FILE TABLE: how many the table has; nothing where there is none.
rows() {
    h5ls "$1" 2>/dev/null | sed -n "s|^$2  *Dataset {\([0-9]*\)/.*|\1|p"
}

# column FILE TABLE N: the n-th number of each row, one a line.
column() {
    h5dump -y -w 0 -d "$2" "$1" | awk -v at="$3" '
        /[{]$/ { line = 0 }
        /^ *[-0-9.e+]+,?$/ && ++line == at { sub(/,$/, "", $1); print $1 }'
}

# points FILE: of /latency, that are done.
points() {
    h5dump -d /plan "$1" | grep -A 4 '"latency' | grep -c '"done'
}

if [ ! -e "$ESGSIM_CUDA_LIBRARIES/libcuda.so.1" ] || [ ! -x "$capture" ]; then
    echo "[  SKIPPED ] the capture tool on a stand-in for the GPU: there is no CUDA toolkit to build it with"
    exit 0
fi

# ---- The self-test ---------------------------------------------------------------------------

# self_test SETTING…: computing everything. sanitized_self_test: with the sanitizers.
self_test() {
    run env STAND_IN_COMPUTE=1e9 "$@" "$capture" --self-test
}
sanitized_self_test() {
    # shellcheck disable=SC2086
    run $sanitized STAND_IN_COMPUTE=1e9 "$@" "$SAN_BUILD/capture" --self-test
}

# expect_reason NAME PATTERN: the last command failed, and a line says why.
expect_reason() {
    if [ "$status" -ne 1 ] || ! grep -qE -- "^capture: .*$2" "$folder/err"; then
        explain "$1" "status 1 and /$2/ on standard error"
    else
        pass "$1"
    fi
}

sanitized_self_test
expect "the self-test passes" 0 'rest +fp16 after a guest: off by'
flawless "the self-test does nothing that a device would not stand"
expect "the probe finds 126 green contexts on their own multiprocessors" 0 \
    'ran on other multiprocessors than their own: 0 of 126 by stream, 0 with the green context current'
expect "networks are recorded as CUDA graphs and compute the same" 0 \
    'tokens +fp16 as a CUDA graph: off by'
sanitized_self_test STAND_IN_LOST=200
expect "it fails where the device is lost" 1
self_test STAND_IN_COMPUTE=0
expect "it fails where the device computes nothing" 1

# ---- What can fail on a GPU ------------------------------------------------------------------

# Each by itself: the self-test passes by another way, or fails with one line that says what it is.
sanitized_self_test STAND_IN_ALGORITHM=first
expect "an algorithm that is proposed and fails: the next one is taken" 0 'rest +fp16 after a guest: off by'
flawless "an algorithm that is proposed and fails is tried as a device would have it"
self_test STAND_IN_ALGORITHM=all
expect_reason "all algorithms fail: layer and algorithm are named" \
    'images: layer "conv#1": all [0-9] algorithms that cuDNN proposes fail, the last, 0: .*told to fail'
self_test STAND_IN_ALGORITHM=fault
expect_reason "an algorithm that breaks the device is told from one that is refused" \
    'layer "[^"]*", algorithm [0-9]: the device fails: unspecified launch failure'
self_test STAND_IN_REFUSE=create
expect "handles refused in a green context: they are the primary context's" 0 'after a guest: off by'
flawless "handles refused in a green context are not asked for"
self_test STAND_IN_REFUSE=execute
expect "work refused with a green context current: the primary context is" 0 'after a guest: off by'
sanitized_self_test STAND_IN_REFUSE=stream
expect "work refused in a green context's stream: the green context is made current" 0 \
    'green contexts are made current, since by their streams alone: .*EXECUTION_FAILED'
flawless "work with green contexts current does nothing that a device would not stand"
self_test STAND_IN_REFUSE='stream create'
expect_reason "work refused in both modes: one line has both reasons" \
    'no work reaches a green context: by its stream alone: .*; with it current: cuDNN: CUDNN_STATUS_NOT_SUPPORTED'
self_test STAND_IN_REFUSE=record
expect "a library that cannot be recorded is told, and the self-test goes on" 0 \
    'images +fp16 as a CUDA graph: conv#1: CUDNN_STATUS_EXECUTION_FAILED'
flawless "a capture of a stream that fails is ended"
self_test STAND_IN_GREEN=40
expect "a limit on green contexts is named" 0 '40 of 126 green contexts made, .*; limit: .*out of memory'
self_test STAND_IN_QUEUES=8
expect "serialised streams are counted" 0 'queues of all sets: [1-9][0-9]* of 1932 pairs'
self_test STAND_IN_GROUPS=13
expect_reason "13 groups: sevenths are refused" '13 groups of multiprocessors; 7 units of 1 would leave 6'
self_test STAND_IN_WRONG_BY_STREAM=1
expect "slices that use wrong multiprocessors by stream: green contexts are made current" 0 \
    'made current, since .*: work ran on 49 multiprocessors, not on 48'
self_test STAND_IN_WRONG_BY_STREAM=1 STAND_IN_WRONG_BY_CONTEXT=1
expect_reason "slices that use wrong multiprocessors in both modes: the self-test says so" \
    '126 of 126 green contexts run on other multiprocessors than their own'
# A capture goes on by the same ways.
run env STAND_IN_REFUSE=stream STAND_IN_ALGORITHM=first "$capture" --out "$folder/refused.h5" \
    --budget-s 30 --mechanism green --precision fp16 --shares sevenths --batch 1 --networks mobilenetv2
expect "a capture makes green contexts current where their streams are refused" 0 \
    'green contexts are made current'
flawless "a capture with green contexts current does nothing that a device would not stand"
run env STAND_IN_GROUPS=13 "$capture" --out "$folder/groups.h5" \
    --budget-s 30 --mechanism green --precision fp16 --shares sevenths --batch 1 --networks mobilenetv2
expect "a capture of 13 groups has no point of a seventh" 0 'failed: .*13 groups of multiprocessors'

# ---- A capture -------------------------------------------------------------------------------

file=$folder/capture.h5
networks=mobilenetv2,resnet50,resnet152,vgg19
options="--mechanism green --precision fp16 --shares sevenths"

# Everything once, with the sanitizers.
# shellcheck disable=SC2086
run $sanitized "$SAN_BUILD/capture" --out "$folder/small.h5" --budget-s 100 $options --batch 2 \
    --networks mobilenetv2
expect "a capture measures a network" 0 '^stand-in, not a GPU, 132 multiprocessors'
flawless "a capture does nothing that a device would not stand"
for table in latency colocation copies cold_start memory share cpu; do
    count=$(rows "$folder/small.h5" "$table")
    if [ "${count:-0}" -gt 0 ]; then
        pass "/$table has rows"
    else
        fail "/$table has rows" "$(h5ls "$folder/small.h5")"
    fi
done
if grep -q failed "$folder/out"; then
    fail "no point fails" "$(grep failed "$folder/out")"
else
    pass "no point fails"
fi
run h5dump -a /device "$folder/small.h5"
expect "the file says that it was no GPU" 0 'stand-in, not a GPU'

# Interrupted, and gone on with.
# shellcheck disable=SC2086
"$capture" --out "$file" --budget-s 200 $options --batch 16 --networks $networks >"$folder/first" 2>&1 &
child=$!
while kill -0 "$child" 2>/dev/null && [ "$(grep -c '^latency' "$folder/first")" -lt 60 ]; do
    sleep 0.2
done
kill -TERM "$child"
wait "$child"
interrupted=$?
before=$(rows "$file" latency)
if [ "$interrupted" -eq 0 ] && grep -q ', interrupted$' "$folder/first" && [ "${before:-0}" -gt 0 ]; then
    pass "a capture that is interrupted ends in order"
else
    fail "a capture that is interrupted ends in order" "status $interrupted" "$(tail -n 3 "$folder/first")"
fi
taken=$(sed -n 's/^\([0-9]*\) points in .*/\1/p' "$folder/first")

# The device is lost on the way.
# shellcheck disable=SC2086
run env STAND_IN_LOST=40000 "$capture" --out "$file" --budget-s 20 $options --batch 16 --networks $networks
lost_status=$status
lost=$(rows "$file" latency)
if grep -q "^$taken points are in the file already" "$folder/out" && [ "$lost" -gt "$before" ] &&
    grep -q 'failed: ' "$folder/out"; then
    pass "a device that is lost loses nothing that was captured"
else
    explain "a device that is lost loses nothing that was captured" \
        "$taken points there, more than $before rows, and failed ones"
fi
if [ "$lost_status" -eq 1 ] && grep -q 'lost' "$folder/err"; then
    pass "and the capture says so and ends"
else
    explain "and the capture says so and ends" "status 1 and a line about a lost device"
fi

# How far a budget reaches is the machine's affair; that all is reached is not.
turn=0
while [ "$turn" -lt 5 ] && { [ "$turn" -eq 0 ] || [ "$(points "$file")" -lt 140 ]; }; do
    turn=$((turn + 1))
    # shellcheck disable=SC2086
    run "$capture" --out "$file" --budget-s 45 $options --batch 16 --networks $networks
done
expect "a capture goes on where it was left" 0 'points are in the file already'
flawless "going on does nothing that a device would not stand"
if [ "$(points "$file")" -ge 140 ] && ! grep -q failed "$folder/out"; then
    pass "what had failed is measured"
else
    fail "what had failed is measured" "$(points "$file") of 140 points" \
        "$(grep failed "$folder/out" | head -n 3)"
fi

# A point of which the device dies again and again is left out after the second time.
for turn in 1 2; do
    # shellcheck disable=SC2086
    run env STAND_IN_LOST=100 "$capture" --out "$folder/deadly.h5" --budget-s 60 $options --batch 1 \
        --networks mobilenetv2
done
# shellcheck disable=SC2086
run "$capture" --out "$folder/deadly.h5" --budget-s 10 $options --batch 1 --networks mobilenetv2
expect "a point of which the device dies twice is left out" 0 'failed 2 times and are left out'

# ---- What was put in comes out ---------------------------------------------------------------

run "$esgsim" calibrate "$file" --precision fp16 --mechanism green --unit 7 \
    --base traces/profiles/a100-mig-parvagpu.json --out "$folder/profile.json" --points "$folder/points.csv"
expect "the capture is calibrated" 0 'constant \(chosen\)'
run grep '"device":' "$folder/profile.json"
expect "the profile says that it was no GPU" 0 'stand-in, not a GPU'
constant=$(sed -n 's/.*"constant":[^0-9{]*\([0-9.]*\),*$/\1/p' "$folder/profile.json" | head -n 1)
if echo "$constant $STAND_IN_SLOWDOWN" | awk '{ exit !($1 > 0.9 * $2 && $1 < 1.1 * $2) }'; then
    pass "the slowdown of others that was put in is found within a tenth"
else
    fail "the slowdown of others that was put in is found within a tenth" "found $constant"
fi

# Against the least batch at the whole device, an inference takes longer by its products alone,
# whatever its launches take: those of the networks are known, and what a part of the device does in
# a millisecond was put in. Seven sevenths are more than seven times one, as the whole device has the
# multiprocessors that no seventh has.
"$esgsim" list networks >"$folder/networks"
awk -F, -v rate="$STAND_IN_RATE" '
    FILENAME ~ /networks$/ {
        split($0, words, " ")
        for (i in words) if (words[i] ~ /^GMACs/) macs[words[1]] = 1e9 * words[i - 1]
        next
    }
    FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { n++; name[n] = $column["function"]; batch[n] = $column["batch"]
      share[n] = $column["share"] / 100; ms[n] = $column["measured_ms"]; fitted[n] = $column["fit_ms"]
      if (batch[n] == 1 && share[n] == 7) least[name[n]] = ms[n] }
    END {
        for (i = 1; i <= n; i++) {
            sms = share[i] == 7 ? 132 : 16 * share[i]
            true_ms = least[name[i]] + macs[name[i]] / rate * (batch[i] / sms - 1 / 132)
            off = ms[i] / true_ms - 1; off = off < 0 ? -off : off
            far = fitted[i] / true_ms - 1; far = far < 0 ? -far : far
            if (off > most) most = off
            if (share[i] < 7 && far > part) part = far
            if (share[i] == 7 && far > whole) whole = far
        }
        printf "%d points, measured off by at most %.2f %%, fitted by %.2f %%, of the whole device by %.2f %%\n",
            n, 100 * most, 100 * part, 100 * whole
        exit !(n >= 140 && most < 0.01 && part < 0.01 && whole < 0.01)
    }' "$folder/networks" "$folder/points.csv" >"$folder/truth"
truth=$?
if [ "$truth" -eq 0 ]; then
    pass "times are those that were put in: $(cat "$folder/truth")"
else
    fail "times are those that were put in" "$(cat "$folder/truth")" "$(head -n 3 "$folder/points.csv")"
fi

# ---- Replays ---------------------------------------------------------------------------------

SETS=small POLICIES=esg,fifo LOADS=0.05 SECONDS_EACH=2
export SETS POLICIES LOADS SECONDS_EACH
CAPTURE=$capture ESGSIM=$esgsim
export CAPTURE ESGSIM
run sh traces/capture/proof.sh prepare "$folder/proof" "$file"
expect "proof.sh prepares the experiments" 0 'small at 0.05 of [0-9.]* requests a second'
run env STAND_IN_PACE=1 sh traces/capture/proof.sh replay "$folder/proof"
expect "proof.sh replays them" 0 '2 runs in'
flawless "a replay does nothing that a device would not stand"
run sh traces/capture/proof.sh compare "$folder/proof"
expect "proof.sh compares them with their simulation" 0 'mobilenetv2, batch 1'
table=$(h5ls -r "$folder/proof/small.replay.h5" | awk '$1 ~ /\/replay$/ { print $1; exit }')
column "$folder/proof/small.replay.h5" "$table" 12 >"$folder/device"
column "$folder/proof/small.replay.h5" "$table" 5 >"$folder/modelled"
ratio=$(paste "$folder/device" "$folder/modelled" | awk '$2 > 0 { print 1e6 * $1 / $2 }' | sort -g |
    awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
if echo "${ratio:-0}" | awk '{ exit !($1 > 0.9 && $1 < 1.1) }'; then
    pass "half of the replay's batches take what the profile says, within a tenth, or less: $ratio"
else
    fail "half of the replay's batches take what the profile says, within a tenth, or less" "$ratio"
fi
# A driver without room for all sets' contexts makes those at hand as they are asked for.
run env STAND_IN_PACE=1 STAND_IN_GREEN=40 sh traces/capture/proof.sh replay "$folder/proof"
expect "a replay has room with fewer contexts than sets" 0 'no more than 40 lanes'
flawless "and does nothing that a device would not stand"
run env STAND_IN_LOST=20000 sh traces/capture/proof.sh replay "$folder/proof"
expect "a replay whose device is lost fails" 1 'a replay of set small failed'
finish
