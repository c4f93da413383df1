#!/bin/sh
# What ends the program from outside or from within a policy: faults of a policy, the time limit of
# a callback, Ctrl-C and SIGTERM in the midst of every kind of work.
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
here=$(pwd)
light=$here/workloads/experiments/strict-light.json
# As the program, it is not sanitized: a sanitizer reports faults by itself.
culprit=$here/${BUILD:-build}/tests/plugins/culprit.so
case ${BUILD:-} in /*) culprit=$BUILD/tests/plugins/culprit.so ;; esac
children="ps -o pid= --ppid"

# ---- A policy's mistakes ---------------------------------------------------------------------

where='\(decide, at [0-9]+\.[0-9]{6} ms, policy culprit, seed 7\)'
while read -r fault rule; do
    run timeout -k 1 60 "$esgsim" run "$light" --quiet --seed 7 --set requests=50 --json \
        --policy "$culprit" --set "policy.params.fault=$fault" --decision-timeout 0.5 \
        --out "$folder/$fault.h5"
    name="a policy whose fault is '$fault' ends the run with rule, callback, time and seed"
    if [ "$status" -eq 1 ] && [ ! -s "$folder/out" ] && [ "$(wc -l <"$folder/err")" -eq 1 ] &&
        grep -qE "rule $rule.*$where" "$folder/err" && [ -z "$(find "$folder" -name "*$fault.h5*")" ]; then
        pass "$name"
    else
        explain "$name" "status 1, no output, no file, /rule $rule.*$where/"
    fi
done <<EOF
loop decision time: the policy has not returned within 500.000000 ms
segv crash: the policy caused SIGSEGV
stack crash: the policy caused SIGSEGV
fpe crash: the policy caused SIGFPE
abort crash: the policy caused SIGABRT
exit exit: the policy called exit
fork fork: the policy called fork
raise signal: the policy raised SIGTERM
block decision time: the policy has not returned within 500.000000 ms
alarm (decision time: the policy has not returned|crash: the policy caused a signal: Alarm clock)
close process: the policy ended or replaced its process, or closed its files
leave process: the policy ended or replaced its process, or closed its files
exec walls: the policy started a process
rand chance: the policy called srand\(\)
time chance: the policy called time\(\)
charge charge: 18446744073709551615 units after 0
charge-twice charge: 18446744073709551615 units after 1
EOF

for process in "" --in-process; do
    # shellcheck disable=SC2086
    run "$esgsim" run "$light" --quiet --seed 7 --set requests=50 --json --policy "$culprit" $process \
        --set policy.params.fault=hoard --out "$folder/hoard.h5"
    name="a policy that exhausts memory ends the run with one line${process:+, also with $process}"
    if [ "$status" -eq 1 ] && [ ! -s "$folder/out" ] && [ "$(wc -l <"$folder/err")" -eq 1 ] &&
        grep -qE "out of memory: 1073741824 x 1073741824 bytes $where" "$folder/err" &&
        [ -z "$(find "$folder" -name "*hoard.h5*")" ]; then
        pass "$name"
    else
        explain "$name" "status 1, no output, no file, /out of memory.*$where/"
    fi
done

cat >"$folder/faults.json" <<EOF
{"base": "$light", "seeds": 1, "matrix": {"policy.params.fault": ["none", "loop", "segv", "exit", "fork", "raise",
 "block", "leave", "close", "exec", "rand"]}}
EOF
run timeout -k 1 60 "$esgsim" sweep "$folder/faults.json" --set "policy.name=$culprit" --set requests=50 \
    --decision-timeout 0.5 --out "$folder/faults.h5" --jobs 2
failed=$(grep -cE "failed: strict-light: rule .*\(decide, at .*policy culprit, seed 1\)" "$folder/err")
if [ "$status" -eq 1 ] && [ "$failed" -eq 10 ] && grep -q '1 of 11 runs' "$folder/out"; then
    pass "in a sweep the runs of such policies fail alone, and the others are kept"
else
    explain "in a sweep the runs of such policies fail alone, and the others are kept" \
        "status 1, ten failures and one run kept"
fi
run "$esgsim" run "$light" --quiet --set requests=50 --policy "$culprit" --decision-timeout 0
expect "a policy without a fault runs, and 0 means no limit" 0
run "$esgsim" run "$light" --quiet --set requests=50 --policy "$culprit" --set policy.params.fault=print --json
if [ "$status" -eq 0 ] && [ "$(head -c 1 "$folder/out")" = "{" ] && grep -q 'own words' "$folder/err"; then
    pass "what a policy prints goes to standard error, and the results stay one JSON object"
else
    explain "what a policy prints goes to standard error" "JSON alone on standard output"
fi
# expect_failure NAME PATTERN: the last command ended with status 1 and said so.
expect_failure() {
    if [ "$status" -eq 1 ] && grep -qE "$2" "$folder/err"; then
        pass "$1"
    else
        explain "$1" "status 1 and /$2/ on standard error"
    fi
}
fault="--quiet --set requests=50 --policy $culprit --set policy.params.fault"
# shellcheck disable=SC2086
{
run "$esgsim" run "$light" $fault=stop
expect_failure "a policy that stops the run without a message gets one" 'the policy stopped the run \(decide'
run timeout 60 "$esgsim" run "$light" $fault=timer
expect_failure "timers at one instant for ever end the run, though arrivals are to come" \
    'rule progress: .* a million times.*\(at [0-9.]+ ms'
run "$esgsim" run "$light" $fault=damage
expect_failure "damaged memory is told with the place to look" \
    'crashed outside the policy, .*see Debugging in sched/WRITING.md\).*\(decide, at .*policy culprit'
run "$esgsim" run "$light" --in-process $fault=segv
expect_failure "--in-process reports a fault as well" 'rule crash: the policy caused SIGSEGV \(decide'
run timeout -k 1 60 "$esgsim" run "$light" --in-process $fault=loop --decision-timeout 0.5
expect_failure "and a policy that does not return" 'rule decision time: .*\(decide'
}

# figures_of FILE: what run --json printed, but for times, memory and the identity of the run.
figures_of() {
    grep -vE '"(wall_s|peak_memory_kb|config_hash|decision_processor_us_mean)"' "$folder/out" >"$1"
}
for fault in none round; do
    run "$esgsim" run "$light" --json --seed 7 --set requests=500 --policy "$culprit" \
        --set "policy.params.fault=$fault"
    figures_of "$folder/$fault.figures"
done
same "a policy that rounds upward changes no figure" "$folder/none.figures" "$folder/round.figures"
run "$esgsim" run "$light" --json --seed 7 --set requests=500 --policy "$culprit" --in-process
figures_of "$folder/inside.figures"
same "--in-process changes no figure" "$folder/none.figures" "$folder/inside.figures"

# ---- A policy's own state --------------------------------------------------------------------

cat >"$folder/state.json" <<EOF
{"base": "$light", "seeds": 4, "matrix": {"policy.params.fault": ["static", "draw"]}}
EOF
for jobs in 1 2 3; do
    run "$esgsim" sweep "$folder/state.json" --set "policy.name=$culprit" --set requests=500 --quiet \
        --jobs $jobs --out "$folder/state-$jobs.h5"
    "$esgsim" report "$folder/state-$jobs.h5" --format tidy | cut -d, -f2- >"$folder/state-$jobs.txt"
done
for jobs in 2 3; do
    same "a policy's variables and draws are of one run, for 1 and $jobs jobs" \
        "$folder/state-1.txt" "$folder/state-$jobs.txt"
done

# ---- A policy's own names --------------------------------------------------------------------

# A function for each global name of the program, and of the libraries from which it takes names,
# that is not of the contract. Names that begin with _ belong to compiler and C library.
sed -n 's/^\(.*\);$/\1/p' "${BUILD:-build}/contract.list" | grep -v '}' >"$folder/contract"
{
    nm "${BUILD:-build}/libesgsim.a" 2>/dev/null
    nm "$esgsim"
} | awk 'NF > 1 && $(NF - 1) ~ /^[A-Zw]$/ { sub(/@.*/, "", $NF); print $NF }' |
    grep -xE '[A-Za-z][A-Za-z0-9_]*' | sort -u | grep -vxFf "$folder/contract" >"$folder/names"
