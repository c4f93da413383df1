#!/bin/sh
# Mutation test: do the suites notice when one token of the simulator is wrong?
#
#   tests/mutants.sh BUILD COUNT JOBS
#
# BUILD holds esgsim.so and suites linked with it (make mutants). Of all candidates of
# tests/mutants/mutate.c, the COUNT with the least hashes are the set, with tests/mutants/known.txt.
# A mutant is compiled by $COMPILE, linked into a library of its own, and run under the suites that
# tests/suites.txt names for its file, the quickest first. It is killed by the first suite
# that fails, or that takes 10 s of processor time and three times what it takes without mutant.
#
# An interrupted run goes on where it was: a killed mutant is not run again while its file is the
# same. Survivors always are. `rm -r BUILD/killed` starts afresh. The last line counts, and
# BUILD/survivors lists the survivors that tests/mutants/equivalent.txt does not explain.
set -eu
cd "$(dirname "$0")/.."

# One suite with the esgsim.so of $library: its exit status.
suite_run() { # suite_run NAME SECONDS
    TMPDIR=$(mktemp -d "$BUILD/tmp.XXXXXX")
    export TMPDIR
    status=0
    case $1 in
    golden) set -- "$2" sh tests/golden.sh figures ;;
    *) set -- "$2" "$BUILD/tests/test_$1" ;;
    esac
    # Of processor time, so that a busy machine kills no mutant; the rest is for suites that sleep.
    limit=$1
    shift
    # shellcheck disable=SC3045
    (ulimit -t "$limit" && LD_LIBRARY_PATH=$library timeout -s KILL 900 "$@") \
        >"$TMPDIR/log" 2>&1 </dev/null || status=$?
    rm -rf "$TMPDIR"
    return "$status"
}

suites_of() { # suites_of FILE: programs alone, and golden
    sh tests/suites_of.sh "$1" | grep -v '\.sh$'
    echo golden
}

quickest_first() {
    while read -r name; do
        echo "$(cat "$BUILD/seconds/$name") $name"
    done | sort -n | sed 's/.* //'
}

# One mutant: a line "killed SUITE", "survived" or "uncompiled" to results/HASH.
mutant_run() { # mutant_run HASH FILE
    result=$BUILD/results/$1
    killed=$BUILD/killed/$1-$(cksum <"$2" | tr ' ' '-')
    if [ -e "$killed" ]; then
        cp "$killed" "$result"
        return
    fi
    library=$BUILD/scratch/$1
    mkdir -p "$library"
    case $1 in
    known-*) cp "$BUILD/known/$1.c" "$library/mutant.c" ;;
    *) "$BUILD/mutate" make "$2" "$1" >"$library/mutant.c" ;;
    esac
    if ! $COMPILE -w -c -o "$library/mutant.o" "$library/mutant.c" 2>/dev/null; then
        echo uncompiled >"$result"
    else
        # shellcheck disable=SC2046,SC2086
        $COMPILE -shared -o "$library/esgsim.so" "$library/mutant.o" \
            $(tr ' ' '\n' <"$BUILD/objects" | grep -v "/${2%.c}\.o$") $LIBRARIES
        echo survived >"$library/result"
        for name in $(suites_of "$2" | quickest_first); do
            status=0
            suite_run "$name" $((10 + 3 * $(cat "$BUILD/seconds/$name"))) || status=$?
            [ "$status" -eq 0 ] && continue
            case $status in 137 | 152) name="$name (time)" ;; esac
            echo "killed $name" >"$library/result"
            cp "$library/result" "$killed"
            break
        done
        mv "$library/result" "$result"
    fi
    rm -rf "$library"
}

case $1 in
--one)
    mutant_run "$2" "$3"
    exit 0
    ;;
--base)
    library=$BUILD
    start=$(date +%s)
    suite_run "$2" 600 || { echo "mutants: $2 fails" >&2; exit 255; }
    echo $(($(date +%s) - start)) >"$BUILD/seconds/$2"
    exit 0
    ;;
esac

