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

# What the host's own work takes needs neither GPU nor toolkit.
run "$BUILD/measure-cpu" 2
if grep -q 'without libjpeg' "$folder/err"; then
    expect "measure-cpu says that it was built without libjpeg" 1
else
    expect "measure-cpu times the host's work" 0 '^post,2,32,1280,720,4,[0-9.]*$'
    if [ "$(wc -l <"$folder/out")" -eq 51 ]; then
        pass "five samples of five tasks, with one thread and with two"
    else
        explain "five samples of five tasks, with one thread and with two" "51 lines"
    fi
    run "$BUILD/measure-cpu" none
    expect_refusal "measure-cpu refuses what is no number of threads" '1..64'
fi

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
    --budget-s 30 --batch 1 --networks mobilenetv2
expect "a capture makes green contexts current where their streams are refused" 0 \
    'green contexts are made current'
flawless "a capture with green contexts current does nothing that a device would not stand"
run env STAND_IN_GROUPS=13 "$capture" --out "$folder/groups.h5" \
    --budget-s 30 --batch 1 --networks mobilenetv2
expect "a capture of 13 groups has no point of a seventh" 0 'failed: .*13 groups of multiprocessors'

# ---- A capture -------------------------------------------------------------------------------

networks=mobilenetv2,resnet50,resnet152,vgg19

run "$capture" --dry-run
expect "time: the full capture takes at most 420 s" 0 '^the plan takes [0-9]* s of a budget of 420 s: all points fit'
seconds=$(sed -n 's/^the plan takes \([0-9]*\) s.*/\1/p' "$folder/out")
if [ "${seconds:-999}" -le 420 ] && [ "$(grep -c '^ .*colocation .*+.*+.*+.*+.*+.*+' "$folder/out")" -eq 10 ]; then
    pass "time: $seconds s, with a crowd of seven for each network"
else
    explain "time: at most 420 s, with a crowd of seven for each network" "ten of them"
fi

# Everything once, with the sanitizers.
# shellcheck disable=SC2086
run $sanitized "$SAN_BUILD/capture" --out "$folder/small.h5" --budget-s 100 --batch 2 --networks mobilenetv2
expect "a capture measures a network" 0 '^stand-in, not a GPU, 132 multiprocessors'
flawless "a capture does nothing that a device would not stand"
for table in latency colocation copies cold_start memory clocks; do
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
run h5dump -a /clocks "$folder/small.h5"
expect "clocks: the file says what logged them" 0 'NVML, driver 0.0'
# Columns in the order of layout.h, texts left out.
column "$folder/small.h5" /latency 8 >"$folder/warm_up"
column "$folder/small.h5" /latency 7 >"$folder/launches"
column "$folder/small.h5" /latency 11 >"$folder/mhz"
if sort -g "$folder/warm_up" | head -n 1 | awk '{ exit !($1 >= 50) }'; then
    pass "warm-up: at least 50 ms before the first sample of every point"
else
    fail "warm-up: at least 50 ms before the first sample of every point" "$(sort -g "$folder/warm_up" | head -n 1)"
fi
if [ "$(sort -u "$folder/launches")" -gt 50 ] && grep -qx 1980 "$folder/mhz"; then
    pass "launches and the SM clock are in the samples' rows"
else
    fail "launches and the SM clock are in the samples' rows" "$(sort -u "$folder/launches" "$folder/mhz" | head)"
fi
if column "$folder/small.h5" /colocation 2 | grep -qx 7; then
    pass "a crowd of seven is measured"
else
    fail "a crowd of seven is measured" "$(column "$folder/small.h5" /colocation 2 | sort -u)"
fi
run env STAND_IN_NVML=none "$capture" --out "$folder/dark.h5" --budget-s 30 --batch 1 --cold-starts 0 \
    --networks mobilenetv2
