#!/bin/sh
# A session on a machine with a GPU: measures networks, makes a profile of them, replays experiments
# with it, and compares the replays with simulations. README.md says what to read.
#
#   gpu.sh all --pack FILE.tar.gz [OPTION…]   all steps, in order, within a deadline
#   gpu.sh STEP [OPTION…]                     predict, measure, mps, starts, calibrate, rehearse, replay or compare
#
#   --pack FILE      an archive of measurements and texts so far, renewed after each step and every few
#                    seconds, but not during a replay; each HDF5 file is beside it, as FILE-NAME.h5
#   --out DIR        the folder of everything (gpu-out); a second call goes on where the first ended
#   --by HOW         shares of the GPU: green (default), mps, mig; or dry, a formula in its place
#   --networks A,B   what is measured (those of the experiments)
#   --deadline S     how long a call may take (570); `all` gives each step a part of it
#
# Environment: PYTHON (else the first that has torch), ESGSIM (build/esgsim), POLICIES
# (esg,fifo,clipper), MEASURE_OPTIONS, MPS_OPTIONS, WORKER_OPTIONS.
# shellcheck disable=SC2317 # steps are called by their names
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
esgsim=${ESGSIM:-$root/build/esgsim}
policies=${POLICIES:-esg,fifo,clipper}
light=$root/workloads/experiments/proof-light.json
heavy=$root/workloads/experiments/proof-heavy.json
OUT=gpu-out
archive=
by=green
networks=mobilenetv2,resnet50,resnet152,vgg19
deadline_s=570
begun=$(date +%s)
packed=$begun
child=
interrupted=
failures=0
export PYTHONDONTWRITEBYTECODE=1

say() {
    echo "gpu.sh: $*" | tee -a "$OUT/session.txt"
}

refuse() {
    echo "gpu.sh: $*" >&2
    exit 2
}

# part N: N of the 570 seconds of a whole session, in this session's.
part() {
    echo $(($1 * deadline_s / 570))
}

# Seconds that the step has left.
left() {
    echo $((ends - $(date +%s)))
}

# Whoever kills this finds the archive as it was or the new one. tar's status 1: a file grew meanwhile.
pack() {
    packed=$(date +%s)
    [ -n "$archive" ] || return 0
    echo "$((packed - begun)) s, ${child:+during }${step:-begin}" >>"$OUT/packs.txt"
    tar -czf "$archive.new" --exclude="${archive##*/}*" --exclude='*.h5' --exclude='*.pt' -C "${OUT%/*}" "${OUT##*/}" 2>>"$OUT/pack.err"
    if [ $? -gt 1 ] || ! mv -f "$archive.new" "$archive"; then
        say "$archive could not be renewed: $(tail -n 1 "$OUT/pack.err")"
    fi
    for file in "$OUT"/*.h5; do # a file of its own each, at most 16 MiB (rehearse)
        beside=${archive%.tar.gz}-${file##*/}
        [ ! -e "$file" ] || cmp -s "$file" "$beside" || { cp "$file" "$beside.new" && mv -f "$beside.new" "$beside"; }
    done
}

# attempt COMMAND…: with its output added to OUT/STEP.txt and OUT/STEP.err, until it or the step's
# time ends. Returns its status.
attempt() {
    why="no time is left"
    [ "$(left)" -gt 0 ] && [ -z "$interrupted" ] || return
    $leash timeout --foreground -k 5 "$(left)" "$@" >>"$OUT/$step.txt" 2>>"$OUT/$step.err" </dev/null &
    child=$!
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.2
        # Packing takes processors and the disk from what a replay measures.
        [ "$step" = replay ] || [ $(($(date +%s) - packed)) -lt 8 ] || pack
    done
    wait "$child"
    status=$?
    child=
    case $status in
    124 | 137) why="ended when its time was over" ;;
    *) why=$(tail -n 1 "$OUT/$step.err") ;;
    esac
    return "$status"
}

# ---- The programs ----------------------------------------------------------------------------

# What bundle.sh put beside it is not for Python: torch has libraries of its own.
libraries=$(dirname "$esgsim")/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

esgsim() {
    attempt env LD_LIBRARY_PATH="$libraries" "$esgsim" "$@"
}

