#!/bin/sh
# Shows what the analysers found (make writes it to LINT_DIR) and counts each analyser as a test. So it
# does with the budgets of lines and the table of suites.
. tests/shell.sh

LINT_DIR=${LINT_DIR:-build/lint}

# findings NAME FILE...: passes where every file is there and empty.
findings() {
    name=$1
    shift
    for file in "$@"; do
        if [ ! -e "$file" ]; then
            fail "$name" "$file is missing: make lint-findings"
            return
        fi
    done
    if [ "$(cat "$@" | wc -c)" -eq 0 ]; then
        pass "$name"
    else
        cat "$@" | head -n 400
        fail "$name"
    fi
}

sources=$(find sim sched workloads traces results plots tests -name '*.c' | sed "s|\(.*\)\.c\$|$LINT_DIR/\1.tidy|")
# shellcheck disable=SC2086
findings "clang-tidy finds nothing" $sources
findings "cppcheck finds nothing" "$LINT_DIR/cppcheck.log"
findings "clang-format would change nothing" "$LINT_DIR/clang-format.log"
findings "shellcheck finds nothing" "$LINT_DIR/shellcheck.log"
# shellcheck disable=SC2046
run sh tests/suites_of.sh $(find sim sched workloads traces results plots -name '*.[ch]' -o -name '*.def' -o -name '*.gp')
expect "every source has a suite in tests/suites.txt" 0
sort -u "$folder/out" | while read -r name; do
    [ -e "tests/test_$name.c" ] || [ -e "tests/$name" ] || echo "$name"
done >"$folder/absent"
if [ ! -s "$folder/absent" ]; then pass "and they are there"; else fail "and they are there" "$(cat "$folder/absent")"; fi
run sh tests/lines.sh
expect "product and tests stay within their budgets of lines" 0
finish
