#!/bin/sh
# Figures as other programs read them. Draws every kind from small sweeps, a profile, a trace and a
# calibration, in all three formats: librsvg and poppler must not say a word. Also what a figure's
# folder holds after a drawing that failed.
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
sanitized=${SAN_BUILD:-build/sanitized}/esgsim # draws every kind of figure once
# All named sizes, or by turns one, which the number of commits says (tests/aside.txt).
sizes="column page slide"
if [ "${ASIDE:-}" = changed ] && sh tests/aside.sh 2>/dev/null | grep -qx figure-sizes; then
    sizes=$(echo "$sizes" | cut -d ' ' -f $(($(git rev-list --count HEAD) % 3 + 1)))
fi
# size NAME: it is one of those drawn.
size() {
    case " $sizes " in
    *" $1 "*) ;;
    *) return 1 ;;
    esac
}
here=$(pwd)

# ---- What is drawn ---------------------------------------------------------------------------

cat >"$folder/policies.json" <<EOF
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 2,
 "matrix": {
   "setting": [{"name": "plain", "slo.factor": 0.8}, {"name": "longer", "slo.factor": 1},
               {"name": "=b\\\\n 'two words' %s {a}^_@ \`ls\`", "slo.factor": 1.2}],
   "policy": [{"name": "esg"}, {"name": "esg", "params": {"k": 1}}, {"name": "fifo"}]}}
EOF
cat >"$folder/one-seed.json" <<EOF
{"base": "$here/workloads/experiments/relaxed-heavy.json", "seeds": 1,
 "matrix": {"policy": [{"name": "esg", "params": {"k": 1}}, {"name": "esg", "params": {"k": 2}},
                       {"name": "esg", "params": {"k": 20}}]}}
EOF
cat >"$folder/loads.json" <<EOF
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 2,
 "matrix": {"arrivals.load": [0.3, 0.6, 0.9], "slo.factor": [0.8, 1.2],
            "policy.name": ["esg", "fifo"]}}
EOF
# Every contender of the shipped sweeps, in short runs.
brief='"requests": [25], "warmup_requests": [5], "record": ["requests"]'
for sweep in paper ablation headline; do
    settings='{"name": "tight", "slo.factor": 0.8}'
    loads=
    [ $sweep = paper ] && settings="$settings, {\"name\": \"wide\", \"slo.factor\": 1.2}"
    [ $sweep = headline ] && loads='"arrivals.load": [0.4, 0.8, 1.2],'
    policies=$(sed -n '/^    "policy": \[/,/^    \]/p' "workloads/experiments/$sweep.json" | sed '$s/,$//')
    show=
    [ $sweep = headline ] || show='"show": "esg,esg group_size=1,esg split=equal",'
    [ $sweep = paper ] && show='"show": "esg,infless,fast-gshare,orion,aquatope,headway",'
    echo "{\"base\": \"$here/workloads/experiments/strict-light.json\", \"seeds\": 1, $show" \
        "\"matrix\": {\"setting\": [$settings], $brief, $loads $policies}}" >"$folder/$sweep.json"
done
cat >"$folder/synergy.json" <<EOF
{"base": "$here/workloads/experiments/training-dynamic.json", "seeds": 1,
 "matrix": {"policy.params.order": ["fifo", "srtf", "las", "ftf"],
            "policy.params.allocation": ["proportional", "greedy", "tune", "opt"]}}
EOF
short="--set requests=60 --set warmup_requests=5 --set record=all --quiet"
for sweep in paper ablation headline synergy; do
    run "$esgsim" sweep "$folder/$sweep.json" --quiet --out "$folder/$sweep.h5"
    expect "the contenders of $sweep run" 0
done
for sweep in policies one-seed loads; do
    # shellcheck disable=SC2086
    run "$esgsim" sweep "$folder/$sweep.json" $short --out "$folder/$sweep.h5"
    expect "the sweep $sweep runs" 0
done
run "$esgsim" run workloads/experiments/training-dynamic.json --quiet --out "$folder/trainings.h5"
expect "a run of trainings ends" 0
# What a replay can execute: everything warm and kept.
kept="--set platform.prewarm=none --set platform.keep_alive=infinite"
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/strict-light.json $short $kept --out "$folder/simulated.h5"
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/strict-light.json $short $kept \
    --rehearse factor=1.1,cv=0.05 --out "$folder/real.h5"
