#!/bin/sh
# The HTML pages in a browser, headless Chromium: first screens, hover, filter, sorting, print, no scripts.
# Not one of the suites of `make test`, since few machines have a browser; `make check-all` runs it.
. tests/shell.sh
BUILD=${BUILD:-build}
esgsim=$BUILD/esgsim
here=$(pwd)

browser=""
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ] || ! command -v pdfinfo >/dev/null; then
    fail "there is a Chromium, and pdfinfo" "no chromium, chromium-browser or google-chrome, or no pdfinfo: sh .ci/deps.sh browser installs them"
    finish
fi

cat >"$folder/loads.json" <<EOF2
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 2,
 "matrix": {"setting": [{"name": "mig", "cluster": "$here/workloads/clusters/esg-16-mig.json"},
                        {"name": "mps", "cluster": "$here/workloads/clusters/esg-16.json"}],
            "arrivals.load": [0.3, 0.6, 0.9], "slo.factor": [0.8, 1.2], "policy.name": ["esg", "fifo", "headway"]}}
EOF2
sweep() { # sweep NAME FILE OPTION...
    name=$1
    file=$2
    shift 2
    run "$esgsim" sweep "$file" "$@" --quiet --out "$folder/$name.h5"
    expect "the sweep $name runs" 0
}
sweep paper workloads/experiments/paper.json --set requests=100 --set warmup_requests=20
sweep loads "$folder/loads.json" --set requests=60 --set warmup_requests=5
sweep trainings workloads/experiments/training-synergy.json
short="--set requests=60 --set warmup_requests=5 --set record=all --quiet"
kept="--set platform.prewarm=none --set platform.keep_alive=infinite"
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/strict-light.json $short $kept --out "$folder/one.h5"
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/strict-light.json $short $kept --rehearse factor=1.1,cv=0.05 --out "$folder/real.h5"
expect "a run and its rehearsal end" 0
for page in paper loads trainings one; do
    paper=""
    [ "$page" != paper ] || paper="--paper results/paper/esg-hpdc24.json"
    # shellcheck disable=SC2086
    run "$esgsim" report "$folder/$page.h5" $paper --format html --out "$folder/$page.html"
    expect "the page $page is written" 0
    # shellcheck disable=SC2086
    run "$esgsim" report "$folder/$page.h5" $paper --format html --out "$folder/again.html"
    same "and again with equal bytes" "$folder/again.html" "$folder/$page.html"
done
run "$esgsim" report "$folder/one.h5" --against "$folder/real.h5" --format html --out "$folder/compared.html"
expect "the page of a comparison is written" 0

run python3 tests/page_check.py "$folder" "$browser"
cp "$folder/err" "$folder/said"
while read -r outcome words; do
    case $outcome in
    ok) pass "$words" ;;
    *) fail "$words" "$(tail -n 12 "$folder/said")" ;;
    esac
done <"$folder/out"
expect "all checks of the pages are made" 0 'console'
finish
