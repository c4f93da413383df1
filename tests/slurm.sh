#!/bin/sh
# A sweep as a job array on a real Slurm: munged, slurmctld and slurmd, started here on one node in a
# folder of their own, whose node fails in the middle and one of whose tasks is cancelled.
# Functions that are called through others or by a trap:
# shellcheck disable=SC2317
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
here=$(pwd)
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd sbatch squeue scancel sinfo; do
    needs "$program: make deps-test installs it (slurmctld slurmd slurm-client munge)" command -v "$program"
done
needs "a file system of cgroups at /sys/fs/cgroup, without which slurmd does not start" \
    sh -c 'stat -f -c %T /sys/fs/cgroup /sys/fs/cgroup/* | grep -q cgroup'

# ---- A cluster of one node -------------------------------------------------------------------

user=$(id -un)
node=$(hostname -s)
cluster=$folder/cluster
mkdir -p "$cluster/state" "$cluster/spool"

free_port() { # free_port FIRST: the first from there on which nothing listens
    port=$1
    while awk '{ print $2 }' /proc/net/tcp | grep -qi ":$(printf %04X "$port")\$"; do
        port=$((port + 1))
    done
    echo "$port"
}
controller_port=$(free_port $((20000 + $$ % 20000)))
node_port=$(free_port $((controller_port + 1)))

cat >"$cluster/slurm.conf" <<EOF
ClusterName=esgsim
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$controller_port
SlurmdPort=$node_port
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=1,requeue_delay=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=1
MinJobAge=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
EOF
export SLURM_CONF="$cluster/slurm.conf"

daemons=""
stop_all() {
    node_kill
    for process in $daemons; do
        kill "$process" 2>/dev/null
    done
    wait
    rm -rf "$folder"
}
trap stop_all EXIT

start_node() {
    slurmd -D -N "$node" >"$cluster/slurmd.out" 2>&1 &
    slurmd=$!
    daemons="$daemons $slurmd"
}

# Every process that has our configuration in its environment and belongs to the node: slurmd, its
# slurmstepd and the tasks, as when the power fails.
node_processes() {
    for entry in /proc/[0-9]*; do
        tr '\0' '\n' <"$entry/environ" >"$cluster/environ" || continue
        grep -qxF "SLURM_CONF=$SLURM_CONF" "$cluster/environ" || continue
        case $(cat "$entry/comm") in
        slurmd | slurmstepd) echo "${entry#/proc/}" ;;
        *) ! grep -q '^SLURM_ARRAY_TASK_ID=' "$cluster/environ" || echo "${entry#/proc/}" ;;
        esac
    done 2>/dev/null
}
node_kill() {
    # shellcheck disable=SC2046
    kill -9 $(node_processes) 2>/dev/null
}

wait_until() { # wait_until SECONDS COMMAND...
    left=$(($1 * 5))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.2
    done
}
node_is() { sinfo -h -o %T | grep -q "^$1"; }

dd if=/dev/urandom of="$cluster/munge.key" bs=1024 count=1 2>/dev/null
chmod 600 "$cluster/munge.key"
munged --foreground --force --key-file="$cluster/munge.key" --socket="$cluster/munge.socket" \
    --pid-file="$cluster/munge.pid" --log-file="$cluster/munge.log" \
    --seed-file="$cluster/munge.seed" >"$cluster/munge.out" 2>&1 &
daemons="$daemons $!"
wait_until 10 test -S "$cluster/munge.socket"
slurmctld -D >"$cluster/slurmctld.out" 2>&1 &
daemons="$daemons $!"
start_node
if wait_until 60 node_is idle; then
    pass "munged, slurmctld and slurmd start on one node"
else
    fail "munged, slurmctld and slurmd start on one node" "$(sinfo 2>&1)" \
        "$(tail -n 5 "$cluster"/*.log "$cluster"/*.out)"
    finish
fi

# ---- A sweep ---------------------------------------------------------------------------------

# 4 shards of 4 runs of about half a second, two at a time.
cat >"$folder/sweep.json" <<EOF
{"base": "$here/workloads/experiments/theory/mm1.json",
 "matrix": {"requests": [800000, 900000]}, "seeds": 8}
EOF
run "$esgsim" sweep "$folder/sweep.json" --out "$folder/alone.h5" --quiet
expect "the sweep runs in one piece" 0
tables "$folder/alone.h5" "$folder/alone.tables"

ESGSIM=$esgsim POLL=1 sh results/slurm/sweep.sh "$folder/sweep.json" "$folder/slurm.h5" 4 \
    >"$folder/slurm.out" 2>"$folder/slurm.err" &
driver=$!

some_run_finished() { find "$folder/slurm.h5.parts" -path '*.runs/part-*.h5' | grep -q .; }
if wait_until 60 some_run_finished; then
    pass "tasks run on the node and note their finished runs"
else
    fail "tasks run on the node and note their finished runs" "$(cat "$folder/slurm.err")" "$(squeue 2>&1)"
fi

node_kill
wait "$slurmd" 2>/dev/null
if [ -z "$(node_processes)" ]; then
    pass "the node fails: slurmd, its steps and the tasks are killed"
else
    fail "the node fails: slurmd, its steps and the tasks are killed" "left: $(node_processes)"
fi
sleep 1
start_node
wait_until 60 node_is idle || wait_until 60 node_is mixed || wait_until 60 node_is alloc

