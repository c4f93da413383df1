#!/bin/sh
# The simulator against a GPU: a calibrated profile, replays of ESG and two baselines under two
# loads, and the same simulated. Three steps, as the GPU may be in a machine that has none of the
# rest; all of them in one folder.
#
#   traces/capture/proof.sh prepare FOLDER CAPTURE.h5   calibrates; writes the experiments
#   traces/capture/proof.sh replay FOLDER [OPTION…]     on the GPU's machine: FOLDER/*.replay.h5, or
#                                                       in the folder that RESULTS names
#   traces/capture/proof.sh compare FOLDER              simulates; prints and keeps the comparison
#
# There are two sets: "small", four classifiers, and "paper", the six networks of ESG (SETS). CAPTURE
# and ESGSIM name the programs; POLICIES (esg,fifo,clipper), LOADS ("0.3 0.6" of what the GPU can
# do with jobs alone), SECONDS_EACH (20) and REQUESTS_MOST (6000) say what is played. Options of
# `replay` go to `capture replay`; --rehearse goes without a GPU, as a capture of a rehearsal does
# with CALIBRATE=--rehearsal.
set -eu
cd "$(dirname "$0")/../.."

capture=${CAPTURE:-build/capture}
esgsim=${ESGSIM:-build/esgsim}
sets=${SETS:-small paper}
loads=${LOADS:-0.3 0.6}
policies=${POLICIES:-esg,fifo,clipper}
seconds=${SECONDS_EACH:-20}
most=${REQUESTS_MOST:-6000}
base=workloads/experiments/proof-light.json

fail() {
    echo "proof.sh: $*" >&2
    exit 1
}

# The applications and containers of a set.
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
        -e "s|\"profile\": .*|\"profile\": \"$folder/profile.json\",|" \
        -e "s|\"rate_per_s\": [0-9.]*|\"rate_per_s\": $3|" \
        -e "s|\"requests\": .*|\"requests\": $4,|" \
        -e "s|\"note\": \"A replay.*|\"note\": \"Written by traces/capture/proof.sh\",|" \
        -e 's|"\.\./\.\./|"|; s|"\.\./|"workloads/|' "$base"
}

files() {
    for load in $loads; do
        echo "$folder/$1-$load.json"
    done
}

prepare() {
    [ -n "${1:-}" ] || fail "prepare wants a capture file"
    mkdir -p "$folder"
    # shellcheck disable=SC2086
    "$esgsim" calibrate "$1" --precision fp16 --mechanism green --unit 7 ${CALIBRATE:-} \
        --base traces/profiles/a100-mig-parvagpu.json --out "$folder/profile.json" \
        >"$folder/calibration.txt"
    tail -n 20 "$folder/calibration.txt"
    for set in $sets; do
        experiment "$set" probe 1 10 >"$folder/probe.json"
        capacity=$("$capture" replay "$folder/probe.json" --dry-run |
            sed -n 's/^capacity: \([0-9.]*\) .*/\1/p')
        rm -f "$folder/probe.json"
        [ -n "$capacity" ] || fail "the capacity of set $set is not known"
        rows=
        for load in $loads; do
            rate=$(echo "$capacity $load" | awk '{ printf "%.4g", $1 * $2 }')
            requests=$(echo "$rate $seconds $most" |
                awk '{ n = int($1 * $2); print n < $3 ? n : $3 }')
            experiment "$set" "$load" "$rate" "$requests" >"$folder/$set-$load.json"
            rows="$rows${rows:+, }{\"name\": \"$set-$load\", \"arrivals.rate_per_s\": $rate, \"requests\": $requests}"
            echo "$set at $load of $capacity requests a second: $rate, $requests of them"
        done
        # What cannot be replayed is to be found here, not on the GPU's time.
        # shellcheck disable=SC2046
        "$capture" replay $(files "$set") --policy "$policies" --dry-run
        printf '{"name": "%s", "base": "%s", "matrix": {"setting": [%s], "policy.name": ["%s"]}}\n' \
            "$set" "$set-${loads%% *}.json" "$rows" "$(echo "$policies" | sed 's/,/", "/g')" \
            >"$folder/$set.sweep.json"
    done
}

# A set that fails does not keep the other from being played: device time is short.
replay() {
    results=${RESULTS:-$folder}
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
    . traces/capture/libraries.sh
    mkdir -p "$results"
    rm -f "$results/replay.log"
    for set in $sets; do
        # shellcheck disable=SC2046
        { "$capture" replay $(files "$set") --policy "$policies" --out "$results/$set.replay.h5" "$@" ||
            echo "proof.sh: a replay of set $set failed"; } 2>&1 | tee -a "$results/replay.log"
    done
    ! grep -q '^proof.sh: a replay' "$results/replay.log"
}

compare() {
    : >"$folder/report.txt"
    for set in $sets; do
        [ -e "$folder/$set.replay.h5" ] || fail "no $folder/$set.replay.h5; replay first"
        "$esgsim" sweep "$folder/$set.sweep.json" --out "$folder/$set.simulated.h5" --quiet >/dev/null
        "$esgsim" report "$folder/$set.simulated.h5" --against "$folder/$set.replay.h5" |
            tee -a "$folder/report.txt"
    done
    ! grep -q failed "$folder/replay.log" || fail "not all was replayed: $folder/replay.log"
}

step=${1:-}
folder=${2:-}
[ -n "$folder" ] || fail "wants a step (prepare, replay, compare) and a folder"
shift 2
case $step in
prepare | replay | compare) "$step" "$@" ;;
*) fail "no step \"$step\"; there are prepare, replay and compare" ;;
esac
