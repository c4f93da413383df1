#!/bin/sh
# An addition is one entry in one place: each line below is added to a copy of the sources, which is
# built and used. What else should follow from the entry is asked of the program.
. tests/shell.sh

tree=$folder/tree
mkdir "$tree"
cp -r Makefile .ci CITATION.cff plots results sched sim traces workloads "$tree"
rm -rf "$tree"/traces/arrivals

# add FILE PATTERN TEXT: the line TEXT behind the first line that matches PATTERN.
add() {
    awk -v pattern="$2" -v text="$3" '{ print } !done && $0 ~ pattern { print text; done = 1 }
        END { exit !done }' "$tree/$1" >"$folder/added" || fail "$1 has a line like $2"
    mv "$folder/added" "$tree/$1"
}

metrics=$(cd "$tree" && find sim -name metrics.def)
add "$metrics" '^METRIC.u64, dropped' \
    'METRIC(u64, dummy_metric, "1", RESULTS, IN_RUN | IN_DETAILS | IN_REPORT, FACE_COUNT("dummy", "dummies of a test"), "dummies", ARRIVALS, "added by a test")'
add "$metrics" '^TRAINING_METRIC.u64, unfinished' \
    'TRAINING_METRIC(f64, dummy_training, "s", COMPLETION, IN_RUN | IN_REPORT, FACE_HOURS("dummy", "time of dummies"), TRAININGS, MEASURED, "added by a test, too")'
add sched/registry.c 'ROW.esg' "    ROW(dummy_policy) \\"
cat >"$tree/sched/dummy_policy.c" <<'EOF'
#include "sched/policy.h"

static bool dummy_decide(void *state, struct platform *platform)
{
    (void)state;
    const uint32_t queue = platform_next_queue(platform, 0);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}

struct dummy_parameters {
    double dummy_parameter;
};
static const struct key dummy_parameters[] = {
    PARAMETER_NUMBER(dummy, dummy_parameter, 0, 2, 1, "added by a test"), KEY_END};

extern const struct policy policy_dummy_policy;
const struct policy policy_dummy_policy = {
    .abi = POLICY_ABI,
    .name = "dummy-policy",
    .summary = "added by a test",
    .parameters = dummy_parameters,
    .parameters_bytes = sizeof(struct dummy_parameters),
    .decide = dummy_decide,
};
EOF
add sched/keep_alive/registry.c 'ROW.fixed' "    ROW(dummy_keeper) \\"
sed -e 's/keep_alive_none/keep_alive_dummy_keeper/g' -e 's/"none"/"dummy-keeper"/' \
    "$tree/sched/keep_alive/none.c" >"$tree/sched/keep_alive/dummy_keeper.c"

add workloads/world/gpu_sharing.c 'const struct gpu_sharing gpu_sharings' \
    '    [3] = {.name = "dummy-sharing", .interferes = true, .allows = mps_allows, .headroom = mps_headroom, .fits = mps_fits},'

add workloads/spec/platform_spec.c 'KEY_OWN."initial"' \
    '    KEY_NUMBER("dummy_key", platform_spec, dummy_number, 0, 7, 2, OPTIONAL),'
add workloads/spec/experiment.h 'enum initial_state initial;' '    double dummy_number;'

add sim/base/records.def '^FIELD.timeline_row, f64, gpu_used' \
    'FIELD(timeline_row, f64, dummy_column, "1", "added by a test")'
add plots/figures.c '^const struct figure_kind figure_kinds' \
    '    {.script = "dummy-figure", .about = ABOUT_REQUESTS, .lead = "Added by a test.", SHOWS_DOTS("slo_hit_rate"), .apart = true},'
sed 's/hit-rate\.gp/dummy-figure.gp/' "$tree/plots/hit-rate.gp" >"$tree/plots/dummy-figure.gp"

add sim/base/notices.def '^NOTICE.KERNELS' 'NOTICE(DUMMY, WARNING, "added by a test in %d words")'
add sim/platform/notices.c '^    add_predicted.notices' '    notices_add(notices, NOTICE_OF(DUMMY), 6);'
add sim/platform/events.def '^WORK_EVENT.USER' \
    'WORK_EVENT(DUMMY, platform_fail(platform, "dummy event of %d", (int)subject), "platform.dummy_key")'
add sim/platform/event_loop.c '^    users_init.platform.;' '    if (experiment->platform.dummy_number > 3) platform_schedule(platform, experiment->platform.dummy_number > 4 ? SIM_CLOCK_END + 1 : 1, EVENT_DUMMY, 3);'

add traces/readers/trace_layout.h 'FORMAT..esgsim' "    FORMAT(\"dummy-format\", dummy_format) \\"
cat >"$tree/traces/readers/trace_dummy.c" <<'END'
#include "traces/readers/trace_layout.h"
static const struct trace_columns columns = {.time = "dummy_ms", .application = "application", .unit = "ms"};
const struct trace_layout trace_layout_dummy_format = {
    .header = "dummy_ms,application", .columns = &columns, TRACE_BY_COLUMNS};