expect "a run and its rehearsal end" 0
run "$esgsim" calibrate traces/profiles/raw/igniter/solo.csv --points "$folder/points.csv"
expect "a calibration writes its points" 0
run "$esgsim" run workloads/experiments/training-dynamic.json --set record=all --quiet --out "$folder/rounds.h5"
expect "a run of trainings with leases ends" 0
# shellcheck disable=SC2086
run "$esgsim" run workloads/experiments/strict-light.json $short --set 'slo={"ms":1}' \
    --set platform.admission=lost --out "$folder/dropped.h5"
expect "a run that drops its requests ends" 0

# charts FOLDER FORMAT [OPTION...]: those of single decisions, requests and trainings, and of an experiment.
charts() {
    into=$1 ending=$2
    shift 2
    mkdir -p "$into"
    run "$esgsim" plot workloads/experiments/mixed-gpus.json --out "$into" --format "$ending" "$@"
    expect "plot draws an experiment as $ending $*" 0
    run "$esgsim" plot workloads/experiments/strict-light.json --out "$into" --format "$ending" --only dag "$@"
    expect "plot draws DAGs as $ending $*" 0
    run "$esgsim" search workloads/experiments/proof-light.json --application proof-fork --budget-ms 12 \
        --out "$into/search.$ending" "$@"
    expect "search draws its paths as $ending $*" 0 '^[tco*] .*[*] found  [|] budget$'
    run "$esgsim" explain "$folder/simulated.h5" --request 30 --out "$into/request.$ending" "$@"
    expect "explain draws a request as $ending $*" 0 '^ *planned [|]-'
    run "$esgsim" explain "$folder/dropped.h5" --request 30 --out "$into/request-dropped.$ending" "$@"
    expect "explain draws a dropped request as $ending $*" 0 '^x never ran  [|] due'
    run "$esgsim" explain "$folder/rounds.h5" --training 40 --out "$into/training.$ending" "$@"
    expect "explain draws a training as $ending $*" 0 '^ *all leases [|][.]*#'
}

cat >"$folder/reference.json" <<EOF
{"title": "t", "source": "s", "figures": [
  {"metric": "slo_hit_rate", "low": 0.61, "evidence": "published"},
  {"metric": "cost_saving", "low": 1, "high": 2, "unit": "%", "evidence": "recalled", "against": ["fifo"]}]}
EOF
# draw FORMAT: everything above into $folder/FORMAT; but for SVG, of each script one figure.
draw() {
    for file in "$folder/policies.h5" "$folder/one-seed.h5" "$folder/loads.h5" \
        "$folder/trainings.h5" "$folder/points.csv" \
        traces/profiles/a100-mig-parvagpu.json traces/arrivals/AzureLLMInferenceTrace_code.csv.gz \
        workloads/trees/esg-plain.txt; do
        part=
        case $1:$file in
        svg:*) ;;
        */policies.h5) part="--only *-b-n-two-words-s-a-ls --only settings --only tornado" ;;
        */one-seed.h5) part="--only sensitivity --only timeline" ;;
        esac
        set -f
        # shellcheck disable=SC2086
        run "$esgsim" plot "$file" --out "$folder/$1" --format "$1" $part
        set +f
        expect "plot draws $(basename "$file") as $1" 0
    done
    run "$esgsim" plot "$folder/policies.h5" --paper "$folder/reference.json" --only published \
        --out "$folder/$1" --format "$1"
    expect "plot draws published figures and ours as $1" 0
    run "$esgsim" plot "$folder/simulated.h5" --against "$folder/real.h5" --out "$folder/$1" \
        --format "$1"
    expect "plot draws a simulation against a replay as $1" 0
    charts "$folder/$1" "$1"
}
release=$esgsim
esgsim=$sanitized
draw svg
esgsim=$release
for format in pdf png; do
    draw $format
