#!/bin/sh
# The program from the outside: help, names and values, what is refused, and with which words.
# Runs the sanitized build, whose reports end in status 99, which no test here accepts.
. tests/shell.sh

# Patterns look at whole lines; tests/terminal.sh folds them.
export ESGSIM_WIDTH=10000
esgsim=${SAN_BUILD:-build/sanitized}/esgsim
strict=workloads/experiments/strict-light.json
commands="run sweep capacity merge report plot search slo explain list check trace calibrate predict validate bench claims verify distill"

# ---- Help and usage --------------------------------------------------------------------------

run "$esgsim" --help
expect "--help succeeds and names the commands" 0 'sweep'
run "$esgsim" --version
expect "--version succeeds and prints the version of CITATION.cff" 0 \
    "$(sed -n 's/^version: *//p' CITATION.cff)"
for command in $commands; do
    run "$esgsim" "$command" --help
    expect "$command --help succeeds and shows its usage" 0 "$command"
done
run "$esgsim"
if [ "$status" -eq 2 ] && grep -q 'usage' "$folder/err" && [ ! -s "$folder/out" ]; then
    pass "no command at all is answered with the usage and status 2"
else
    explain "no command at all is answered with the usage and status 2" "status 2, usage on standard error"
fi
run "$esgsim" no-such-command
expect_refusal "an unknown command is refused in one line that names it" 'no-such-command'
run "$esgsim" reprot
expect_refusal "a misspelt command is answered with the nearest one" 'report'
for command in run sweep capacity merge report plot search slo explain check trace calibrate predict; do
    run "$esgsim" "$command"
    expect_refusal "$command without operands is refused in one line"
done

# ---- Names and values ------------------------------------------------------------------------

cases <<'END'
refused :: run refuses a missing experiment and names it :: missing\.json :: run missing.json
refused :: sweep refuses a missing file and names it :: missing\.json :: sweep missing.json --out "$folder/x.h5"
refused :: report refuses a missing file and names it :: missing\.h5 :: report missing.h5
refused :: plot refuses a missing file and names it :: missing\.h5 :: plot missing.h5 --out "$folder/figures"
refused :: plot without a folder is refused :: --out :: plot missing.h5
refused :: plot refuses an unknown format and names those it has :: gif.*svg, png or pdf :: plot missing.h5 --out "$folder/figures" --format gif
refused :: plot answers a misspelt figure with the nearest one :: hit-rate :: plot missing.h5 --out "$folder/figures" --only hit-rte
refused :: plot refuses an unknown size and names those it has :: poster.*column, page or slide :: plot missing.h5 --out "$folder/figures" --size poster
refused :: plot refuses to choose policies of a profile :: holds no results of policies :: plot traces/profiles/v100-mps-igniter.json --out "$folder/figures" --policies esg
refused :: plot refuses a file in the place of its folder :: README\.md :: plot traces/profiles/v100-mps-igniter.json --out README.md
refused :: check refuses a missing file and names it :: missing\.json :: check missing.json
refused :: slo refuses a missing file and names it :: missing\.json :: slo missing.json --application x
refused :: search refuses a missing file and names it :: missing\.json :: search missing.json --application x --budget-ms 100
refused :: search refuses a picture of another kind :: F\.gif: should be a file ending in \.svg, \.png or \.pdf :: search "$strict" --application image-classification --budget-ms 400 --out F.gif
refused :: plot refuses a sweep that has not run :: is a sweep, not an experiment :: plot workloads/experiments/paper.json --out "$folder/figures"
0 :: plot finds a shipped experiment by its name :: dag-depth-recognition.svg :: plot strict-light --out "$folder/figures" --only dag
refused :: plot has published figures of results alone :: holds no results of policies :: plot "$strict" --out "$folder/figures" --paper results/paper/esg-hpdc24.json
refused :: an experiment has no figures of results :: none of the requested figures :: plot "$strict" --out "$folder/figures" --only hit-rate
refused :: trace stats refuses a missing file and names it :: missing\.csv :: trace stats missing.csv
refused :: calibrate refuses a missing file and names it :: missing\.csv :: calibrate missing.csv
END
run "$esgsim" run "$strict" --policy fifoo
expect_refusal "a misspelt policy is answered with the nearest name" "fifo[^o]|fifo$"
cases <<'END'
refused :: an unknown policy is refused and named :: zzzzzzzzzz :: run "$strict" --policy zzzzzzzzzz
refused :: a policy object that is not there is refused and named :: missing\.so :: run "$strict" --policy ./missing.so
refused :: a misspelt key is answered with the nearest one :: requests :: run "$strict" --set requets=5
refused :: a value of the wrong type is refused with its key :: requests :: run "$strict" --set requests=many
refused :: a negative count is refused with its key :: requests :: run "$strict" --set requests=-1
refused :: an unknown policy parameter is refused and named :: kk :: run "$strict" --set policy.params.kk=5
refused :: a seed that is no number is refused :: seed :: run "$strict" --seed x
END
run "$esgsim" run "$strict" --out /no/such/folder/x.h5
if [ "$status" -ne 1 ] && [ "$status" -ne 2 ] || [ "$(wc -l <"$folder/err")" -ne 1 ]; then
    explain "an output folder that is not there is told in one line" "status 1 or 2, one line"