END

run make -C "$tree" BUILD="$folder/build" OPT=-O0 V= -j2 all "$folder/build/schemas"
expect "the program is built with one entry more in each table" 0
esgsim=$folder/build/esgsim
export ESGSIM_DATA="$tree"
light=$tree/workloads/experiments/strict-light.json

# ---- A policy and its parameter --------------------------------------------------------------

run "$esgsim" list policies dummy-policy
expect "a policy's line is enough for it to be listed with its parameter" 0 'dummy_parameter = 1'
run "$esgsim" run "$light" --quiet --json --policy dummy-policy --set requests=20 --set policy.params.dummy_parameter=2
expect "it runs" 0 '"dropped":	20'
run "$esgsim" run "$light" --quiet --policy dummy-policy --set policy.params.dummy_parameter=3
expect_refusal "its parameter's range is held" 'dummy_parameter: 3 is out of range'

# ---- A keep-alive policy ---------------------------------------------------------------------

run "$esgsim" run "$light" --quiet --json --set requests=20 --set platform.keep_alive=dummy-keeper
expect "a keep-alive's line is enough for it to be used" 0 '"keep_alive":	"dummy-keeper"'

# ---- A sharing mode --------------------------------------------------------------------------

run "$esgsim" run "$light" --quiet --json --set requests=20 --set cluster.invokers.0.gpus.0.sharing=dummy-sharing
expect "a sharing mode's entry is enough for a cluster that has it" 0 '"requests":	20'
run "$esgsim" run "$light" --quiet --set cluster.invokers.0.gpus.0.sharing=dumy-sharing
expect_refusal "its name is known to the loader" 'dummy-sharing'
run "$esgsim" run "$light" --quiet --set requests=20 --set cluster.invokers.0.gpus.0.sharing=dummy-sharing --out "$folder/s.h5"
expect "it is simulated into a file" 0
run h5dump "$folder/s.h5"
expect "its name is in the run's configuration" 0 'dummy-sharing'

# ---- A key of an experiment ------------------------------------------------------------------

run "$esgsim" run "$light" --quiet --set requests=20 --set platform.dummy_key=3 --out "$folder/k.h5"
expect "a key's line and its field are enough for it to be loaded" 0
run h5dump "$folder/k.h5"
expect "the canonical form has it" 0 'dummy_key":3'
run "$esgsim" run "$light" --quiet --set platform.dummy_key=8
expect_refusal "its range is held" 'platform.dummy_key: is 8, must lie within 0..7'
run "$esgsim" run "$light" --quiet --set platform.dumy_key=1
expect_refusal "its name is known" 'did you mean "dummy_key"'
run sh -c "'$folder/build/schemas' '$light' | python3 '$tree/workloads/schemas/schemas.py' '$folder'"
expect "the schemas are generated" 0
run cat "$folder/experiment.json"
expect "the experiment's has it" 0 '"dummy_key":'
expect "with its range" 0 '"maximum":	7$'
run sh -c "'$folder/build/schemas' '$light' | python3 '$tree/workloads/schemas/schemas.py' '$folder' '$folder/KEYS.md' 2>&1"
expect "the page of keys wants its words" 1 'keys.txt tells nothing of platform.dummy_key'

# ---- A column of a row -----------------------------------------------------------------------

run "$esgsim" run "$light" --quiet --set requests=20 --set record=all --out "$folder/d.h5"
expect "detailed rows are recorded" 0
run h5dump -H "$folder/d.h5"
expect "a column's line is enough for the results file" 0 'dummy_column'

# ---- A notice --------------------------------------------------------------------------------

run "$esgsim" run "$light" --quiet --set requests=20 --out "$folder/n.h5"
expect "a notice's line, and the call that gives it, are enough for run" 0 '^warning: added by a test in 6 words'
run h5dump -a "/runs/$(h5ls "$folder/n.h5/runs" | cut -d' ' -f1)/notice_kinds" "$folder/n.h5"
expect "the results file has its kind" 0 'DUMMY'
run "$esgsim" report "$folder/n.h5"
expect "and a report its words and severity" 0 'WARNING +added by a test in 6 words'

# ---- An event --------------------------------------------------------------------------------

# shellcheck disable=SC2016 # of the inner shell
run env ESGSIM_WIDTH=300 sh -c '"$1" run "$2" --quiet --set requests=20 --set platform.dummy_key=4 2>&1' - "$esgsim" "$light"
expect "an event's line is enough for it to be handled" 1 'dummy event of 3'
# shellcheck disable=SC2016 # of the inner shell
run env ESGSIM_WIDTH=300 sh -c '"$1" run "$2" --quiet --set platform.dummy_key=5 --set platform.sample_interval_s=1e8 \
    --set arrivals="{\"process\": \"closed\", \"users\": 1, \"think_ms\": 1e10}" 2>&1' - "$esgsim" "$light"