# Once something runs again, one task is cancelled for good.
task_runs() { squeue -h -r -t R -o %i | grep -q .; }
wait_until 90 task_runs
victim=$(squeue -h -r -t R -o %i | head -n 1)
scancel "$victim"

status=0
wait "$driver" || status=$?
cp "$folder/slurm.out" "$folder/out"
cp "$folder/slurm.err" "$folder/err"
ran="results/slurm/sweep.sh"
expect "the sweep ends after a node failed and task $victim was cancelled" 0 '4 shards are joined'
if grep -q 'attempt 2' "$folder/slurm.err"; then
    pass "what was cancelled is submitted again"
else
    fail "what was cancelled is submitted again" "$(cat "$folder/slurm.err")"
fi
tables "$folder/slurm.h5" "$folder/slurm.tables"
same "its tables are those of the sweep in one piece" "$folder/alone.tables" "$folder/slurm.tables"
if [ -d "$folder/slurm.h5.parts" ]; then
    fail "the parts are removed once they are merged" "$(ls "$folder/slurm.h5.parts")"
else
    pass "the parts are removed once they are merged"
fi

# A shard of the same sweep with other settings is in the way.
mkdir "$folder/stale.h5.parts"
cat >"$folder/small.json" <<EOF
{"base": "$here/workloads/experiments/theory/mm1.json", "seeds": 2}
EOF
run "$esgsim" sweep "$folder/small.json" --set requests=20000 --shard 1/2 --quiet --out "$folder/stale.h5.parts/shard-1.h5"
expect "a shard of other settings is run" 0
run env ESGSIM="$esgsim" POLL=1 sh results/slurm/sweep.sh "$folder/small.json" "$folder/stale.h5" 2 \
    --set requests=40000 --set 'slo={"ms": 300}' --set "name=it's here"
if [ "$status" -eq 1 ] && grep -q 'shard 1 of 2 is refused: .*another sweep' "$folder/err" &&
    [ ! -e "$folder/stale.h5" ]; then
    pass "a shard of another sweep is refused and not merged"
else
    explain "a shard of another sweep is refused and not merged" "status 1, the shard and why"
fi
rm "$folder/stale.h5.parts/shard-1.h5"
run env ESGSIM="$esgsim" POLL=1 sh results/slurm/sweep.sh "$folder/small.json" "$folder/stale.h5" 2 \
    --set requests=40000 --set 'slo={"ms": 300}' --set "name=it's here"
expect "without it the sweep goes on, with values that have blanks and quotes" 0 '2 shards are joined'

# Input that is wrong is told at once.
cat >"$folder/failing.json" <<EOF
{"base": "$here/workloads/experiments/theory/mm1.json", "matrix": {"policy.name": ["$folder/gone.so"]}}
EOF
run env ESGSIM="$esgsim" POLL=1 sh results/slurm/sweep.sh "$folder/failing.json" "$folder/failing.h5" 1
if [ "$status" -eq 1 ] && grep -q 'shard 1 of 1 is refused: .*gone\.so' "$folder/err"; then
    pass "a shard whose input is wrong is told at once with the reason"
else
    explain "a shard whose input is wrong is told at once with the reason" "status 1 and the reason"
fi

# A run that fails would fail again: it is not repeated, and the others are merged.
plugins=$here/${BUILD:-build}/tests/plugins
case ${BUILD:-} in /*) plugins=$BUILD/tests/plugins ;; esac
cat >"$folder/broken.json" <<EOF
{"base": "$here/workloads/experiments/strict-light.json", "seeds": 2,
 "matrix": {"requests": [200], "warmup_requests": [0], "policy.name": ["fifo", "$plugins/overcommit.so"]}}
EOF
run env ESGSIM="$esgsim" POLL=1 sh results/slurm/sweep.sh "$folder/broken.json" "$folder/broken.h5" 2
if [ "$status" -eq 1 ] && grep -q 'runs of shards 1,2 failed' "$folder/err" && ! grep -q 'attempt 2' "$folder/err" &&
    grep -q "2 shards are joined in .*, without the runs that failed" "$folder/out"; then
    pass "runs that fail are not repeated, and the others are merged"
else
    explain "runs that fail are not repeated, and the others are merged" "status 1, shards 1,2, one attempt"
fi

# A shard to which another process writes is given up, and it says where to look.
mkdir "$folder/held.h5.parts"
"$esgsim" run "$here/workloads/experiments/theory/mm1.json" --set requests=2000000000 --quiet \
    --out "$folder/held.h5.parts/shard-1.h5" >"$folder/holder.out" 2>&1 &
holder=$!
wait_until 20 test -e "$folder/held.h5.parts/.shard-1.h5.lock"
run env ESGSIM="$esgsim" POLL=1 ATTEMPTS=2 sh results/slurm/sweep.sh "$folder/small.json" "$folder/held.h5" 1
if [ "$status" -eq 1 ] && grep -q 'not whole after 2 attempts' "$folder/err"; then
    pass "a shard that fails again and again is given up with its log named"
else
    explain "a shard that fails again and again is given up with its log named" "status 1 and the attempts"
fi
kill "$holder"
wait "$holder"
run env ESGSIM="$esgsim" sh results/slurm/sweep.sh "$folder/sweep.json" "$folder/x.h5" zero
expect_refusal "a number of shards that is none is refused" 'usage'
finish
