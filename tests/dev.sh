#!/bin/sh
# make dev: builds BUILD without optimisation and runs the suites that see what has changed since the last
# green run, or since HEAD where there was none. tests/suites.txt says which suites see which files.
#
#   sh tests/dev.sh BUILD MAKE_VARIABLE...
#
# ALL=1: every C suite. TEST=NAME: this suite alone (NAME.sh: a script). CASE=PATTERN: its cases whose names
# match, by * and ?.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
mkdir -p "$build"
GREEN=$build/green # the tree of the last green run, as an object of git

# now_tree: all files that git does not ignore, as they are now.
now_tree() {
    GIT_INDEX_FILE=$(cd "$build" && pwd)/index
    export GIT_INDEX_FILE
    [ -e "$GIT_INDEX_FILE" ] || cp "$(env -u GIT_INDEX_FILE git rev-parse --git-path index)" "$GIT_INDEX_FILE"
    git add -A . && git write-tree
}

now=
if [ -n "${TEST:-}" ]; then
    names=$TEST
elif [ -n "${ALL:-}" ]; then
    names=$(find tests -name 'test_*.c' -o -name 'fuzz_*.c' | sort | xargs sh tests/suites_of.sh)
    now=$(now_tree)
else
    now=$(now_tree)
    base=HEAD
    if [ -e "$GREEN" ] && git cat-file -e "$(cat "$GREEN")" 2>/dev/null; then base=$(cat "$GREEN"); fi
    changed=$(git diff --name-only "$base" "$now")
    if [ -z "$changed" ]; then
        echo "dev: nothing has changed since the last green run, or since HEAD; make dev ALL=1 runs every C suite"
        exit 0
    fi
    # shellcheck disable=SC2086
    names=$(sh tests/suites_of.sh $changed | sort -u)
    echo "dev: changed: $(echo "$changed" | tr '\n' ' ')"
fi

suites='' targets="BUILD/esgsim"
for name in $names; do
    case $name in
    *.sh) suites="$suites ${name%.sh}" targets="$targets plugins BUILD/tests/digest BUILD/schemas" ;;
    replay_*) suites="$suites $name" targets="$targets BUILD/tests/$name" ;;
    *) suites="$suites test_$name" targets="$targets plugins BUILD/tests/test_$name" ;;
    esac
done
# shellcheck disable=SC2046
make -s --no-print-directory -j"${JOBS:-2}" "$@" $(echo "$targets" | sed "s|BUILD/|$build/|g")
if [ -z "$suites" ]; then
    echo "dev: it builds; no suite sees these files"
else
    echo "dev: suites:$suites"
    ESGSIM_DATA=$PWD SUITES=$suites sh tests/run.sh "$build" "$build"
fi
[ -z "$now" ] || echo "$now" >"$GREEN"
