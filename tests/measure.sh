#!/bin/sh
# traces/capture/measure.py without a GPU: from measurements by a formula to a figure, and by green
# contexts and MPS on a PyTorch that checks what it is asked and takes its times from a law.
. tests/shell.sh

esgsim=$(pwd)/${BUILD:-build}/esgsim
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

# measure FOLDER ARGUMENT...: with the law's PyTorch.
measure() {
    out=$1
    shift
    run env PYTHONPATH=tests/fake_torch python3 "${script:-traces/capture/measure.py}" "$@" --half --seconds 0.02 --out "$out"
}

# holds NAME COMMAND...: the command succeeds.
holds() {
    name=$1
    shift
    if "$@" >"$folder/out" 2>&1; then pass "$name"; else fail "$name" "$*" "$(head -n 5 "$folder/out")"; fi
}

# ---- A formula -------------------------------------------------------------------------------

dry=$folder/dry
run python3 traces/capture/measure.py resnet50,vgg16,bert --by dry --out "$dry"
expect "a formula is measured" 0 '^resnet50 16 7/7$'
if [ "$(wc -l <"$dry/solo.csv")" -eq 211 ] && [ "$(wc -l <"$dry/cold.csv")" -eq 16 ] && [ ! -s "$dry/errors.txt" ]; then
    pass "every point and cold start is there"
else
    fail "every point and cold start is there" "$(wc -l "$dry"/*)"
fi
if [ "$(sed -n '2,13s/^[^,]*,\([0-9]*\),\([0-9]\).*/\1 \2/p' "$dry/solo.csv" | uniq | tr '\n' ',')" = "1 1,1 7,16 1,16 7," ]; then
    pass "the corners of the grid come first"
else
    fail "the corners of the grid come first" "$(head -n 13 "$dry/solo.csv")"
fi
cut -d, -f1 "$dry/groups.csv" | sed 1d | tr '+' '\n' | awk -F '[:/]' '$3 > 7 || $4 != 7' >"$folder/wrong"
cut -d, -f1 "$dry/groups.csv" | awk -F + 'NR > 1 { count[NF]++ } END { print count[2], count[3], count[7] }' >"$folder/counts"
if [ ! -s "$folder/wrong" ] && [ "$(cat "$folder/counts")" = "24 20 5" ]; then
    pass "pairs, triples and crowds are there"
else
    fail "pairs, triples and crowds are there" "$(cat "$folder/counts")" "$(head "$folder/wrong")"
fi

run "$esgsim" calibrate "$dry" --out "$folder/profile.json"
expect_refusal "calibrate refuses what was not measured" "formula.*--rehearsal"
run "$esgsim" calibrate "$dry" --rehearsal --out "$folder/profile.json"
expect "calibrate reads the folder" 0 'all +105 +0\.'
expect "and finds what pairs do to each other" 0 '^ *pairs \(chosen\) +0\.0'
holds "the profile says that nothing was measured" grep -q '"evidence":.*not measured' "$folder/profile.json"
holds "and so does each value of it" sh -c "! grep -q ':	\"measured\"' '$folder/profile.json'"
holds "the profile has sevenths, and the multiprocessors that they are" \
    grep -qE '^.*"unit":	7,|"parts":.*0\.121212' "$folder/profile.json"
cat >"$folder/application.json" <<'END'
{"name": "photos", "stages": [{"name": "first", "function": "bert", "output_bytes": 1000},
                              {"name": "then", "function": "resnet50", "after": ["first"]}]}
END
cat >"$folder/cluster.json" <<'END'
{"invokers": [{"count": 2, "vcpus": 16, "memory_mb": 65536, "gpus": [{"model": "mine", "sharing": "mps", "units": 7,
  "memory_mb": 81920, "vgpu_hour_usd": 0.5}]}], "price": {"vcpu_hour_usd": 0.034}}
END
cat >"$folder/sweep.json" <<'END'
{"name": "photos", "base": {"name": "photos", "cluster": "cluster.json", "applications": ["application.json"],
  "profiles": {"mine": "profile.json"}, "arrivals": {"process": "poisson", "rate_per_s": 40}, "slo": {"factor": 2},
  "policy": {"name": "esg"}, "requests": 200, "warmup_requests": 20}, "seeds": 2, "matrix": {"policy.name": ["esg", "fifo"]}}
END
run "$esgsim" sweep "$folder/sweep.json" --quiet --out "$folder/results.h5"
expect "policies run on the profile" 0
run "$esgsim" plot "$folder/results.h5" --only hit-rate --out "$folder"
expect "and give a figure" 0
run env ESGSIM_WIDTH=200 "$esgsim" report "$folder/results.h5"
expect "and a note that times of kernels leave out turnarounds" 0 'note +the latencies of the profile are times of kernels, and bert has no turnaround_ms'
holds "the figure is there" test -s "$folder/hit-rate-photos.svg"

