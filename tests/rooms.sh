#!/bin/sh
# Includes point down: a file includes headers of its own room and of rooms below it alone. Here are
# the rooms, the lowest first; those of one line do not know each other.
. tests/shell.sh

cat >"$folder/rooms" <<'EOF'
sim/base
sim/engine
traces/readers
traces/profile
traces/calibrate
traces/calibrate/derive
workloads
sim/cluster sched
sched/common
sched/paths
sched/simple sched/alpaserve sched/sgprs sched/keep_alive sched/esg sched/infless sched/fast_gshare sched/orion sched/aquatope sched/headway sched/nexus sched/gpulet sched/dilu sched/synergy sched/sharing sched/fgd sched/tree
sim/platform
sim/backend
results/store
results/inspect results/report
results/compare
plots sim/run
sim/cli
sim workloads/schemas sim/examples
EOF
find sim sched workloads traces results plots -name '*.[ch]' -exec grep -Ho '^#include "[^"]*/' {} + |
    sed -E 's|/[^/]*:#include "| |; s|/$||' | sort | uniq -c |
    awk -v rooms="$folder/rooms" '
        BEGIN { while ((getline line <rooms) > 0) { n = split(line, names, " "); floor++
                    for (i = 1; i <= n; i++) height[names[i]] = floor } }
        !($2 in height) { print "no room of the table: " $2 }
        $2 != $3 && height[$3] >= height[$2] { print $2 " includes " $3 " (" $1 " times)" }' \
    >"$folder/upward"
if [ -s "$folder/upward" ]; then
    fail "every include points down" "$(cat "$folder/upward")"
else
    pass "every include points down"
fi
finish
