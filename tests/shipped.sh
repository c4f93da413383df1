#!/bin/sh
# Every figure of results/paper that has its data beside it and a script of its name is what the script draws, and
# every page that quotes its own tables, or another page, says what they hold.
. tests/shell.sh

needs gnuplot command -v gnuplot
# Without what tells the version of gnuplot, and the ends of lines.
plain() { tr '\n' ' ' <"$1" | sed 's|<desc>[^<]*</desc>||; s|<title>[^<]*</title>||g; s|  *| |g'; }
drawn=0
for data in results/paper/*.csv; do
    name=$(basename "$data" .csv)
    script=plots/$name.gp
    [ -f "$script" ] || continue
    LC_ALL=C.UTF-8 gnuplot -e "data='$data'; out='$folder/$name.svg'" "$script"
    plain "$folder/$name.svg" >"$folder/again"
    plain "${data%.csv}.svg" >"$folder/shipped"
    same "$name is what its data draw" "$folder/again" "$folder/shipped"
    drawn=$((drawn + 1))
done
run test "$drawn" -ge 2
expect "figures were drawn again" 0
cp results/pages/ROBUSTNESS.md "$folder/page.md"
run "$(python_find json)" -B results/robustness.py "$folder/page.md"
same "the sentences of ROBUSTNESS.md are those of its tables" "$folder/page.md" results/pages/ROBUSTNESS.md
# A study that is run again has other answers.
# shellcheck disable=SC2016 # backquotes of the page
sed -n 's/^| `\([A-Z]*\.md\)` | [^|]* | \([^|]*\) | .*/\1 \2/p' results/pages/README.md >"$folder/answers"
while read -r page answer; do
    run grep -qF -- "$answer" "results/pages/$page"
    expect "the answer of $page in the index is a sentence of it" 0
done <"$folder/answers"
run test "$(wc -l <"$folder/answers")" -eq "$(find results/pages -name '[A-Z]*.md' ! -name README.md | wc -l)"
expect "each page has an answer in the index" 0
finish
