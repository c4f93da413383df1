#!/bin/sh
# A whole session of traces/capture/gpu.sh without a GPU, from the measurement to the comparison: killed
# on the way, gone on with, and from where nothing may be written. And the worker that executes its batches.
#
# KILL_AT="5 10 15 20" sh tests/gpu_session.sh    also kills fresh sessions of a minute at these seconds
. tests/shell.sh

session=$folder/tree/traces/capture/gpu.sh
ESGSIM=$(pwd)/${BUILD:-build}/esgsim
POLICIES=esg,fifo
MEASURE_OPTIONS="--half --graphs --batch 1,4,16 --starts 1 --seconds 0.01"
export ESGSIM POLICIES MEASURE_OPTIONS
out=$folder/gpu
pack=$folder/pack.tar.gz

# ---- The worker ------------------------------------------------------------------------------

work() { # work LINES OPTION…: what the worker answers
    lines=$1
    shift
    printf '%b' "$lines" >"$folder/lines"
    status=0
    python3 traces/capture/worker.py "$@" <"$folder/lines" >"$folder/out" 2>"$folder/err" || status=$?
    ran="worker.py $* with $lines"
}

work 'run 1 vgg19 16 1\nrun 2 vgg19 1 126\nrun 3 resnet50 4 1\n' --by dry
expect "worker: all batches end" 0
if [ "$(cut -d ' ' -f 1,2 "$folder/out" | sort | tr '\n' ' ')" = "done 1 done 2 done 3 " ]; then
    pass "worker: each batch is answered once"
else
    explain "worker: each batch is answered once" "done 1, done 2 and done 3"
fi
if [ "$(head -n 1 "$folder/out" | cut -d ' ' -f 2)" = 2 ]; then
    pass "worker: batches on disjoint units run at one time, and are answered as they end"
else
    explain "worker: batches on disjoint units run at one time, and are answered as they end" "done 2 first"
fi
long=$(sed -n 's/^done 1 //p' "$folder/out")
work 'run 1 vgg19 16 127\n' --by dry
if echo "$long $(sed -n 's/^done 1 //p' "$folder/out")" | awk '{ exit !($1 > 2 * $2) }'; then
    pass "worker: the whole device takes less than half of a unit's time"
else
    explain "worker: the whole device takes less than half of a unit's time" "less than $long ms"