expect "and for what sets its time to be named" 1 'as set by platform.dummy_key'

# ---- A metric --------------------------------------------------------------------------------

cat >"$folder/sweep.json" <<EOF
{"base": "$light", "matrix": {"policy.name": ["fifo", "dummy-policy"], "requests": [20, 30]}, "seeds": 2}
EOF
run "$esgsim" sweep "$folder/sweep.json" --out "$folder/r.h5" --quiet
expect "a sweep runs both" 0 '8 of 8 runs'
run "$esgsim" run "$light" --quiet --json --set requests=20
expect "a metric's line is enough for run --json" 0 '"dummy_metric":	0'
run "$esgsim" run "$light" --quiet --set requests=20
expect "and for the table of run, under its header" 0 ' dummy '
run "$esgsim" run "$light" --quiet --set requests=20 --details
expect "and for that of the applications" 0 ' dummy '
run h5dump -H -d /summary "$folder/r.h5"
expect "the results file has it" 0 'dummy_metric'
run "$esgsim" report "$folder/r.h5" --format csv
expect "so has the CSV" 0 'dummy_metric'
run "$esgsim" report "$folder/r.h5" --format json
expect "and the JSON" 0 '"dummy_metric"'
run "$esgsim" report "$folder/r.h5" --details
expect "and the text, under its header" 0 'requests +dummy '
run "$esgsim" report "$folder/r.h5" --format html
expect "and the page, with its meaning, population and window" 0 'added by a test \[dummies, time of arrivals\]'

# ---- A metric of trainings -------------------------------------------------------------------

cat >"$folder/trainings.json" <<EOF
{"base": "$tree/workloads/experiments/training-dynamic.json", "matrix": {"policy.name": ["fifo"]}, "seeds": 1}
EOF
run "$esgsim" sweep "$folder/trainings.json" --out "$folder/t.h5" --quiet
expect "a sweep runs trainings" 0 '1 of 1 runs'
run "$esgsim" run "$tree/workloads/experiments/training-dynamic.json" --quiet --json
expect "a training metric's line is enough for run --json" 0 '"dummy_training":	0'
run "$esgsim" run "$tree/workloads/experiments/training-dynamic.json" --quiet
expect "and for the table of run" 0 'dummy'
run env ESGSIM_WIDTH=200 "$esgsim" run "$tree/workloads/experiments/training-dynamic.json" --quiet --details
expect "and for the list of all, with unit, population and window" 0 'dummy_training +0.0 h  added by a test, too \[measured trainings, measured window\]'
run h5dump -H -d /training "$folder/t.h5"
expect "the results file has it, too" 0 'dummy_training'
run "$esgsim" report "$folder/t.h5" --format tidy
expect "so have the tidy rows" 0 'dummy_training'
run "$esgsim" report "$folder/t.h5" --format json
expect "and the JSON of the report" 0 '"dummy_training"'
run env ESGSIM_WIDTH=300 "$esgsim" report "$folder/t.h5" --details
expect "and its text, under its header" 0 'finished +dummy h '
run "$esgsim" report "$folder/t.h5" --format html
expect "and its page, with its meaning" 0 'added by a test, too'

# ---- A format of traces ----------------------------------------------------------------------

printf 'dummy_ms,application\n0,a\n5,a\n' >"$folder/dummy.csv"
run "$esgsim" trace stats "$folder/dummy.csv" --json
expect "a format's file and line are enough for it to be recognised" 0 '"format":"dummy-format"'
run "$esgsim" run "$light" --quiet \
    --set "arrivals={\"process\": \"trace\", \"file\": \"$folder/dummy.csv\", \"format\": \"dummy-form\"}"
expect_refusal "an experiment knows it, too" 'dummy-format'

if command -v gnuplot >/dev/null 2>&1; then
    run "$esgsim" plot "$folder/r.h5" --out "$folder/figures" --only hit-rate
    expect "the policy has a look of its own in figures" 0

    run "$esgsim" plot "$folder/r.h5" --out "$folder/figures" --only curve --over requests --metric dummy_metric
    expect "a metric's line is enough for a figure of it" 0 'curve.*svg'
    run grep -c 'dummies of a test' "$(ls "$folder"/figures/curve*.csv)"
    expect "its words are on the axis" 0 '^4$'

    # ---- A figure --------------------------------------------------------------------------------

    run "$esgsim" plot "$folder/r.h5" --out "$folder/figures" --only dummy-figure
    expect "an entry of the table and a script are enough for a figure" 0 'dummy-figure.*svg'
    run grep -c 'Added by a test' "$(ls "$folder"/figures/dummy-figure*-20.csv)"
    expect "its caption is in its data" 0 1
fi

finish