# ---- Interrupted and gone on -------------------------------------------------------------------

cut=$folder/cut
cp -r "$dry" "$cut"
head -n 50 "$dry/solo.csv" >"$cut/solo.csv"
printf 'vgg16,2,3/7,48,1' >>"$cut/solo.csv"
run python3 traces/capture/measure.py resnet50,vgg16,bert --by dry --out "$cut"
expect "a folder that was cut off goes on" 0
if [ "$(wc -l <"$folder/out")" -eq 161 ]; then
    pass "no row is measured again"
else
    fail "no row is measured again" "$(wc -l <"$folder/out") rows measured, not 161"
fi
cp -r "$dry" "$folder/old"
sed -i 's/,[^,]*$//' "$folder/old/solo.csv"
run python3 traces/capture/measure.py resnet50,vgg16,bert --by dry --out "$folder/old"
if [ "$status" -eq 1 ] && [ "$(cat "$folder/err")" = "measure.py: ValueError: solo.csv has not the columns of this version; give another --out" ]; then
    pass "a folder with other columns does not go on"
else
    explain "a folder with other columns does not go on" "status 1 and one line"
fi
same "and ends as one that was not" "$dry/solo.csv" "$cut/solo.csv"
: >"$folder/rows"
python3 traces/capture/measure.py a,b,c --by dry --seconds 0.02 --out "$folder/killed" >"$folder/rows" &
process=$!
until [ "$(wc -l <"$folder/rows")" -ge 20 ]; do sleep 0.05; done
kill -TERM $process
wait $process
status=$?
expect "a signal ends a measurement" 0
if [ "$(wc -l <"$folder/killed/solo.csv")" -eq $(($(wc -l <"$folder/rows") + 1)) ] && [ "$(wc -l <"$folder/rows")" -lt 100 ]; then
    pass "what was measured before the signal is kept"
else
    fail "what was measured before the signal is kept" "$(wc -l "$folder/rows" "$folder/killed"/*)"
