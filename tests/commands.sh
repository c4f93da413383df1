#!/bin/sh
# The program from the outside: outputs, malformed input, interruption, determinism.
# Runs the sanitized build, whose reports end in status 99, which no test here accepts. What loads the
# large sweeps that ship is run by the release build, with the same code.
. tests/shell.sh

# Patterns look at whole lines; tests/terminal.sh folds them.
export ESGSIM_WIDTH=10000
esgsim=${SAN_BUILD:-build/sanitized}/esgsim
release=${BUILD:-build}/esgsim
strict=workloads/experiments/strict-light.json
here=$(pwd)

# ---- Outputs -----------------------------------------------------------------------------------

printf 'time_ms,application\n1,a\n5,a\n' >"$folder/small.csv"
cat >"$folder/typo.json" <<END
{"base": "$here/$strict", "matrix": {"slo.facto": [1], "policy.name": ["fifo"]}}
END
run "$esgsim" sweep "$folder/typo.json" --out "$folder/typo.h5"
expect_refusal "a fault that the matrix put into its base is told as the matrix's" \
    'typo\.json: with slo\.facto=1 .*did you mean "factor"'
sed -i 's/slo.facto"/slo.factor"/; s/"fifo"/"fifi"/' "$folder/typo.json"
run "$esgsim" sweep "$folder/typo.json" --out "$folder/typo.h5"
expect_refusal "and so is a policy's name" 'typo\.json: with .*policy\.name=fifi.*did you mean "fifo"'
run sh -c 'ulimit -f 8; trap "" XFSZ; exec "$1" run "$2" --set requests=50 --timeline "$3"' sh "$esgsim" \
    "$strict" "$folder/cut.json"
if [ "$status" -eq 1 ] && grep -q 'cut.json: cannot be written' "$folder/err"; then
    pass "a timeline for which there is no room names its file"
else
    explain "a timeline for which there is no room names its file" "status 1 and the file's name"
fi
rm -f "$folder/cut.json"
cp "$folder/small.csv" "$folder/small.kept"
cp "$strict" "$folder/strict.json"
cases <<'END'
refused :: run does not write over its experiment :: give two files :: run "$folder/strict.json" --out "$folder/./strict.json"
refused :: sweep does not write over its sweep :: give two files :: sweep "$folder/strict.json" --out "$folder/strict.json"
refused :: trace convert does not write over its trace :: give two files :: trace convert "$folder/small.csv" --out "$folder/small.csv"
refused :: calibrate does not write two files into one :: give two files :: calibrate "$folder/small.csv" --out "$folder/p" --points "$folder/../$(basename "$folder")/p"
refused :: calibrate does not write over its table :: give two files :: calibrate "$folder/small.csv" --points "$folder/small.csv"
refused :: calibrate says before its fits that it cannot write :: /no/such/folder.*cannot be created :: calibrate "$folder/small.csv" --out /no/such/folder/p.json
refused :: a folder in the place of an output is refused :: is a folder :: trace convert "$folder/small.csv" --out "$folder"
END
same "all of that has left the trace as it was" "$folder/small.csv" "$folder/small.kept"
same "and the experiment" "$folder/strict.json" "$strict"
# By a link: were it renamed over, the machine would be without its device.
ln -s /dev/full "$folder/full"
run "$esgsim" trace convert "$folder/small.csv" --out "$folder/full"
if [ "$status" -eq 1 ] && grep -q 'No space left' "$folder/err" && [ -c "$folder/full" ]; then
    pass "a full device is told, and stays a device"
else
    explain "a full device is told, and stays a device" "status 1, No space left, still a device"
fi
run sh -c '"$1" trace convert "$2" --out /dev/stdout | cat' sh "$esgsim" "$folder/small.csv"
expect "a pipe is written to as it is" 0 '^time_ms,application'
left=$(find "$folder" -name '*.partial-*' -o -name '.*.lock')
if [ -z "$left" ]; then
    pass "no file in the making is left behind"
else
    fail "no file in the making is left behind" "$left"
fi

# ---- Odd names and contents ------------------------------------------------------------------

odd=$(printf '%s/a \377 b' "$folder")
cp "$folder/small.csv" "$odd.csv"
run "$esgsim" trace stats "$odd.csv" --json
if [ "$status" -eq 0 ] && iconv -f UTF-8 -t UTF-8 "$folder/out" >"$folder/utf8" 2>&1; then
    pass "JSON is UTF-8 where a file's name is not"
else
    explain "JSON is UTF-8 where a file's name is not" "status 0 and UTF-8"
fi
run "$esgsim" check "$odd.csv" "$odd.json" --json
if [ "$status" -eq 2 ] && iconv -f UTF-8 -t UTF-8 "$folder/out" >"$folder/utf8" 2>&1; then
    pass "so are check's faults"
else
    explain "so are check's faults" "status 2 and UTF-8"