# Sets $python to one with all that measure.py imports, else to one with torch.
find_python() {
    for modules in "torch, torchvision, cuda.bindings.driver" torch; do
        [ "$by" != dry ] || modules=json
        for python in "${PYTHON:-}" python3 python /opt/*/bin/python3 /opt/*/.venv/bin/python3 /opt/*/envs/*/bin/python3 \
            "${HOME:-}"/*/bin/python3 "${HOME:-}"/*/envs/*/bin/python3 /usr/local/bin/python3 /usr/bin/python3; do
            timeout 60 "$python" -c "import $modules" >/dev/null 2>&1 </dev/null && return
        done
    done
    why="no Python here has torch; name one: PYTHON=FILE"
    return 1
}

# ---- Steps: each fails with the reason in $why -------------------------------------------------

needs() {
    why="no $OUT/$1"
    [ -e "$OUT/$1" ]
}

measure() {
    find_python || return
    say "measure: with $(command -v "$python")"
    ! command -v nvidia-smi >/dev/null || nvidia-smi -q >"$OUT/device.txt" 2>&1
    budget_s=$(part 130)
    [ "$budget_s" -le $(($(left) - 5)) ] || budget_s=$(($(left) - 5))
    # shellcheck disable=SC2086
    attempt "$python" "$here/measure.py" "$networks" --by "$by" --out "$OUT/measured" \
        --budget-s "$budget_s" ${MEASURE_OPTIONS:---half --graphs --batch 1,2,4,16 --shares 1,7 --rounds 2,6,2 --starts 0 --company}
    status=$?
    rows=$(cd "$OUT/measured" && cksum solo.csv groups.csv cold.csv)
    [ "$rows" = "$(cat "$OUT/measure.done" 2>/dev/null)" ] || echo "$rows" >"$OUT/measure.done"
    return "$status"
}

# A process for each percentage, under a daemon of its own in a folder of its own, which ends with the step.
mps() {
    find_python || return
    how=mps shares=14,29,43,57,71,100
    [ "$by" != dry ] || how=dry shares=1,3,7
    export CUDA_MPS_PIPE_DIRECTORY="$OUT/mps-pipe" CUDA_MPS_LOG_DIRECTORY="$OUT/mps-log"
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    [ "$how" = dry ] || attempt nvidia-cuda-mps-control -d || return
    # shellcheck disable=SC2086
    attempt "$python" "$here/measure.py" "$networks" --by "$how" --shares "$shares" --batch 1,4,16 --starts 0 --rounds 1,4,2 \
        --out "$OUT/mps" --budget-s "$(part 75)" ${MPS_OPTIONS:---half --graphs}
    status=$?
    [ "$how" = dry ] || echo quit | nvidia-cuda-mps-control >>"$OUT/mps.txt" 2>&1
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    return "$status"
}

# Cold starts in parts, of two networks, twice.
starts() {
    find_python || return
    attempt "$python" "$here/measure.py" "$(echo "$networks" | cut -d, -f 2,4)" --by "$by" --batch 1 --shares 7 --starts 2 \
        --rounds 0,0,0 --half --out "$OUT/starts" --budget-s "$(part 45)"
}

# What the shipped profile predicts, before anything is measured: the hash of the program and of the profile, then hits,
# 50th and 95th percentile and cost of each replay. h is that of the last session (results/PROOF.md).
predict() {
    profile=$root/traces/profiles/h200-green.json
    {
        LD_LIBRARY_PATH=$libraries "$esgsim" --version | tr '\n' ' '
        echo; sha256sum "$profile" | sed "s|$root/||"
        echo run,policy,slo_hit_rate,p50_ms,p95_ms,cost_usd
    } >"$OUT/predicted.csv"
    for load in 0.3 0.6 0.85; do
        for policy in $(echo "$policies" | tr , ' '); do
            h=0.402
            [ "$policy" != clipper ] || h=0.251
            rm -f "$OUT/predict.txt"
            esgsim run "$heavy" --policy "$policy" --json --quiet --set "profile=$profile" --set "arrivals.load=$load" --set requests=6000 \
                --set platform.turnaround=false --set "platform.host_ms=$h" || return
            awk -F '[:,]' -v run="$load,$policy" '/"slo_hit_rate":/ && hit == "" { hit = $2 } /"p50":/ && p50 == "" { p50 = $2 }
                /"p95":/ && p95 == "" { p95 = $2 } /"cost_per_request_usd":/ && usd == "" { usd = $2 }
                END { printf "%s,%.4f,%.4f,%.4f,%.4g\n", run, hit, p50, p95, usd }' "$OUT/predict.txt" >>"$OUT/predicted.csv"
        done
    done
}

calibrate() {
    # shellcheck disable=SC2086
    needs measured/solo.csv && esgsim calibrate "$OUT/measured" --grid $rehearsal --out "$OUT/profile.json" \
        --base "$root/traces/profiles/a100-mig-parvagpu.json" --points "$OUT/points.csv"
}

# at REQUESTS COMMAND…: esgsim's, on this session's profile and with so many requests.
at() {
    requests=$1
    shift
    needs profile.json && esgsim "$@" --set "profile=$OUT/profile.json" --set "requests=$requests" \
        --set "warmup_requests=$((requests / 20))"
}

# variant FILE NAME CHANGE: the heavy experiment, changed.
variant() {
    sed "s|\"\.\./\.\./|\"$root/|g; s|\"\.\./|\"$root/workloads/|g; s/proof-heavy/$2/; $3" "$heavy" >"$OUT/$1.json"
}

# In virtual time, which refuses what a replay would refuse. Finds how many requests take 130 s of a
# whole session's 190 and a file of 15 MiB: the start of the worker takes the rest. Replays of an
# older profile are kept.
rehearse() {
    variant proof-full proof-full 's/"load": 0.6/"load": 0.85/'
    variant proof-again proof-heavy 's/"seed": 1/"seed": 2/'
    [ ! -e "$OUT/replay.h5" ] || mv "$OUT/replay.h5" "$OUT/replay-$begun.h5"
    at 1000 replay "$light" "$heavy" "$OUT/proof-full.json" "$OUT/proof-again.json" --policy "$policies" --dry-run || return
    awk -v seconds="$(part 130)" '/ batches,/ { sub(/ batches,.*/, ""); sub(/.* /, ""); batches += $0 }
        /^in all:/ { all = $3; rows = batches; batches = 0 }
        END { n = int(1000 * seconds / all); most = int(1000 * 15 * 2 ^ 20 / 91 / rows)
              n = n > most ? most : n; n = n > 6000 ? 6000 : n; print n < 40 ? 40 : n }' "$OUT/rehearse.txt" >"$OUT/requests.txt"
}

