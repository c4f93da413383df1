#!/bin/sh
# A GPU session. Each step is one command; those that need the GPU take less than ten minutes.
#
#   traces/capture/gpu.sh smoke [--keep-going]    on the GPU: probe, self-test, a small capture, a replay
#   traces/capture/gpu.sh full [--keep-going]     on the GPU: probe, self-test, the full capture
#   traces/capture/gpu.sh prepare                 calibrates the capture; writes the experiments
#   traces/capture/gpu.sh replay [OPTION…]        on the GPU: replays them
#   traces/capture/gpu.sh compare                 simulates them; prints and keeps the comparison
#   traces/capture/gpu.sh read                    prints again what to read first
#
# Everything is written under one folder, OUT (gpu-out). A step that is run again goes on: what
# passed or was measured is not done again. A step has a deadline, and each of its commands a time
# limit, so that what hangs or fails leaves the rest its time. --keep-going: a failed self-test does
# not end the step. Options of `replay` go to `capture replay`; --rehearse goes without a GPU.
#
# Environment: CAPTURE (build/capture), ESGSIM (build/esgsim), CAPTURE_OPTIONS and REPLAY_OPTIONS (of
# `full` and `smoke`), DEADLINE_S (580), SELF_TEST_S (100), CAPTURE_S (420) and SMOKE_S (100): what
# each may take; SETS ("small paper"), POLICIES (esg,fifo,clipper), LOADS ("0.3 0.6" of what the GPU
# can do with jobs alone), SECONDS_EACH (20), REQUESTS_MOST (6000): what is replayed; CALIBRATE:
# options of `esgsim calibrate` (--rehearsal).
set -u
cd "$(dirname "$0")/../.." || exit 1

OUT=${OUT:-gpu-out}
capture=${CAPTURE:-build/capture}
esgsim=${ESGSIM:-build/esgsim}
sets=${SETS:-small paper}
loads=${LOADS:-0.3 0.6}
policies=${POLICIES:-esg,fifo,clipper}
base=workloads/experiments/proof-light.json
deadline=$(($(date +%s) + ${DEADLINE_S:-580}))
child=
logger=
failures=0

# What cuDNN finds wrong goes to the .err files.
CUDNN_LOGLEVEL_DBG=1
CUDNN_LOGDEST_DBG=stderr
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
export CUDNN_LOGLEVEL_DBG CUDNN_LOGDEST_DBG
. traces/capture/libraries.sh

say() {
    echo "gpu.sh: $*" | tee -a "$OUT/session.txt"
}

fail() {
    echo "gpu.sh: $*" >&2
    exit 1
}

# A signal ends the command under way, which ends in order; the summary is printed all the same.
end_children() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$logger" ] || kill "$logger" 2>/dev/null
    logger=
}
trap 'end_children; deadline=0; interrupted=yes' INT TERM
interrupted=

# left: seconds of the step.
left() {
    echo $((deadline - $(date +%s)))
}

# attempt NAME SECONDS COMMAND…: output to OUT/NAME.txt and OUT/NAME.err, which grow; the status to
# $status. No command runs longer than that, nor beyond the deadline.
attempt() {
    name=$1
    limit=$2
    shift 2
    [ "$limit" -le "$(left)" ] || limit=$(left)
    if [ "$limit" -le 0 ]; then
        say "$name: not begun, no time is left"
        status=124
        failures=$((failures + 1))
        return
    fi
    begun=$(date +%s)
    date -u '+---- %Y-%m-%dT%H:%M:%SZ' | tee -a "$OUT/$name.txt" >>"$OUT/$name.err"
    timeout -k 5 "$limit" "$@" >>"$OUT/$name.txt" 2>>"$OUT/$name.err" </dev/null &
    child=$!
    wait "$child"
    status=$?
    # A signal ends the wait before the command.
    if [ -n "$interrupted" ]; then
        wait "$child"
    fi
    child=
    case $status in
    0) how= ;;
    124 | 137) how=", ended at its limit of $limit s" ;;
    *) how=": $(tail -n 1 "$OUT/$name.err")" ;;
    esac
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    say "$name: status $status after $(($(date +%s) - begun)) s$how"
}

