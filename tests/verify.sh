#!/bin/sh
# `esgsim verify`: its table, the comparison of lines, and that every section of the table has lines. The
# sections' commands themselves are run by tests/documents.sh; VERIFY=full runs all of them here.
# shellcheck disable=SC2016 # quotes of Markdown
. tests/shell.sh

case ${BUILD:-build} in
/*) esgsim=$BUILD/esgsim ;;
*) esgsim=$(pwd)/${BUILD:-build}/esgsim ;;
esac

run "$esgsim" verify
expect "without a section it lists them" 0 '^program .* queueing theory$'
sections=$(sed -n '1!s/^\([a-z-]*\)  *[0-9.]\{1,\}  *[0-9]\{1,\}  .*/\1/p' "$folder/out")
if [ "$(echo "$sections" | wc -w)" -eq "$(grep -c '| `esgsim verify ' REPRODUCING.md)" ]; then
    pass "each row of the page has its minutes and its disk"
else
    explain "each row of the page has its minutes and its disk" "a number in both columns of each row"
fi
printf '#!/bin/sh\n' >"$folder/silent"
chmod +x "$folder/silent"
for section in $sections; do
    run env ESGSIM="$folder/silent" QUIET=1 sh results/verify.sh REPRODUCING.md "$section"
    if [ "$status" -eq 1 ] && grep -q "^$section: 0 of [1-9]" "$folder/out" && [ ! -s "$folder/err" ]; then
        pass "$section has commands and lines, none of which an empty output has"
    else
        explain "$section has commands and lines, none of which an empty output has" "status 1"
    fi
done

# ---- The comparison --------------------------------------------------------------------------

cat >"$folder/REPRODUCING.md" <<'EOF'
| something | `esgsim verify one` | 0.1 | 1 | `REPRODUCING.md`, 1. One |
| else | `esgsim verify two` | 0.1 | 1 | `other.md` |

## 1. One

```sh
build/esgsim --version >/tmp/version
echo 'mean   (0.953 ± 0.0088) of 12 runs' && echo printed on two && echo "  lines, which last"
```

```text
mean (0.951 ± 0.0088) of 12
…
printed on two lines, which last
```

## 2. Two
EOF
sed 's/of 12$/of 13/; s/which last$/which lost/' "$folder/REPRODUCING.md" >"$folder/other.md"
run sh -c 'cd "$1" && exec "$2" verify one' - "$folder" "$esgsim"
expect "a number within 1 % passes, and is counted apart; other blanks pass" 0 '^one: 1 of 2 lines are as in REPRODUCING.md, 1 within 1 %, [0-9.]* s of processor time$'
run sh -c 'cd "$1" && exec "$2" verify one two --quiet' - "$folder" "$esgsim"
expect "a count and a word that differ are shown" 1 '^two: 0 of 2 lines'
if grep -qx 'printed mean   (0.953 ± 0.0088) of 12 runs' "$folder/out"; then
    pass "with what was printed in their place"
else
    explain "with what was printed in their place" "printed mean (0.953 ..."
fi
if grep -qx 'printed no such line' "$folder/out"; then
    pass "a line that is absent is called so"
else
    explain "a line that is absent is called so" "printed no such line"
fi
run sh -c 'cd "$1" && exec "$2" verify one tow' - "$folder" "$esgsim"
expect_refusal "an unknown section is refused before any is run" "no section 'tow'"
sed -i 's/^echo .*/build\/esgsim nonsense/' "$folder/REPRODUCING.md"
run sh -c 'cd "$1" && exec "$2" verify one' - "$folder" "$esgsim"
if [ "$status" -eq 1 ] && grep -q 'verify: one: a command failed' "$folder/err"; then
    pass "a command that fails is told, with its section"
else
    explain "a command that fails is told, with its section" "status 1, one: a command failed"
fi

run "$esgsim" verify headline --world a1
expect_refusal "a row of the study wants a world and a policy" "headline wants --world and --policy"
run "$esgsim" verify headline --world nowhere --policy fifo
expect_refusal "of those that it has" "no world 'nowhere' with a policy 'fifo'; worlds: a1, b,"

# ---- What stands in several files ------------------------------------------------------------

version=$(sed -n 's/^version: *//p' CITATION.cff)
date=$(sed -n 's/^date-released: *//p' CITATION.cff)
for file in .zenodo.json codemeta.json; do
    if grep -q "\"version\": \"$version\"" "$file" && grep -q "\"$date\"" "$file"; then
        pass "$file has the version and the date of CITATION.cff"
    else
        fail "$file has the version and the date of CITATION.cff" "$version, $date"
    fi
done
if grep -q "^## $version, $date$" CHANGELOG.md; then
    pass "so has CHANGELOG.md"
else
    fail "so has CHANGELOG.md" "no heading '$version, $date'"
fi
# REPRODUCING's own sentences are compared with the runs by make reproduce.
tr -s '\n ' '  ' <REPRODUCING.md >"$folder/readme"
sed -n '/<!-- begin from REPRODUCING -->/,/<!-- end/p' paper.md | grep -v '^<!--' >"$folder/sentences"
missing=$(while read -r sentence; do grep -qF -e "$sentence" "$folder/readme" || echo "$sentence"; done <"$folder/sentences")
if [ -s "$folder/sentences" ] && [ -z "$missing" ]; then
    pass "the results that paper.md states are sentences of REPRODUCING.md"
else
    fail "the results that paper.md states are sentences of REPRODUCING.md" "$missing"
fi

if [ "${VERIFY:-}" = full ]; then
    for section in $sections; do
        run "$esgsim" verify "$section"
        expect "$section is as the page says" 0
    done
fi
finish