else
    pass "an output folder that is not there is told in one line"
fi
cases <<'END'
refused :: run sends a sweep to the right command :: esgsim sweep :: run workloads/experiments/paper.json
refused :: sweep sends an experiment to the right command :: esgsim run :: sweep "$strict" --out "$folder/x.h5"
refused :: sweep refuses an override that its matrix undoes :: policy\.name :: sweep workloads/experiments/paper.json --out "$folder/x.h5" --set policy.name=edf
refused :: sweep refuses an override that every row of its matrix undoes :: slo\.factor :: sweep workloads/experiments/paper.json --out "$folder/x.h5" --set slo.factor=2
refused :: a broken object after --set is a syntax error :: slo:1: :: run "$strict" --set 'slo={"factor":'
END
printf 'time_ms,application\n1,image-classification\n' >"$folder/short.csv"
cases <<'END'
refused :: a trace that ends within the warm-up is refused :: warmup_requests :: run "$strict" --set "arrivals={\"process\":\"trace\",\"file\":\"$folder/short.csv\"}"
refused :: a seed that JSON cannot hold is refused :: seed :: run "$strict" --seed 9007199254740993
refused :: a misspelt application is answered with the nearest one :: image-classification :: slo "$strict" --application image-clasification
refused :: list answers a misspelt kind with the nearest one :: policies :: list polices
END

# ---- Capacity: what it refuses ----------------------------------------------------------------

refused() { # refused NAME PATTERN ARGUMENT...
    name=$1
    pattern=$2
    shift 2
    run "$esgsim" capacity "$strict" --quiet "$@"
    expect_refusal "$name" "$pattern"
}
refused "capacity refuses a key that is not there" 'facto.*factor' --over slo.facto --at-least 0.9
refused "capacity refuses a key without a number" 'policy\.name.*not a number' \
    --over policy.name --at-least 0.9
refused "capacity refuses seeds as the key" 'seed' --over seed --at-least 0.9
refused "capacity wants a threshold" '--at-least X or --at-most X' --over slo.factor
refused "capacity takes one threshold" 'exclude' --over slo.factor --at-least 1 --at-most 2
refused "capacity refuses a share in per cent" '--at-least 95: slo_hit_rate is a share of 0..1; 0.95 for 95 %' \
    --over slo.factor --at-least 95
refused "and one below 0" '--at-most -1: gpu_utilisation is a share of 0..1' \
    --over slo.factor --metric gpu_utilisation --at-most -1
refused "capacity refuses a budget below the seeds" '--max-seeds 5 is below --seeds 6' \
    --over slo.factor --at-least 0.9 --seeds 6 --max-seeds 5
refused "capacity takes one direction" 'exclude' --over slo.factor --at-least 1 --least --greatest
refused "capacity answers a misspelt metric with the nearest one" 'slo_hit_rate' \
    --over slo.factor --at-least 0.9 --metric slo_hit_rat
