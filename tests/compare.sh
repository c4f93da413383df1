#!/bin/sh
# A simulation held against a replay, from the outside: run --rehearse, report and plot --against.
# Runs the sanitized build, whose reports end in status 99, which no test here accepts.
. tests/shell.sh

esgsim=${SAN_BUILD:-build/sanitized}/esgsim
strict=workloads/experiments/strict-light.json
# What a replay can execute: everything warm and kept, recorded whole.
real="--set requests=300 --set warmup_requests=30 --set record=all --set platform.prewarm=none \
--set platform.keep_alive=infinite --quiet"

# ---- Rehearsing ------------------------------------------------------------------------------

# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --out "$folder/sim.h5"
expect "the simulation of what can be replayed succeeds" 0 '^bound '
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --rehearse factor=1.1,cv=0.05 --out "$folder/real.h5"
expect "a rehearsal says that no GPU took part" 0 'rehearsal of a replay: no GPU took part'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --rehearse factor=1.1,cv=0.05 --out "$folder/again.h5"
tables "$folder/real.h5" "$folder/real.tables"
tables "$folder/again.h5" "$folder/again.tables"
same "the same rehearsal twice writes the same table bytes" "$folder/real.tables" \
    "$folder/again.tables"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set platform.interference=false --out "$folder/alone.h5"
tables "$folder/alone.h5" "$folder/alone.tables" /summary
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set platform.interference=false --rehearse factor=1 \
    --out "$folder/exact.h5"
tables "$folder/exact.h5" "$folder/exact.tables" /summary
same "a rehearsal of the model without interference has the simulation's table bytes" \
    "$folder/alone.tables" "$folder/exact.tables"
# The capacity bound is of simulated noise, so a replay has none.
for file in alone exact; do
    "$esgsim" report "$folder/$file.h5" --format csv | grep -v bound_capacity >"$folder/$file.csv"
done
same "and its figures, but for the capacity bound" "$folder/alone.csv" "$folder/exact.csv"
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set requests=20 --set warmup_requests=0 \
    --rehearse factor=1,speedup=20 --out "$folder/timed.h5"
expect "a rehearsal in real time succeeds" 0 'no GPU took part'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set platform.prewarm=ewma --rehearse factor=1
expect_refusal "containers started ahead are refused with what to set" 'platform\.prewarm.*none'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set platform.initial=cold --rehearse factor=1
if [ "$status" -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] &&
    grep -q 'platform\.initial\.' "$folder/err"; then
    pass "a cold start ends the replay in one line that names the function's key"
else
    explain "a cold start ends the replay in one line that names the function's key" "status 1"
fi
for what in factor=x factor=0 speed=1 factor 'factor=1,,cv=1'; do
    # shellcheck disable=SC2086
    run "$esgsim" run "$strict" $real --rehearse "$what"
    expect_refusal "--rehearse $what is refused in one line" 'rehearse'
done

# ---- Reports ---------------------------------------------------------------------------------

for format in text csv json html; do
    run "$esgsim" report "$folder/sim.h5" --against "$folder/real.h5" --format $format
    cp "$folder/out" "$folder/first.$format"
    expect "report --against as $format succeeds" 0 'image-classification'
    run "$esgsim" report "$folder/sim.h5" --against "$folder/again.h5" --format $format
    sed 's/again\.h5/real.h5/' "$folder/out" >"$folder/second.$format"
    same "and is the same twice" "$folder/first.$format" "$folder/second.$format"
done
for format in text json html; do
    if grep -q 'rehearsal: no GPU took part' "$folder/first.$format"; then
        pass "the $format says that no GPU took part"
    else
        fail "the $format says that no GPU took part" "$(head -n 5 "$folder/first.$format")"
    fi
done
# A factor of 1.1 with jitter of mean 1 against interference that the model has and reality has not.
if awk -F, '$6 == "exec_ms_mean" && $5 == "" { exit !($10 > -15 && $10 < 5) }' "$folder/first.csv"
then
    pass "the error of execution is what was set, less the model's interference"
else
    fail "the error of execution is what was set, less the model's interference" \
        "$(grep exec_ms_mean "$folder/first.csv")"
