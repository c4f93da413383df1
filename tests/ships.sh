#!/bin/sh
# What ships is listed and valid. The sanitized build reads it, and the release build the large sweeps, with the
# same code.
. tests/shell.sh

# Patterns look at whole lines; tests/terminal.sh folds them.
export ESGSIM_WIDTH=10000
esgsim=${SAN_BUILD:-build/sanitized}/esgsim
release=${BUILD:-build}/esgsim

# ---- What ships is valid ---------------------------------------------------------------------

for kind in policies keep-alives clusters applications functions profiles traces models; do
    run "$esgsim" list "$kind"
    expect "list $kind prints at least one line" 0 '[a-z]'
done
run "$release" list experiments
expect "list experiments prints at least one line" 0 '[a-z]'
find workloads traces results/paper -name '*.json' -size -8192k ! -path '*/raw/*' ! -path 'workloads/schemas/*' |
    sort >"$folder/shipped"
# shellcheck disable=SC2046
run "$esgsim" check $(xargs grep -L '"matrix"' <"$folder/shipped") workloads/experiments/tree-choices.json
expect "check accepts all that ships but large sweeps, sanitized" 0
# shellcheck disable=SC2046
run "$release" check $(cat "$folder/shipped")
expect "check accepts every file that ships" 0
if [ "$(grep -c ': ok (' "$folder/out")" -ge 120 ] && [ ! -s "$folder/err" ]; then
    pass "and says of each what it is"
else
    explain "and says of each what it is" "120 lines or more on standard output, none on standard error"
fi
finish