fi
run python3 traces/capture/measure.py a,b,c --by dry --seconds 0.05 --budget-s 1 --out "$folder/short"
expect "a budget ends a measurement" 0
lines=$(cat "$folder/short"/*.csv | wc -l)
if [ "$lines" -gt 20 ] && [ "$(sed 1d "$folder/short/cold.csv" | wc -l)" -gt 0 ]; then
    pass "a budget is shared among the tables"
else
    fail "a budget is shared among the tables" "$(wc -l "$folder/short"/*)"
fi

# ---- Green contexts ----------------------------------------------------------------------------

green=$folder/green
FAKE_MEMORY_MB=20 measure "$green" small,large,raises --batch 1,16 --shares 1,2,4,7 --rounds 2,2,1 --starts 1
expect "green contexts are measured; a network that fails gives status 1" 1 '^large 16 4/7$'
if [ "$(cat "$green/errors.txt")" = "raises: 1: 1/7: ValueError: this network cannot run" ]; then
    pass "the network that fails is named, and alone lost"
else
    fail "the network that fails is named, and alone lost" "$(head -n 5 "$green/errors.txt")"
fi
holds "out of memory is a row" grep -q '^large,16,7/7,132,132,oom,,,$' "$green/solo.csv"
# shellcheck disable=SC2016 # fields are of awk
holds "a batch that follows another has its turnaround" awk -F, '
    NR > 1 && $6 != "oom" && ($9 < 0.1999 + 0.1 * $2 || $9 > 0.2001 + 0.1 * $2) { wrong = 1; print } END { exit wrong || NR < 9 }' "$green/solo.csv"
holds "a seventh is 16 of 132 multiprocessors" grep -q '^small,16,1/7,16,132,' "$green/solo.csv"
measure "$green" small,large --batch 1,2,4,8 --shares 1,2,4,7 --rounds 2,0,0 --starts 1
expect "more batches go on in the same folder" 0
run "$esgsim" calibrate "$green" --json --out "$folder/green.json"
expect "calibrate reads it" 0
if grep -q '"device":.*fake, no GPU, shares by green' "$folder/green.json" && grep -q '"evidence":	"measured"' "$folder/green.json"; then
    pass "device and evidence are those of device.json"
else
    fail "device and evidence are those of device.json" "$(head -n 5 "$folder/green.json")"
fi
holds "the profile has the turnaround of what are times of kernels" sh -c \
    "grep -c '\"base_ms\":.*0.2,' '$folder/green.json' | grep -qx 2 && grep -c '\"per_item_ms\":.*0.1$' '$folder/green.json' | grep -qx 2 &&
        grep -q '\"latency_of\":.*\"kernel\"' '$folder/green.json'"
run "$esgsim" predict "$folder/green.json" --function large --batch 3 --vgpu 4
expect "the law is found again between what was measured" 0 'large, batch 3, 1 vCPU, 4 of 7 vGPU: 2\.61[0-9]* ms'
awk -F, 'NR > 1 && $5 != "oom" { count = split($5, slowdown, "+")
    for (i = 1; i <= count; i++) if (slowdown[i] < 0.999 + 0.1 * (count - 1) || slowdown[i] > 1.001 + 0.1 * (count - 1)) print }' \
    "$green/groups.csv" >"$folder/wrong"
if [ "$(grep -c + "$green/groups.csv")" -gt 10 ] && [ ! -s "$folder/wrong" ]; then
    pass "slowdowns are those of the members beside, and of no others"
else
    fail "slowdowns are those of the members beside, and of no others" "$(head -n 3 "$folder/wrong")"
fi
# shellcheck disable=SC2016 # fields are of awk
holds "the parts of a cold start add up, with weights from a file" awk -F, '
    FILENAME ~ /starts/ && FNR > 1 { for (i = 3; i <= 9; i++) { sum[$1 $2] += $i; wrong = wrong || $i < 0 } }
    FILENAME ~ /cold/ && FNR > 1 { n++; wrong = wrong || sum[$1 $2] < 0.999 * $3 || sum[$1 $2] > 1.001 * $3 }
    END { exit wrong || n < 2 }' "$green/starts.csv" "$green/cold.csv"
holds "which is kept" test -s "$green/weights-small.pt"
measure "$folder/company" small,large --batch 1,4 --shares 1,7 --rounds 0,0,0 --starts 0 --company
if [ "$(sed 1d "$folder/company/groups.csv" | wc -l)" -eq 24 ]; then
    pass "each network is measured beside one to six others"
else
    fail "each network is measured beside one to six others" "$(wc -l "$folder/company/groups.csv")"
fi
measure "$folder/hot" small,large --batch 1 --shares 1,7 --rounds 0,0,0 --starts 0 --hot
expect "the L2 cache is left as it is with --hot" 0
# shellcheck disable=SC2016 # fields are of awk
holds "where a batch takes nine tenths of the time on this GPU, and else the law's" awk -F, '
    FNR > 1 { if (FILENAME ~ /hot/) hot[$1 $2 $3] = $6; else cold[$1 $2 $3] = $6 }
    END { for (key in hot) { n++; wrong = wrong || hot[key] < 0.899 * cold[key] || hot[key] > 0.901 * cold[key] } exit wrong || n != 4 }' \
    "$green/solo.csv" "$folder/hot/solo.csv"
measure "$folder/hot" small --batch 2 --shares 1,7
expect_refusal "both in one folder are refused" "has l2 hot, not cold"
for state in hot green; do
    "$esgsim" calibrate "$folder/$state" --quiet --out "$folder/$state.json" >/dev/null
done
holds "and the profile says which it is" sh -c "grep -q 'L2 cache hot' '$folder/hot.json' && grep -q 'L2 cache cold' '$folder/green.json'"
measure "$folder/graphs" small --batch 1 --rounds 0,0,0 --starts 0 --graphs
expect "CUDA graphs are measured" 0
mkdir "$folder/bin"
cat >"$folder/bin/nvidia-smi" <<'END'
#!/bin/sh
case $* in *driver_version*) echo 999.1 ;; *) while echo 1755 MHz, active; do sleep 0.05; done ;; esac
END
chmod +x "$folder/bin/nvidia-smi"
PATH=$folder/bin:$PATH measure "$folder/mig" small --by mig --uuids "MIG-a=3,MIG-b=4" --batch 1 --rounds 1,0,0 --starts 1
expect "instances of MIG are measured by a process for each" 0 '^small:1:4/7\+small:1:3/7$'
PATH=$folder/bin:$PATH measure "$folder/mig" small --by mig --uuids "MIG-c=7" --batch 1 --starts 0
expect "and the whole GPU into the same folder" 0 '^small 1 7/7$'
if grep -q 'MHz' "$folder/mig/clocks.csv" && grep -q '"driver": "999.1"' "$folder/mig/device.json"; then
    pass "clocks and driver are those of nvidia-smi"
else
    fail "clocks and driver are those of nvidia-smi" "$(cat "$folder/mig/device.json")"
fi
measure "$folder/mps" small,large --by mps --shares 20,40,100 --batch 1,8 --rounds 1,0,0 --starts 0
expect "shares of MPS are measured by a process for each" 0 '^(small|large):[18]:[24]0/100\+'
run "$esgsim" calibrate "$folder/mps" --out "$folder/mps.json"
expect "calibrate reads shares of MPS" 0
holds "whose multiprocessors are not known" sh -c "! grep -q '\"parts\"' '$folder/mps.json'"

# The law's PyTorch notices each of these faults.
mkdir "$folder/faulty"
cp traces/capture/measure.py "$folder/faulty"
faulty() { # faulty WHAT SED-COMMAND
    sed "$2" traces/capture/lanes.py >"$folder/faulty/lanes.py"
    script=$folder/faulty/measure.py
    rm -rf "$folder/bad"
    measure "$folder/bad" small --batch 1 --shares 3 --rounds 1,0,0 --starts 0 --graphs
    script=
    if [ "$status" -eq 1 ] && cat "$folder/err" "$folder/bad/errors.txt" 2>/dev/null | grep -q misused; then
        pass "$1 is noticed"
    else
        explain "$1 is noticed" "status 1 and a line with 'misused' in errors.txt"
    fi
}
faulty "a green context that is not kept" 's/self.contexts.append/len/'
faulty "a launch outside inference mode" 's/torch.inference_mode(), //'
faulty "a stream that is not current" 's/, torch.cuda.stream(stream):/:/'
faulty "a graph whose inputs are gone" 's/_alive=(net, inputs)/_alive=None/; s/zip(inputs, sent)/()/'
faulty "a capture without a run before" 's/range(3)/range(0)/'
faulty "an event that is not waited for" 's/last.synchronize()/pass/'
faulty "a batch that is served and not waited for" 's/here.stream.synchronize()/pass/'
faulty "a copy from pageable memory" 's/.pin_memory()//'
faulty "weights that are not ready" 's/torch.cuda.synchronize()/pass/'
faulty "a split of several kinds" 's/whole, 0, 1))$/whole, 2, 1))/'

# A launch counts on an idle stream, where it takes 0.05 ms here.
sed 's/torch.cuda._sleep(SLEEP_CYCLES)/pass/' traces/capture/lanes.py >"$folder/faulty/lanes.py"
script=$folder/faulty/measure.py
measure "$folder/launches" small --batch 1 --shares 7 --rounds 0,0,0 --starts 0
script=
holds "without a sleep before the first event, the launch would count" grep -q '^small,1,7/7,132,132,1.05,' "$folder/launches/solo.csv"
holds "which it does not" grep -q '^small,1,7/7,132,132,1,' "$green/solo.csv"

# ---- Usage -------------------------------------------------------------------------------------

run python3 traces/capture/measure.py --help
expect "--help needs no PyTorch" 0 '^  --budget-s S'
mkdir "$folder/none"
echo 'raise ModuleNotFoundError("no PyTorch here")' >"$folder/none/torch.py"
run env PYTHONPATH="$folder/none" python3 traces/capture/measure.py resnet50 --out "$folder/nothing"
if [ "$status" -eq 1 ] && [ "$(cat "$folder/err")" = "measure.py: ModuleNotFoundError: no PyTorch here" ]; then
    pass "a machine without PyTorch is told so in one line"
else
    explain "a machine without PyTorch is told so in one line" "status 1 and one line"
fi

for usage in "--by:a --by opencl" "the same:a,a --by dry" "have names:a+b --by dry" "no such file:none.py:net --by dry" "above 0:a --by dry --batch 0" \
    "at most 7:a --by dry --shares 8" "go together:a --by mig" "three numbers:a --by dry --rounds 1" "half False:a --by dry --half --out $dry"; do
    # Words without blanks.
    # shellcheck disable=SC2086
    run python3 traces/capture/measure.py ${usage#*:}
    expect_refusal "measure.py refuses ${usage#*:}" "${usage%%:*}"
done
run "$esgsim" calibrate "$folder"
expect_refusal "a folder without device.json is refused" "device.json"
run "$esgsim" calibrate "$folder/results.h5"
expect_refusal "an HDF5 file is refused, and measure.py named" "measure.py"
while IFS='|' read -r what row; do
    mkdir -p "$folder/odd"
    cp "$dry"/* "$folder/odd"
    printf '%s\n' "$row" >>"$folder/odd/${what%% *}"
    run "$esgsim" calibrate "$folder/odd" --rehearsal
    expect_refusal "calibrate refuses $row in $what"
done <<'END'
solo.csv|vgg16,32,3/8,48,132,1.5,0,100
solo.csv|vgg16,32,3/7,40,132,1.5,0,100
solo.csv|vgg16,32,8/7,48,132,1.5,0,100
solo.csv|vgg16,32,3 of 7,48,132,1.5,0,100
solo.csv|vgg16,32,3/7,133,132,1.5,0,100
groups.csv|vgg16:1:3/7+bert:1:4/7,1+2,0+0,1+2,1
groups.csv|vgg16:1:3/7,1,0,1,1
groups.csv|vgg16:1+bert:1:4/7,1+2,0+0,1+2,1+1
groups.csv|vgg16:1:3/7+bert:0:4/7,1+2,0+0,1+2,1+1
cold.csv|bert,9,fast
END
finish