replay() {
    why="a share by $by is of a process, and a replay changes it with each batch: --by green"
    case $by in mps | mig) return 1 ;; esac
    needs requests.txt && find_python && at "$(cat "$OUT/requests.txt")" replay "$light" "$heavy" \
        "$OUT/proof-full.json" "$OUT/proof-again.json" ${rehearsal:+--no-gpu} \
        --policy "$policies" --resume --out "$OUT/replay.h5" --worker \
        "LD_LIBRARY_PATH='${LD_LIBRARY_PATH:-}' '$python' '$here/worker.py' --by $by --measured '$OUT/measured' ${WORKER_OPTIONS:-}"
}

compare() {
    needs replay.h5 || return
    printf '{"name": "proof", "base": "%s", "seeds": 2, "matrix": {"setting": [%s, %s], "policy.name": ["%s"]}}\n' "$light" \
        '{"name": "proof-light"}' '{"name": "proof-heavy", "arrivals.load": 0.6}, {"name": "proof-full", "arrivals.load": 0.85}' \
        "$(echo "$policies" | sed 's/,/", "/g')" >"$OUT/sweep.json"
    at "$(cat "$OUT/requests.txt")" sweep "$OUT/sweep.json" --set platform.turnaround=false --restart --quiet --out "$OUT/simulated.h5" &&
        esgsim report "$OUT/simulated.h5" --against "$OUT/replay.h5" --out "$OUT/report.txt" &&
        esgsim report "$OUT/simulated.h5" --against "$OUT/replay.h5" --format csv --out "$OUT/report.csv" && judge
}

# Predicted, measured, and whether within the limits of the report (2 points, 5 %, 3 %): misses, too.
judge() {
    why="no $OUT/predicted.csv"
    [ -e "$OUT/predicted.csv" ] || return
    awk -F, -v OFS=, 'FILENAME ~ /report/ { rows[++count] = $0; next }
        FNR <= 2 { print; next }
        FNR == 3 { print "run,policy,figure,predicted,measured,verdict"; next }
        { name = $1 == 0.3 ? "proof-light" : $1 == 0.6 ? "proof-heavy" : "proof-full"
          split("slo_hit_rate latency_ms_p50 latency_ms_p95 cost_per_request_usd", keys, " ")
          for (i = 1; i <= 4; i++) {
              real = ""
              for (r = 1; r <= count; r++) {
                  split(rows[r], cell, ",")
                  if (cell[1] == name && cell[2] == $2 && cell[3] == 1 && cell[5] == "" && cell[6] == keys[i]) real = cell[9]
              }
              off = i == 1 ? 100 * ($(2 + i) - real) : real > 0 ? 100 * ($(2 + i) / real - 1) : 0
              limit = i == 1 ? 2 : i == 4 ? 3 : 5
              print $1, $2, keys[i], $(2 + i), real, real == "" ? "not measured" : (off > limit || off < -limit) ? "out" : "in"
          } }' "$OUT/report.csv" "$OUT/predicted.csv" >"$OUT/judged.csv"
}

