#!/bin/sh
# `esgsim verify reality`: the simulator against runs of real systems, from shipped inputs. The
# limits are those of the page results/REALITY.md.
# shellcheck disable=SC2016 # conditions are of awk
. tests/shell.sh

esgsim=${SAN_BUILD:-build/sanitized}/esgsim

run "$esgsim" verify reality --json
expect "verify reality ends" 0
# A line a run: set, turnaround, latency, setting, error of the mean, of hits, correlation.
awk -F '":' '
    { key = $1; gsub(/[^a-z_]/, "", key); value = $2; gsub(/^[ \t"]+|[",]+$/, "", value); v[key] = value }
    /^\t*}/ && "set" in v { print v["set"] "|" v["turnaround"] "|" v["latency"] "|" v["setting"] "|" v["mean_error_percent"] "|" \
        v["hit_rate_error_points"] "|" v["correlation"]; delete v }' "$folder/out" >"$folder/rows"

# holds NAME PREFIX COUNT CONDITION: the condition holds in each of COUNT rows of $folder/rows that
# begin with PREFIX.
holds() {
    awk -F '|' -v wanted="$3" 'function abs(x) { return x < 0 ? -x : x }
        index($0, "'"$2"'") == 1 { n++; if (!('"$4"')) print }
        END { if (n != wanted) print n + 0 " rows instead of " wanted }' "$folder/rows" >"$folder/wrong"
    if [ -s "$folder/wrong" ]; then fail "$1" "$(cat "$folder/wrong")"; else pass "$1"; fi
}

two="AlpaServe on two V100s"
sixteen="AlpaServe on 16 V100s"
holds "two V100s: the mean is within 2.5 %" "$two|measured|" 5 'abs($5) <= 2.5'
holds "and hits within a point" "$two|measured|" 5 'abs($6) <= 1'
holds "and the correlation by request is 0.98 or more" "$two|measured|" 5 '$7 >= 0.98'
holds "without a turnaround every mean is too low" "$two|none|" 5 '$5 < -1.5'
for latency in 200 225 250; do
    holds "16 V100s, $latency ms: each setting is within 4 points" "$sixteen|measured|$latency-ms|" 8 \
        'abs($6) <= 4'
    awk -F '|' -v of="$sixteen|measured|$latency-ms|" 'index($0, of) == 1 { sum += $6 < 0 ? -$6 : $6; n++ }
        END { exit !(n == 8 && sum / n <= 2.2) }' "$folder/rows"
    status=$?
    expect "and their mean error is 2.2 points at most" 0
done

run "$esgsim" verify reality
expect "the table has a range over the latencies" 0 'range .* to '
run "$esgsim" verify theory
expect "an unknown subject is refused" 2
if command -v gnuplot >/dev/null; then
    run "$esgsim" verify reality --quiet --out "$folder/figure"
    expect "the figure is drawn" 0
    if [ -s "$folder/figure/reality.svg" ] && [ "$(wc -l <"$folder/figure/reality.csv")" -gt 1000 ]; then
        pass "with its data"
    else
        explain "with its data" "reality.svg and a thousand lines of reality.csv"
    fi
fi
touch "$folder/file"
run "$esgsim" verify reality --out "$folder/file"
expect "a file is no folder for the figure" 2
finish
