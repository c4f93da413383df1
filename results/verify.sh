#!/bin/sh
# esgsim verify: runs the commands of a page's section and compares what they print with the page.
#
#   results/verify.sh PAGE [SECTION…]              started by `esgsim verify`; without a section: lists them
#   results/verify.sh PAGE headline WORLD POLICY   a row of results/pages/HEADLINE.md
#
# PAGE is REPRODUCING.md. Its table has a row for each section:
#   | claim | `esgsim verify SECTION` | minutes | MB | `FILE`, HEADING |
# The section is what stands in FILE below "## HEADING", or all of FILE.
# Each block of commands there (```sh) that expected lines follow at once (```text) is run in this
# folder, with a temporary folder in place of /tmp.
#
# A line passes if the same words are printed, whatever blanks and line ends are between them, because lines are
# folded. It passes "within 1 %", and is counted apart, if numbers with a decimal point differ by 1 % or a unit of the
# last digit at most, and all other words are equal.
#
# From the environment: ESGSIM the program, ESGSIM_DATA its data, QUIET=1: print what differs alone.
# Exit status: 0 all is as expected, 1 a line differs or a command failed, 2 there is no such section.
# Texts in single quotes that look like expansions are of sed, awk and Markdown:
# shellcheck disable=SC2016
set -eu

# What stands below a heading of a page, without a heading the whole page.
section_of() { # section_of FILE HEADING
    awk -v heading="## $2" '/^```/ { fenced = !fenced }
        !fenced && /^##? / { inside = $0 == heading }
        inside || heading == "## "' "$1"
}

# The rows, with tabs between the cells: name, minutes, MB, claim, file, heading.
rows() {
    sed -n 's/^| *\(.*[^ ]\) *| `esgsim verify \([^`]*\)` *| *\([^ ]*\) *| *\([^ ]*\) *| `\([^`]*\)`,* *\([^|]*[^ |]\)* *|$/\2\t\3\t\4\t\1\t\5\t\6/p' "$page"
}

