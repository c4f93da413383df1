#!/bin/sh
# Every figure of results/paper that has its data beside it and a script of its name is what the script draws, and
# every page that quotes its own tables says what they hold.
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
cp results/ROBUSTNESS.md "$folder/page.md"
run "$(python_find json)" -B results/robustness.py "$folder/page.md"
same "the sentences of ROBUSTNESS.md are those of its tables" "$folder/page.md" results/ROBUSTNESS.md
finish
