#!/bin/sh
# Runs every suite with the sanitized build, and whole_NAME with the release build: of the random trials
# of test_NAME the sanitizers see a tenth. Runs a few at a time, prints a line as each ends, with the
# output of those that failed, and closes with "N passed, N failed". Suites are cmocka programs, and
# scripts that print the same lines.
#
#   tests/run.sh BUILD SANITIZED_BUILD
#
# SUITES: the names of those to run, in place of all. ASIDE=changed leaves out those of tests/aside.txt that
# no change concerns. BUILD/tests-logs/times.csv has the times of all, and the ten longest are printed.
# A suite that crashes, times out, leaks, or runs no test counts as at least one failure.
set -eu
cd "$(dirname "$0")/.."

SUITE_SECONDS=${SUITE_SECONDS:-900}
# Begun first, so that none runs alone at the end.
LONGEST="gpu_session slurm replay figures test_classics commands release test_kill test_calibrate scale
test_sweep_runner guard one_place test_orion test_capacity test_headway files test_fast_gshare"
SCRIPTS="verify gpu_session first_run short_ways schemas slurm scale files guard cheats commands one_place foreign figures shipped compare reality replay release leaks headers library rooms terminal golden derive manual containers install python measure site"

# One suite: its output to LOGS/NAME.log, its exit status and seconds to LOGS/NAME.status. Prints its
# name when it has ended.
if [ "$1" = --one ]; then
    name=$2
    TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/esgsim-$name.XXXXXX")
    export TMPDIR
    start=$(date +%s)
    status=0
    case $name in
    documents-*) timeout "$SUITE_SECONDS" sh tests/documents.sh "$(echo "${name#documents-}" | tr + /)" ;;
    replay_*) timeout "$SUITE_SECONDS" "$SAN_BUILD/tests/$name" tests/corpus ;;
    test_*) ESGSIM_TRIALS=10 timeout "$SUITE_SECONDS" "$SAN_BUILD/tests/$name" ;;
    whole_*) ESGSIM_PLUGINS="$BUILD/tests/plugins" timeout "$SUITE_SECONDS" "$BUILD/tests/test_${name#whole_}" ;;
    *) timeout "$SUITE_SECONDS" sh "tests/$name.sh" ;;
    esac >"$LOGS/$name.log" 2>&1 </dev/null || status=$?
    times >"$LOGS/$name.times"
    # Of the second line, which is of the children: user and system, as 1m2.34s.
    cpu=$(sed -n '2{s/[ms]/ /g;p;}' "$LOGS/$name.times" | awk '{ printf "%.1f", 60 * $1 + $2 + 60 * $3 + $4 }')
    rm "$LOGS/$name.times"
    echo "$status" "$(($(date +%s) - start))" "$cpu" >"$LOGS/$name.status"
    rm -rf "$TMPDIR"
    echo "$name"
    exit 0
fi

BUILD=$1
SAN_BUILD=$2
LOGS=$BUILD/tests-logs
LINT_DIR=$BUILD/lint
export BUILD SAN_BUILD LOGS LINT_DIR SUITE_SECONDS
# Where the tests that load a policy find those built of tests/plugins.
export ESGSIM_PLUGINS="$SAN_BUILD/tests/plugins"
# A report must never end in status 0, 1 or 2, which are the program's own.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:exitcode=99"
export UBSAN_OPTIONS="print_stacktrace=1:exitcode=99"
export LSAN_OPTIONS="exitcode=99:print_suppressions=0"

mkdir -p "$LOGS"
if [ -n "${SUITES:-}" ]; then
    suites=$SUITES
