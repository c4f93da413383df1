#!/bin/sh
# Runs a sweep on a Slurm cluster: submits its shards as a job array, waits, and merges. It submits again
# what a signal, a node or a time limit ended. Runs that fail by themselves are not repeated: they are rows
# of /missing in OUT.h5. Started again, it goes on with what is there.
#
#   results/slurm/sweep.sh SWEEP.json OUT.h5 SHARDS [--set KEY=VALUE]... [-- SBATCH-OPTION...]
#
# e.g.  results/slurm/sweep.sh workloads/experiments/paper.json paper.h5 16 -- --partition=short --cpus-per-task=8
#
# A task has as many workers as Slurm gives it processors: --cpus-per-task, without that usually one.
# OUT.h5.parts/, which all nodes must see, holds the shards and the tasks' logs; it is removed once they
# are merged. Shards of another sweep, of other settings or of another version that are there are refused.
# From the environment: ESGSIM the program (default build/esgsim, else the installed one), ATTEMPTS how
# often the array is submitted at most (5), POLL seconds between looks at the queue (5). Exit status:
# 0 merged, 1 shards or runs failed, 2 bad usage.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
usage() {
    echo "slurm: usage: results/slurm/sweep.sh SWEEP.json OUT.h5 SHARDS [--set KEY=VALUE]... [-- SBATCH-OPTION...]" >&2
    exit 2
}
[ $# -ge 3 ] || usage
SWEEP=$1 out=$2 SHARDS=$3
shift 3
case $SHARDS in '' | *[!0-9]* | 0*) usage ;; esac
SETS="" # words in quotes, as a value may have blanks
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    if [ "$1" != --set ] || [ $# -lt 2 ]; then usage; fi
    # shellcheck disable=SC2089
    SETS="$SETS --set '$(printf '%s\n' "$2" | sed "s/'/'\\\\''/g")'"
    shift 2
done
[ $# -eq 0 ] || shift

ESGSIM=${ESGSIM:-$here/../../build/esgsim}
[ -x "$ESGSIM" ] || ESGSIM=$(command -v esgsim || echo "$ESGSIM") # installed
attempts=${ATTEMPTS:-5}
poll=${POLL:-5}
PARTS=$out.parts
command -v sbatch >/dev/null 2>&1 || {
    echo "slurm: no sbatch here: run this where jobs are submitted" >&2
    exit 2
}
"$ESGSIM" check "$SWEEP" >/dev/null || exit 2
mkdir -p "$PARTS"
# Nodes start in the folder of the submission, but paths must hold anywhere.
ESGSIM=$(readlink -f "$ESGSIM")
SWEEP=$(readlink -f "$SWEEP")
PARTS=$(readlink -f "$PARTS")
# shellcheck disable=SC2090
export ESGSIM SWEEP SHARDS PARTS SETS

# A shard is finished once its task, which checks what is there, has ended well since this began.
rm -f "$PARTS"/shard-*.status
unfinished() {
    list=""
    failed=""
    shard=1
    while [ "$shard" -le "$SHARDS" ]; do
        status=$(cat "$PARTS/shard-$shard.status" 2>/dev/null || echo none)
        case $status in
        0) ;;
        failed) failed="$failed${failed:+,}$shard" ;;
        2) # bad input, which another attempt does not mend
            echo "slurm: shard $shard of $SHARDS is refused: $(tail -n 1 "$PARTS/shard-$shard.log");" \
                "remove $PARTS or give another OUT.h5 where it holds another sweep" >&2
            exit 1
            ;;
        *) list="$list${list:+,}$shard" ;;
        esac
        shard=$((shard + 1))
    done
}

job=""
trap '[ -z "$job" ] || scancel "$job"; exit 1' INT TERM HUP

# A controller that does not answer is waited for: the jobs go on without it.
wait_for() {
    while :; do
        if squeue -h -j "$1" -o %i >"$PARTS/queue" 2>"$PARTS/queue.err"; then
            [ -s "$PARTS/queue" ] || return 0
        elif grep -qi 'invalid job id' "$PARTS/queue.err"; then
            return 0
        fi
        sleep "$poll"
    done
}

attempt=1
unfinished
while [ -n "$list" ] && [ "$attempt" -le "$attempts" ]; do
    job=$(sbatch --parsable --requeue --array="$list" --job-name=esgsim-sweep \
        --output="$PARTS/shard-%a.log" --open-mode=append --export=ALL "$@" "$here/shard.sh") || exit 1
    job=${job%%;*}
    echo "slurm: attempt $attempt: job $job, shards $list of $SHARDS" >&2
    wait_for "$job"
    job=""
    attempt=$((attempt + 1))
    unfinished
done
if [ -n "$list" ]; then
    echo "slurm: shards $list are not whole after $attempts attempts; see $PARTS/shard-*.log, then start this again" >&2
    exit 1
fi

set --
shard=1
while [ "$shard" -le "$SHARDS" ]; do
    set -- "$@" "$PARTS/shard-$shard.h5"
    shard=$((shard + 1))
done
"$ESGSIM" merge --out "$out" "$@"
if [ -n "$failed" ]; then
    echo "slurm: runs of shards $failed failed; see $PARTS/shard-*.log. $out holds the others" >&2
    exit 1
fi
rm -rf "$PARTS"