refused "capacity refuses a metric that only reports compute" "'late_rate' is unknown" \
    --over slo.factor --at-most 0.1 --metric late_rate
refused "capacity refuses a metric without values" 'preplanned_miss_rate has no value' \
    --over slo.factor --at-least 0.9 --metric preplanned_miss_rate --policies fifo \
    --set requests=50 --seeds 2
refused "capacity refuses a fraction for a whole number" 'whole numbers' \
    --over cluster.invokers.0.count --at-least 0.9 --low 1.5
refused "capacity refuses ends in the wrong order" 'not below' \
    --over slo.factor --at-least 0.9 --low 2 --high 1
refused "capacity refuses an end that the experiment refuses" 'ewma_alpha' \
    --over platform.ewma_alpha --at-least 0.9 --low 0.5 --high 2
refused "capacity refuses a policy given twice" 'occurs twice' \
    --over slo.factor --at-least 0.9 --policies fifo,fifo
refused "capacity refuses policies given in two ways" 'policies' \
    --over slo.factor --at-least 0.9 --policies fifo,edf --set policy.name=esg
run "$esgsim" capacity workloads/experiments/paper.json --over slo.factor --at-least 0.9
expect_refusal "capacity refuses a sweep" 'is a sweep'

# ---- The same wording for wrong usage everywhere ---------------------------------------------

for command in $commands; do
    run "$esgsim" "$command" x --jsno --out
    expect_refusal "$command tells wrong usage with its usage line" "^esgsim: $command: .*; usage: esgsim $command"
done
cases <<'END'
refused :: a misspelt word is answered with the nearest and all :: did you mean 'astar'; give astar, frontier or exhaustive :: search "$strict" --application image-classification --budget-ms 9 --method astra
END
cases <<'END'
0 :: a search names the model of each share among unlike GPUs ::  1x1x20/V100 8x1x3/A100  :: search workloads/experiments/mixed-gpus.json --application v100-cascade --budget-ms 25 --queue-length 1
0 :: and in JSON :: "gpu":[[:space:]]*"V100" :: search workloads/experiments/mixed-gpus.json --application v100-cascade --budget-ms 25 --json
0 :: a run on unlike GPUs succeeds ::  :: run workloads/experiments/mixed-gpus.json --set requests=50 --set warmup_requests=0 --set record=all --out "$folder/mixed.h5" --timeline "$folder/mixed-timeline.json" --quiet
END
run grep -c 'GPU 0 A100 lane 0' "$folder/mixed-timeline.json"
expect "its timeline names the model of each GPU" 0
cases <<'END'
0 :: explain names that of the GPU of each batch :: vGPU (\(A100\)|\(V100\)) :: explain "$folder/mixed.h5" --request 20
0 :: a search may plan a later batch of jobs that do not exist ::  4x[0-9]x[0-9]  :: search "$strict" --application depth-recognition --budget-ms 986 --queue-length 1
0 :: a bounded search finds plans :: 1x[0-9]x[0-9] 1x[0-9]x[0-9] 1x[0-9]x[0-9] :: search "$strict" --application depth-recognition --budget-ms 986 --queue-length 1 --later-batches bounded
END
if grep -qE ' ([2-9]|[1-3][0-9])x[0-9]x' "$folder/out"; then
    fail "a bounded search plans no batch beyond the queue" "$(cat "$folder/out")"
else
    pass "a bounded search plans no batch beyond the queue"
fi
sed 's|"\.\./\.\./|"|; s|"\.\./|"workloads/|; s|^{|{"planning": {"error": {"cv": 0.3}},|' "$strict" \
    >"$folder/planning.json"
for method in astar exhaustive; do
    "$esgsim" search "$folder/planning.json" --application image-classification --budget-ms 900 \
        --method $method | grep '^ *[1-5] ' >"$folder/$method.txt"
done
run diff "$folder/astar.txt" "$folder/exhaustive.txt"
expect "a search on planning times finds what enumeration does" 0
run "$esgsim" search "$strict" --application image-classification --budget-ms 900
expect "a search on the world's finds paths, too" 0 '^ *5 '
if grep -qFf "$folder/astar.txt" "$folder/out"; then
    fail "and not the same paths" "$(cat "$folder/out")"
