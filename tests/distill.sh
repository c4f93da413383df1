#!/bin/sh
# Trees that are learned from what a policy chose, and what explains their decisions.
# Runs the sanitized build, whose reports end in status 99, which no test here accepts.
. tests/shell.sh

# Patterns look at whole lines; tests/terminal.sh folds them.
export ESGSIM_WIDTH=10000
esgsim=${SAN_BUILD:-build/sanitized}/esgsim
strict=workloads/experiments/strict-light.json

# What a policy chose becomes trees, the same from one process as from two, and they run as a policy.
for jobs in 1 2; do
    run "$esgsim" sweep workloads/experiments/tree-choices.json --set 'matrix.requests=[50]' --jobs $jobs \
        --out "$folder/choices$jobs.h5" --quiet
    run "$esgsim" distill "$folder/choices$jobs.h5" --prune-seeds 6,7 --test-seeds 8-12 --out "$folder/tree$jobs.txt"
    expect "distill learns trees from recorded choices, and says how far they agree" 0 'configuration +[0-9]+ +[0-9.]+ +[0-9.]+'
done
run "$esgsim" sweep workloads/experiments/tree-choices.json --set 'matrix.policy=[{"name":"edf"}]' --set 'matrix.requests=[50]' \
    --set seeds=1 --out "$folder/edf.h5" --quiet
run "$esgsim" sweep workloads/experiments/tree-choices.json --set 'matrix.requests=[50]' --set seeds=2 --quiet --out "$folder/first.h5"
run "$esgsim" distill "$folder/first.h5" --out "$folder/rounds1.txt"
run "$esgsim" sweep workloads/experiments/tree-choices.json --set 'matrix.requests=[50]' --set seeds=2 --quiet --out "$folder/shadow.h5" \
    --set 'matrix.policy=[{"name":"tree","file":"'"$folder"'/rounds1.txt","shadow":"esg"}]'
run "$esgsim" distill "$folder/first.h5" "$folder/shadow.h5" --out "$folder/by-hand.txt"
expect "a second round learns from what the teacher says in the student's states" 0 'policy esg: 12 runs to learn from'
run "$esgsim" distill "$folder/first.h5" --rounds 2 --out "$folder/rounds2.txt" --json --quiet
expect "distill repeats the sweep with the student, and says so in one JSON object" 0 '"learn_runs":[[:space:]]*12'
run cmp "$folder/by-hand.txt" "$folder/rounds2.txt"
expect "two rounds give the trees of a sweep of the student and a further file" 0
run "$esgsim" run "$strict" --set requests=20 --out "$folder/unrecorded.h5" --quiet
run "$esgsim" run "$strict" --set record=choices --set requests=20 --out "$folder/no-sweep.h5" --quiet
run cmp "$folder/tree1.txt" "$folder/tree2.txt"
expect "choices recorded by two processes give the same trees" 0
run "$esgsim" distill "$folder/choices1.h5" --rows 30 --depth 3 --test-seeds 8-12 --out "$folder/small.txt" --json
expect "distill prints one JSON object" 0 '"configuration_depth":[[:space:]]*3'
sed 's/<= .*/<= x/' "$folder/tree1.txt" >"$folder/edited.txt"
run "$esgsim" run "$strict" --policy tree --set policy.file="$folder/tree1.txt" --set requests=50 --set record=all \
    --out "$folder/by-tree.h5" --quiet
run "$esgsim" explain "$folder/by-tree.h5" --request 20
expect "explain says which path of the trees decided" 0 'configuration: .*: serve 1:[0-9]+ x .*; taken: 1:[0-9]+'
run "$esgsim" explain "$folder/by-tree.h5" --request 20 --json
expect "explain says it in JSON, too" 0 '"tree_configuration":.*: serve 1:'
cases <<'END'
0 :: learned trees run as a policy :: ^tree  :: run "$strict" --policy tree --set policy.file="$folder/tree1.txt" --set requests=100
refused :: a tree that was edited wrongly is refused with its line :: edited.txt:[0-9]+: "if FEATURE <= NUMBER" :: run "$strict" --policy tree --set policy.file="$folder/edited.txt"
refused :: tree without a file is refused :: policy.file: policy "tree" reads a file :: run "$strict" --policy tree
refused :: a file for a policy that reads none is refused :: policy.file: policy "esg" reads no file :: run "$strict" --set policy.file="$folder/tree1.txt"
refused :: distill refuses runs without choices :: with "record" set to choices :: distill "$folder/unrecorded.h5" --out "$folder/no.txt"
refused :: distill refuses the choices of another policy in a further file :: has no choices of esg :: distill "$folder/choices1.h5" "$folder/edf.h5" --out "$folder/no.txt"
refused :: distill refuses rounds of runs that no sweep made :: does not say which sweep made it :: distill "$folder/no-sweep.h5" --rounds 2 --out "$folder/no.txt"
refused :: distill refuses to prune with all runs :: no run is left to learn from :: distill "$folder/choices1.h5" --prune-seeds 1-12 --out "$folder/no.txt"
refused :: distill refuses seeds that are none :: --test-seeds: 'x' is not a whole number :: distill "$folder/choices1.h5" --test-seeds 3-x --out "$folder/no.txt"
END
finish