fi
run sh -c '"$1" trace stats /dev/stdin <"$2"' sh "$esgsim" "$folder/small.csv"
expect "a trace may come from standard input" 0 'requests  *2'
run sh -c 'cat "$2" | "$1" check /dev/stdin' sh "$esgsim" "$folder/small.csv"
expect "and so it is checked" 0 'ok \(arrival trace\)'
run sh -c 'cat "$2" | "$1" check /dev/stdin' sh "$esgsim" "$strict"
expect_refusal "JSON through a pipe is told for what it is" 'is JSON, which is checked in files only'
run "$esgsim" check -
expect_refusal "standard input is named" '/dev/stdin'
printf 'time_ms,application\n0,image-classification\n9,image-classif' >"$folder/cut.csv"
for command in check "trace stats"; do
    # shellcheck disable=SC2086 # two words
    run "$esgsim" $command "$folder/cut.csv"
    expect "$command notes a last line without an end" 0 'has no end: the file may be cut'
done
run "$esgsim" run "$strict" --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/cut.csv\"}" --set requests=2 --set warmup_requests=0
expect "and so does run" 0 'cut.csv has no end: the file may be cut'
cases <<'END'
refused :: check names --format for bare counts :: name the format \(--format.*counts-per-minute :: check traces/arrivals/azure2019_7d_permin_3.txt.gz
0 :: check takes the format of a trace :: ok \(arrival trace\) :: check --format counts-per-minute traces/arrivals/azure2019_7d_permin_3.txt.gz
refused :: check refuses an unknown format :: did you mean counts-per :: check --format counts-per-hour traces/arrivals/azure2019_7d_permin_3.txt.gz
END
seq -s ' ' 200000 >"$folder/counts.txt"
run "$esgsim" trace stats "$folder/counts.txt"
expect_refusal "a line of counts that is too long names --format" 'longer than 1 MiB; name the format.*--format'
printf 'id,at,"app"\n1,1700000001.5,image-classification\n2,1700000000,image-classification\n' >"$folder/foreign.csv"
cases <<'END'
refused :: a CSV of unknown layout names --columns :: trace convert .* --columns :: trace stats "$folder/foreign.csv"
refused :: a trace out of order is refused with its line :: foreign.csv:3: time goes back by 1.5 s;.*--sort :: trace convert "$folder/foreign.csv" --columns time=at,application=app --unit s --out "$folder/own.csv"
0 :: trace convert takes columns by name ::  :: trace convert "$folder/foreign.csv" --columns time=at,application=app --unit s --sort --out "$folder/own.csv"
END
if grep -q 'begins at 1700000000 s, which is 0 in' "$folder/err" && grep -q '^1500.000000,image' "$folder/own.csv"; then
    pass "and says that the first request is at 0"
else
    fail "and says that the first request is at 0" "$(cat "$folder/err" "$folder/own.csv")"
fi
# Three hours, 1 + 4 x 2 + 2 x 0.5 GPU-hours.
printf 'job,gpu,start,took\n1,1,10:00,3600\n' >"$folder/clock.csv"
printf 'job;gpu;at;took;kind\n3;2;2024-01-01 03:00:00;1800;\n2;0;2024-01-01 02:00:00;60;x\n1;4.0;2024-01-01 00:00:00;7200;"a,b"\n4;1;2024-01-01 03:00:00;3600;\n' >"$folder/jobs.csv"
printf 'arrival_s,gpus,model,duration_s\n0,4,"a,b",7200\n10800,2,,1800\n10800,1,,3600\n' >"$folder/trainings.csv"
cases <<'END'
refused :: columns of trainings need a duration :: lacks duration=COLUMN, end= or iterations= :: trace stats "$folder/jobs.csv" --as trainings --columns arrival=at,gpus=gpu --unit date
refused :: and a date where dates are :: clock.csv:2: start '10:00' is not of the form 2023 :: trace stats "$folder/clock.csv" --as trainings --columns arrival=start,gpus=gpu,duration=took --unit date
refused :: and a column that there is :: jobs.csv:1: has no column "kinds" :: trace stats "$folder/jobs.csv" --as trainings --columns arrival=at,gpus=gpu,duration=took,model=kinds --unit date
refused :: iterations need models :: training 0 has iterations without a time; name a file of models :: trace stats traces/trainings/synergy_dynamic_100job.csv.gz
refused :: instances with shares are not converted :: ask for a part of a GPU :: trace convert traces/trainings/instances_100.txt.gz --out "$folder/own.csv"
refused :: a trace of requests has no GPUs :: --duration-unit belong to trainings :: trace stats "$folder/small.csv" --gpus 4
0 :: trainings are converted from any table ::  :: trace convert "$folder/jobs.csv" --as trainings --columns arrival=at,gpus=gpu,duration=took,model=kind --unit date --out "$folder/own.csv"
END
same "and their columns are those of the layout, in order of time" "$folder/own.csv" "$folder/trainings.csv"
run "$esgsim" trace stats "$folder/own.csv" --gpus 8 --json
expect "the load of trainings is GPU-hours per hour" 0 '"span_h":3,.*"gpu_hours":10,"gpu_hours_per_h":2.22222.*"load":0.277777.*"p50":1,"p90":1.8,.*"gpus":4,"trainings":1,.*"share_of_gpu_hours":0.8'
run "$esgsim" run "$strict" --set warmup_requests=0 --set requests=2 \
    --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/small.csv\"}"
expect "run says what its time 0 is" 0 'note: trace small.csv begins at 0.001 s, which is time 0'
cp workloads/clusters/esg-16.json "$folder/cluster"
run "$esgsim" check "$folder/cluster"
expect "JSON is told by its beginning, too" 0 'ok \(cluster\)'
head -c 3000 "$esgsim" | tr -d '\000\n' >"$folder/bytes"
run "$esgsim" trace stats "$folder/bytes"
expect_refusal "bytes that are no text are told, not printed" 'not text'
if LC_ALL=C grep -q '[^ -~]' "$folder/err"; then
    fail "and standard error stays text" "$(cat -v "$folder/err")"
else
    pass "and standard error stays text"
fi

run sh -c '"$1" list policies >/dev/full' sh "$esgsim"
expect "a full disk under standard output is a failure, not a success" 1

# ---- Malformed input -------------------------------------------------------------------------

# Sound inputs are among them, to begin changes with. The first fault is told last.
sound='/whole\.json$|/samples/(alone|groups|named-shares|pairs|parvagpu|whole-gpu)\.csv$'
find tests/corpus -type f ! -name '*.md' | sort >"$folder/corpus"
# shellcheck disable=SC2046
run "$esgsim" check $(cat "$folder/corpus")
grep -E "$sound" "$folder/corpus" >"$folder/sound"
sed 's/: ok (.*//' "$folder/out" >"$folder/accepted"
same "check accepts the sound files of the corpus and no other" "$folder/sound" "$folder/accepted"
grep -vE "$sound" "$folder/corpus" >"$folder/malformed"
sed 's/^esgsim: \(tests\/corpus\/[^:]*\).*/\1/' "$folder/err" | sort >"$folder/refused"
same "and refuses each of the others in one line that begins with its name" "$folder/malformed" "$folder/refused"
malformed=$(wc -l <"$folder/malformed")
if [ "$status" -eq 2 ] && [ "$malformed" -ge 300 ]; then
    pass "the corpus holds at least 300 malformed inputs"
else
    explain "the corpus holds at least 300 malformed inputs" "status 2, 300 files: $malformed"
fi

# ---- Determinism -----------------------------------------------------------------------------

small="--set requests=300 --set warmup_requests=30 --set record=requests"

for name in one two; do
    # shellcheck disable=SC2086
    run "$esgsim" run "$strict" $small --seed 7 --out "$folder/$name.h5" --quiet
    expect "run writes $name.h5" 0
    tables "$folder/$name.h5" "$folder/$name.tables"
done
same "the same run twice writes the same table bytes" "$folder/one.tables" "$folder/two.tables"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --seed 8 --out "$folder/three.h5" --quiet
tables "$folder/three.h5" "$folder/three.tables"
if cmp -s "$folder/one.tables" "$folder/three.tables"; then
    fail "another seed writes other table bytes" "seeds 7 and 8 gave the same tables"
else
    pass "another seed writes other table bytes"
fi
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --seed 7 --policy fifo --json
cp "$folder/out" "$folder/fifo.json"
expect "run --json prints an object with the documented keys" 0 '"slo_hit_rate"'

drops="--set policy.name=edf --set platform.admission=lost --set requests=200 --quiet"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $drops --set arrivals.load=2
expect "run names the base of percentiles where requests were dropped" 0 \
    '^edf: [0-9.]+ % of the requests were dropped; latency of the [0-9.]+ % served: mean [0-9.]+, p50 [0-9.]+, p99 [0-9.]+ ms$'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $drops --set 'slo={"ms":1}' --details --out "$folder/dropped.h5"
expect "and with --details" 0 '^edf: all requests were dropped$'
run "$esgsim" report "$folder/dropped.h5"
expect "and so does report" 0 '^edf: all requests were dropped$'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $drops --set 'slo={"ms":1}' --json
expect "without a finished request there is no percentile" 0 '"p99":.null'

cat >"$folder/sweep.json" <<EOF
{"base": "$here/$strict",
 "matrix": {"policy.name": ["fifo", "min-config"],
            "setting": [{"name": "short", "requests": 200, "warmup_requests": 20}]},
 "seeds": 2}
EOF
for jobs in 1 2; do
    run "$esgsim" sweep "$folder/sweep.json" --jobs $jobs --out "$folder/jobs$jobs.h5" --quiet
    expect "sweep --jobs $jobs succeeds" 0
    tables "$folder/jobs$jobs.h5" "$folder/jobs$jobs.tables"
done
same "a sweep on one job and on two writes the same table bytes" \
    "$folder/jobs1.tables" "$folder/jobs2.tables"
run "$esgsim" report "$folder/jobs1.h5" --at-least 95
expect_refusal "report refuses a share in per cent" '--at-least 95: slo_hit_rate is a share of 0..1; 0.95 for 95 %'
printf '{"title":"t","source":"s","figures":[{"metric":"slo_hit_rate","low":61,"evidence":"published"}]}' \
    >"$folder/percent.json"
run "$esgsim" report "$folder/jobs1.h5" --paper "$folder/percent.json"
expect_refusal "and a published one" 'figures.0.: slo_hit_rate is a share of 0..1; 0.61 for 61 %'
for format in text csv json; do
    run "$esgsim" report "$folder/jobs1.h5" --format $format
    cp "$folder/out" "$folder/report1"
    expect "report --format $format succeeds" 0 'fifo'
    run "$esgsim" report "$folder/jobs2.h5" --format $format
    sed 's/jobs2\.h5/jobs1.h5/' "$folder/out" >"$folder/report2"
    same "reports of both sweeps as $format are equal" "$folder/report1" "$folder/report2"
done

capacity="--over slo.factor --at-least 0.9 --policies fifo,esg --seeds 3 --tolerance 0.2 \
--set requests=100 --set warmup_requests=10"
for jobs in 1 3; do
    for form in text json; do
        # shellcheck disable=SC2086,SC2046
        ESGSIM_WIDTH=10000 run "$esgsim" capacity "$strict" $capacity --jobs $jobs --quiet \
            $([ $form = text ] || echo --json)
        cp "$folder/out" "$folder/capacity$jobs.$form"
        expect "capacity --jobs $jobs succeeds, as $form" 0 'fifo'
    done
done
same "capacity on one job and on three prints the same" \
    "$folder/capacity1.text" "$folder/capacity3.text"
same "and the same JSON" "$folder/capacity1.json" "$folder/capacity3.json"
run grep -E '^fifo: least slo\.factor [0-9.]+; surely holds at [0-9.]+, surely fails at [0-9.]+; [0-9]+ seeds: within the tolerance$' \
    "$folder/capacity1.text"
expect "it names the crossing, the ends of the interval and what it rests on" 0
run grep -cE '"(interval|crossing|seeds|within_tolerance)":' "$folder/capacity1.json"
expect "and so does the JSON" 0
ESGSIM_WIDTH=10000 run "$esgsim" capacity "$strict" --over slo.factor --at-least 0.9 --seeds 3 --max-seeds 4 --policies fifo \
    --tolerance 0.0001 --set requests=50 --set warmup_requests=5 --quiet
expect "capacity says that the budget of seeds is spent" 0 '4 seeds: the budget is spent, and the interval is [0-9.]* % wide, not 0.01 %'
ESGSIM_WIDTH=10000 run "$esgsim" capacity "$strict" --over slo.factor --at-most 0.5 --metric slo_hit_rate --least \
    --low 4 --high 8 --seeds 2 --set requests=50 --quiet
expect "capacity says that no value holds" 0 'esg: the mean holds at no slo\.factor visited, from 4 to 8; surely holds at none'
# shellcheck disable=SC2086
run timeout -s INT 1 "$esgsim" capacity "$strict" --over slo.factor --at-least 0.9 \
    --set requests=5000000 --seeds 2 --quiet
if [ "$status" -eq 124 ] && [ "$(cat "$folder/err")" = "esgsim: interrupted" ] && [ ! -s "$folder/out" ]; then
    pass "Ctrl-C ends capacity with one line"
else
    explain "Ctrl-C ends capacity with one line" "status 124 of timeout, 'esgsim: interrupted'"
fi
# ---- Claims ----------------------------------------------------------------------------------

claim() { # claim POLICY AGAINST LOW: one claim on the sweep above
    cat >"$folder/claims.json" <<EOF
{"title": "made up", "claims": [
  {"system": "Made Up", "group": "size", "claim": "c", "published": "2x", "evidence": "assumed", "source": "this test",
   "sweep": "$folder/sweep.json", "metric": "cost_per_request_usd", "of": {"policy": "$1"}, "against": {"policy": "$2"},
   "mechanism": "all", "differs": "policy.name", "low": $3}]}
EOF
}
claim fifo min-config 1
run "$esgsim" claims --file "$folder/claims.json" --dry-run
expect "claims --dry-run lists the sweeps and their runs" 0 '4 runs of 1 sweeps for 1 claims'
run env TMPDIR="$folder" "$esgsim" claims 'made up' --file "$folder/claims.json" --quiet
expect "claims prints a verdict for each" 0 'size: [01] of 1 shown, [01] in sign only, [01] not shown, [01] contradicted'
if [ -z "$(find "$folder" -name 'esgsim-claims-*')" ]; then
    pass "and leaves no results behind"
else
    fail "and leaves no results behind" "$(ls "$folder")"
fi
run "$esgsim" claims --file "$folder/claims.json" --quiet --json --jobs 1 --out "$folder/kept"
expect "claims --json --out succeeds" 0 '"verdict"'
if grep -q '"Made Up: c"\|>Made Up: c<' "$folder/kept/published-size.svg"; then
    pass "and draws each claim"
else
    fail "and draws each claim" "$(ls "$folder/kept")"
fi
tables "$folder/kept/sweep.h5" "$folder/kept.tables"
same "and keeps what sweep writes" "$folder/jobs1.tables" "$folder/kept.tables"
run "$esgsim" claims nobody --file "$folder/claims.json"
expect_refusal "claims refuses a system without a claim" "no claim of a system 'nobody'"
claim fifo edf 1
run "$esgsim" claims --file "$folder/claims.json"
expect_refusal "claims refuses a policy that its sweep does not run" 'claims\.json: claims\[0\]\.against: .*no runs of "edf"'
claim fifo min-config '"much"'
cases <<'END'
refused :: claims refuses a bound that is no number :: claims\.json: claims\[0\]\.low :: claims --file "$folder/claims.json"
0 :: check knows a file of claims :: ok \(claims\) :: check results/paper/known-for.json
END
run "$release" claims --dry-run
expect "every claim that ships has its runs" 0 'runs of [0-9]+ sweeps for [0-9]+ claims'

# ---- Figures and the page --------------------------------------------------------------------

for jobs in 1 2; do
    run "$esgsim" plot "$folder/jobs$jobs.h5" --out "$folder/figures$jobs"
    cp "$folder/out" "$folder/figures$jobs.list"
    expect "plot of the sweep on $jobs jobs succeeds and lists its pictures" 0 'hit-rate-short\.svg'
done
run diff -r "$folder/figures1" "$folder/figures2"
expect "equal results have figures of equal bytes" 0
if [ "$(wc -l <"$folder/figures1.list")" -eq "$(find "$folder/figures1" -name '*.csv' | wc -l)" ]; then
    pass "each picture has its CSV beside it"
else
    fail "each picture has its CSV beside it" "$(ls "$folder/figures1")"
fi
run "$esgsim" plot "$folder/jobs1.h5" --out "$folder/chosen" --policies nobody
expect_refusal "plot refuses a policy that the file lacks and names those it has" \
    "has no run of 'nobody'; it has .*fifo"
run env LC_ALL=C.UTF-8 gnuplot -d -e "data='$folder/figures1/cost-short.csv'; out='$folder/alone.svg'" plots/cost.gp
expect "a script draws its CSV by itself" 0
if [ ! -s "$folder/err" ] && grep -q '</svg>' "$folder/alone.svg"; then
    pass "and says nothing"
else
    explain "and says nothing" "nothing on standard error and a picture"
fi
run env PATH=/nowhere "$esgsim" plot "$folder/jobs1.h5" --out "$folder/none"
if [ "$status" -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q gnuplot "$folder/err"; then
    pass "without gnuplot plot ends in status 1 with one line"
else
    explain "without gnuplot plot ends in status 1 with one line" "status 1, one line"
fi
run "$esgsim" report "$folder/jobs1.h5" --format html --paper results/paper/esg-hpdc24.json \
    --out "$folder/page.html"
expect "report --format html --out succeeds" 0
size=$(wc -c <"$folder/page.html")
if [ "$(head -n 1 "$folder/page.html")" = '<!DOCTYPE html>' ] &&
    [ "$(tail -n 1 "$folder/page.html")" = '</html>' ] && [ "$size" -lt 5000000 ] &&
    grep -q '<figure data-kind="hit-rate"' "$folder/page.html"; then
    pass "the page is whole, has figures and is smaller than 5 MB"
else
    fail "the page is whole, has figures and is smaller than 5 MB" "$size bytes"
fi
run "$esgsim" report "$folder/jobs1.h5" --format html --paper results/paper/esg-hpdc24.json
cp "$folder/out" "$folder/page2.html"
same "the page on standard output is the page in the file" "$folder/page2.html" "$folder/page.html"
run env PATH=/nowhere "$esgsim" report "$folder/jobs1.h5" --format html --paper results/paper/esg-hpdc24.json
cp "$folder/out" "$folder/page2.html"
same "the page needs no gnuplot" "$folder/page2.html" "$folder/page.html"
run "$esgsim" run "$strict" --set requests=50 --set warmup_requests=0 --quiet
if [ "$status" -eq 0 ] && [ ! -s "$folder/err" ]; then
    pass "--quiet keeps standard error empty"
else
    explain "--quiet keeps standard error empty" "status 0 and nothing on standard error"
fi

# ---- Timeline and explanation ----------------------------------------------------------------

whole="--set requests=60 --set warmup_requests=0 --set record=all --quiet"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $whole --out "$folder/whole.h5" --timeline "$folder/trace.json"
expect "run --timeline writes beside --out and says where" 0 "timeline in $folder/trace.json"
cases <<'END'
0 :: explain tells a request's life :: Its cost :: explain "$folder/whole.h5" --request 7
0 :: explain --json prints an object with its stages :: "stages": :: explain "$folder/whole.h5" --request 7 --seed 1 --json
0 :: explain lists the latest requests :: late_ms :: explain "$folder/whole.h5" --worst 3 --json
refused :: explain wants --worst for an application :: is for --worst :: explain "$folder/whole.h5" --request 7 --application a
refused :: explain refuses a request that is not there :: no request 60 :: explain "$folder/whole.h5" --request 60
refused :: explain refuses a seed that is not there :: seed :: explain "$folder/whole.h5" --request 7 --seed 2
refused :: explain asks which run, where a file holds several :: --run :: explain "$folder/jobs1.h5" --request 7
refused :: explain says what a file lacks and how to record it :: set record=all :: explain "$folder/one.h5" --request 7
refused :: a timeline that cannot be written is refused by name :: /no/such/folder :: run "$strict" --timeline /no/such/folder/t.json
refused :: one file for results and timeline is refused :: two files :: run "$strict" --out "$folder/x" --timeline "$folder/x"
END

# ---- Elsewhere -------------------------------------------------------------------------------

# An installed tree that was moved: data beside the program, neither in the working folder nor in
# the folder compiled in.
mkdir -p "$folder/moved/bin" "$folder/moved/share/esgsim"
cp "$esgsim" "$folder/moved/bin/esgsim"
ln -s "$here/workloads" "$here/traces" "$here/plots" "$folder/moved/share/esgsim/"
moved() {
    run sh -c 'cd / && exec "$@"' - "$folder/moved/bin/esgsim" "$@"
}
moved run "$strict" --set requests=50 --set warmup_requests=0
expect "a moved program runs an experiment of the data beside it" 0 '^esg '
moved plot traces/profiles/v100-mps-igniter.json --out "$folder/moved"
expect "a moved program draws by the scripts beside it" 0 'profile-v100-mps-igniter\.svg'
moved list applications
expect "a moved program lists the applications of the data beside it" 0 'image-classification'
moved trace stats traces/arrivals/twitter_2021_day1_per_second.csv.gz
expect "a moved program reads a trace of the data beside it" 0 'requests'
rm -r "$folder/moved/share"
moved run missing.json
expect_refusal "a missing experiment is refused with the folders looked in" 'data folder.*ESGSIM_DATA'

# ---- Interruption ----------------------------------------------------------------------------

# A run too long to finish is stopped after a while: whenever that is, the file of the run before it
# must be as it was.
cp "$folder/one.h5" "$folder/kept.h5"
for signal in KILL TERM INT; do
    run timeout --preserve-status -s $signal 2 "$esgsim" run "$strict" --set requests=200000000 \
        --set record=requests --out "$folder/kept.h5"
    if [ "$status" -eq 0 ] || [ "$status" -eq 99 ] || [ "$status" -eq 2 ]; then
        explain "a run stopped by SIG$signal ends as such" "a status other than 0, 2 and 99"
    else
        pass "a run stopped by SIG$signal ends as such"
    fi
    same "a run stopped by SIG$signal leaves the results written before intact" \
        "$folder/one.h5" "$folder/kept.h5"
done

# ---- Calibration -----------------------------------------------------------------------------

{
    echo 'model,batch,mps_pct,latency_ms'
    for batch in 1 2 4 8; do
        for share in 20 40 60 80 100; do
            echo "net,$batch,$share,$((4 + batch * 100 / share))"
        done
    done
} >"$folder/samples.csv"
run "$esgsim" calibrate "$folder/samples.csv" --out "$folder/profile.json" --points "$folder/points.csv"
expect "calibrate prints errors beside the naive fit's" 0 'naive'
run "$esgsim" check "$folder/profile.json"
expect "check accepts the profile that calibrate wrote" 0 'ok \(profile\)'
cp "$folder/profile.json" "$folder/first.json"
run "$esgsim" calibrate "$folder/samples.csv" --out "$folder/profile.json" --json
expect "calibrate --json prints one object" 0 '"naive_inner"'
if cmp -s "$folder/profile.json" "$folder/first.json" && [ "$(wc -l <"$folder/points.csv")" -eq 21 ]; then
    pass "the same samples give the same profile, and every point a line"
else
    fail "the same samples give the same profile, and every point a line" "files differ"
fi
{ cat "$folder/samples.csv"; echo 'lone,1,100,5'; } >"$folder/lone.csv"
run "$esgsim" calibrate "$folder/lone.csv" --out "$folder/lone.json"
expect "calibrate names a function of one point and leaves it out" 0 'lone left out'
if grep -q '"net":' "$folder/lone.json" && ! grep -q '"lone":' "$folder/lone.json"; then
    pass "and the profile has the others"
else
    fail "and the profile has the others" "$(grep -n '"model"' "$folder/lone.json")"
fi
run "$esgsim" calibrate "$folder/samples.csv" --unit 3 --out "$folder/none.json" --extend-batch 0
expect_refusal "a batch of 0 to extend to is refused" 'extend-batch'
{ echo 'model,batch,mps_pct,latency_ms'; grep '^net,[0-9]*,[2-6]0,' "$folder/samples.csv"; } >"$folder/part.csv"
run "$esgsim" calibrate "$folder/part.csv" --out "$folder/part.json"
expect "calibrate notes that nothing was measured on the whole GPU" 0 'no point is of the whole GPU'
printf 'model,batch,sms,latency_ms\nnet,1,20,5\nnet,1,40,3\n' >"$folder/sms.csv"
cases <<'END'
refused :: multiprocessors without the GPU's number are refused :: sms.csv.*sm_count.*--sms N :: calibrate "$folder/sms.csv"
0 :: --sms gives it :: net :: calibrate "$folder/sms.csv" --sms 40 --out "$folder/sms.json"
0 :: and 40 of 40 is the whole GPU :: 40 of 40 vGPU: 3 ms, measured :: predict "$folder/sms.json" --function net --batch 1 --vgpu 40
refused :: a file that is no table is refused :: README\.md :: calibrate README.md
END

{ sed 's/$/,50/;1s/50$/quota_pct/' "$folder/samples.csv"; echo 'net,1,20,900,10'; } >"$folder/quota.csv"
cases <<'END'
refused :: a column that is not known is refused with both remedies :: quota_pct.*--where .quota_pct=VALUE.*--ignore .quota_pct :: calibrate "$folder/quota.csv"
0 :: --where selects its rows :: 1 rows left out, not selected by --where :: calibrate "$folder/quota.csv" --where quota_pct=50 --out "$folder/quota.json" --grid
refused :: a column that no table has is refused :: --ignore quota_pct: no table has that column :: calibrate "$folder/samples.csv" --ignore quota_pct
refused :: --where without a value is refused :: COLUMN=VALUE :: calibrate "$folder/samples.csv" --where quota_pct
0 :: predict gives what was measured :: net, batch 2, 1 vCPU, 40 of 100 vGPU: 9 ms, measured :: predict "$folder/quota.json" --function net --batch 2 --vgpu 40
0 :: but not of a profile that was not measured :: 319 ms, as stated,.*evidence: reconstructed :: predict traces/profiles/esg-reconstructed.json --function deblur --batch 1 --vgpu 1
0 :: whose evidence JSON has :: "evidence":.*reconstructed :: predict traces/profiles/esg-reconstructed.json --function deblur --batch 1 --vgpu 1 --json
END
run grep '"evidence"' "$folder/quota.json"
expect "calibrate counts in the profile's evidence what is predicted" 0 '"measured; 380 of 400 cells predicted"'
cases <<'END'
0 :: and what is between, as JSON :: "interpolated" :: predict "$folder/quota.json" --function net --batch 3 --vgpu 47 --json
0 :: and what is beyond :: extrapolated, expected error at most [0-9.e+]* % for half :: predict "$folder/quota.json" --function net --batch 8 --vgpu 3
refused :: predict answers a misspelt function with the nearest :: did you mean 'net' :: predict "$folder/quota.json" --function nett --batch 8 --vgpu 3
refused :: predict says the range outside of which it has no latency :: --batch from 1 to 8, not 9 :: predict "$folder/quota.json" --function net --batch 9 --vgpu 30
END

# ---- What is assumed, and which policy is which ----------------------------------------------

# Policies built here; one of them takes the name of a policy that ships.
plugin() { # plugin SOURCE NAME OUTPUT
    sed "s/\\.name = \"[a-z-]*\"/.name = \"$2\"/" "$1" >"$folder/plugin.c"
    ${CC:-cc} -shared -fPIC -I. -o "$3" "$folder/plugin.c"
}
plugin tests/plugins/shortest_queue.c fifo "$folder/twin.so"
plugin tests/plugins/drop_all.c drop-all "$folder/drop.so"
cp "$folder/twin.so" "$folder/copy.so"
small="--set requests=40 --set warmup_requests=0"

# sweep_of REST: the sweep file $folder/modules.json and its results.
sweep_of() {
    echo "{\"base\": \"$here/$strict\", \"seeds\": 2, $1}" >"$folder/modules.json"
    # shellcheck disable=SC2086
    run "$esgsim" sweep "$folder/modules.json" $small --jobs 1 --quiet --out "$folder/modules.h5"
}
sweep_of "\"matrix\": {\"policy.name\": [\"fifo\", \"$folder/twin.so\"]}"
expect_refusal "two policies of one name are refused, with the label that would tell them apart" \
    'twin.so" both call themselves "fifo"; .*"labels": .*twin.so": "fifo, other"'
sweep_of "\"matrix\": {\"policy.name\": [\"$folder/twin.so\", \"$folder/copy.so\"]}"
expect_refusal "and so is a copy of a module" 'copy.so" both call themselves "fifo"'
sweep_of "\"labels\": {\"$folder/twin.so\": \"edf\"}, \"matrix\": {\"policy.name\": [\"edf\", \"$folder/twin.so\"]}"
expect_refusal "a label that is another policy's name is refused" 'both displayed as "edf"'
sweep_of '"labels": {"fifi": "x"}, "matrix": {"policy.name": ["fifo"]}'
expect_refusal "a label of no policy and no setting is refused" 'labels.fifi: is no policy'
sweep_of "\"labels\": {\"$folder/twin.so\": \"shortest\"}, \"matrix\": {\"policy.name\": [\"fifo\", \"$folder/twin.so\"]}"
expect "labelled apart, they run" 0 '4 of 4 runs'
run "$esgsim" report "$folder/modules.h5" --format csv
if [ "$(grep -cE ',fifo,sha256=[0-9a-f]{8},,requests,1,,2,.*,shortest' "$folder/out")" -eq 1 ] &&
    [ "$(grep -c ',fifo,,,requests,1,,2,' "$folder/out")" -eq 1 ]; then
    pass "and are reported apart, by their label"
else
    explain "and are reported apart, by their label" "two lines of requests, one of them labelled"
fi
run h5dump -d /summary "$folder/modules.h5"
expect "the module's digest is in the results" 0 "$(sha256sum "$folder/twin.so" | cut -c1-64)"

# shellcheck disable=SC2086
cases <<'END'
0 :: where every request was dropped, latencies are null :: "p95":.null :: run "$strict" $small --policy "$folder/drop.so" --json --out "$folder/drop.h5"
0 :: and empty in CSV :: ,latency_ms_p95,ms,,1,,,, :: report "$folder/drop.h5" --format csv
0 :: whose lines have the whole evidence grade :: "reconstructed: .* measured on donors, vCPU law assumed" :: report "$folder/drop.h5" --format csv
0 :: and no obstacle to a page ::  :: report "$folder/drop.h5" --format html --out "$folder/drop.html"
0 :: and a dash in text :: drop-all +40 +100.0 +0.0 +- +- +- +- :: report "$folder/drop.h5"
END

sed '/^\t"interference":/,/^\t}/c\\t"interference": {"model": "none"}' traces/profiles/esg-reconstructed.json >"$folder/none.json"
sed '/"interference"/d' "$folder/none.json" | sed ':a;N;$!ba;s/,\n}/\n}/' >"$folder/silent.json"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $small --set "profile=$folder/silent.json" --out "$folder/silent.h5"
expect "an MPS cluster without an interference model is warned of" 0 '^warning: the profile has no interference model'
if grep -q '^esgsim: warning: the profile has no interference model' "$folder/err"; then
    pass "on standard error, too"
else
    explain "on standard error, too" "esgsim: warning: ..."
fi
cases <<'END'
0 :: and the report says so :: WARNING +the profile has no interference model :: report "$folder/silent.h5"
0 :: and the page :: <dt>Warning</dt><dd>the profile has no interference model :: report "$folder/silent.h5" --format html
0 :: a profile that states that it has none is noted and not warned of :: "warnings":.\[\], :: run "$strict" --set requests=1000 --set "profile=$folder/none.json" --json
0 :: and is a valid profile :: ok \(profile\) :: check "$folder/none.json"
END

{
    echo time_ms,application
    for i in 1 2 3 4 5 6 7 8 9 10; do
        echo "$((i * 100)),image-classification"
        echo "$((i * 100 + 50)),image-clasification"
    done
} >"$folder/typo.csv"
run "$esgsim" run "$strict" --set warmup_requests=0 --json \
    --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/typo.csv\"}"
expect "labels of a trace that name no application are counted" 0 \
    '1 label of trace typo.csv names no application: 50 % of the requests \(10 of 20\)'
expect "and times that are the same for every seed are noted" 0 'every seed replays the arrival times'

# says NAME PATTERN: standard error of the last command has the pattern; silent: it is empty.
says() {
    if [ "$status" -eq 0 ] && grep -qE -- "$2" "$folder/err"; then pass "$1"; else explain "$1" "/$2/ on standard error"; fi
}
silent() {
    if [ "$status" -eq 0 ] && [ ! -s "$folder/err" ]; then pass "$1"; else explain "$1" "nothing on standard error"; fi
}
run "$esgsim" run "$strict" --set requests=50
says "run says that requests alone leave the warm-up" 'remains 1000 requests.*--set warmup_requests=5 '
run "$esgsim" run "$strict" --set requests=50 --quiet
silent "and is quiet where it is told to be"
run "$esgsim" run "$strict" --set requests=1000 --set warmup_requests=20
silent "and where the warm-up is given, too"
run "$esgsim" run "$strict" --set requests=30 --set warmup_requests=1 --set platform.initial=cold
says "run says that most jobs started cold, and which key changes it" \
    '[0-9.]+ % of the jobs waited for a container.*platform\.initial.*per_invoker'
printf '{"base": "%s", "matrix": {"policy.name": ["fifo"]}, "seeds": 1}' "$here/$strict" >"$folder/warm.json"
run "$esgsim" sweep "$folder/warm.json" --set requests=50 --out "$folder/warm.h5"
says "sweep says that requests alone leave the warm-up" 'remains 1000 requests'

printf '{"figures": [{"metric": "slo_hit_rate", "evidence": "recalled", "policy": "es\\u001bg", "low": 1}], "title": "t", "source": "s"}' \
    >"$folder/odd.json"
run "$esgsim" check "$folder/odd.json"
expect_refusal "check refuses a control character in reference figures" 'figures\[0\].policy: "es\\x1bg" holds a control'
run "$esgsim" report "$folder/drop.h5" --paper "$folder/odd.json"
expect_refusal "and so does report" 'figures\[0\].policy: "es\\x1bg" holds a control'
printf 'model,batch,mps_pct,latency_ms\nne\033[31mt,1,50,9\n' >"$folder/odd.csv"
run "$esgsim" calibrate "$folder/odd.csv" --out "$folder/odd-profile.json"
expect_refusal "calibrate refuses one in a function's name" "'ne.x1b.31mt' holds control characters"
printf 'time_ms,application\n1,a\033[31m\n' >"$folder/odd.csv"
run "$esgsim" check "$folder/odd.csv"
expect_refusal "check refuses one in a label of a trace" "'a.x1b.31m' holds control characters"
if grep -q "$(printf '\033')" "$folder/err"; then
    fail "no escape character reaches the terminal" "$(od -c "$folder/err" | head -n 4)"
else
    pass "no escape character reaches the terminal"
fi

# ---- Actions ---------------------------------------------------------------------------------

overload="$strict --set requests=200 --set arrivals.load=1.2"
# shellcheck disable=SC2086
run "$esgsim" run $overload --policy fifo --record-actions "$folder/actions.csv" --quiet
expect "what a policy does is recorded" 0
# shellcheck disable=SC2086
run "$esgsim" run $overload --set record=all --replay-actions "$folder/actions.csv" --out "$folder/replayed.h5" --quiet
expect "and done again without it, with every table" 0
run "$esgsim" explain "$folder/replayed.h5"
expect "which explain reads" 0 '^request [0-9]+ of .* late'
run "$esgsim" run "$strict" --set requests=200 --replay-actions "$folder/actions.csv"
expect_refusal "in another world it is refused" 'actions.csv:1: no actions of seed 1 in world'

for input in profile=/dev/zero 'arrivals={"process":"trace","file":"/dev/zero"}'; do
    run timeout 60 "$esgsim" run "$strict" --set "$input"
    expect_refusal "a device is refused as an input: $input" '/dev/zero: is not a regular file'
done

finish