else
    pass "and not the same paths"
fi
run "$esgsim" run "$folder/planning.json" --set requests=100 --set planning.guard=1
expect "a run says what its policy plans with" 0 \
    'note: policies plan with errors of cv 0.3 and bias 0 per cell, guard 1 .not for 1536 of 1536'
run "$esgsim" run "$folder/planning.json" --set requests=100 --set record=all --out "$folder/planning.h5" --quiet
run "$esgsim" explain "$folder/planning.h5" --request 20
expect "explain names the planned time of each execution" 0 'execution [0-9.]* m?s .planned [0-9.]* m?s.[:;]'
sed 's|"\.\./\.\./|"|; s|"\.\./|"workloads/|; s|^{|{"granularity": "fused",|' "$strict" >"$folder/fused.json"
cases <<'END'
0 :: the groups of a fused chain are one stage :: ^image-classification +1\.00000 +- +0 +1\.00000 +420\.800 :: slo "$folder/fused.json" --application image-classification
0 :: a search plans one configuration for a fused chain :: ^ +1 +[0-9.e-]+ +[0-9.]+ +1x[0-9]x[0-9]$ :: search "$folder/fused.json" --application image-classification --budget-ms 900 --queue-length 1
0 :: a run of fused chains succeeds ::  :: run "$folder/fused.json" --set platform.initial=warm --set requests=50 --set record=all --out "$folder/fused.h5" --quiet
0 :: explain names the functions of a fused chain :: function [a-z+-]*super-resolution[+][a-z+-]* :: explain "$folder/fused.h5" --request 20
refused :: a group that a path leaves and enters again is refused :: application "image-classification": a path leaves group "x" and returns to it from stage "segmentation" :: run "$strict" --set 'applications.0.granularity={"x":["super-resolution","classification"]}'
refused :: a function of a group that is not there is refused :: stage :: run "$strict" --set 'applications.0.granularity={"x":["super-resolutoin"]}'
END
robustness=workloads/experiments/robustness.json
"$esgsim" list policies | awk '/\[(requests|both)\]$/ { print $1 }' | sort >"$folder/policies"
sed -n '/"policy": \[/,/\]/p' "$robustness" | grep -o '"name": "[^"]*"' | cut -d '"' -f 4 | sort >"$folder/studied"
run sh -c "grep -vx -e alpaserve -e sgprs -e tree '$folder/policies' | diff - '$folder/studied'"
expect "the study of robustness has every policy that serves requests but those of a placement, of contexts or of a file" 0
run "$esgsim" sweep "$robustness" --set seeds=2 --set 'matrix.requests=[40]' --quiet --jobs 2 \
    --set 'matrix.policy=[{"name":"esg"},{"name":"min-config"}]' --out "$folder/robustness.h5"
expect "a short study runs" 0
run "$(python_find json)" -B results/robustness.py "$esgsim" "$folder/robustness.h5"
expect "and its page says that a policy without plans loses nothing" 0 \
    '^. .min-config. keeps its hits in ESG heavy, and keeps its hits in A100 MIG normal.$'
cp "$folder/out" "$folder/robustness.md"
run grep -cE '^. .esg. . [0-9.]+ (. [*]*[-+][0-9.]+ ± [0-9.]+[*]* ){6}. [-+][0-9.]+ % .$' "$folder/robustness.md"
expect "and has a row of paired changes for each policy and setting" 0 '^2$'
cases <<'END'
refused :: a planning profile of unlike unit is refused by name :: planning.profile: .*esg-reconstructed.json slices a GPU in 7 units and .*v100-mps-igniter.json in 100 :: run "$strict" --set planning.profile=traces/profiles/v100-mps-igniter.json
refused :: search refuses --later-batches with the frontier :: later-batches :: search "$strict" --application depth-recognition --budget-ms 986 --method frontier --later-batches bounded
0 :: what follows -- is operands :: "policies" :: list --json -- policies
END
finish