fi
run "$esgsim" report "$folder/alone.h5" --against "$folder/exact.h5"
expect "a reality as modelled is within all limits" 0 '1 run compared, 1 within all limits'
run "$esgsim" report "$folder/sim.h5" --against "$folder/real.h5" --format html \
    --out "$folder/page.html"
same "the page in a file is the page on standard output" "$folder/first.html" "$folder/page.html"

# ---- Figures ---------------------------------------------------------------------------------

for name in one two; do
    run "$esgsim" plot "$folder/sim.h5" --against "$folder/real.h5" --out "$folder/$name"
    expect "plot --against draws one figure" 0 'simulated-against-real-strict-light\.svg'
done
run diff -r "$folder/one" "$folder/two"
expect "equal files have figures of equal bytes" 0
run env LC_ALL=C.UTF-8 gnuplot -d -e "data='$folder/one/simulated-against-real-strict-light.csv'; out='$folder/a.svg'" \
    plots/simulated-against-real.gp
if [ "$status" -eq 0 ] && [ ! -s "$folder/err" ]; then
    pass "the script draws its CSV by itself and says nothing"
else
    explain "the script draws its CSV by itself and says nothing" "status 0, nothing said"
fi
run "$esgsim" plot "$folder/sim.h5" --against "$folder/real.h5" --out "$folder/three" --only cost
expect_refusal "--against has no other figure" 'none of the requested figures'

# ---- What is refused -------------------------------------------------------------------------

run "$esgsim" report "$folder/sim.h5" --against
expect_refusal "--against without a file is refused" 'against'
run "$esgsim" report "$folder/sim.h5" --against "$folder/real.h5" --paper results/paper/esg-hpdc24.json
expect_refusal "--against beside --paper is refused" 'against'
run "$esgsim" report "$folder/real.h5" --against "$folder/sim.h5"
expect_refusal "files in the wrong order are refused" 'simulated, not replayed'
run "$esgsim" report "$folder/real.h5" --against "$folder/again.h5"
expect_refusal "a replay in the simulation's place is refused" 'itself a replay'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set slo.factor=1 --out "$folder/other.h5"
run "$esgsim" report "$folder/other.h5" --against "$folder/real.h5"
expect_refusal "another experiment is refused by the key that differs" 'slo\..*differs'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --policy edf --out "$folder/edf.h5"
run "$esgsim" report "$folder/edf.h5" --against "$folder/real.h5"
expect_refusal "files without a pair are refused" 'no run of the policy, setting and seed'
# shellcheck disable=SC2086
run "$esgsim" run "$strict" $real --set record=requests --out "$folder/thin.h5"
run "$esgsim" report "$folder/thin.h5" --against "$folder/real.h5"
expect_refusal "a run without its batches is refused with how to record it" 'record=all'
# Files that lack a table, an attribute, or everything.
hash=$(h5dump -n "$folder/real.h5" | sed -n 's|^ *group *//*runs/\([0-9a-f]*\)$|\1|p')
h5copy -i "$folder/real.h5" -o "$folder/no-runs.h5" -s summary -d summary
h5copy -i "$folder/real.h5" -o "$folder/no-runs.h5" -s applications -d applications
if [ -z "$hash" ]; then fail "the replay's file names its run" "no group runs/HASH"; fi
for table in requests jobs decisions; do
    h5copy -p -i "$folder/real.h5" -o "$folder/no-batches.h5" -s "runs/$hash/$table" \
        -d "runs/$hash/$table"
done
h5copy -i "$folder/real.h5" -o "$folder/no-batches.h5" -s summary -d summary
h5copy -i "$folder/real.h5" -o "$folder/no-batches.h5" -s applications -d applications
: >"$folder/empty.h5"
head -c 3000 "$folder/real.h5" >"$folder/cut.h5"
cp "$strict" "$folder/json.h5"
for name in no-runs no-batches empty cut json; do
    run "$esgsim" report "$folder/sim.h5" --against "$folder/$name.h5"
    expect_refusal "$name.h5 in the replay's place is refused by name" "$name\.h5"
    run "$esgsim" plot "$folder/$name.h5" --against "$folder/real.h5" --out "$folder/four"
    expect_refusal "$name.h5 in the simulation's place is refused by name" "$name\.h5"
done

finish