nm "${BUILD:-build}/libesgsim.a" 2>/dev/null | awk 'NF == 3 && $2 ~ /[A-TV-Z]/ { print $3 }' | sort -u >"$folder/own"
nm -D --defined-only "$esgsim" | awk '{ print $NF }' | sort -u | grep -xFf "$folder/own" >"$folder/exported"
if [ -s "$folder/own" ] && grep -qx platform_now "$folder/exported" && ! grep -vxFf "$folder/contract" "$folder/exported"; then
    pass "of its own names the program exports those of the contract alone"
else
    fail "of its own names the program exports those of the contract alone" \
        "$(grep -vxFf "$folder/contract" "$folder/exported" | head -n 5)"
fi
for helper in queueing_erlang_b cJSON_Parse; do
    sed "s/static uint32_t shortest_waiting/uint32_t shortest_waiting/; s/shortest_waiting/$helper/g" \
        tests/plugins/shortest_queue.c >"$folder/helper.c"
    grep -vx "$helper" "$folder/names" | sed 's/.*/int &(void);\nint &(void) { return 42; }/' >"$folder/all.c"
    for part in alone all; do
        case $part in
        alone) parts=tests/plugins/shortest_queue.c ;;
        all) parts="$folder/helper.c $folder/all.c" ;;
        esac
        # shellcheck disable=SC2086
        run ${CC:-cc} -w -fno-builtin -shared -fPIC -I. -o "$folder/names.so" $parts
        run "$esgsim" run "$light" --json --set requests=300 --policy "$folder/names.so"
        figures_of "$folder/$part.figures"
    done
    [ "$(wc -l <"$folder/names")" -gt 1000 ] || echo "too few names" >"$folder/all.figures"
    same "a policy that defines all names of the program, $helper for itself, runs as without them" \
        "$folder/alone.figures" "$folder/all.figures"
done
echo 'int platform_queue_length(void); int platform_queue_length(void) { return 0; }' >"$folder/taken.c"
for compiler in "${CC:-cc}" "${CC:-cc} -O2 -fno-semantic-interposition" "${CC:-cc} -Wl,--hash-style=sysv" \
    "$(command -v clang)" "$(command -v clang) -O2"; do
    case $compiler in ""|" "*) continue ;; esac
    # shellcheck disable=SC2086
    run $compiler -w -shared -fPIC -I. -o "$folder/taken.so" "$folder/taken.c" tests/plugins/shortest_queue.c
    run "$esgsim" run "$light" --policy "$folder/taken.so"
    expect_refusal "a policy that defines a name of the contract is refused, as ${compiler##*/} makes it" \
        'defines platform_queue_length, which is the platform'