done
# The named sizes, and what is left out.
for size in $sizes; do
    charts "$folder/$size" svg --size "$size"
    run "$esgsim" plot "$folder/policies.h5" --out "$folder/$size" --size "$size" \
        --only settings --only hit-rate --paper "$folder/reference.json" --only published
    expect "plot draws figures of policies.h5 for a $size" 0
    for file in one-seed.h5 loads.h5 points.csv; do
        run "$esgsim" plot "$folder/$file" --out "$folder/$size" --size "$size"
        expect "plot draws $file for a $size" 0
    done
    run "$esgsim" plot traces/arrivals/AzureLLMInferenceTrace_code.csv.gz \
        --out "$folder/$size" --size "$size"
    expect "plot draws a trace for a $size" 0
    run "$esgsim" plot "$folder/simulated.h5" --against "$folder/real.h5" --out "$folder/$size" \
        --size "$size"
    expect "plot draws a comparison for a $size" 0
    for sweep in paper:tight headline:tight-arrivals-load-0-8 ablation:tight synergy:training-dynamic; do
        about=${sweep#*:}
        sweep=${sweep%:*}
        only="--only settings --only curve"
        for kind in hit-rate hit-against-cost latency-cdf latency-parts jct jct-cdf; do
            only="$only --only $kind-$about"
        done
        # shellcheck disable=SC2086
        run "$esgsim" plot "$folder/$sweep.h5" --out "$folder/$size/$sweep" --size "$size" $only --all
        expect "plot draws all contenders of $sweep for a $size" 0
        cp "$folder/err" "$folder/$size/$sweep/notes"
        # shellcheck disable=SC2086
        run "$esgsim" plot "$folder/$sweep.h5" --out "$folder/$size/$sweep-shown" --size "$size" $only
        expect "plot draws the contenders that $sweep shows for a $size" 0
        cp "$folder/err" "$folder/$size/$sweep-shown/notes"
    done
    run "$esgsim" plot "$folder/policies.h5" --out "$folder/bare-$size" --size "$size" --no-title \
        --no-caption --policies "esg k=1,fifo" --only hit-rate-plain
    expect "plot draws two policies without title and caption for a $size" 0
done
for figure in results/paper/*.svg; do
    cp "$figure" "$folder/svg/shipped-$(basename "$figure")"
done

run "$esgsim" report "$folder/trainings.h5" --format csv
median=$(awk -F, '$7 == "training_jct_s_p50" { print $11 }' "$folder/out")
drawn=$(awk -F, '$2 == "synergy" && $3 == 50 { print $4 * 3600 }' \
    "$folder/svg/jct-cdf-training-dynamic.csv")
if [ -n "$median" ] && [ "$median" = "$drawn" ]; then
    pass "the completion time drawn at 50 % is the median of the report"
else
    fail "the completion time drawn at 50 % is the median of the report" "$median s, not $drawn s"
fi

# Rounds of 300 s end when samples are taken; these show the gangs of the new round.
run "$esgsim" plot "$folder/rounds.h5" --out "$folder/rounds" --only timeline --quiet
most=$(awk -F, 'NR > 1 && $2 > most { most = $2 } END { print most }' "$folder"/rounds/timeline-*.csv)
if [ "$most" = 100 ]; then
    pass "the timeline of trainings shows a full cluster"
else
    fail "the timeline of trainings shows a full cluster" "at most $most % of the GPUs are held"
fi

# What gantt draws is what the trace tells: GPU seconds (of 7 units) held by batches in time and late, of one job each.
run "$esgsim" run workloads/experiments/strict-light.json --policy orion --set requests=200 --set record=all --quiet \
    --out "$folder/gantt.h5" --timeline "$folder/gantt.json"
run "$esgsim" plot "$folder/gantt.h5" --out "$folder/gantt" --only gantt --until 100000
expect "plot draws what GPUs do in a window" 0
grep '"cat":"request".*"hit":' "$folder/gantt.json" >"$folder/told"
grep '"cat":"batch"' "$folder/gantt.json" >>"$folder/told"
awk 'function value(key) { match($0, "\"" key "\":[^,}]*"); return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) }
    /"hit":/ { if (value("hit") == "false") late[value("request")]; next }
    { match($0, /[0-9]+ vGPU/); share = substr($0, RSTART, RLENGTH - 5) / 7; held[value("first_request") in late] += share * value("dur") / 1e6 }
    END { printf "%.3f %.3f\n", held[0], held[1] }' "$folder/told" >"$folder/expected"
awk -F, '{ held[$5] += ($9 - $6) * ($11 - $10) } END { printf "%.3f %.3f\n", held[1], held[2] }' \
    "$folder/gantt/gantt-strict-light.csv" >"$folder/found"
same "gantt draws the GPU time that batches hold" "$folder/expected" "$folder/found"
run "$esgsim" plot "$folder/gantt.h5" --out "$folder/gantt" --only gantt --from 30 --until 20
expect_refusal "a window that ends before it begins is refused" '--until should be after --from, which is 30 s'
for script in plots/*.gp; do
    kind=$(basename "$script" .gp)
    # loaded by others, or drawn by verify (tests/reality.sh), or shipped (tests/shipped.sh)
    case $kind in common | bars | dots | spans | reality | envelope | robustness | flips) continue ;; esac
    for format in svg pdf png; do
        found=$(find "$folder/$format" -name "$kind*.$format" | head -n 1)
        [ -n "$found" ] || fail "a figure of plots/$kind.gp is drawn as $format" "none there"
    done
done

# ---- How others read it ----------------------------------------------------------------------

# reads NAME FORMAT COMMAND...: the command, given each figure, succeeds and says nothing on standard
# error.
reads() {
    name=$1
    format=$2
    shift 2
    count=0
    : >"$folder/said"
    for figure in "$folder/$format"/*."$format"; do
        count=$((count + 1))
        status=0
        "$@" "$figure" >"$folder/out" 2>"$folder/err" || status=$?
        if [ "$status" -ne 0 ] || [ -s "$folder/err" ]; then
            echo "$(basename "$figure"): status $status: $(head -n 1 "$folder/err")" >>"$folder/said"
        fi
    done
    if [ "$count" -ge 30 ] && [ ! -s "$folder/said" ]; then
        pass "$name ($count figures)"
    else
        fail "$name" "$count figures; complaints:" "$(head -n 20 "$folder/said")"
    fi
}
reads "librsvg draws every SVG and says nothing" svg rsvg-convert -o "$folder/drawn.png"
reads "poppler reads every PDF and says nothing" pdf pdfinfo
# shellcheck disable=SC2317
png_check() { head -c 8 "$1" | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'; }
reads "every PNG is one" png png_check

# ---- Named sizes -----------------------------------------------------------------------------

# canvas FIGURE: its width and height in pixels of 1/96 inch.
canvas() { sed -n 's/^ *width="\([0-9]*\)" height="\([0-9]*\)"$/\1 \2/p' "$1" | head -n 1; }
# framed OVERFLOW FIGURE...: the figures below each other, each within a wide frame; whatever they draw there
# is visible or hidden.
framed() {
    overflow=$1
    shift
    y=40
    widest=0
    {
        for figure; do
            canvas "$figure" >"$folder/canvas"
            read -r width height <"$folder/canvas"
            echo "<svg x='40' y='$y' width='$width' height='$height' overflow='$overflow'>"
            sed -n '/^<g id="gnuplot_canvas">/,$p' "$figure"
            y=$((y + height + 80))
            [ "$width" -le "$widest" ] || widest=$width
        done
    } >"$folder/framed"
    {
        echo "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'" \
            "width='$((widest + 80))' height='$y'>"
        cat "$folder/framed"
        echo "</svg>"
    } | rsvg-convert --unlimited
}
# outside FIGURE...: names those that draw outside their canvas. Many are looked at together.
outside() {
    framed visible "$@" >"$folder/visible.png"
    framed hidden "$@" >"$folder/hidden.png"
    if [ ! -s "$folder/visible.png" ] || ! cmp -s "$folder/visible.png" "$folder/hidden.png"; then
        [ $# -gt 1 ] || echo "${1#"$folder"/}: draws outside its canvas"
        [ $# -eq 1 ] || for one; do outside "$one"; done
    fi
}
for size in $sizes; do
    : >"$folder/said"
    # 9 in are 864 pixels, 7 pt are 9.33 pixels, 14 of 720 are 14.
    least=9.33
    [ "$size" = slide ] && least=14
    find "$folder/$size" "$folder/bare-$size" -name '*.svg' | while read -r figure; do
        case $size:$(canvas "$figure") in
        "column:320 "* | "page:672 "* | "slide:1280 720") ;;
        *) echo "${figure#"$folder"/}: $(canvas "$figure") pixels" ;;
        esac
        [ "$(canvas "$figure" | cut -d ' ' -f 2)" -le 864 ] ||
            echo "${figure#"$folder"/}: higher than 9 in"
        grep -o 'font-size="[0-9.]*"' "$figure" | awk -F '"' -v least=$least -v name="${figure#"$folder"/}" \
            '$2 < least { print name ": text of " $2 }' | sort -u
    done >"$folder/said"
    find "$folder/$size" "$folder/bare-$size" -name '*.svg' | sort >"$folder/all"
    split -l 15 "$folder/all" "$folder/some-"
    for some in "$folder"/some-*; do
        # shellcheck disable=SC2046
        outside $(cat "$some") >>"$folder/said"
    done
    rm "$folder"/some-*
    if [ ! -s "$folder/said" ]; then
        pass "figures for a $size have its size, legible text and nothing outside"
    else
        fail "figures for a $size have its size, legible text and nothing outside" \
            "$(head -n 20 "$folder/said")"
    fi
done
# named SIZE: prints the contenders of each figure's CSV that its picture does not name, or names like
# another. A shortened name has lost its middle.
named() {
    find "$folder/$1" -name '*.csv' | while read -r csv; do
        [ -s "${csv%.csv}.svg" ] || echo "${csv#"$folder"/}: no picture"
        sed -n 's/.*<tspan[^>]*>\([^<]*\)<.*/\1/p' "${csv%.csv}.svg" >"$folder/texts"
        awk -F, -v figure="${csv#"$folder"/}" '
            FNR == NR { text[$0]; next }
            FNR == 1 { for (f = 1; f <= NF; f++) { if ($f == "contender" || $f == "series_title") at = f
                if ($f == "colour") look = f }; next }
            at && look && $look == "0xC4C4C4" { $at = "others" }
            at && $at !~ /two words/ && !seen[$at]++ {
                if ($at in text) next
                found = 0
                for (t in text) {
                    cut = index(t, "…")
                    tail = substr(t, cut + length("…"))
                    if (cut > 1 && substr($at, 1, cut - 1) == substr(t, 1, cut - 1) &&
                        substr($at, length($at) - length(tail) + 1) == tail && !taken[t]++) { found = 1; break }
                }
                if (!found) print figure ": " $at
            }' "$folder/texts" "$csv"
    done
}
for size in $sizes; do
    named "$size" >"$folder/said"
    if [ ! -s "$folder/said" ]; then
        pass "every contender is named in figures for a $size"
    else
        fail "every contender is named in figures for a $size" "$(head -n 20 "$folder/said")"
    fi
