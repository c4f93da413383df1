#!/bin/sh
# One task of the job array that results/slurm/sweep.sh submits: one shard of a sweep. It goes on where
# an earlier attempt of the same shard was interrupted, on whatever node that was. A shard that is whole
# is not run again, and one of another sweep is refused. The exit status is written to shard-I.status.
#
# From the environment: ESGSIM the program, SWEEP the sweep file, SHARDS their number, PARTS the folder
# on the shared file system in which shard I becomes shard-I.h5, SETS more arguments.
#
# Where all runs have ended but some failed, the status is "failed": they would fail again.
set -eu
shard=$SLURM_ARRAY_TASK_ID
echo "shard $shard/$SHARDS of $SWEEP on $(hostname), attempt ${SLURM_RESTART_COUNT:-0} of the job"
status=0
eval "set -- ${SETS:-}" # words in quotes, by sweep.sh
"$ESGSIM" sweep "$SWEEP" --shard "$shard/$SHARDS" --resume --quiet \
    --jobs "${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}" --out "$PARTS/shard-$shard.h5" "$@" 2>"$PARTS/shard-$shard.err" || status=$?
cat "$PARTS/shard-$shard.err" >&2
if [ "$status" -eq 1 ] && grep -q ' runs failed; the first: ' "$PARTS/shard-$shard.err"; then
    echo failed >"$PARTS/shard-$shard.status"
else
    echo "$status" >"$PARTS/shard-$shard.status"
fi
exit "$status"