expect "clocks: without NVML the capture says so and goes on" 0 '^clocks: not logged: NVML: Driver Not Loaded'
run h5dump -a /clocks "$folder/dark.h5"
expect "clocks: and so does its file" 0 'not logged: NVML: Driver Not Loaded'
# shellcheck disable=SC2086
run $sanitized "$SAN_BUILD/capture" --cuda-graphs --out "$folder/graphs.h5" --budget-s 100 --batch 1 \
    --networks mobilenetv2 --cold-starts 0
expect "CUDA graphs: a capture launches each inference as one" 0 'an inference is one CUDA graph'
flawless "CUDA graphs: nothing that a device would not stand"
if grep -q failed "$folder/out"; then
    fail "CUDA graphs: no point fails" "$(grep failed "$folder/out")"
else
    pass "CUDA graphs: no point fails"
fi
run "$capture" --out "$folder/graphs.h5" --budget-s 10 --networks mobilenetv2
expect_refusal_of_capture() {
    if [ "$status" -eq 2 ] && grep -q "$2" "$folder/err"; then pass "$1"; else explain "$1" "status 2 and $2"; fi
}
expect_refusal_of_capture "CUDA graphs: launches one by one are not mixed with them" 'captured with CUDA graphs'

# A point of which the device dies again and again is left out after the second time.
for turn in 1 2; do
    run env STAND_IN_LOST=300 "$capture" --out "$folder/deadly.h5" --budget-s 60 --batch 1 --networks mobilenetv2
done
run "$capture" --out "$folder/deadly.h5" --budget-s 10 --batch 1 --networks mobilenetv2
expect "a point of which the device dies twice is left out" 0 'failed 2 times and are left out'

# Where no work is worth its launch, all is bound by launches.
run env STAND_IN_RATE=4e12 "$capture" --out "$folder/flat.h5" --budget-s 60 --batch 2 --cold-starts 0 \
    --networks mobilenetv2
run "$esgsim" calibrate "$folder/flat.h5" --precision fp16 --unit 7 --out "$folder/flat.json"
expect "a network bound by launches is said to be" 0 '^ *mobilenetv2 .* 1\.0[0-9]* +2$'
if tr -d ' \n\t' <"$folder/flat.json" | grep -q '"launch_bound":{"launches":[0-9]*,"batch":2}'; then
    pass "and its profile is marked"
else
    fail "and its profile is marked" "$(grep -A 3 launch_bound "$folder/flat.json")"
fi

# ---- A session on the GPU --------------------------------------------------------------------

# The program as gpu.sh starts it: the self-test computes, the rest does not; its number is known.
REAL_CAPTURE=$capture
PID_FILE=$folder/pid
export REAL_CAPTURE PID_FILE
cat >"$folder/capture" <<'END'
#!/bin/sh
echo $$ >"$PID_FILE"
case $1 in
--self-test) STAND_IN_COMPUTE=${SELF_TEST_COMPUTE:-1e6} ;;
*) STAND_IN_COMPUTE=0 ;;
esac
export STAND_IN_COMPUTE
[ -z "${HANGS:-}" ] || exec sleep 60
exec "$REAL_CAPTURE" "$@"
END
chmod +x "$folder/capture"
OUT=$folder/session
CAPTURE=$folder/capture ESGSIM=$esgsim
SETS=small POLICIES=esg,fifo LOADS=0.05 SECONDS_EACH=2
export OUT CAPTURE ESGSIM SETS POLICIES LOADS SECONDS_EACH
file=$OUT/capture.h5

run env SMOKE_S=20 REPLAY_OPTIONS="--set requests=300 --set warmup_requests=10" sh traces/capture/gpu.sh smoke
expect "gpu.sh smoke runs whole" 0 '^everything is in '
flawless "gpu.sh smoke does nothing that a device would not stand"
for what in '16 groups of 8' '126 of 126 green contexts made' 'than their own: 0 of 126' \
    'pairs of disjoint sets wait' 'a launch takes' 'MHz after' 'self-test: passed' \
    'resnet152 at batch 1: [0-9.]+ ms on 1/7, [0-9.]+ ms on 7/7: the share matters' 'lanes_s [0-9.]+, warm_up_s [0-9.]+'; do
    expect "gpu.sh smoke prints to read first: $what" 0 "^  .*$what"
