#!/bin/sh
# The same results as before, in three lists.
#
# golden.txt: experiments that ship, short, with figures to read. A line: experiment, policy,
# settings (-- ends them), figures to six digits.
# digests.txt: many more runs, each with a digest of every table, of the JSON, and where all is
# recorded of the timeline and of `explain`. A line: experiment, policy, settings, -- and digests.
# outputs.txt: a command a line, -- and the digest of what it prints. It begins with small sweeps,
# of which the others tell.
#
#   sh tests/golden.sh             compare
#   sh tests/golden.sh figures     compare golden.txt alone
#   sh tests/golden.sh --update    write all anew (say so in CHANGELOG.md)
#
# To add a run, add its line up to the -- and update. No setting may hold a blank.
cd "$(dirname "$0")/.." || exit
BUILD=${BUILD:-build}
program=$BUILD/esgsim
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac

# golden_run OUTPUT EXPERIMENT POLICY [KEY=VALUE | --OPTION=VALUE]...: one run; its JSON to OUTPUT.
golden_run() {
    output=$1 experiment=$2 policy=$3
    shift 3
    for setting in "$@"; do
        case $setting in
        --*) set -- "$@" "${setting%%=*}" "${setting#*=}" ;;
        *) set -- "$@" --set "$setting" ;;
        esac
        shift
    done
    "$program" run "workloads/experiments/$experiment.json" --policy "$policy" "$@" --quiet --json \
        >"$output"
}

digest_of() { # digest_of FILE: eight digits
    printf '%08x' "$(cksum <"$1" | cut -d ' ' -f 1)"
}

# One line of digests.txt, for xargs. What depends on the machine, the build or the configuration
# alone is left out of the JSON; the tables have none of it.
if [ "${1:-}" = --one ]; then
    number=$2 words=${3%% --}
    work=$(mktemp -d "${TMPDIR:-/tmp}/esgsim-golden.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    case $words in
    *record=all*) more="--timeline=$work/timeline" ;;
    *) more= ;;
    esac
    set -f
    # The words of the line are the arguments.
    # shellcheck disable=SC2086
    if ! golden_run "$work/json" $words --out="$work/results.h5" $more 2>"$work/errors"; then
        echo "$number $words -- failed: $(head -n 1 "$work/errors")"
        exit 0
    fi
    grep -vE '"(wall_s|decision_processor_us_mean|peak_memory_kb|version|commit|sources|setup_s|arrival_rate_per_s|capacity_per_s|offered_load)":' "$work/json" >"$work/figures"
    line="$("$BUILD/tests/digest" "$work/results.h5") json=$(digest_of "$work/figures")"
    if [ -n "$more" ]; then
        "$program" explain "$work/results.h5" --request 25 >"$work/explained" 2>/dev/null ||
            "$program" explain "$work/results.h5" --training 25 >"$work/explained" 2>/dev/null
        line="$line timeline=$(digest_of "$work/timeline") explain=$(digest_of "$work/explained")"
    fi
    echo "$number $words --$line"
    exit 0
fi

# One line of outputs.txt, for xargs, in a folder with the results files. Without gnuplot pages have
# no drawings, which depend on its version. Version, commit and what the clock says are left out.
if [ "${1:-}" = --output ]; then
    number=$3 words=${4%% --}
    cd "$2" || exit
    set -f
    # shellcheck disable=SC2086
    PATH=$2 "$program" $words --quiet >"$number.out" 2>"$number.err" || echo "exit $?" >>"$number.out"
    sed -E 's/esgsim [0-9.]+ \([^)]*\)|of commit [0-9a-f]+(-dirty)?//; s/^( *|expansions .*, )[0-9.]+ (us|ms|s)$/\1/
        /<dt>esgsim<|^\s*"(wall_s|decision_processor_us_mean|peak_memory_kb|version|commit|sources|setup_s|build_ms|elapsed_us)":|^ *wall time|^(time|memory): about/d' \
        "$number.out" >"$number.told"
    echo "$number $words -- $(digest_of "$number.told")"
    exit 0
fi

update=
[ "${1:-}" != --update ] || { update=1; shift; }
. tests/shell.sh

figures_of() { # figures_of JSON: on one line
    awk -F '":' '
        /"applications"/ { exit }
        BEGIN {
            split("slo_hit_rate dropped cost_per_request_usd cost_hold_usd cost_idle_usd " \
                "cost_instance_usd cost_provisioned_usd mean p50 p99 max queue_ms_mean " \
                "transfer_ms_mean cold_ms_mean exec_ms_mean mean_batch batches cold_starts " \
                "instances prewarms evictions decisions decision_units_mean gpu_utilisation " \
                "vcpu_utilisation memory_utilisation gpu_memory_utilisation " \
                "gpu_fragmentation stranded_vgpu slowdown_mean simulated_s", names, " ")
            for (i in names) wanted[names[i]] = 1
        }
        { gsub(/[\t ,"]/, "", $1) }
        $1 in wanted {
            gsub(/[\t ,]/, "", $2)
            printf " %s=%s", $1, $2 == "null" ? $2 : sprintf("%.6g", $2) }
        END { print "" }' "$1"
}

# compare FILE NOW: line by line; with --update NOW is put in place of FILE.
compare() {
    if [ -n "$update" ]; then
        cp "$2" "$1"
        return
    fi
    exec 3<"$2"
    while read -r line; do
        read -r now <&3 || now=
        words=${line% -- *}
        if [ "$line" = "$now" ]; then
            pass "$words is as in $1"
        else
            fail "$words is as in $1" "then: ${line#* -- }" "now: ${now#* -- }"
        fi
    done <"$1"
    exec 3<&-
}

: >"$folder/golden"
while read -r line; do
    words=${line%% --*}
    # shellcheck disable=SC2086
    golden_run "$folder/json" $words || echo '{}' >"$folder/json"
    echo "$words --$(figures_of "$folder/json")" >>"$folder/golden"
done <tests/golden.txt
compare tests/golden.txt "$folder/golden"

if [ "${1:-}" != figures ] && [ ! -x "$BUILD/tests/digest" ]; then
    fail "the tables are digested" "there is no $BUILD/tests/digest: make $BUILD/tests/digest"
elif [ "${1:-}" != figures ]; then
    sed 's/ --.*/ --/' tests/digests.txt | awk '{ printf "%d\n%s\n", NR, $0 }' | tr '\n' '\0' |
        xargs -0 -n 2 -P "${JOBS:-$(nproc)}" sh tests/golden.sh --one |
        sort -n | cut -d ' ' -f 2- >"$folder/digests"
    compare tests/digests.txt "$folder/digests"

    work=$folder/work
    mkdir "$work"
    for room in workloads traces results; do
        ln -s "$PWD/$room" "$work/$room"
    done
    for kind in sweep others; do
        sed 's/ -- [0-9a-f]*$/ --/' tests/outputs.txt | awk '{ printf "%d\n%s\n", NR, $0 }' |
            awk -v kind=$kind '{ getline words } (words ~ /^(sweep|run) .*--out/) == (kind == "sweep") {
                printf "%s\n%s\n", $0, words }' | tr '\n' '\0' |
            xargs -0 -n 2 -P "${JOBS:-$(nproc)}" sh tests/golden.sh --output "$work"
    done | sort -n | cut -d ' ' -f 2- >"$folder/outputs"
    compare tests/outputs.txt "$folder/outputs"
fi
[ -z "$update" ] || exit 0
finish