else
    rm -rf "${LOGS:?}"/*
    suites="$SCRIPTS $(sh tests/documents.sh --pages | sed 's|/|+|g; s|^|documents-|')"
    for source in tests/fuzz/fuzz_*.c tests/test_*.c; do
        name=$(basename "$source" .c)
        case $name in
        fuzz_*) suites="$suites replay_${name#fuzz_}" ;;
        *) suites="$suites $name" ;;
        esac
        ! grep -q '\btrials.[A-Z0-9]' "$source" || suites="$suites whole_${name#test_}"
    done
fi
if [ "${ASIDE:-}" = changed ]; then
    aside=$(sh tests/aside.sh)
    suites=$(for name in $suites; do echo "$name"; done | grep -vxF "$aside" || true)
fi

count() { # count PATTERN LOG: lines that match
    grep -c "$1" "$2" || true
}

# show NAME: the line of a suite that has ended, after its output where it failed; its counts to
# LOGS/NAME.counts.
show() {
    log=$LOGS/$1.log
    read -r status seconds cpu <"$LOGS/$1.status"
    ok=$(count '^\[       OK \]' "$log")
    # cmocka lists failures twice, once where they happen and once at the end: count the first.
    bad=$(sed '/^\[==========\].* run\./,$d' "$log" | grep -c '^\[  FAILED  \]' || true)
    skip=$(sed '/^\[==========\].* run\./,$d' "$log" | grep -c '^\[  SKIPPED \]' || true)
    note=""
    if [ "$status" -ne 0 ] || [ "$bad" -gt 0 ]; then
        cat "$log"
    else
        grep '^\[  SKIPPED ' "$log" || true
    fi
    if [ "$bad" -eq 0 ] && [ "$status" -ne 0 ]; then
        bad=1
        case $status in
        124) note=" (stopped after $SUITE_SECONDS s)" ;;
        *) note=" (ended with status $status)" ;;
        esac
    elif [ $((ok + bad + skip)) -eq 0 ]; then
        bad=1
        note=" (ran no test)"
    fi
    echo "$ok $bad $skip" >"$LOGS/$1.counts"
    printf '%-28s %4d passed, %d failed%s%s  %d s\n' "$1" "$ok" "$bad" \
        "$([ "$skip" -eq 0 ] || echo ", $skip skipped")" "$note" "$seconds"
}

first=
for name in $LONGEST; do
    case " $suites " in *" $name "*) first="$first $name" ;; esac
done
# shellcheck disable=SC2086
echo "$(echo $suites | wc -w) suites, $((${JOBS:-$(nproc)} + 1)) at a time, the longest first: a line as each ends"
# One more at a time than there are processors: some wait for daemons and for time to pass.
for name in $first $suites; do echo "$name"; done | awk '!seen[$0]++' |
    xargs -P $((${JOBS:-$(nproc)} + 1)) -I '{}' sh tests/run.sh --one '{}' |
    while read -r name; do show "$name"; done

passed=0
failed=0
skipped=0
for name in $suites; do
    if ! read -r ok bad skip 2>/dev/null <"$LOGS/$name.counts"; then
        echo "$name did not end"
        ok=0 bad=1 skip=0
    fi
    [ "$bad" -eq 0 ] || echo "failed: $name ($bad), its output is in $LOGS/$name.log"
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + skip))
done

{
    echo "suite,seconds,processor_s,passed,failed,skipped"
    for file in "$LOGS"/*.counts; do
        name=$(basename "$file" .counts)
        echo "$name $(cut -d' ' -f2,3 "$LOGS/$name.status") $(cat "$file")" | tr ' ' ,
    done
} >"$LOGS/times.csv"
# shellcheck disable=SC2086
if [ "$(echo $suites | wc -w)" -gt 10 ]; then
    echo "the ten that took longest, in processor seconds (all: $LOGS/times.csv):" \
        "$(sed 1d "$LOGS/times.csv" | sort -t, -k3,3nr | head -n 10 | awk -F, '{ printf "%s%s %.0f", (NR > 1 ? ", " : ""), $1, $3 }')"
fi
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed" | tee "$BUILD/tests.summary"
[ "$failed" -eq 0 ]
