#!/bin/sh
# Prints the lines of C by room, and the sums beside the budgets of CONTRIBUTING.md. It ends in status 1
# where a sum exceeds its budget.
set -eu
cd "$(dirname "$0")/.."

# budget WORDS: the number in "WORDS at most N lines" of CONTRIBUTING.md.
budget() {
    sed -n "s/.*$1 at most \([0-9,]*\) lines.*/\1/p" CONTRIBUTING.md | tr -d ,
}

find sim sched workloads traces results plots tests -name '*.[ch]' -o -name '*.def' -o -name '*.cu' |
    sort | xargs awk -v product="$(budget product)" -v tests="$(budget tests)" '
    FNR == 1 {
        room = FILENAME
        sub("/[^/]*$", "", room)
        if (!(room in files)) order[++rooms] = room
        files[room]++
    }
    { lines[room]++; sum[room ~ /^tests/ ? "tests" : "product"]++ }
    function told(kind, most) {
        printf "%s: %d lines, budget %d\n", kind, sum[kind], most
        if (most == 0 || sum[kind] > most) {
            printf "%s: %d lines above its budget in CONTRIBUTING.md: name what goes instead\n", kind, sum[kind] - most
            return 1
        }
        return 0
    }
    END {
        for (i = 1; i <= rooms; i++)
            printf "%-28s %4d files %6d lines\n", order[i], files[order[i]], lines[order[i]]
        above = told("product", product) + told("tests", tests)
        exit above > 0
    }'
