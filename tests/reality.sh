#!/bin/sh
# `esgsim verify reality` with an option: the simulator against runs of real systems, from shipped inputs. The
# limits are those of the page results/REALITY.md. The release build simulates: test_alpaserve, test_muri and
# test_sgprs run these systems under sanitizers.
# shellcheck disable=SC2016 # conditions are of awk
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
sanitized=${SAN_BUILD:-build/sanitized}/esgsim

run "$esgsim" verify reality --json
expect "verify reality ends" 0
# A line a run: set, assumption, latency, setting, error of the mean, of hits, correlation, error of
# the GPU held, of shares, of the median.
awk -F '":' '
    { key = $1; gsub(/[^a-z_]/, "", key); value = $2; gsub(/^[ \t"]+|[",]+$/, "", value) }
    value == "{" { within = key "."; next }
    /}/ && within != "" { within = ""; next }
    { v[within key] = value }
    /}/ && "set" in v { print v["set"] "|" v["turnaround"] v["efficiency"] v["round"] v["wcet"] v["hosttimeofabatch"] "|" v["latency"] "|" v["setting"] "|" v["mean_ms.error"] "|" \
        v["hit_rate.error"] "|" v["correlation"] "|" v["gpu_percent.error"] "|" v["largest_error_points"] "|" v["median_ms.error"]; delete v }' "$folder/out" >"$folder/rows"

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

infless="INFless on 16 RTX 2080 Ti"
holds "INFless, the rule of its logs: the GPU held is within 25 %" "$infless|logged|" 3 'abs($8) <= 25'
holds "and each share above 10 % within 15 points" "$infless|logged|" 3 '$9 <= 15'
for rule in repo paper; do
    holds "with the rule $rule the GPU held is off by more" "$infless|$rule|" 3 'abs($8) > 25'
done

muri="Muri on 64 V100s"
holds "Muri, rounds as there: the mean of the trainings is within 2 %" "$muri|360 s|" 2 'abs($5) <= 2'
holds "and the correlation by training is 0.998 or more" "$muri|360 s|" 2 '$7 >= 0.998'
holds "and the median is within 7 %" "$muri|360 s|" 2 'abs($10) <= 7'
holds "without rounds every median is more than 10 % too low" "$muri|none|" 2 '$10 < -10'

# Its largest error is of completed frames. At 23 tasks, where frames are first missed, at 24 on twice
# the SMs, and in short runs the limits of the page are wider.
sgprs="SGPRS on an RTX 2080 Ti"
for wcet in "by multiplications" "twice as long" "a sixth each"; do
    holds "SGPRS, stages $wcet: completed frames are within 2 points" "$sgprs|$wcet|" 99 \
        '$9 <= ($3 ~ / 9 frames/ ? 5 : $3 ~ / 15 frames/ ? 3.3 : $4 ~ /23|24/ ? 3.1 : 2)'
    holds "and 1.5 points at 30 tasks" "$sgprs|$wcet|" 99 '$4 !~ /30/ || $9 <= 1.5'
done

# With what `report --against` advises: the host's time, here of load 0.3, and no turnaround.
holds "H200, fifo as advised: the mean is within 5 %" "One H200 under fifo|0.402 ms, of load 0.3|" 2 'abs($5) <= 5'
holds "and hits within 2.1 points" "One H200 under fifo|0.402 ms, of load 0.3|" 2 'abs($6) <= 2.1'
holds "H200, clipper as advised: the mean is within 7 %" "One H200 under clipper|0.251 ms, of load 0.3|" 2 'abs($5) <= 7'
holds "and hits within 7.5 points" "One H200 under clipper|0.251 ms, of load 0.3|" 2 'abs($6) <= 7.5'
for policy in fifo clipper; do
    holds "without the host's time the mean under $policy is 19 % too low or more" "One H200 under $policy|none|" 2 '$5 < -19'
done

run env ESGSIM_WIDTH=150 "$esgsim" verify reality --details
expect "the table has a row for each latency" 0 '250-ms .* 57712 '
run "$sanitized" verify theory --details
expect "a table of anything else is refused" 2
if command -v gnuplot >/dev/null; then
    run "$esgsim" verify reality --quiet --out "$folder/figure"
    expect "the figures are drawn" 0
    # The envelope: 10 rows have three errors, 10 have one, over two axes; 9 have one over three; 4
    # of trainings have two over one, 27 of frames one, and 8 of the H200 three over two.
    if [ -s "$folder/figure/reality.svg" ] && [ "$(wc -l <"$folder/figure/reality.csv")" -gt 1000 ] &&
        [ -s "$folder/figure/envelope.svg" ] && [ "$(wc -l <"$folder/figure/envelope.csv")" -eq 191 ] &&
        [ -s "$folder/figure/curve-frames.svg" ] && [ "$(wc -l <"$folder/figure/curve-frames.csv")" -eq 397 ] &&
        [ -s "$folder/figure/reality-trainings.svg" ] && [ "$(wc -l <"$folder/figure/reality-trainings.csv")" -eq 1601 ]; then
        pass "with their data"
    else
        explain "with their data" "a thousand lines of reality.csv, 191 of envelope.csv, 397 of curve-frames.csv, 1601 of reality-trainings.csv"
    fi
fi
# Roles: each set of measured data is in one row of the page, and has one of three roles.
sed -n '/^| data | role/,$p' results/REALITY.md | sed -n '3,$s/^| \([^|]*\) | \([^|]*\) |.*/\1|\2/p' >"$folder/roles"
{
    for raw in traces/profiles/raw/*; do
        if [ "${raw##*/}" != h200 ]; then echo "$raw"; else
            printf '%s\n' "$raw/solo.csv" "$raw/cold.csv" "$raw/groups.csv, pairs and times alone" "$raw/groups.csv, three and more"
        fi
    done
    sed -n 's/^ *"name": "\([^"]*\)",$/\1/p' results/reality/runs.json
} | sort >"$folder/shipped"
cut -d '|' -f 1 "$folder/roles" | sort >"$folder/named"
same "each set of measured data has one role" "$folder/shipped" "$folder/named"
if grep -vq '|\(fit\|validate\|evaluate\)$' "$folder/roles"; then fail "which is to fit, validate or evaluate" "$(cat "$folder/roles")"; else pass "which is to fit, validate or evaluate"; fi
# The same bytes under two names would be one set in two roles.
find traces/profiles/raw results/reality -type f -name '*.*' ! -name '*.sh' ! -name '*.md' -exec sha256sum {} + | sort | uniq -w 64 -d >"$folder/twice"
if [ -s "$folder/twice" ]; then fail "and no two sets have the same bytes" "$(cat "$folder/twice")"; else pass "and no two sets have the same bytes"; fi

touch "$folder/file"
run "$sanitized" verify reality --out "$folder/file"
expect "a file is no folder for the figures" 2
finish
