#!/bin/sh
# Prints the lines of C by room, and the sums beside their budgets, the numbers of tests/budget. A budget
# only falls: it is set to the sum where the sum is less. It rises in a commit of its own, whose message has
# the line "Lines: product +N" (or tests). Ends in status 1 where a sum exceeds its budget, or where a
# budget rose in another way.
set -eu
cd "$(dirname "$0")/.."

status=0
# shellcheck disable=SC2016 # the program is of awk
find sim sched workloads traces results plots tests -name '*.[ch]' -o -name '*.def' -o -name '*.cu' |
    sort | xargs awk '
    FNR == 1 {
        room = FILENAME
        sub("/[^/]*$", "", room)
        if (!(room in files)) order[++rooms] = room
        files[room]++
    }
    FNR == NR { budget[$1] = $2; kinds[++kind] = $1; next }
    { lines[room]++; sum[room ~ /^tests/ ? "tests" : "product"]++ }
    END {
        for (i = 2; i <= rooms; i++)
            printf "%-28s %4d files %6d lines\n", order[i], files[order[i]], lines[order[i]]
        for (i = 1; i <= kind; i++) {
            name = kinds[i]
            printf "%s: %d lines, budget %d\n", name, sum[name], budget[name]
            if (sum[name] > budget[name]) {
                printf "%s: %d lines above its budget in tests/budget: name what goes instead\n", name, sum[name] - budget[name]
                above = 1
            } else if (sum[name] < budget[name]) lower = 1
        }
        if (lower && !above)
            for (i = 1; i <= kind; i++) printf "%s %d\n", kinds[i], sum[kinds[i]] >"tests/budget.new"
        exit above
    }' tests/budget || status=1
if [ -e tests/budget.new ]; then
    mv tests/budget.new tests/budget
    echo "tests/budget is lowered to what is there; commit it"
fi

# Every commit that raised a budget did nothing else and says by how much.
for commit in $(git log --format=%H -- tests/budget 2>/dev/null); do
    git cat-file -e "$commit^:tests/budget" 2>/dev/null || continue
    for kind in product tests; do
        before=$(git show "$commit^:tests/budget" | sed -n "s/^$kind //p")
        rise=$(($(git show "$commit:tests/budget" | sed -n "s/^$kind //p") - before))
        [ "$rise" -gt 0 ] || continue
        if [ "$(git diff --name-only "$commit^" "$commit")" != tests/budget ] ||
            ! git log -1 --format=%B "$commit" | grep -qx "Lines: $kind +$rise"; then
            echo "commit $(git log -1 --format=%h "$commit") raises the budget of $kind by $rise; that takes a commit of its own with the line \"Lines: $kind +$rise\""
            status=1
        fi
    done
done
exit $status