done

# ---- Chance and clocks -----------------------------------------------------------------------

while read -r name call; do
    cat >"$folder/chance.c" <<END
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include "sched/policy.h"
static char room[4096];
static bool chance_decide(void *state, struct platform *platform)
{
    (void)state, (void)platform, (void)room;
    (void)$call;
    for (;;)
        continue;
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "chance", .decide = chance_decide};
END
    run ${CC:-cc} -w -shared -fPIC -I. -o "$folder/chance.so" "$folder/chance.c"
    grep -q "$name" "$folder/err" && continue # a C library without it
    run "$esgsim" run "$light" --quiet --policy "$folder/chance.so" --decision-timeout 5
    expect_failure "a policy that calls $name ends the run there" "rule chance: the policy called $name\(\).*\(decide"
done <<EOF
arc4random arc4random()
arc4random_buf (arc4random_buf(room, 8), 0)
arc4random_uniform arc4random_uniform(9)
getrandom getrandom(room, 8, 0)
times times((struct tms *)room)
getrusage getrusage(RUSAGE_SELF, (struct rusage *)room)
ftime ftime((struct timeb *)room)
clock_getres clock_getres(CLOCK_MONOTONIC, (struct timespec *)room)
clock_gettime clock_gettime(CLOCK_MONOTONIC, (struct timespec *)room)
gettimeofday gettimeofday((struct timeval *)room, 0)
timespec_get timespec_get((struct timespec *)room, TIME_UTC)
syscall syscall(SYS_getpid)
getpid getpid()
getppid getppid()
getauxval getauxval(AT_RANDOM)
dlsym dlsym(RTLD_DEFAULT, "time")
dlopen dlopen("libc.so.6", RTLD_NOW)
sysinfo sysinfo((struct sysinfo *)room)
getloadavg getloadavg((double *)room, 1)
EOF
for what in fifo "$folder/names.so"; do
    for set in "" platform.decision_cost.model=measured; do
        run "$esgsim" run "$light" --quiet --json --set requests=100 --policy "$what" ${set:+--set "$set"}
        told=$(grep -c '"deterministic":[[:space:]]*true' "$folder/out")
        wanted=0
        [ "$what$set" != fifo ] || wanted=1
        if [ "$status" -eq 0 ] && [ "$told" -eq $wanted ]; then
            pass "$(basename "$what") is deterministic: $wanted ${set:+, times measured}"
        else
            explain "$(basename "$what") is deterministic: $wanted ${set:+, times measured}" "$wanted"
        fi
    done
done

# Only x86-64 allows such addresses, and only on request.
if [ "$(uname -m)" = x86_64 ]; then
    sed 's/static uint32_t shortest_waiting/uint32_t shortest_waiting/' tests/plugins/shortest_queue.c >"$folder/fixed.c"
    # shellcheck disable=SC2086
    run ${CC:-cc} -w -shared -fno-pic -mcmodel=large -Wl,-z,notext -I. -o "$folder/fixed.so" "$folder/fixed.c"
    run "$esgsim" run "$light" --policy "$folder/fixed.so"
    expect_refusal "a policy with addresses in its code is refused" 'compile it with -fPIC'
fi

# ---- A policy's own world ---------------------------------------------------------------------

cat >"$folder/cheat.c" <<'EOF'
#include "sim/cluster_shapes.h"
#include "sched/policy.h"
#include "sched/policy_training.h"
#define OF(expression) ((struct workload *)platform_workload(platform))->expression
#define MODELS(expression) ((struct training_models *)platform_training_models(platform))->expression
static void cheat(struct platform *platform)
{
    size_t count = 0;
    (void)count;
    CHEAT;
}
static bool cheat_init(void *state, struct platform *platform, const void *parameters, struct error *error)
{
    (void)state, (void)platform, (void)parameters, (void)error;
#ifdef EARLY
    cheat(platform);
#endif
    (void)cheat;
    return true;
}
static bool cheat_decide(void *state, struct platform *platform)
{
    (void)state;
    cheat(platform);
    const uint32_t queue = platform_next_queue(platform, 0);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "cheat", .init = cheat_init, .serves = SERVES_BOTH, .decide = cheat_decide};
