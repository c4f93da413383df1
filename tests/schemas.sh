#!/bin/sh
# The JSON Schemas: those that ship are what the loaders ask, and both judge documents alike.
. tests/shell.sh

build=${BUILD:-build}
mkdir "$folder/schemas"
run make -s schemas BUILD="$build" SCHEMA_PROGRAM="${SAN_BUILD:-$build/sanitized}/schemas" SCHEMAS="$folder/schemas"
expect "the schemas are generated from the loaders" 0
run diff -r -x '*.c' -x '*.py' -x '*.md' -x '*.txt' workloads/schemas "$folder/schemas"
if [ "$status" -eq 0 ]; then
    pass "generating them again gives the shipped bytes"
else
    explain "generating them again gives the shipped bytes" "no difference (make schemas writes them)"
fi
for page in sim/KEYS.md results/COLUMNS.md; do
    run diff "$page" "$folder/schemas/${page#*/}"
    expect "$page is fresh (make schemas writes it)" 0
done
kinds=$(cd workloads/schemas && ls ./*.json)
if [ "$(echo "$kinds" | wc -l)" -ge 9 ]; then
    pass "each kind of input file has one"
else
    fail "each kind of input file has one" "$kinds"
fi
run "$(python_find jsonschema)" tests/schemas.py "$build/esgsim" "$folder"
if [ "$status" -eq 0 ] && [ "$(wc -l <"$folder/out")" -eq 1 ] &&
    grep -qE '^agree: 1[0-9]{2,} accepted, [23][0-9]{2,} refused' "$folder/out"; then
    pass "loaders and schemas accept and refuse the same documents"
else
    explain "loaders and schemas accept and refuse the same documents" \
        "one line: agree: more than 100 accepted, more than 200 refused"
fi
finish