done
missing=
for name in read-first.txt session.txt self-test.txt self-test.err smoke.h5 smoke.txt smoke.err \
    smoke-replay.h5 smoke-replay.txt smoke-replay.err; do
    [ -e "$OUT/$name" ] || missing="$missing $name"
done
if [ -z "$missing" ] && [ ! -e gpu-out ]; then
    pass "gpu.sh writes everything under one folder"
else
    fail "gpu.sh writes everything under one folder" "missing:$missing" "$(ls "$OUT")"
fi

# Killed on the way, the capture goes on within the same step; then the step itself is ended.
await_lines() {
    while kill -0 "$session" 2>/dev/null; do
        found=$(grep -c "$1" "$OUT/capture.txt" 2>/dev/null)
        [ "${found:-0}" -lt "$2" ] || break
        sleep 0.1
    done
}
export CAPTURE_OPTIONS="--networks $networks"
sh traces/capture/gpu.sh full >"$folder/full" 2>&1 </dev/null &
session=$!
await_lines '^latency' 10
kill -KILL "$(cat "$PID_FILE")"
await_lines 'points are in the file already' 1
await_lines '^latency' 30
kill -TERM "$session"
wait "$session"
interrupted=$?
before=$(rows "$file" latency)
if grep -q 'the self-test has passed' "$folder/full" && grep -q 'capture: status 137' "$folder/full" &&
    grep -q ' points are in the file already' "$OUT/capture.txt"; then
    pass "gpu.sh full: a capture that is killed is gone on with"
else
    fail "gpu.sh full: a capture that is killed is gone on with" "$(cat "$folder/full")" "$(tail -n 3 "$OUT/capture.txt")"
fi
if [ "$interrupted" -eq 143 ] && grep -q ', interrupted$' "$OUT/capture.txt" && [ "${before:-0}" -gt 0 ] &&
    grep -q '^What to read first' "$folder/full"; then
    pass "gpu.sh full: ended by a signal, it ends the capture in order and says what there is"
else
    fail "gpu.sh full: ended by a signal, it ends the capture in order and says what there is" \
        "status $interrupted" "$(cat "$folder/full")" "$(tail -n 3 "$OUT/capture.txt")"
fi
taken=$(points "$file")

# The device is lost on the way.
run env STAND_IN_LOST=60000 "$CAPTURE" --out "$file" --budget-s 60 --networks $networks
lost=$(rows "$file" latency)
if [ "$status" -eq 1 ] && grep -q 'lost' "$folder/err" && [ "$(points "$file")" -gt "$taken" ] &&
    [ "$lost" -gt "$before" ]; then
    pass "a device that is lost loses nothing that was captured, and the capture says so"
else
    explain "a device that is lost loses nothing that was captured, and the capture says so" \
        "status 1, more than $taken points and $before rows"
fi

# How far a budget reaches is the machine's affair; that all is reached is not.
turn=0
while [ "$turn" -lt 6 ] && { [ "$turn" -eq 0 ] || [ "$(points "$file")" -lt 140 ]; }; do
    turn=$((turn + 1))
    run env CAPTURE_S=60 sh traces/capture/gpu.sh full
done
expect "gpu.sh full runs whole, and goes on where it was left" 0 '^  capture: [0-9]* points in'
flawless "going on does nothing that a device would not stand"
if [ "$(points "$file")" -ge 140 ]; then
    pass "what had failed is measured"
else
    fail "what had failed is measured" "$(points "$file") of 140 points" "$(tail -n 5 "$OUT/capture.txt")"
fi

# A self-test that fails, and one that hangs.
run env OUT="$folder/failing" SELF_TEST_COMPUTE=0 sh traces/capture/gpu.sh full
expect "gpu.sh full ends where the self-test fails" 1 'self-test: FAILED'
if [ -e "$folder/failing/capture.h5" ]; then
    fail "and measures nothing" "$(ls "$folder/failing")"