read_first() {
    echo "What to read first, in $OUT: session.txt, then STEP.err of a step that failed"
    wc -l "$OUT"/measured/*.csv 2>/dev/null | sed "s|$OUT/||; s/^/  lines: /"
    [ ! -e "$OUT/profile.json" ] || echo "  calibrate.txt: the errors of profile.json"
    [ ! -e "$OUT/report.txt" ] || echo "  report.txt: $(grep -m 1 'compared' "$OUT/report.txt")"
}

# ---- A session -------------------------------------------------------------------------------

# take STEP UNTIL: the step, which ends so many of a whole session's 570 s after the begin, or earlier.
# Its mark says that it finished.
take() {
    step=$1
    ends=$((begun + $(part "$2")))
    why=
    if [ "$step" != measure ] && [ "$step" != mps ] && [ "$step" != starts ] && ! why=$(LD_LIBRARY_PATH=$libraries "$esgsim" --version 2>&1 >/dev/null); then
        say "$step: skipped, $esgsim does not run here: $why"
    elif "$step" && [ -z "$interrupted" ]; then
        [ "$step" = measure ] || : >"$OUT/$step.done"
        pack
        say "$step: finished, $(($(date +%s) - begun)) s from the begin"
        return
    else
        say "$step: FAILED: ${interrupted:-$why}"
        pack
    fi
    failures=$((failures + 1))
    [ -z "$interrupted" ] || finish
}

# A step is done once its mark is newer than that of the step before. Measuring always goes on.
all() {
    [ -n "$archive" ] || refuse "all wants --pack FILE.tar.gz"
    pack
    [ -e "$OUT/predict.done" ] || take predict 40
    take measure 150
    before=measure
    for at in mps:240 starts:290 calibrate:300 rehearse:310 replay:510 compare:565; do
        if [ -n "$(find "$OUT/${at%:*}.done" -newer "$OUT/$before.done" 2>/dev/null)" ]; then
            say "${at%:*}: was finished before"
        else
            take "${at%:*}" "${at#*:}"
        fi
        before=${at%:*}
    done
}

finish() {
    [ -z "$clocks" ] || kill "$clocks" 2>/dev/null
    read_first | tee "$OUT/read-first.txt"
    pack
    [ -z "$archive" ] || echo "everything is in $archive"
    [ -z "$interrupted" ] || exit 143
    exit $((failures > 0))
}

what=${1:-}
case $what in all | predict | measure | mps | starts | calibrate | rehearse | replay | compare) shift ;; *)
    refuse "wants a step: all, predict, measure, mps, starts, calibrate, rehearse, replay or compare; got \"$what\"" ;;
esac
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || refuse "$1 wants a value"
    case $1 in
    --pack) archive=$2 ;;
    --out) OUT=$2 ;;
    --by) by=$2 ;;
    --networks) networks=$2 ;;
    --deadline) deadline_s=$2 ;;
    *) refuse "unknown option $1; there are --pack, --out, --by, --networks and --deadline" ;;
    esac
    shift 2
done
case $by in green | mps | mig | dry) ;; *) refuse "--by $by: unknown; there are green, mps, mig and dry" ;; esac
rehearsal=$([ "$by" != dry ] || echo --rehearsal)
case $deadline_s in *[!0-9]* | '') refuse "--deadline $deadline_s: wants whole seconds" ;; esac
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd) || exit 1
case $archive in /* | '') ;; *) archive=$PWD/$archive ;; esac
leash="setpriv --pdeathsig TERM" # ends a child in order even where this script is killed
$leash true 2>/dev/null || leash=
trap 'interrupted="ended by a signal"; [ -z "$child" ] || kill "$child"' INT TERM HUP
clocks=
if command -v nvidia-smi >/dev/null; then # throughout, also while a replay runs
    $leash nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_throttle_reasons.active \
        --format=csv -lms 500 >>"$OUT/clocks.csv" 2>/dev/null &
    clocks=$!
fi
if [ "$what" = all ]; then all; else take "$what" 565; fi
finish