done
if size column; then
    if grep -q 'hit-rate-tight: drawn as . figures, hit-rate-tight-part-1 to -.: it would be .* in high, which is more than 9' \
        "$folder/column/paper/notes" && [ ! -e "$folder/column/paper/hit-rate-tight.csv" ] &&
        grep -q 'tight‚ part 2 of' "$folder/column/paper/hit-rate-tight-part-2.csv"; then
        pass "a figure that is too high for a page is divided, and plot says so"
    else
        fail "a figure that is too high for a page is divided, and plot says so" \
            "$(cat "$folder/column/paper/notes")" "$(ls "$folder/column/paper")"
    fi
fi
if size page; then
    # Of many contenders those of "show" have names, the first of each other policy is grey, and variants are on
    # their own.
    shown=$folder/page/paper-shown
    if grep -q '>headway<' "$shown/hit-rate-tight.svg" && grep -q '>others<' "$shown/hit-rate-tight.svg" &&
        ! grep -q '>clockwork<\|headroom' "$shown/hit-rate-tight.svg" &&
        grep -q '^1,.*,7,clockwork,.*,0xC4C4C4,' "$shown/hit-rate-tight.csv" &&
        grep -q '>esg headroom=0 late=lead<' "$shown"/settings-variants*.svg &&
        ! grep -q '>headway<' "$shown"/settings-variants*.svg &&
        grep -q 'some contenders are grey.*--all' "$shown/notes" &&
        ! grep -q '>others<' "$folder/page/paper/hit-rate-tight"*.svg; then
        pass "figures name the contenders that the sweep shows"
    else
        fail "figures name the contenders that the sweep shows" "$(cat "$shown/notes")" "$(ls "$shown")"
    fi
