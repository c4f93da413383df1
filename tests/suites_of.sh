#!/bin/sh
# Prints the suites that see a change in each FILE, one a line, by tests/suites.txt: NAME for tests/test_NAME.c,
# NAME.sh for a script. A suite sees its own file. Ends in status 1 for a source that no line matches.
#
#   sh tests/suites_of.sh FILE...
set -u
cd "$(dirname "$0")/.." || exit
status=0
for file; do
    case $file in
    tests/test_*.c) basename "$file" .c | sed 's/^test_//' && continue ;;
    tests/fuzz/fuzz_*.c) basename "$file" .c | sed 's/^fuzz_/replay_/' && continue ;;
    tests/*.h) grep -l "\"$file\"" tests/test_*.c | sed 's|tests/test_||; s|\.c$||' && continue ;;
    tests/corpus/*/*)
        kind=$(echo "$file" | cut -d/ -f3)
        if [ -e "tests/fuzz/fuzz_$kind.c" ]; then echo "replay_$kind"; else echo experiment; fi
        continue
        ;;
    esac
    found=
    while [ -z "$found" ] && read -r pattern suites; do
        # A header or table is seen by the suites of its source.
        for name in "$file" "${file%.[hd]*}.c"; do
            # shellcheck disable=SC2254
            case $name in
            $pattern) found=$suites ;;
            esac
        done
    done <<END
$(grep -v '^#' tests/suites.txt)
END
    [ -z "$found" ] || echo "$found" | tr ' ' '\n' | grep -vx none
    case $found:$file in
    :tests/*.sh) basename "$file" ;;
    :*.c | :*.h | :*.def | :*.gp)
        echo "$file: no line of tests/suites.txt matches it" >&2
        status=1
        ;;
    esac
done
exit $status