EOF
mkdir "$folder/sim"
echo 'struct fragment_shape { unsigned gpus; double share; };' >"$folder/sim/cluster_shapes.h"
while IFS='|' read -r world callback cheat; do
    { echo "#define CHEAT $cheat"; [ "$callback" != init ] || echo '#define EARLY'; cat "$folder/cheat.c"; } >"$folder/cheat-now.c"
    run "$esgsim" run "workloads/experiments/$world.json" --quiet --policy "$folder/cheat-now.c"
    name="a policy that changes its world by $cheat ends the run"
    if [ "$status" -eq 1 ] && [ ! -s "$folder/out" ] &&
        [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q "rule world: .*($callback, at " "$folder/err"; then
        pass "$name"
    else
        explain "$name" "status 1, rule world in $callback"
    fi
done <<EOF
strict-light|decide|OF(applications[0].slo) *= 100
strict-light|init|OF(applications[0].weight) = 0
strict-light|decide|OF(functions[1].configurations[2].time) /= 2
strict-light|decide|OF(functions[0].configurations[0].cost_usd) = 0
strict-light|decide|OF(functions[0].gpus[0].noise_cv) = 0
strict-light|decide|*(char *)(size_t)OF(functions[0].name) = 'x'
strict-light|decide|OF(applications[0].stages[0].next[0]) = 0
strict-light|decide|OF(cluster.groups[0].gpus[0].memory_mb) = 1e9
strict-light|decide|OF(cluster.vcpu_hour_usd) = 0
strict-light|decide|OF(kinds[0].vgpu_hour_usd) = 0
strict-light|decide|OF(queue_count) = 1
training-dynamic|init|MODELS(models[0].iteration_s[0]) = 0
training-dynamic|decide|MODELS(default_pair) = 1
training-dynamic|decide|((struct fragment_shape *)platform_typical_shapes(platform, &count))->share = 0
EOF
for header in sim/platform/state.h sim/cluster/cluster.h workloads/spec/experiment.h; do
    echo "#include \"$header\"" >"$folder/inside.c"
    for where in "$folder/inside.c" guard-inside.c; do
        [ -e "$where" ] || cp "$folder/inside.c" "$where"
        run "$esgsim" run "$light" --policy "$where"
        if [ "$status" -eq 2 ] && grep -q "includes .*/$header, which is not of the contract" "$folder/err"; then
            pass "a policy in ${where%/*} that includes $header is refused"
        else
            explain "a policy in ${where%/*} that includes $header is refused" "status 2"
        fi
        rm -f guard-inside.c
    done
done

run sh -c "cd workloads/experiments && exec '$(realpath "$esgsim")' run strict-light --set requests=50 --quiet --policy ../../tests/plugins/shortest_queue.c"
expect "where the run begins makes no header one of another room" 0
cp tests/plugins/shortest_queue.c "$folder/my policy.c"
run sh -c "cd workloads/experiments && exec '$(realpath "$esgsim")' run strict-light --set requests=50 --quiet --policy '$folder/my policy.c'"
expect "nor does a blank in the policy's name" 0

# ---- Queries ---------------------------------------------------------------------------------

# A policy that asks for what it does not use, once or many times, and one that is asked and not obeyed.
cat >"$folder/asks.c" <<'EOF'
#include "sched/policy.h"
#ifndef ASKS
#define ASKS 0
#endif
static void ask(struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    for (uint32_t f = 0; f < workload->function_count; f++)
        for (uint32_t c = 0; c < workload->functions[f].configuration_count; c += 7)
            (void)platform_best_fit(platform, f, c, (f ^ c) & 1);
}
#ifdef SHADOW
static bool asks_init(void *state, struct platform *platform, const void *parameters, struct error *error)
{
    (void)state, (void)parameters, (void)error;
    ask(platform);
    platform_set_timer(platform, platform_now(platform) + 1, 1);
    return platform_random(platform) >= 0;
}
static void asks_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    (void)state, (void)queue;
    ask(platform);
    platform_charge(platform, (uint64_t)(100000 * platform_random(platform)));
    platform_set_timer(platform, platform_now(platform) + 1000, 1);
}
#endif
static bool asks_decide(void *state, struct platform *platform)
{
    (void)state;
    for (int k = 0; k < ASKS; k++)
        ask(platform);
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t least = (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    uint32_t invoker = platform_best_fit(platform, function, least, true);
    invoker = invoker != SIM_NONE ? invoker : platform_best_fit(platform, function, least, false);
    if (platform_random(platform) < 0.1)
        return platform_drop(platform, queue, 0);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, least, invoker);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "asks", .decide = asks_decide,
#ifdef SHADOW
    .init = asks_init, .on_ready = asks_on_ready, .advises = true
#endif
};
EOF
for part in "ASKS 0" "ASKS 1" "ASKS 5" "SHADOW 1"; do
    { echo "#define $part"; cat "$folder/asks.c"; } >"$folder/asks-${part%% *}-${part##* }.c"
done
for world in strict-light mixed-gpus; do
    for times in 0 1 5; do
        run "$esgsim" run "workloads/experiments/$world.json" --json --quiet --set requests=400 --policy "$folder/asks-ASKS-$times.c"
        figures_of "$folder/asks-$times.figures"
        sed -i '/"policy"/d' "$folder/asks-$times.figures"
    done
    same "asking once changes nothing ($world)" "$folder/asks-0.figures" "$folder/asks-1.figures"
    same "asking five times changes nothing ($world)" "$folder/asks-0.figures" "$folder/asks-5.figures"
done
asked="--json --quiet --set requests=200 --set warmup_requests=20 --set record=choices"
for policy in $("$esgsim" list policies --json | grep -oE '"name":"[a-z-]+","description' | cut -d'"' -f4 | sort -u) "$folder/asks-ASKS-0.c"; do
    # shellcheck disable=SC2086
    run "$esgsim" run "$light" $asked --policy "$policy"
    [ "$status" -eq 0 ] || continue # it serves trainings alone
    figures_of "$folder/alone.figures"
    for shadow in esg "$folder/asks-SHADOW-1.c"; do
        # shellcheck disable=SC2086
        run "$esgsim" run "$light" $asked --policy "$policy" --set "policy.shadow=$shadow"
        figures_of "$folder/shadowed.figures"
        sed -i 's/"deterministic":.*/"deterministic"/' "$folder/shadowed.figures" "$folder/alone.figures"
        same "$(basename "$policy") with the shadow $(basename "$shadow") runs as without" "$folder/alone.figures" "$folder/shadowed.figures"
    done