# Prints each expected line with PASS, or with what was printed. `count` has the lines, those that differ, and those
# within 1 %.
compare() { # compare EXPECTED PRINTED
    LC_ALL=C awk -v quiet="${QUIET:-}" '
        function number(text) { return match(text, /^[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/) ? substr(text, 1, RLENGTH) : "" }
        # near: 0 equal, 1 within 1 %, 2 any number
        function agree(want, got, near,    a, b, digits, limit) {
            if (want == got || near == 0) return want == got
            if (want ~ /^\(/ && got ~ /^\(/) return agree(substr(want, 2), substr(got, 2), near)
            a = number(want); b = number(got)
            if (a == "" || b == "" || substr(want, length(a) + 1) != substr(got, length(b) + 1)) return 0
            if (near == 2 || a !~ /\./) return near == 2
            digits = a; sub(/^[^.]*\./, "", digits); sub(/e.*/, "", digits)
            limit = 10 ^ -length(digits)
            if (0.01 * a > limit) limit = 0.01 * a
            if (-0.01 * a > limit) limit = -0.01 * a
            return a - b <= limit * 1.000001 && b - a <= limit * 1.000001
        }
        # The word from `at` on with which the line begins, best the first of a line; 0: none. `past` is the one behind.
        function find(want, near,    i, w, n, words, anywhere) {
            n = split(want, words)
            for (anywhere = 0; anywhere <= 1; anywhere++)
                for (i = at; i + n - 1 <= count; i++) {
                    if (!anywhere && line_of[i] == line_of[i - 1]) continue
                    for (w = 1; w <= n && agree(words[w], word[i + w - 1], near); w++);
                    past = i + n
                    if (w > n) return i
                }
            return 0
        }
        BEGIN { at = 1 }
        FILENAME == ARGV[1] { line[++printed] = $0; for (i = 1; i <= NF; i++) { word[++count] = $i; line_of[count] = printed }; next }
        NF == 0 || $1 == "…" { next }
        { lines++; place = find($0, 0)
          if (place) { at = past; if (!quiet) print "PASS    " $0; next }
          place = find($0, 1)
          if (place) {
              at = past; close_by++; if (quiet) next
              print "PASS within 1 %  " $0
              for (i = line_of[place]; i <= line_of[past - 1]; i++) print "printed          " line[i]
              next
          }
          differ++; place = find($0, 2)
          print "DIFFERS " $0
          if (!place) print "printed no such line"
          for (i = line_of[place]; place && i <= line_of[past - 1]; i++) print "printed " line[i]
          if (place) at = past }
        END { print lines + 0, differ + 0, close_by + 0 > "'"$folder"'/count" }' "$2" "$1"
}

clock() { # sets $spent to the seconds of processor time so far; a subshell would have its own
    times >"$folder/times"
    spent=$(sed -n '2s/[ms]/ /gp' "$folder/times" | awk '{ printf "%.2f", $1 * 60 + $2 + $3 * 60 + $4 }')
}

# Runs the blocks of $folder/section.
verify() { # verify NAME FILE
    lines=0 differing=0 near=0
    clock
    before=$spent
    rm -f "$folder"/block-*
    awk -v out="$folder/block-" '
        /^```/ && !inside { inside = 1; kind = substr($0, 4)
            if (kind == "sh") name = sprintf("%s%02d.sh", out, ++n)
            else if (kind ~ /^text/ && before == "sh") name = sprintf("%s%02d.want", out, n)
            else name = "/dev/null"
            before = kind; next }
        /^```/ { inside = 0; close(name); next }
        inside { print >name }' "$folder/section"
    for wanted in "$folder"/block-*.want; do
        [ -e "$wanted" ] || { echo "verify: $2 has no expected lines for $1" >&2; exit 2; }
        block=${wanted%.want}.sh
        [ -n "${QUIET:-}" ] || sed 's/^/$ /' "$block"
        sed -e 's|build/esgsim|"$ESGSIM"|g' -e 's|/tmp/|"$FOLDER"/|g' "$block" >"$folder/commands"
        sh -e "$folder/commands" >"$folder/printed" || { echo "verify: $1: a command failed" >&2; exit 1; }
        compare "$wanted" "$folder/printed"
        read -r more worse close_by <"$folder/count"
        lines=$((lines + more)) differing=$((differing + worse)) near=$((near + close_by))
    done
    clock
    [ $near -eq 0 ] && within= || within=" $near within 1 %,"
    echo "$1: $((lines - differing - near)) of $lines lines are as in $2,$within" \
        "$(echo "$spent $before" | awk '{ printf "%.1f", $1 - $2 }') s of processor time"
}

page=$1
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/esgsim-verify-XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
FOLDER=$folder
export FOLDER
if [ $# -eq 0 ]; then
    echo 'section      minutes   MB  what is claimed'
    rows | awk -F '\t' '{ printf "%-12s %7s %4s  %s\n", $1, $2, $3, $4 }'
    echo 'minutes of processor time, MB of disk; `esgsim verify SECTION…` runs and compares them'
fi
for name; do # before any is run
    [ "$1" != headline ] || break
    rows | cut -f 1 | grep -qxF -e "$name" || {
        echo "esgsim: verify: no section '$name'; the sections are: $(rows | cut -f 1 | tr '\n' ' ')" >&2
        exit 2
    }
done
if [ "${1:-}" = headline ]; then
    rm -r "$folder"
    exec python3 -B "$(dirname "$0")/headline.py" verify "$ESGSIM" "$(dirname "$0")/paper/headline-worlds.csv" "$2" "$3"
fi
status=0
for name; do
    rows | awk -F '\t' -v name="$name" '$1 == name { print $5; print $6 }' >"$folder/row"
    { read -r file && read -r heading; } <"$folder/row" || :
    [ -e "$file" ] && path=$file || path=$ESGSIM_DATA/$file
    section_of "$path" "$heading" >"$folder/section"
    verify "$name" "$file"
    [ "$differing" -eq 0 ] || status=1
done
exit "$status"