describe_device() {
    if command -v nvidia-smi >/dev/null 2>&1; then
        attempt device 10 sh -c 'nvidia-smi; nvidia-smi -q -d CLOCK,POWER,TEMPERATURE,PERFORMANCE'
        nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu \
            --format=csv -lms 500 >>"$OUT/clocks.csv" 2>&1 &
        logger=$!
    else
        say "no nvidia-smi here; /clocks of the capture has what NVML tells"
    fi
}

# Passed once, it is not run again for the same program.
self_test() {
    if [ -n "$(find "$OUT/self-test.passed" -newer "$capture" 2>/dev/null)" ]; then
        say "the self-test has passed"
        return
    fi
    attempt self-test "${SELF_TEST_S:-100}" "$capture" --self-test
    if [ "$status" -eq 0 ]; then
        : >"$OUT/self-test.passed"
    elif [ "$keep_going" = no ]; then
        say "the self-test failed; --keep-going measures all the same"
        finish
    fi
}

# measure NAME SECONDS OPTION…: a capture into OUT/NAME.h5. Where the device is lost, the rest of the
# time is another's, which goes on with the file; a file that cannot be opened any more is kept.
measure() {
    name=$1
    end=$(($(date +%s) + $2))
    shift 2
    for try in 1 2 3; do
        rest=$((end - $(date +%s)))
        [ "$rest" -le "$(($(left) - 20))" ] || rest=$(($(left) - 20))
        [ "$rest" -gt 1 ] || break
        attempt "$name" $((rest + 15)) "$capture" --out "$OUT/$name.h5" --budget-s "$rest" "$@"
        if [ "$status" -eq 0 ] || [ -n "$interrupted" ]; then
            break
        fi
        if [ "$status" -eq 2 ] && grep -q 'cannot be opened as HDF5' "$OUT/$name.err"; then
            mv "$OUT/$name.h5" "$OUT/$name.broken-$try-$(date +%s).h5"
        elif [ "$status" -eq 2 ]; then
            break
        fi
    done
}

# ---- What to read first ----------------------------------------------------------------------

# last FILE SCRIPT: the last line that sed prints.
last() {
    [ ! -e "$1" ] || sed -n "$2" "$1" | tail -n 1
}

# The median of resnet152 at batch 1 on a share, of either capture.
resnet152_ms() {
    for name in smoke capture; do
        last "$OUT/$name.txt" "s/^latency  *resnet152:1:$1 fp16 .* \([0-9.]*\) ms$/\1/p"
    done | tail -n 1
}

read_first() {
    echo "What to read first"
    if [ -e "$OUT/self-test.txt" ]; then
        # Of the latest run.
        awk '/^---- / { lines = ""; next } /^probe: / { lines = lines "  " $0 "\n" }
            END { printf "%s", lines }' "$OUT/self-test.txt"
        if [ -e "$OUT/self-test.passed" ]; then
            echo "  self-test: passed"
        else
            echo "  self-test: FAILED: $(tail -n 1 "$OUT/self-test.err")"
        fi
    else
        echo "  self-test: not run"
    fi
    seventh=$(resnet152_ms '14\.2857')
    whole=$(resnet152_ms '100\.0000')
    if [ -n "$seventh" ] && [ -n "$whole" ]; then
        echo "$seventh $whole" | awk '{ printf "  resnet152 at batch 1: %.3f ms on 1/7, %.3f ms on 7/7: %s\n",
            $1, $2, ($1 > 1.05 * $2) ? "the share matters" : "NO DIFFERENCE: bound by launches" }'
    else
        echo "  resnet152 at batch 1: not measured on both 1/7 and 7/7"
    fi
    for name in smoke capture; do
        [ -e "$OUT/$name.txt" ] || continue
        echo "  $name: $(last "$OUT/$name.txt" 's/^\([0-9]* points in .*\)/\1/p'), $(grep -c 'failed: ' \
            "$OUT/$name.txt") failed; clocks: $(last "$OUT/$name.txt" 's/^clocks: //p')"
        grep 'failed: ' "$OUT/$name.txt" | sed 's/^/    /' | tail -n 3
    done
    for log in "$OUT"/*replay*.txt; do
        [ -e "$log" ] || continue
        echo "  $(basename "$log" .txt): lanes_s $(last "$log" 's/.*lanes_s \([0-9.]*\).*/\1/p'), warm_up_s $(
            last "$log" 's/.*warm_up_s \([0-9.]*\).*/\1/p'), $(
            last "$log" 's/^\([0-9]* of [0-9]* pairs of sets.*\)/\1/p')"
    done
    if grep -q ' status [1-9]' "$OUT/session.txt"; then
        echo "  what failed in any run (OUT/session.txt):"
        grep ' status [1-9]' "$OUT/session.txt" | sort -u | sed 's/^gpu.sh: /    /' | tail -n 5
    fi
}

