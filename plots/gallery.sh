#!/bin/sh
# Draws plots/gallery/*.svg from short runs and writes plots/GALLERY.md around them: `make gallery`. Needs gnuplot and rsvg-convert.
#
#   gallery.sh ESGSIM
set -eu

esgsim=$1
page=plots/GALLERY.md
work=$(mktemp -d "${TMPDIR:-/tmp}/esgsim-gallery.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -rf plots/gallery
mkdir plots/gallery

# show COMMAND...: runs it, with OUT as the folder of what it writes; what is written into $page names none.
show() {
    # shellcheck disable=SC2046
    "$esgsim" $(echo "$*" | sed "s|OUT|$work|g") >/dev/null
}
# figure NAME FILE SENTENCE COMMAND...: FILE is the figure that COMMAND writes into OUT.
figure() {
    name=$1 file=$2 sentence=$3
    shift 3
    show "$@"
    # shellcheck disable=SC2086
    mv "$work"/$file.svg "plots/gallery/$name.svg"
    printf '## %s\n\n%s\n\n    esgsim %s\n\n![%s](gallery/%s.svg)\n\n' "$name" "$sentence" "$*" "$sentence" "$name" >>"$page"
}
# pictures SENTENCE COMMAND NAME...: figures of one command that have too many dots for SVG.
pictures() {
    sentence=$1 command=$2
    shift 2
    # shellcheck disable=SC2086
    show $command
    printf '## %s\n\n%s\n\n    esgsim %s\n\n' "$1" "$sentence" "$command" >>"$page"
    for name; do
        rsvg-convert -w 1000 "$work/$name.svg" -o "plots/gallery/$name.png"
        printf '![%s](gallery/%s.png)\n\n' "$name" "$name" >>"$page"
    done
}
data() {
    printf '    esgsim %s\n' "$*" >>"$page"
    show "$@" --quiet
}

cat >"$page" <<'EOF'
# Figures at a glance

One figure of each kind, what it shows, and the command. `make gallery` draws them and writes this page. The runs are short but for `curve` and `reality`, so the figures show forms, not results. OUT is a folder of yours.
`plots/README.md` says how figures are made. Add `--size column` for a paper, `--format pdf`, or `--policies A,B`. The data are these:

EOF
data sweep measured --set requests=300 --set warmup_requests=50 --set record=all --set seeds=2 --out OUT/measured.h5
data sweep training-sharing-authors --out OUT/trainings.h5
data sweep workloads/experiments/2080ti-infless-policies.json --out OUT/2080ti.h5
data run strict-light --set requests=60 --set warmup_requests=10 --set record=all --out OUT/one.h5
data calibrate traces/profiles/raw/infless/infless_profiles_clean.csv --points OUT/points.csv
echo >>"$page"

some="--policies esg,infless,orion,fifo,min-config --out OUT"
setting=a100-mixed-under-azure
figure hit-against-cost hit-against-cost-$setting "Who hits more, and at what cost: up and to the left is better." plot OUT/measured.h5 --only hit-against-cost-$setting "$some"
figure hit-rate hit-rate-$setting "The share of requests within their SLO, by application." plot OUT/measured.h5 --only hit-rate-$setting "$some"
figure settings settings "All settings of a sweep beside each other." plot OUT/measured.h5 --only settings "$some"
figure tornado tornado "The first policy minus another one, in every setting: which setting reverses the order." plot OUT/measured.h5 --only tornado "$some"
figure latency-cdf latency-cdf-$setting "How latencies are spread, in ms and as a share of the SLO." plot OUT/measured.h5 --only latency-cdf-$setting "$some"
figure latency-parts latency-parts-$setting "What a late request waited for: its queue, transfers, cold starts, execution." plot OUT/measured.h5 --only latency-parts-$setting "$some"
figure cost-parts cost-parts-$setting "Resources that are billed, and those that are provisioned." plot OUT/measured.h5 --only cost-parts-$setting "$some"
figure resources resources-$setting "How much of the cluster is held, and how much of it is stranded." plot OUT/measured.h5 --only resources-$setting "$some"
figure gantt gantt-strict-light "What each GPU does: batches in time and late, cold starts, drops." plot OUT/one.h5 --only gantt --from 4 --until 6 --out OUT
figure request request "One late request, stage by stage." explain OUT/one.h5 --request 40 --out OUT/request.svg
figure jct jct-new "Completion times of trainings." plot OUT/trainings.h5 --only jct-new --out OUT
figure published published "A paper's range in grey, ours as dots." plot OUT/trainings.h5 --paper results/paper/sjf-bsbf-arxiv24.json --only published --out OUT
figure curve curve-2080ti-infless "Metrics against a swept key." plot OUT/2080ti.h5 --only curve-2080ti-infless --over arrivals.load --out OUT
figure calibration calibration-points "How well a fitted latency model meets what was measured." plot OUT/points.csv --only calibration --out OUT
figure profile profile-h200-green "The latency of functions by batch and share." plot traces/profiles/h200-green.json --out OUT
figure arrivals arrivals-azure2021-200 "A trace of arrivals over time." plot traces/arrivals/Azure2021_200.csv.gz --out OUT
figure tree tree-esg-queue-to-serve "A policy that was distilled into a tree." plot workloads/trees/esg.txt --out OUT
figure dag dag-image-classification "An application of an experiment: its stages, and their groups." plot strict-light --only dag-image-classification --out OUT
figure cluster cluster-strict-light "The cluster of an experiment." plot strict-light --only cluster --out OUT
pictures "What is simulated against what real systems did: requests, trainings, frames." "verify reality --out OUT" reality reality-trainings curve-frames