else
    pass "and measures nothing"
fi
run env OUT="$folder/failing" SELF_TEST_COMPUTE=0 CAPTURE_S=5 CAPTURE_OPTIONS="--batch 1 --networks mobilenetv2" \
    sh traces/capture/gpu.sh full --keep-going
expect "--keep-going measures all the same" 1 '^  capture: [0-9]* points in'
run env OUT="$folder/hanging" HANGS=yes SELF_TEST_S=1 sh traces/capture/gpu.sh full
expect "gpu.sh ends what hangs" 1 'self-test: status 1(24|37) after .* ended at its limit of 1 s'
run sh traces/capture/gpu.sh read
expect "gpu.sh read prints it again" 0 '^What to read first'

# ---- What was put in comes out ---------------------------------------------------------------

run "$esgsim" calibrate "$file" --precision fp16 --unit 7 \
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

CAPTURE=$capture
export CAPTURE
run sh traces/capture/gpu.sh prepare
expect "gpu.sh prepares the experiments" 0 'small at 0.05 of [0-9.]* requests per second'
export STAND_IN_PACE=1
run sh traces/capture/gpu.sh replay
expect "gpu.sh replays them" 0 '^  small.replay: lanes_s [0-9.]*, warm_up_s [0-9.]*, 0 of'
flawless "a replay does nothing that a device would not stand"
run sh traces/capture/gpu.sh compare
expect "gpu.sh compares them with their simulation" 0 'mobilenetv2, batch 1'
table=$(h5ls -r "$OUT/small.replay.h5" | awk '$1 ~ /\/replay$/ { print $1; exit }')
column "$OUT/small.replay.h5" "$table" 13 >"$folder/device"
column "$OUT/small.replay.h5" "$table" 5 >"$folder/modelled"
ratio=$(paste "$folder/device" "$folder/modelled" | awk '$2 > 0 { print 1e6 * $1 / $2 }' | sort -g |
    awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
if echo "${ratio:-0}" | awk '{ exit !($1 > 0.9 && $1 < 1.1) }'; then
    pass "half of the replay's batches take what the profile says, within a tenth, or less: $ratio"
else
    fail "half of the replay's batches take what the profile says, within a tenth, or less" "$ratio"
fi
run "$capture" replay "$OUT/small-0.05.json" --policy fifo --speed 20 --sets side-by-side --out "$folder/rehearsed.h5"
expect "a rehearsal uses sets side by side where it is told to" 0 ' 0 on units that are not side by side'
expect "and says how many batches waited for a set" 0 '[0-9]+ waited for a set of units while enough were free'
run "$capture" replay "$OUT/small-0.05.json" --sets some --out "$folder/rehearsed.h5"
expect_refusal "sets that there are not are refused" 'some.* is unknown; give auto, all or side-by-side'

# replay_with SETTING…: again, on a driver of that kind.
replay_with() {
    rm -f "$OUT/small.replay.passed"
    run env "$@" sh traces/capture/gpu.sh replay
    cp "$OUT/small.replay.txt" "$folder/out"
}
replay_with STAND_IN_GREEN=40
expect "late lanes are gone: sets that the driver refuses are not used" 0 '[0-9]* sets of units are refused and not used'
flawless "and the replay does nothing that a device would not stand"
replay_with STAND_IN_QUEUES=8
expect "streams that wait for each other: only sets side by side are used" 0 'so only the [0-9]* sets side by side are used'
flawless "and the replay on them does nothing that a device would not stand"
run h5dump -d "$(h5ls -r "$OUT/small.replay.h5" | awk '$1 ~ /\/replay$/ { print $1; exit }')" "$OUT/small.replay.h5"
expect "the rows say when each batch got its units" 0 placed_ns
replay_with STAND_IN_LOST=20000
expect "a replay whose device is lost fails" 1
finish