fi
work 'run 1 small 16 127\n' --by dry --network small=vgg19
cp "$folder/out" "$folder/mapped"
work 'run 1 vgg19 16 127\n' --by dry
cp "$folder/out" "$folder/plain"
same "worker: --network gives a function another network" "$folder/mapped" "$folder/plain"
for line in 'run 1 vgg19 16' 'run 1 vgg19 0 1' 'run 1 vgg19 1 128' 'run 1 vgg19 1 0' 'go 1 vgg19 1 1'; do
    work "$line\n" --by dry
    if [ "$status" -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q "$line" "$folder/err"; then
        pass "worker: ends at \"$line\""
    else
        explain "worker: ends at \"$line\"" "status 1 and one line that names it"
    fi
done
work ''
if [ "$status" -eq 2 ] && grep -q 'measured DIR is wanted' "$folder/err"; then
    pass "worker: without --by dry it wants what was measured"
else
    explain "worker: without --by dry it wants what was measured" "status 2 and --measured"
fi

# On parts of a GPU that there is not, of which the modules check streams, contexts, events and graphs.
# Units together, one after the other and alone, with graphs and without.
for graphs in true false; do
    mkdir -p "$folder/measured"
    echo "{\"units\": 7, \"half\": true, \"graphs\": $graphs}" >"$folder/measured/device.json"
    lines=
    for round in 1 2 3; do
        for unit in 0 1 2 3 4 5 6; do lines="${lines}run $round$unit large $round $((1 << unit))\n"; done
    done
    export PYTHONPATH=tests/fake_torch
    work "$lines" --measured "$folder/measured"
    if [ "$status" -eq 0 ] && [ "$(cut -d ' ' -f 2 "$folder/out" | sort -u | wc -l)" -eq 21 ]; then
        pass "worker: seven units execute at one time as PyTorch demands, graphs: $graphs"
    else
        explain "worker: seven units execute at one time as PyTorch demands, graphs: $graphs" "21 answers"
    fi
    work 'run 1 large 4 1\nrun 2 large 4 7\n' --measured "$folder/measured" # the same thread, so not at one time
    if awk '{ ms[$2] = $3 } END { exit !(ms[1] > 2 * ms[2] && ms[2] > 0) }' "$folder/out"; then
        pass "worker: on three units a batch takes less than half, graphs: $graphs"
    else
        explain "worker: on three units a batch takes less than half, graphs: $graphs" "two times"
    fi
    for line in 'run 1 large 1 5' 'run 1 raises 1 1'; do
        work "$line\n" --measured "$folder/measured"
        if [ "$status" -eq 1 ] && grep -q '^worker: batch 1: .*neighbours\|^worker: batch 1: .*cannot run' "$folder/err"; then
            pass "worker: ends at \"$line\" and says why, graphs: $graphs"
        else
            explain "worker: ends at \"$line\" and says why, graphs: $graphs" "status 1 and the reason"
        fi
    done
    unset PYTHONPATH
done

# ---- A session -------------------------------------------------------------------------------

# begin DEADLINE: a session in a group of its own, of which the number goes to $leader.
begin() {
    : >"$folder/screen"
    (cd "$folder" && exec setsid sh "$session" all --pack "$pack" --by dry --out "$out" --deadline "$1" \
        >"$folder/screen" 2>&1 </dev/null) &
    leader=$!
}

# await TEXT: until the session says it, or has ended.
await() {
    until grep -q "$1" "$out/session.txt" 2>/dev/null || ! kill -0 "$leader" 2>/dev/null; do sleep 0.05; done
}

# holds NAME: the archive opens, and has what the steps wrote that the session called finished.
holds() {
    missing=
    rm -rf "$folder/unpacked"
    mkdir "$folder/unpacked"
    tar -xzf "$pack" -C "$folder/unpacked" 2>"$folder/tar" || missing="it does not open: $(cat "$folder/tar")"
    for step in measure mps starts calibrate rehearse replay compare; do
        grep -q "^gpu.sh: $step: finished" "$out/session.txt" 2>/dev/null || continue
        case $step in
        mps) files="mps/solo.csv" ;;
        starts) files="starts/starts.csv" ;;
        measure) files="measured/device.json measured/solo.csv measured/groups.csv measured/cold.csv" ;;
        calibrate) files="profile.json points.csv" ;;
        rehearse) files="requests.txt" ;;
        replay) files="proof-full.json" ;;
        compare) files="report.txt judged.csv" ;;
        esac
        for file in $files $step.txt $step.done; do
            cmp -s "$out/$file" "$folder/unpacked/gpu/$file" || missing="$missing $step:$file"
        done
    done
    for step in replay:replay compare:simulated; do # HDF5 files are beside it
        grep -q "^gpu.sh: ${step%:*}: finished" "$out/session.txt" 2>/dev/null || continue
        cmp -s "$out/${step#*:}.h5" "${pack%.tar.gz}-${step#*:}.h5" || missing="$missing ${step#*:}.h5"
    done
    if [ -z "$missing" ]; then
        pass "$1 ($(grep -c ': finished' "$out/session.txt") steps)"
    else
        fail "$1" "missing: $missing" "$(cat "$out/session.txt" "$folder/screen" 2>/dev/null)"
    fi
}

# nothing_left NAME: no process of the session remains.
echo "$out" >"$folder/pattern"
nothing_left() {
    for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        left=$(grep -lf "$folder/pattern" /proc/[0-9]*/cmdline 2>/dev/null) || break
        sleep 0.5
    done
    if [ -z "$left" ]; then
        pass "$1"
    else
        fail "$1" "after $turn half seconds: $left"
    fi
}

# What a session needs of the tree.
mkdir -p "$folder/tree/traces/profiles"
cp -r workloads "$folder/tree"
cp -r traces/capture "$folder/tree/traces"
cp traces/profiles/a100-mig-parvagpu.json traces/profiles/h200-green.json "$folder/tree/traces/profiles"
: >"$folder/stamp"
begin 60
until [ -s "$out/measured/solo.csv" ] || ! kill -0 "$leader" 2>/dev/null; do sleep 0.05; done
kill -KILL "-$leader"
wait "$leader" 2>/dev/null
holds "killed while it measures, a session leaves an archive that opens"

# Only the script, so that its child has to notice: where the system has means for that.
begin 60
await 'measure: finished'
sleep 0.3
setpriv --pdeathsig TERM true 2>/dev/null || leader=-$leader
kill -KILL "$leader"
wait "${leader#-}" 2>/dev/null
holds "killed alone, it leaves an archive with all finished steps"
nothing_left "its children end with it"