fi
if size column; then
    # The parts hold the rows of the whole.
    run "$esgsim" plot "$folder/paper.h5" --out "$folder/whole" --only settings --all
    rows() { cat "$@" | grep -v '^panel' | cut -d, -f 5,7-10 | sort; }
    rows "$folder/whole/settings.csv" >"$folder/expected"
    rows "$folder"/column/paper/settings-part-*.csv >"$folder/found"
    same "the parts of a figure hold all of it" "$folder/expected" "$folder/found"
fi
if size page; then
    # The legend's two dark lines, one solid, one dashed.
    if grep "stroke='rgb( 34,  34,  34)'" "$folder"/page/simulated-against-real*.svg | grep -q dasharray; then
        pass "the legend shows the dashes of lines of one colour"
    else
        fail "the legend shows the dashes of lines of one colour" "no dashed line in the legend"
    fi
    grep -ho '>[ 0-9]*<' "$folder"/page/curve-*.svg | tr -d '<> ' | awk '$1 >= 200' | sort | uniq -d \
        >"$folder/said"
    if ls "$folder"/page/curve-*.svg >/dev/null && [ ! -s "$folder/said" ]; then
        pass "ticks of a logarithmic axis are labelled left of the first panel only"
    else
        fail "ticks of a logarithmic axis are labelled left of the first panel only" \
            "twice: $(tr '\n' ' ' <"$folder/said")"
    fi
    if grep -q '>99.9<' "$folder"/page/paper/hit-rate-tight*.svg &&
        grep -q '^0,SLO,' "$folder"/page/paper/latency-parts-tight*.csv; then
        pass "hit rates above 90 % have a panel by nines, latencies the SLOs"
    else
        fail "hit rates above 90 % have a panel by nines, latencies the SLOs" \
            "$(ls "$folder/page/paper")"
    fi
