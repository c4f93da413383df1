#!/bin/sh
# A capture in one command: checks that the device computes what it should, then measures until
# the budget is spent, without MPS first and under an MPS server of its own where one can be
# started. Run it again to go on with the same file.
#
#   traces/capture/capture.sh [OUT.h5 [SECONDS [OPTION…]]]
#
# CAPTURE names the program (build/capture); further options go to it (capture --help). MPS=no leaves
# MPS out. A file OUT.log has what was printed.
set -eu
cd "$(dirname "$0")/../.."

out=${1:-capture.h5}
budget=${2:-540}
[ $# -lt 1 ] || shift
[ $# -lt 1 ] || shift
capture=${CAPTURE:-build/capture}
if [ ! -x "$capture" ]; then
    echo "capture.sh: no $capture; build it with: make capture" >&2
    exit 1
fi

log=$out.log
{
    date -u
    nvidia-smi 2>/dev/null || echo "capture.sh: no nvidia-smi here"
} >>"$log" 2>&1

LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
. traces/capture/libraries.sh

# What does not come back must not take the device's time with it: nothing here runs longer than it
# should, and what a capture has when it is ended is in its file.
if ! timeout -k 5 120 "$capture" --self-test >"$out.test" 2>&1; then
    cat "$out.test" >>"$log"
    cat "$out.test" >&2
    echo "capture.sh: the self-test failed, or took longer than 120 s" >&2
    exit 1
fi
tee -a "$log" <"$out.test"
rm -f "$out.test"

# measure SECONDS OPTION...: a capture; where the device is lost or a point hangs, the rest of the time
# is another's, which goes on with the file.
measure() {
    end=$(($(date +%s) + $1))
    shift
    for attempt in 1 2 3; do
        left=$((end - $(date +%s)))
        [ "$left" -gt 10 ] || break
        status=0
        timeout -k 20 $((left + 30)) "$capture" --out "$out" --budget-s "$left" "$@" \
            >"$out.part" 2>&1 || status=$?
        tee -a "$log" <"$out.part"
        [ "$status" -ne 0 ] || break
        echo "capture.sh: attempt $attempt ended with status $status" | tee -a "$log"
    done
    rm -f "$out.part"
}

# A fifth is for MPS, where there is one.
mps=0
if [ "${MPS:-yes}" = yes ] && command -v nvidia-cuda-mps-control >/dev/null 2>&1; then
    mps=$((budget / 5))
fi
measure $((budget - mps)) --mechanism green "$@"

if [ "$mps" -gt 0 ]; then
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
    CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    if nvidia-cuda-mps-control -d >>"$log" 2>&1; then
        measure "$mps" --mechanism mps --batch 4 --precision fp16 "$@"
        echo quit | nvidia-cuda-mps-control >>"$log" 2>&1 || true
    fi
    rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
fi

nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv 2>/dev/null |
    tee -a "$log" || true
ls -l "$out"