finish() {
    end_children
    read_first | tee "$OUT/read-first.txt"
    echo "everything is in $OUT"
    [ -z "$interrupted" ] || exit 143
    [ "$failures" -eq 0 ]
    exit
}

# ---- On the GPU ------------------------------------------------------------------------------

take_options() {
    keep_going=no
    for option in "$@"; do
        [ "$option" = --keep-going ] || fail "unknown option $option; there is --keep-going"
        keep_going=yes
    done
}

smoke() {
    take_options "$@"
    describe_device
    self_test
    # shellcheck disable=SC2086
    measure smoke "${SMOKE_S:-100}" --batch 4 --cold-starts 1 --networks resnet152,mobilenetv2 \
        ${CAPTURE_OPTIONS:-}
    # shellcheck disable=SC2086
    attempt smoke-replay 200 "$capture" replay "$base" --policy fifo --out "$OUT/smoke-replay.h5" \
        ${REPLAY_OPTIONS:-}
    finish
}

full() {
    take_options "$@"
    describe_device
    self_test
    # shellcheck disable=SC2086
    measure capture "${CAPTURE_S:-420}" ${CAPTURE_OPTIONS:-}
    finish
}

# A set that fails does not keep the other from being played.
replay() {
    describe_device
    for set in $sets; do
        if [ -e "$OUT/$set.replay.passed" ]; then
            say "$set.replay: has been played"
            continue
        fi
        # shellcheck disable=SC2046
        attempt "$set.replay" 285 "$capture" replay $(files "$set") --policy "$policies" \
            --out "$OUT/$set.replay.h5" "$@"
        [ "$status" -ne 0 ] || : >"$OUT/$set.replay.passed"
    done
    finish
}

# ---- Elsewhere -------------------------------------------------------------------------------

# The applications and containers of a set: "small", four classifiers, and "paper", the six networks
# of ESG.
applications() {
    case $1 in
    small) echo '"proof-cascade", "proof-fork"' ;;
    paper) echo '"proof-restore", "proof-cutout"' ;;
    *) fail "no set \"$1\"; there are small and paper" ;;
    esac | sed 's|"\([^"]*\)"|"workloads/applications/\1.json"|g'
}
containers() {
    case $1 in
    small) echo mobilenetv2 resnet50 resnet152 vgg19 ;;
    paper) echo srgan deeplabv3_resnet50 resnet50 deblurgan midas_v21 u2net ;;
    esac | sed 's/\([^ ]*\) */"\1": 20, /g; s/, $//'
}

