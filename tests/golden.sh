#!/bin/sh
# Experiments that ship, short, against the figures of tests/golden.txt. Where these should change,
# say so in CHANGELOG.md and write them anew: sh tests/golden.sh --update.
#
# A line of golden.txt: experiment, policy, settings (-- ends them), figures to six digits.
[ "${1:-}" = --update ] && update=1
. tests/shell.sh

program=${BUILD:-build}/esgsim
golden=tests/golden.txt

# golden_run EXPERIMENT POLICY KEY=VALUE...: the figures on one line, to standard output.
golden_run() {
    experiment=$1 policy=$2
    shift 2
    for setting in "$@"; do
        set -- "$@" --set "$setting"
        shift
    done
    "$program" run "workloads/experiments/$experiment.json" --policy "$policy" "$@" --quiet --json \
        >"$folder/json" || return
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
        END { print "" }' "$folder/json"
}

: >"$folder/golden"
while read -r line; do
    run_words=${line%% --*}
    # The words of the line are the arguments.
    # shellcheck disable=SC2086
    if ! figures=$(golden_run $run_words); then
        fail "$run_words runs"
        continue
    fi
    echo "$run_words --$figures" >>"$folder/golden"
    if [ -z "${update:-}" ]; then
        if [ "$line" = "$run_words --$figures" ]; then
            pass "$run_words has the figures of $golden"
        else
            fail "$run_words has the figures of $golden" "then: ${line#* -- }" "now: $figures"
        fi
    fi
done <"$golden"
[ -z "${update:-}" ] || { cp "$folder/golden" "$golden"; exit 0; }
finish