done

# ---- The work of a decision ------------------------------------------------------------------

for work in 0 3000000; do
    cat >"$folder/rider.c" <<EOF
#include "sched/policy.h"
static bool rider_decide(void *state, struct platform *platform)
{
    (void)state;
    for (volatile long k = 0; k < $work; k++)
        continue;
    const uint32_t queue = platform_next_queue(platform, 0);
    platform_charge(platform, $work > 0 ? 1 : 1000000);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "rider", .decide = rider_decide};
EOF
    run "$esgsim" run "$light" --json --set requests=20 --set warmup_requests=0 --policy "$folder/rider.c"
    taken=$(sed -n 's/.*"decision_processor_us_mean":[[:space:]]*\([0-9]*\).*/\1/p' "$folder/out")
    noted=$(grep -c 'decisions take over a hundred times the processor time' "$folder/out")
    if [ "$status" -eq 0 ] && [ -n "$taken" ] && [ "$noted" -eq $((work > 0)) ] && { [ $work -eq 0 ] || [ "$taken" -gt 500 ]; }; then
        pass "the processor time of decisions is told, and noted where it is not charged ($work turns)"
    else
        explain "the processor time of decisions is told, and noted where it is not charged ($work turns)" "$taken us, noted $noted"
    fi
    run "$esgsim" run "$light" --details --quiet --set requests=20 --set warmup_requests=0 --policy "$folder/rider.c"
    expect "also by --details" 0 'processor time: .*/decision in the policy; charged: '
done
run "$esgsim" run "$light" --json --set requests=20 --policy fifo
if grep -q 'decision_processor' "$folder/out" "$folder/err"; then explain "but not of a built-in policy" "no such key"; else pass "but not of a built-in policy"; fi

# ---- Walls -----------------------------------------------------------------------------------

# wall NAME CODE EXPECTED: a policy that does CODE in its constructor, then one that does it in decide. `got`
# above 0 is that it was done.
wall() {
    for place in constructor decide; do
        cat >"$folder/wall.c" <<END
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sched/policy.h"
#include "sched/policy_training.h"
static volatile long got;
$([ $place = decide ] || echo '__attribute__((constructor))') static void act(void)
{
    $2;
}
static bool wall_decide(void *state, struct platform *platform)
{
    (void)state;
    $([ $place = constructor ] || echo 'act();')
    const uint32_t queue = platform_next_queue(platform, 0);
    if (got > 0)
        platform_stop(platform, "the wall is open");
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "wall", .decide = wall_decide};
END
        run timeout -k 1 60 "$esgsim" run "$light" --quiet --set requests=50 --policy "$folder/wall.c" --decision-timeout 1
        if grep -qE -- "$3" "$folder/err" "$folder/out" && [ "$status" -le 2 ] && ! grep -q 'wall is open' "$folder/err"; then
            pass "a policy that $1 in its $place meets a wall"
        else
            explain "a policy that $1 in its $place meets a wall" "/$3/"
        fi
    done
}
mkdir "$folder/outside"
echo secret >"$folder/outside/file"
wall "reads a file" "got = open(\"$folder/outside/file\", O_RDONLY) + 1" '^wall '
wall "reads a file of the system" 'got = open("/proc/sys/kernel/hostname", O_RDONLY) + 1' '^wall '
wall "reads /dev/urandom" 'got = open("/dev/urandom", O_RDONLY) + 1' '^wall '
wall "lists a folder" "got = opendir(\"$folder/outside\") != NULL" '^wall '
wall "writes a file" "got = open(\"$folder/outside/new\", O_WRONLY | O_CREAT, 0600) + 1" '^wall '
wall "makes a folder" "got = mkdir(\"$folder/outside/new\", 0700) + 1" '^wall '
wall "removes a file" "got = unlink(\"$folder/outside/file\") + 1" '^wall '
wall "opens a socket" 'got = socket(AF_UNIX, SOCK_STREAM, 0) + 1' 'rule (walls|crash)'
wall "starts a program" 'got = system("true") + 1' 'rule (walls|crash)'
wall "signals another process" 'got = kill(1, 0) + 1' 'rule (walls|crash)'
wall "never returns" 'for (;;) got = 0' 'rule decision time'
wall "crashes" '*(volatile int *)got = 1' 'rule crash'
wall "ends its process" '_exit(0)' 'rule process'
# shellcheck disable=SC2015 # pass does not fail
[ -z "$(find "$folder/outside" -name new)" ] && [ -e "$folder/outside/file" ] && pass "and nothing was changed outside" ||
    fail "and nothing was changed outside" "$(ls -R "$folder/outside")"