BUILD=$(cd "$1" && pwd)
count=$2
jobs=$3
export BUILD ESGSIM_PLUGINS="$BUILD/tests/plugins"
# What is freed or not set differs from what was there; what runs wild ends.
export MALLOC_PERTURB_=165
# shellcheck disable=SC3045
ulimit -c 0
# shellcheck disable=SC3045
ulimit -v 8000000 2>/dev/null || true

rm -rf "$BUILD/results" "$BUILD/scratch" "$BUILD/known"
mkdir -p "$BUILD/results" "$BUILD/killed" "$BUILD/scratch" "$BUILD/known" "$BUILD/seconds"

# ---- The set ---------------------------------------------------------------------------------

# What only the command line and the benchmark reach is left out.
for file in sim/engine/*.c sim/cluster/*.c sim/platform/*.c sim/backend/*.c sched/paths/*.c sched/esg/*.c sched/common/*.c; do
    echo "$file"
done | xargs "$BUILD/mutate" list | sort | head -n "$count" >"$BUILD/set"

# A record of known.txt and equivalent.txt: a line FILE, a line "- BEFORE", a line "+ AFTER", and
# in equivalent.txt the reason.
source=
while IFS= read -r line; do
    case $line in
    '#'* | '') ;;
    '- '*) before=${line#- } ;;
    '+ '*)
        number=$(echo "$source $before $line" | cksum | cut -d" " -f1)
        "$BUILD/mutate" swap "$source" "$before" "${line#+ }" >"$BUILD/known/known-$number.c" || {
            echo "mutants: tests/mutants/known.txt: no such line in $source: $before" >&2
            exit 1
        }
        at=$(grep -nF -- "$before" "$source" | head -n 1 | cut -d: -f1)
        printf '%s\t%s\t%s\t%s\t%s\n' "known-$number" "$source" "$at" "$before" "${line#+ }"
        ;;
    *) source=$line ;;
    esac
done <tests/mutants/known.txt >>"$BUILD/set"

# ---- The suites without mutant ---------------------------------------------------------------

cut -f2 "$BUILD/set" | sort -u | while read -r file; do suites_of "$file"; done | sort -u |
    xargs -P "$jobs" -n 1 sh tests/mutants.sh --base || {
    echo "mutants: a suite fails without mutant" >&2
    exit 1
}

# ---- The mutants -----------------------------------------------------------------------------

cut -f1,2 "$BUILD/set" | xargs -P "$jobs" -n 2 sh tests/mutants.sh --one

# ---- The account -----------------------------------------------------------------------------

cut -f1 "$BUILD/set" | while read -r hash; do
    echo "$hash $(cat "$BUILD/results/$hash")"
done >"$BUILD/verdicts"
awk -F '\t' -v equivalent=tests/mutants/equivalent.txt -v verdicts="$BUILD/verdicts" '
    BEGIN {
        while ((getline line <equivalent) > 0) {
            if (line ~ /^- /) before = substr(line, 3)
            else if (line ~ /^\+ /) reason[file, before, substr(line, 3)] = 1
            else if (line !~ /^(#|  |$)/) file = line
        }
        while ((getline line <verdicts) > 0)
            verdict[substr(line, 1, index(line, " ") - 1)] = line
    }
    verdict[$1] ~ / survived$/ && !(($2, $4, $5) in reason) {
        printf "%s:%s\n- %s\n+ %s\n", $2, $3, $4, $5 }
    verdict[$1] ~ / survived$/ && (($2, $4, $5) in reason) { same++ }
    END { print same + 0 >"/dev/stderr" }' "$BUILD/set" >"$BUILD/survivors" 2>"$BUILD/equivalent"

cat "$BUILD/survivors"
total=$(wc -l <"$BUILD/verdicts")
killed=$(grep -c ' killed ' "$BUILD/verdicts" || true)
survived=$(grep -c ' survived$' "$BUILD/verdicts" || true)
uncompiled=$(grep -c ' uncompiled$' "$BUILD/verdicts" || true)
equivalent=$(cat "$BUILD/equivalent")
echo "$total mutants, $killed killed, $survived survived, $uncompiled did not compile"
[ "$survived" -eq 0 ] || echo "of the survivors $equivalent are equivalent (tests/mutants/equivalent.txt)"