fi
for wanted in "" --variants; do
    # shellcheck disable=SC2086
    run "$esgsim" plot "$folder/policies.h5" --out "$folder/plain$wanted" --policies esg $wanted \
        --only hit-rate-plain
    expect "plot draws esg $wanted" 0
done
if ! grep -q '>esg k=1<' "$folder/plain/hit-rate-plain.svg" &&
    grep -q '>esg k=1<' "$folder/plain--variants/hit-rate-plain.svg" &&
    ! grep -q '>fifo<' "$folder/plain--variants/hit-rate-plain.svg"; then
    pass "a policy's name is the policy without parameters, or all of its variants on demand"
else
    fail "a policy's name is the policy without parameters, or all of its variants on demand" \
        "$(grep -ho '>esg[^<]*<' "$folder"/plain*/hit-rate-plain.svg)"
fi
run "$esgsim" plot "$folder/one-seed.h5" --out "$folder/none" --policies esg
expect_refusal "plot refuses a policy that has variants only" "no run of 'esg'.*--variants"
if size column; then
    bare=$folder/bare-column/hit-rate-plain
    if grep -q '>SLO hit rate by application: plain<' "$folder/svg/hit-rate-plain.svg" &&
        ! grep -q 'SLO hit rate by\|Latency profile\|Dashed' "$bare.svg" &&
        grep -q 'Latency profile' "$bare.csv" && grep -q '>fifo<' "$bare.svg" &&
        ! grep -q '>esg<' "$bare.svg"; then
        pass "title, caption and other policies are left out; the CSV keeps the caption"
    else
        fail "title, caption and other policies are left out; the CSV keeps the caption" \
            "$(grep -o '<tspan.*' "$bare.svg")"
    fi
fi
run "$esgsim" plot "$folder/policies.h5" --out "$folder/setting" --policies "esg k=1,fifo" --only '*-plain'
if [ -f "$folder/setting/hit-rate-plain.svg" ] && [ -f "$folder/setting/decisions-plain.svg" ] &&
    [ ! -f "$folder/setting/settings.svg" ]; then
    pass "*-SETTING draws all figures of the setting and no other"
