#!/bin/sh
# Figures as other programs read them. Draws every kind from small sweeps, a profile, a trace and a
# calibration, in all three formats: librsvg and poppler must not say a word. Also what a figure's
# folder holds after a drawing that failed.
. tests/shell.sh

esgsim=${SAN_BUILD:-build/sanitized}/esgsim
here=$(pwd)

# ---- What is drawn ---------------------------------------------------------------------------

cat >"$folder/policies.json" <<EOF
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 2,
 "matrix": {
   "setting": [{"name": "plain", "slo.factor": 0.8},
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
# More contenders than a panel of a column has lines for.
cat >"$folder/many.json" <<EOF
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 1,
 "matrix": {"policy.name": ["esg"], "policy.params.infeasible": ["cheapest", "minimum"],
            "policy.params.recheck_limit": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}
EOF
short="--set requests=60 --set warmup_requests=5 --set record=all --quiet"
for sweep in policies one-seed loads many; do
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

# draw FORMAT: everything above into $folder/FORMAT.
draw() {
    for file in "$folder/policies.h5" "$folder/one-seed.h5" "$folder/loads.h5" \
        "$folder/trainings.h5" "$folder/points.csv" \
        traces/profiles/a100-mig-parvagpu.json traces/arrivals/AzureLLMInferenceTrace_code.csv.gz; do
        run "$esgsim" plot "$file" --out "$folder/$1" --format "$1"
        expect "plot draws $(basename "$file") as $1" 0
    done
    run "$esgsim" plot "$folder/simulated.h5" --against "$folder/real.h5" --out "$folder/$1" \
        --format "$1"
    expect "plot draws a simulation against a replay as $1" 0
    charts "$folder/$1" "$1"
}
for format in svg pdf png; do
    draw $format
done
# The named sizes, and what is left out.
sizes="column page slide"
for size in $sizes; do
    charts "$folder/$size" svg --size "$size"
    run "$esgsim" plot "$folder/policies.h5" --out "$folder/$size" --size "$size" \
        --only settings --only hit-rate
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
    run "$esgsim" plot "$folder/many.h5" --out "$folder/$size" --size "$size" \
        --only hit-against-cost --only latency-cdf --only settings --only hit-rate
    expect "plot draws many contenders for a $size" 0
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

for script in plots/*.gp; do
    kind=$(basename "$script" .gp)
    # loaded by others, or drawn by verify (tests/reality.sh)
    case $kind in common | bars | dots | spans | reality | envelope) continue ;; esac
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
# framed FIGURE OVERFLOW: the figure within a wide frame, whatever it draws there visible or hidden.
framed() {
    canvas "$1" | {
        read -r width height
        echo "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'" \
            "width='$((width + 400))' height='$((height + 400))'>" \
            "<svg x='200' y='200' width='$width' height='$height' overflow='$2'>"
        sed -n '/^<g id="gnuplot_canvas">/,$p' "$1"
        echo "</svg>"
    } | rsvg-convert
}
for size in $sizes; do
    : >"$folder/said"
    for figure in "$folder/$size"/*.svg "$folder/bare-$size"/*.svg; do
        framed "$figure" visible >"$folder/visible.png"
        framed "$figure" hidden >"$folder/hidden.png"
        if [ ! -s "$folder/visible.png" ] || ! cmp -s "$folder/visible.png" "$folder/hidden.png"; then
            echo "$(basename "$figure"): draws outside its canvas" >>"$folder/said"
        fi
        case $size:$(canvas "$figure") in
        "column:320 "* | "page:672 "* | "slide:1280 720") ;;
        *) echo "$(basename "$figure"): $(canvas "$figure") pixels" >>"$folder/said" ;;
        esac
        # 9.5 in are 912 pixels.
        [ "$size" = slide ] || [ "$(canvas "$figure" | cut -d ' ' -f 2)" -le 912 ] ||
            echo "$(basename "$figure"): higher than a printed page" >>"$folder/said"
        # 7 pt are 9.33 pixels.
        [ "$size" = slide ] || grep -o 'font-size="[0-9.]*"' "$figure" |
            awk -F '"' -v name="$(basename "$figure")" '$2 < 9.33 { print name ": text of " $2 }' |
            sort -u >>"$folder/said"
    done
    if [ ! -s "$folder/said" ]; then
        pass "figures for a $size have its size, legible text and nothing outside"
    else
        fail "figures for a $size have its size, legible text and nothing outside" \
            "$(head -n 20 "$folder/said")"
    fi
done
# named SIZE: prints the contenders of a figure's CSV that its picture does not name.
named() {
    for picture in "$folder/$1"/hit-against-cost*.svg "$folder/$1"/latency-cdf*.svg \
        "$folder/$1"/settings*.svg; do
        at=2 # column of the contender
        case $picture in */settings*) at=7 ;; esac
        awk -F, -v at=$at 'NR > 1 && !seen[$at]++ { print $at }' "${picture%.svg}.csv" |
            while read -r name; do
                grep -qF ">$name<" "$picture" || echo "$(basename "$picture"): $name"
            done
    done
}
for size in $sizes; do
    named "$size" | grep -v "two words" >"$folder/said"
    if [ ! -s "$folder/said" ]; then
        pass "every contender is named in figures for a $size"
    else
        fail "every contender is named in figures for a $size" "$(cat "$folder/said")"
    fi
done
run "$esgsim" plot "$folder/many.h5" --out "$folder/large" --size column --only hit-rate \
    --only hit-against-cost
if [ "$status" -eq 0 ] && [ "$(wc -l <"$folder/out")" -eq 1 ] &&
    grep -q 'hit-rate-strict-light: not drawn, it would be .* in high.*--policies' \
        "$folder/err"; then
    pass "a figure that is too high for a page is left out, and plot says so"
else
    explain "a figure that is too high for a page is left out, and plot says so" \
        "status 0, one picture, a note about the other"
fi
run "$esgsim" plot "$folder/many.h5" --out "$folder/large" --size column --only hit-rate --quiet
expect_refusal "and refused where nothing else is drawn" 'none has room; omit --only and --size'
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
run "$esgsim" plot "$folder/policies.h5" --out "$folder/whole" --size column \
    --policies "esg k=1,fifo" --only hit-rate-plain
if [ "$(canvas "$bare.svg")" = "$(canvas "$folder/whole/hit-rate-plain.svg")" ] &&
    [ "$(canvas "$folder/bare-slide/hit-rate-plain.svg")" = "1280 720" ]; then
    pass "and the plot takes their room"
else
    fail "and the plot takes their room" "$(canvas "$bare.svg")"
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
