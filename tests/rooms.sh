#!/bin/sh
# What each room may know: the rooms whose headers its files include, beside its own and sim/base.
. tests/shell.sh

# The rooms, the lowest first: a room knows rooms of earlier lines alone. A star stands for any name.
cat >"$folder/rooms" <<'EOF'
sim/base:
sim/engine:
traces/readers: sim/engine
traces/profile:
traces/calibrate: traces/readers traces/profile
workloads/load: traces/profile
workloads/world: workloads/load traces/profile
workloads/arrivals: workloads/load workloads/world traces/readers sim/engine
workloads/training: workloads/load workloads/world traces/* sim/engine
workloads/spec: workloads/* traces/profile sim/engine
workloads/sweep: workloads/* traces/*
sim/cluster: workloads/world workloads/spec sim/engine
sched: workloads/*
sched/common: sched workloads/world
sched/paths: sched sched/common workloads/world workloads/spec
sched/choices: sched sched/common workloads/world
sched/keep_alive: workloads/spec
sched/*: sched sched/common sched/paths sched/choices workloads/world workloads/training traces/profile sim/engine
sim/platform: sched sched/common sched/paths sched/choices sim/cluster sim/engine workloads/* traces/*
sim/backend: sim/platform sim/engine workloads/spec
results/store: sim/platform sim/backend workloads/*
results/inspect: results/store sched/paths sched/choices sim/engine sim/platform workloads/*
results/report: results/store sim/platform sim/engine workloads/*
results/expect: results/report workloads/load
results/page: results/expect results/report results/store
results/compare: results/page results/report results/store sim/engine workloads/world
plots: results/* sched sched/common sched/paths sched/choices sim/platform sim/engine workloads/* traces/*
sim/run: results/* sched sim/platform sim/backend sim/engine workloads/*
results/verify: plots results/compare results/page results/report sim/run sim/platform workloads/*
sim/cli: *
sim: sim/run sim/cli
workloads/schemas: results/expect workloads/sweep
sim/examples: sched sim/platform workloads/spec
EOF
find sim sched workloads traces results plots -name '*.[ch]' -exec grep -Ho '^#include "[^"]*/' {} + |
    sed 's|:#include "| |; s|/$||' | sort -u |
    awk -v rooms="$folder/rooms" '
        function is(room, name) { gsub(/[*]/, ".*", name); return room ~ ("^" name "$") }
        function line_of(room,   i) {
            for (i = 1; i <= lines && !is(room, names[i]); i++);
            return i <= lines ? i : 0
        }
        function may_know(mine, other,   list, n) {
            for (n = split(known[mine], list, " "); n > 0 && !is(other, list[n]); n--);
            return n > 0 && line_of(other) > 0 && line_of(other) < mine
        }
        BEGIN {
            while ((getline text <rooms) > 0) {
                names[++lines] = known[lines] = text
                sub(/:.*/, "", names[lines])
                sub(/.*:/, "sim/base", known[lines])
            }
        }
        { room = $1; sub("/[^/]*$", "", room) }
        room == $2 || may_know(line_of(room), $2) { next }
        { print $1 " includes headers of " $2 }' >"$folder/faults"
if [ -s "$folder/faults" ]; then
    fail "every room knows only what it may" "$(cat "$folder/faults")"
else
    pass "every room knows only what it may"
fi

# A new room must be told of where newcomers look.
untold=$(sed 's/:.*//; /[*]/d' "$folder/rooms" | while read -r room; do
    grep -qF "\`$room/" ARCHITECTURE.md || echo "$room"
done)
if [ -z "$untold" ]; then
    pass "ARCHITECTURE.md tells of every room"
else
    fail "ARCHITECTURE.md tells of every room" "not of: $untold"
fi

# A command parses, calls and prints. One that needs more room computes.
long=$(wc -l sim/cli/*.c | awk '$2 != "total" && $1 > 250 { print $2 " has " $1 " lines" }')
if [ -z "$long" ]; then
    pass "no file of sim/cli has more than 250 lines"
else
    fail "no file of sim/cli has more than 250 lines" "$long"
fi
finish