else
    fail "*-SETTING draws all figures of the setting and no other" "$(ls "$folder/setting")"
fi
if size column; then
    run "$esgsim" plot "$folder/policies.h5" --out "$folder/whole" --size column \
        --policies "esg k=1,fifo" --only hit-rate-plain
    if [ "$(canvas "$bare.svg")" = "$(canvas "$folder/whole/hit-rate-plain.svg")" ]; then
        pass "and the plot takes their room"
    else
        fail "and the plot takes their room" "$(canvas "$bare.svg")"
    fi
fi

grep -l '<title>' "$folder"/svg/*.svg >"$folder/titled"
if [ ! -s "$folder/titled" ]; then
    pass "no SVG has a title, which browsers show as a tooltip"
else
    fail "no SVG has a title, which browsers show as a tooltip" "$(cat "$folder/titled")"
fi
if grep -qF ">SLO hit rate by application: =b\\n 'two words' %s {a}^_@ \`ls\`<" \
    "$folder"/svg/hit-rate-b-n-*.svg; then
    pass "a name is in the figure as it is in the sweep"
else
    fail "a name is in the figure as it is in the sweep" \
        "$(grep -h 'SLO hit rate by' "$folder"/svg/hit-rate-b-n-*.svg)"
fi

# ---- A drawing that fails --------------------------------------------------------------------

# A gnuplot in the real one's place: it cuts its picture short, or waits.
mkdir "$folder/broken" "$folder/waiting"
cat >"$folder/broken/gnuplot" <<'EOF'
#!/bin/sh
for argument; do
    case $argument in out=*) out=${argument#out=} ;; --version) exit 0 ;; esac
done
eval "echo '<svg' >$out"
exit "$STATUS"
EOF
cat >"$folder/waiting/gnuplot" <<EOF
#!/bin/sh
case \$* in *--version*) exit 0 ;; esac
echo \$\$ >"$folder/waiting/pid"
exec sleep 600
EOF
chmod +x "$folder/broken/gnuplot" "$folder/waiting/gnuplot"

mkdir "$folder/kept"
run "$esgsim" plot traces/profiles/a100-mig-parvagpu.json --out "$folder/kept"
cp "$folder"/kept/*.svg "$folder/before.svg"
# kept NAME: the figure is the one before, and nothing lies beside it.
kept() {
    if cmp -s "$folder"/kept/*.svg "$folder/before.svg" &&
        [ "$(find "$folder/kept" -type f | wc -l)" -eq 2 ]; then
        pass "$1"
    else
        explain "$1" "$(ls "$folder/kept")"
    fi
}
for status_of_it in 0 1; do
    run env PATH="$folder/broken:$PATH" STATUS=$status_of_it "$esgsim" plot \
        traces/profiles/a100-mig-parvagpu.json --out "$folder/kept"
    if [ "$status" -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ]; then
        pass "a cut picture of a gnuplot that ends in $status_of_it is refused in one line"
    else
        explain "a cut picture of a gnuplot that ends in $status_of_it is refused in one line" \
            "status 1, one line"
    fi
    kept "and the older figure stays"
done
run sh -c "ulimit -f 8 && exec '$esgsim' plot traces/profiles/a100-mig-parvagpu.json \
    --out '$folder/kept'"
if [ "$status" -eq 1 ]; then
    pass "a full disk fails"
else
    explain "a full disk fails" "status 1"
fi
kept "and the older figure stays"

PATH="$folder/waiting:$PATH" "$esgsim" plot traces/profiles/a100-mig-parvagpu.json \
    --out "$folder/killed" >/dev/null 2>&1 &
parent=$!
tries=0
while [ ! -s "$folder/waiting/pid" ] && [ $tries -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
child=$(cat "$folder/waiting/pid")
kill -9 $parent
wait $parent 2>/dev/null
tries=0
while kill -0 "$child" 2>/dev/null && [ $tries -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
if [ -n "$child" ] && ! kill -0 "$child" 2>/dev/null; then
    pass "gnuplot ends when esgsim is killed"
else
    fail "gnuplot ends when esgsim is killed" "process '$child' is still there"
    [ -z "$child" ] || kill "$child"
fi
finish