begin 60
await 'rehearse: finished'
sleep 1
kill -TERM "$leader"
wait "$leader"
status=$?
if [ "$status" -eq 143 ] && grep -q 'replay: FAILED: ended by a signal' "$out/session.txt" &&
    grep -q '^What to read first' "$folder/screen"; then
    pass "a signal ends the step in order, and it says what there is"
else
    fail "a signal ends the step in order, and it says what there is" "status $status" "$(cat "$folder/screen")"
fi
holds "and the archive has all finished steps"
nothing_left "nor does the worker remain"

rows=$(wc -l <"$out/measured/solo.csv")
begin 60
wait "$leader"
status=$?
ran="gpu.sh all"
cp "$folder/screen" "$folder/out"
: >"$folder/err"
expect "a second call goes on to the end" 0 'rehearse: was finished before'
expect "and says what to read first" 0 '^  report.txt: 8 runs compared'
holds "and packs everything"
if grep -q ', replay$' "$out/packs.txt" && ! grep -q 'during replay' "$out/packs.txt"; then
    pass "nothing is packed while a replay runs"
else
    fail "nothing is packed while a replay runs" "$(cat "$out/packs.txt")"
fi
if [ "$(wc -l <"$out/measured/solo.csv")" -eq "$rows" ] && [ "$rows" -eq 169 ]; then
    pass "nothing is measured twice"
else
    fail "nothing is measured twice" "$rows rows, then $(wc -l <"$out/measured/solo.csv"), of 168 and a heading"
fi
if awk -F, 'FNR == 1 && !/sources/ { exit 1 } FNR > 3 { n++; if ($5 == "" && $1 != 0.85 || $6 !~ /^(in|out)$/) wrong = 1 } END { exit wrong || n != 24 }' "$out/judged.csv"; then
    pass "what was predicted before is judged, in or out"
else
    fail "what was predicted before is judged, in or out" "$(cat "$out/judged.csv")"
fi
if grep -q '^rehearsal: no GPU took part' "$folder/unpacked/gpu/report.txt"; then
    pass "the report says that nothing was measured"
else
    fail "the report says that nothing was measured" "$(head -n 5 "$folder/unpacked/gpu/report.txt")"
fi
written=$(find "$folder/tree" -newer "$folder/stamp")
if [ -z "$written" ]; then
    pass "nothing is written into the source tree"
else
    fail "nothing is written into the source tree" "$written"
fi

# ---- What is missing -------------------------------------------------------------------------

printf '#!/bin/sh\necho "esgsim: error while loading shared libraries: libhdf5.so" >&2\nexit 127\n' >"$folder/broken"
chmod +x "$folder/broken"
rm -rf "$out"
run env ESGSIM="$folder/broken" sh "$session" all --pack "$pack" --by dry --out "$out" --deadline 60
expect "where esgsim does not run, the rest is skipped and the reason given" 1 'compare: skipped, .*libhdf5'
holds "and the measurement is packed"
if [ "$(wc -l <"$folder/unpacked/gpu/measured/solo.csv")" -eq 169 ]; then
    pass "with all its rows"
else
    fail "with all its rows" "$(wc -l <"$folder/unpacked/gpu/measured/solo.csv")"
fi
run sh traces/capture/bundle.sh "$ESGSIM" "$folder/libraries"
others=$(LD_LIBRARY_PATH=$folder/libraries ldd "$ESGSIM" | grep '=> /' |
    grep -v "=> $folder/\|lib\(c\|m\|dl\|pthread\|rt\|resolv\)\.so")
if [ "$status" -eq 0 ] && [ -z "$others" ] && [ -e "$(echo "$folder"/libraries/libhdf5*)" ]; then
    pass "bundle.sh brings all libraries but the C library's"
else
    fail "bundle.sh brings all libraries but the C library's" "$others" "$(ls "$folder/libraries")"
fi
run sh "$session" all --by dry
expect_refusal "all wants an archive" 'pack FILE'
run sh "$session" everything
expect_refusal "an unknown step is refused" 'everything'
run sh "$session" measure --budget 3
expect_refusal "an unknown option is refused" 'unknown option --budget'
run sh "$session" measure --by cuda
expect_refusal "an unknown way to share is refused" 'cuda.*green, mps, mig and dry'

# ---- At any second ---------------------------------------------------------------------------

MEASURE_OPTIONS="--half --graphs --batch 1,4,16 --starts 1 --seconds 0.2"
for at in ${KILL_AT:-}; do
    rm -rf "$out" "$pack"
    begin 60
    sleep "$at"
    kill -KILL "-$leader" 2>/dev/null
    wait "$leader" 2>/dev/null
    holds "killed after $at s, it leaves an archive with all finished steps"
done
finish