# experiment SET LOAD RATE REQUESTS: the shipped one with that, its paths from here on.
experiment() {
    sed -e "s|^  \"name\": \"[^\"]*\"|  \"name\": \"$1-$2\"|" \
        -e "s|\"applications\": .*|\"applications\": [$(applications "$1")],|" \
        -e "s|\"initial\": .*|\"initial\": {$(containers "$1")},|" \
        -e "s|\"profile\": .*|\"profile\": \"$OUT/profile.json\",|" \
        -e "s|\"rate_per_s\": [0-9.]*|\"rate_per_s\": $3|" \
        -e "s|\"requests\": .*|\"requests\": $4,|" \
        -e "s|\"note\": \"A replay.*|\"note\": \"Written by traces/capture/gpu.sh\",|" \
        -e 's|"\.\./\.\./|"|; s|"\.\./|"workloads/|' "$base"
}

files() {
    for load in $loads; do
        echo "$OUT/$1-$load.json"
    done
}

prepare() {
    [ -e "$OUT/capture.h5" ] || fail "no $OUT/capture.h5; run: gpu.sh full"
    # shellcheck disable=SC2086
    "$esgsim" calibrate "$OUT/capture.h5" --precision fp16 --unit 7 ${CALIBRATE:-} \
        --base traces/profiles/a100-mig-parvagpu.json --out "$OUT/profile.json" \
        >"$OUT/calibration.txt" || exit 1
    cat "$OUT/calibration.txt"
    for set in $sets; do
        experiment "$set" probe 1 10 >"$OUT/probe.json"
        capacity=$("$capture" replay "$OUT/probe.json" --dry-run |
            sed -n 's/^capacity: \([0-9.]*\) .*/\1/p')
        rm -f "$OUT/probe.json" "$OUT/$set.replay.passed"
        [ -n "$capacity" ] || fail "the capacity of set $set is not known"
        rows=
        for load in $loads; do
            rate=$(echo "$capacity $load" | awk '{ printf "%.4g", $1 * $2 }')
            requests=$(echo "$rate ${SECONDS_EACH:-20} ${REQUESTS_MOST:-6000}" |
                awk '{ n = int($1 * $2); print n < $3 ? n : $3 }')
            experiment "$set" "$load" "$rate" "$requests" >"$OUT/$set-$load.json"
            rows="$rows${rows:+, }{\"name\": \"$set-$load\", \"arrivals.rate_per_s\": $rate, \"requests\": $requests}"
            echo "$set at $load of $capacity requests per second: $rate, $requests of them"
        done
        # What a replay would refuse is refused here, not on the GPU's time.
        # shellcheck disable=SC2046
        "$capture" replay $(files "$set") --policy "$policies" --dry-run || exit 1
        printf '{"name": "%s", "base": "%s", "matrix": {"setting": [%s], "policy.name": ["%s"]}}\n' \
            "$set" "$set-${loads%% *}.json" "$rows" "$(echo "$policies" | sed 's/,/", "/g')" \
            >"$OUT/$set.sweep.json"
    done
}

compare() {
    : >"$OUT/report.txt"
    for set in $sets; do
        [ -e "$OUT/$set.replay.h5" ] || fail "no $OUT/$set.replay.h5; run: gpu.sh replay"
        "$esgsim" sweep "$OUT/$set.sweep.json" --out "$OUT/$set.simulated.h5" --quiet \
            >/dev/null || exit 1
        "$esgsim" report "$OUT/$set.simulated.h5" --against "$OUT/$set.replay.h5" \
            >"$OUT/$set.report.txt" || exit 1
        tee -a "$OUT/report.txt" <"$OUT/$set.report.txt"
        [ -e "$OUT/$set.replay.passed" ] || fail "not all of $set was replayed: $OUT/$set.replay.err"
    done
}

step=${1:-}
case $step in
smoke | full | replay | prepare | compare | read)
    shift
    mkdir -p "$OUT" || exit 1
    : >>"$OUT/session.txt"
    ;;
*) fail "wants a step: smoke, full, prepare, replay, compare or read" ;;
esac
case $step in
smoke | full | replay) [ -x "$capture" ] || fail "no $capture; build it with: make capture" ;;
read) step=read_first ;;
esac
"$step" "$@"