# What a run leaves, in the environment, in the process or in the module, no later run sees.
cat >"$folder/memo.c" <<'EOF'
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sched/policy.h"
static int runs;
static bool memo_decide(void *state, struct platform *platform)
{
    (void)state;
    static bool begun, seen;
    if (!begun) {
        char *memo = getenv("MEMO");
        const mode_t mask = umask(0123);
        seen = memo != NULL || runs++ > 0 || mask == 0123;
        (void)setenv("MEMO", "1", 1);
        begun = true;
    }
    const uint32_t queue = platform_next_queue(platform, 0);
    if (queue == SIM_NONE)
        return false;
    if (seen)
        return platform_drop(platform, queue, 0);
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t least = (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    const uint32_t invoker = platform_best_fit(platform, function, least, false);
    return invoker != SIM_NONE && platform_dispatch(platform, queue, 1, least, invoker);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "memo", .decide = memo_decide};
EOF
echo "{\"base\": \"$light\", \"seeds\": 3, \"matrix\": {\"policy.name\": [\"$folder/memo.c\"]}}" >"$folder/memo.json"
for jobs in 1 2 3; do
    run "$esgsim" sweep "$folder/memo.json" --set requests=100 --quiet --jobs $jobs --out "$folder/memo-$jobs.h5"
    "$esgsim" report "$folder/memo-$jobs.h5" --format tidy | cut -d, -f2- >"$folder/memo-$jobs.txt"
done
if [ "$(grep -c ',100,0,' "$folder/memo-1.txt")" -eq 3 ]; then
    pass "a run sees nothing of an earlier one"
else
    explain "a run sees nothing of an earlier one" "three times 100 requests, none dropped"
fi
same "and the table of a sweep does not depend on --jobs, 1 and 2" "$folder/memo-1.txt" "$folder/memo-2.txt"
same "and the table of a sweep does not depend on --jobs, 1 and 3" "$folder/memo-1.txt" "$folder/memo-3.txt"
run "$esgsim" run "$light" --json --quiet --set requests=100 --policies "$folder/memo.c,$folder/../${folder##*/}/memo.c"
if [ "$(grep -c '"dropped":[[:space:]]*0,' "$folder/out")" -eq 10 ]; then
    pass "nor does a policy of --policies see one before it"
else
    explain "nor does a policy of --policies see one before it" "no dropped requests"
fi
cat >"$folder/address.c" <<'EOF'
#include <stdlib.h>
#include "sched/policy.h"
static bool address_decide(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    platform_charge(platform, ((uintptr_t)state ^ (uintptr_t)&queue ^ (uintptr_t)malloc(1) ^ (uintptr_t)address_decide) % 9999991);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "address", .decide = address_decide};
EOF
for pass in 1 2; do
    run "$esgsim" run "$light" --json --quiet --set requests=100 --policy "$folder/address.c"
    figures_of "$folder/address-$pass.figures"
done
same "addresses are the same in every run" "$folder/address-1.figures" "$folder/address-2.figures"
if command -v valgrind >/dev/null; then
    run valgrind --quiet --error-exitcode=9 "$esgsim" run "$light" --in-process --json --quiet --set requests=20 --policy "$folder/address.c"
    expect "valgrind follows a policy with --in-process" 0 '"name"'
fi

# ---- A policy that is named by its source ----------------------------------------------------

mkdir "$folder/away" "$folder/away/build" "$folder/modules"
cp tests/plugins/shortest_queue.c tests/plugins/culprit.c "$folder/away"
esgsim_away=$esgsim
case $esgsim_away in /*) ;; *) esgsim_away=$here/$esgsim ;; esac
away() { # away ARGUMENT...: esgsim in a folder of its own
    run sh -c 'cd "$1/away" && shift && TMPDIR=../modules exec "$@"' - "$folder" "$esgsim_away" "$@"
}
nothing_left() {
    if [ -z "$(ls "$folder/modules")" ]; then pass "$1"; else fail "$1" "$(ls -R "$folder/modules")"; fi
}
short="--set requests=300 --set warmup_requests=0 --quiet"
run ${CC:-cc} -std=c11 -D_GNU_SOURCE -shared -fPIC -I. -o "$folder/away/shortest_queue.so" tests/plugins/shortest_queue.c
# shellcheck disable=SC2086
away run "$light" $short --policies shortest_queue.c,./shortest_queue.so
expect "policies are compiled and compared" 0 '^shortest_queue\.c '
if [ "$(sed -n 's/^[^ ]*shortest_queue\.[a-z]* *//p' "$folder/out" | sort -u | wc -l)" -eq 1 ]; then
    pass "and a module made by hand gives the same"
else
    explain "and a module made by hand gives the same" "two equal lines"
fi
echo "{\"base\": \"$light\", \"matrix\": {\"policy.name\": [\"shortest_queue.c\", \"fifo\"]}, \"seeds\": 2}" >"$folder/away/own.json"
# shellcheck disable=SC2086
away sweep own.json $short --jobs 2 --out own.h5
expect "a sweep's file names sources, too" 0 '^4 of 4 runs'
tables "$folder/away/own.h5" "$folder/here.tables"
cp "$folder/away/shortest_queue.c" "$folder/away/build"
# shellcheck disable=SC2086
run sh -c 'cd "$1/away/build" && shift && exec "$@"' - "$folder" "$esgsim_away" sweep ../own.json $short --jobs 1 --out ../own.h5 --restart
tables "$folder/away/own.h5" "$folder/there.tables"
same "with the same tables from another folder and for any number of jobs" "$folder/here.tables" "$folder/there.tables"
# shellcheck disable=SC2086
away run "$light" $short --policies culprit.c --set policy.params.fault=loop --decision-timeout 0.3
expect "a source that never returns is ended" 1
sed 's/static bool/static bol/' "$folder/away/shortest_queue.c" >"$folder/away/wrong.c"
away run "$light" --policy wrong.c
if [ "$status" -eq 2 ] && grep -q '^wrong\.c:[0-9]*:[0-9]*: error' "$folder/err" &&
    tail -n 1 "$folder/err" | grep -q '^esgsim: wrong\.c: does not compile'; then
    pass "what the compiler says is shown, and the status is 2"
else
    explain "what the compiler says is shown, and the status is 2" "wrong.c:LINE:COLUMN: error"
fi
away run "$light" --policy absent.c
expect_refusal "a source that is not there is refused" 'absent\.c: cannot read'
away run "$light" --policy mine.py
expect_refusal "a policy in Python names the program for it" 'mine\.py: a policy in Python; run results/python/esgsim_policy\.py$'
cat >"$folder/away/beyond.c" <<'EOF'
#include <stdlib.h>
#include "sched/policy.h"
static bool beyond_decide(void *state, struct platform *platform)
{
    volatile char *few = malloc(4);
    (void)state;
    few[4] = (char)platform_now(platform);
    free((void *)few);
    return false;
}
const struct policy esgsim_policy = {.abi = POLICY_ABI, .name = "beyond", .decide = beyond_decide};
EOF
# shellcheck disable=SC2086
away run "$light" $short --policy beyond.c --sanitize
if [ "$status" -eq 1 ] && grep -q '^beyond\.c:7:.* runtime error: store to address' "$folder/err"; then
    pass "--sanitize names the line that writes outside its memory"
else
    explain "--sanitize names the line that writes outside its memory" "a store in beyond.c:7"
fi
# shellcheck disable=SC2086
away run "$light" $short --policy shortest_queue.c --sanitize
expect "and lets a good policy run" 0 '^shortest-queue '
mkdir "$folder/away/a"
sed 's/"shortest-queue"/"nested"/' tests/plugins/shortest_queue.c >"$folder/away/a/b.c"
sed 's/"shortest-queue"/"escaped"/' tests/plugins/shortest_queue.c >"$folder/away/a%b.c"
# shellcheck disable=SC2086
away run "$light" $short --policies 'a/b.c,a%b.c,a//b.c' --set record=summary --out two.h5
if [ "$(h5dump "$folder/away/two.h5" | grep -cE '"(nested|escaped)')" -gt 0 ] && h5dump "$folder/away/two.h5" | grep -q '"escaped'; then
    pass "files whose names differ by a sign alone are two policies"
else
    explain "files whose names differ by a sign alone are two policies" "nested and escaped"
fi
deep=$(printf 'a%.0s' $(seq 1 120))
mkdir -p "$folder/away/$deep/$deep/$deep"
cp tests/plugins/shortest_queue.c "$folder/away/$deep/$deep/$deep"
# shellcheck disable=SC2086
away run "$light" $short --policy "$deep/$deep/$deep/shortest_queue.c"
expect "a source in a deep folder is compiled" 0 '^shortest-queue '
nothing_left "and no module is left of all of them"

run "$esgsim" run "$light" --decision-timeout -1
expect_refusal "a negative limit is refused" 'decision-timeout'

# ---- Ctrl-C and SIGTERM ----------------------------------------------------------------------

limit_ms=3000 # a generous one: the latency is printed, and is some ms on an idle machine

# is_alive PROCESS: it runs; one that has ended may wait for its parent as a zombie.
is_alive() {
    ps -o stat= -p "$1" | grep -qv Z
}

# interrupt NAME SIGNAL SECONDS COMMAND...: starts it, sends the signal after that time, and checks
# that it ends with status 1 soon after, leaving no process and no temporary file in
# $folder/scratch. A command that ends before the signal is started again, and signalled earlier.
interrupt() {
    name=$1 signal=$2 after=$3
    shift 3
    ran="$*"
    for _ in 1 2 3 4; do
        if interrupt_once "$@"; then
            return
        fi
        after=$(awk "BEGIN { print $after / 4 }")
    done
    explain "$name" "a command that still runs when the signal comes"
}

# False where the command had ended before the signal.
interrupt_once() {
    rm -rf "$folder/scratch"
    mkdir "$folder/scratch"
    TMPDIR=$folder/scratch "$@" >"$folder/out" 2>"$folder/err" </dev/null &
    process=$!
    sleep "$after"
    begun=$(date +%s%N)
    kill -s "$signal" $process 2>/dev/null
    # shellcheck disable=SC2086
    workers=$($children $process)
    (sleep 20 && kill -9 $process) 2>/dev/null &
    killer=$!
    status=0
    wait $process || status=$?
    took=$((($(date +%s%N) - begun) / 1000000))
    kill $killer 2>/dev/null
    [ "$status" -ne 0 ] || return 1
    alive=""
    for worker in $workers; do
        # A worker that has been killed may take a moment to go.
        for _ in 1 2 3 4 5 6 7 8 9 10; do ! is_alive "$worker" || sleep 0.1; done
        ! is_alive "$worker" || alive="$alive $worker"
    done
    left=$(find "$folder/scratch" -mindepth 1)
    if [ "$status" -eq 1 ] && [ "$took" -lt $limit_ms ] && [ -z "$alive" ] && [ -z "$left" ]; then
        pass "$name ($took ms)"
    else
        explain "$name" "status 1 within $limit_ms ms (took $took), no process (left:$alive), no file (left: $left)"
    fi
}

cat >"$folder/long.json" <<EOF
{"base": "$light", "seeds": 4, "matrix": {"policy.name": ["fifo", "edf"]}}
EOF
cat >"$folder/wide.json" <<EOF
{"base": "$light", "seeds": 1, "matrix": {"setting": [
$(seq 1 4000 | sed 's/.*/{"name": "s&", "slo.factor": &},/' | sed '$ s/,$//')]}}
EOF
cat >"$folder/slow.json" <<EOF
{"base": "$light", "seeds": 2, "matrix": {"policy.params.fault": ["loop"]}}
EOF
mkfifo "$folder/pipe.csv"
sleep 600 >"$folder/pipe.csv" & # a writer that never writes
writer=$!
cat >"$folder/big.json" <<EOF
{"base": "$light", "seeds": 1, "matrix": {"policy.name": ["fifo"]}}
EOF
"$esgsim" sweep "$folder/big.json" --set requests=1000000 --set record=all --quiet --out "$folder/big.h5" \
    >/dev/null
cat >"$folder/figures.json" <<EOF
{"base": "$light", "seeds": 1, "matrix": {"setting": [
$(seq 1 30 | sed 's/.*/{"name": "s&", "slo.factor": &},/' | sed '$ s/,$//')]}}
EOF
"$esgsim" sweep "$folder/figures.json" --set requests=50 --quiet --out "$folder/small.h5" >/dev/null
many='--set requests=100000000 --set warmup_requests=0'
mmpp='{"process":"mmpp","states":[{"rate_per_s":0,"mean_sojourn_s":1e-6},{"rate_per_s":2,"mean_sojourn_s":1e-6}]}'

# shellcheck disable=SC2086
{
interrupt "Ctrl-C ends a run" INT 0.5 "$esgsim" run "$light" --policy fifo $many
interrupt "SIGTERM ends a run" TERM 0.5 "$esgsim" run "$light" --policy esg $many
interrupt "a run that records all, with results and timeline" INT 0.7 "$esgsim" run "$light" --policy fifo $many \
    --set record=all --out "$folder/scratch/r.h5" --timeline "$folder/scratch/t.json"
interrupt "a policy that never returns" INT 0.5 "$esgsim" run "$light" --policy "$culprit" \
    --set policy.params.fault=loop --decision-timeout 0
interrupt "a search of minutes within a decision" INT 1 "$esgsim" run "$light" --policy esg \
    --set policy.params.k=64 --set policy.params.group_size=8 --set slo.factor=3 \
    --set platform.initial=warm \
    --set 'applications=["workloads/applications/expanded-image-classification.json"]' $many
interrupt "a generator of arrivals that seldom brings one" TERM 0.5 "$esgsim" run "$light" --policy fifo $many \
    --set "arrivals=$mmpp"
interrupt "a cluster of a million invokers being made" INT 0.3 "$esgsim" run "$light" --policy fifo $many \
    --set cluster.invokers.0.count=1000000 --set platform.initial=80
interrupt "a sweep that simulates" INT 0.7 "$esgsim" sweep "$folder/long.json" $many --jobs 2 \
    --out "$folder/scratch/s.h5"
interrupt "a sweep, by SIGTERM" TERM 0.7 "$esgsim" sweep "$folder/long.json" $many --jobs 1 \
    --out "$folder/scratch/s.h5"
interrupt "a sweep that checks its combinations" INT 0.2 "$esgsim" sweep "$folder/wide.json" \
    --out "$folder/scratch/s.h5"
interrupt "a sweep whose policy never returns" INT 0.7 "$esgsim" sweep "$folder/slow.json" --jobs 2 \
    --set "policy.name=$culprit" --decision-timeout 0 --out "$folder/scratch/s.h5"
interrupt "a merge" INT 0.15 "$esgsim" merge --out "$folder/scratch/m.h5" "$folder/big.h5"
interrupt "a report as a page" INT 0.5 "$esgsim" report "$folder/small.h5" --format html --out "$folder/scratch/p.html"
interrupt "the figures" TERM 0.5 "$esgsim" plot "$folder/small.h5" --out "$folder/done.figures"
interrupt "a search of its own" INT 0.15 "$esgsim" search "$light" --method exhaustive --stages 3 --k 64 --budget-ms 100000 \
    --application expanded-image-classification
interrupt "trace stats of a pipe that is silent" INT 0.3 "$esgsim" trace stats "$folder/pipe.csv"
interrupt "trace convert of a pipe that is silent" TERM 0.3 "$esgsim" trace convert "$folder/pipe.csv" \
    --out "$folder/scratch/c.csv"
interrupt "a calibration of a pipe that is silent" INT 0.3 "$esgsim" calibrate "$folder/pipe.csv" \
    --out "$folder/scratch/p.json"
interrupt "the checks against theory" INT 0.5 "$esgsim" validate --seeds 1000
interrupt "the benchmarks" INT 1 "$esgsim" bench
}
kill $writer

# A second signal ends a sweep that is still busy with the first at once.
"$esgsim" sweep "$folder/long.json" --set requests=100000000 --out "$folder/twice.h5" >"$folder/out" 2>"$folder/err" &
process=$!
sleep 0.7
kill -INT $process
kill -INT $process 2>/dev/null
status=0
wait $process || status=$?
ran="sweep, and Ctrl-C twice"
expect "a second Ctrl-C ends a sweep at once" 1

finish
