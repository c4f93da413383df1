# Sourced by the suites that are scripts: tests that print what cmocka prints.
# shellcheck shell=sh
set -u

tests_run=0
tests_bad=0
folder=$(mktemp -d "${TMPDIR:-/tmp}/esgsim-tests.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# pass NAME; fail NAME EXPLANATION...
pass() {
    tests_run=$((tests_run + 1))
    echo "[       OK ] $1"
}
fail() {
    tests_run=$((tests_run + 1))
    tests_bad=$((tests_bad + 1))
    name=$1
    shift
    for line in "$@"; do
        printf '    %s\n' "$line"
    done
    echo "[  FAILED  ] $name"
}

# python_find MODULES: an interpreter that has them, separated by commas. python3 may be one without
# the system's packages. Nothing if there is none.
python_find() {
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c "import $1" 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
}

# needs WHAT COMMAND...: the suite ends with one failure that names what the machine lacks, where the command fails.
needs() {
    what=$1
    shift
    "$@" >/dev/null 2>&1 </dev/null || {
        fail "this machine has what the suite needs" "it lacks $what"
        finish
    }
}

# run COMMAND...: output to $folder/out and $folder/err, exit status to $status.
run() {
    ran="$*"
    status=0
    "$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
}

# explain NAME EXPECTED: the last command failed the test.
explain() {
    fail "$1" "command:  $ran" "expected: $2" "got:      status $status" \
        "stdout:   $(head -c 600 "$folder/out" | head -n 6)" \
        "stderr:   $(head -c 2000 "$folder/err" | head -n 20)"
}

# expect NAME STATUS [PATTERN]: the last command ended so, and its output has the pattern.
expect() {
    if [ "$status" -ne "$2" ]; then
        explain "$1" "status $2"
    elif [ $# -gt 2 ] && ! grep -qiE -- "$3" "$folder/out"; then
        explain "$1" "status $2 and /$3/ on standard output"
    else
        pass "$1"
    fi
}

# expect_refusal NAME [PATTERN]: status 2, nothing on standard output, exactly one line on standard
# error, with the pattern in it.
expect_refusal() {
    lines=$(wc -l <"$folder/err")
    if [ "$status" -ne 2 ] || [ "$lines" -ne 1 ] || [ -s "$folder/out" ]; then
        explain "$1" "status 2, one line on standard error and nothing on standard output"
    elif [ $# -gt 1 ] && ! grep -qiE -- "$2" "$folder/err"; then
        explain "$1" "one line on standard error with /$2/"
    else
        pass "$1"
    fi
}

# cases: a table on standard input. Its lines are STATUS :: NAME :: PATTERN :: ARGUMENTS, the arguments as
# a shell reads them. STATUS is a number, with the pattern on standard output, or "refused".
cases() {
    while IFS= read -r row; do
        name=${row#* :: }
        pattern=${name#* :: }
        arguments=${pattern#* :: }
        name=${name%% :: *}
        pattern=${pattern%% :: *}
        eval "run \"\$esgsim\" $arguments"
        case $row in
        refused*) expect_refusal "$name" "$pattern" ;;
        *) expect "$name" "${row%% :: *}" ${pattern:+"$pattern"} ;;
        esac
    done
}

# same NAME FILE FILE: the two are there and equal byte by byte.
same() {
    if [ -s "$2" ] && cmp "$2" "$3" >"$folder/out" 2>&1; then
        pass "$1"
    else
        fail "$1" "files differ or are empty: $2 $3" "$(head -c 300 "$folder/out")"
    fi
}

# Raw bytes of every table of an HDF5 file, names included, attributes left out.
tables() { # tables FILE OUTPUT [EXCEPT]: the bytes of all tables but EXCEPT
    : >"$2"
    h5ls -r "$1" | awk '$2 == "Dataset" { print $1 }' | sort | while read -r table; do
        [ "$table" != "${3:-}" ] || continue
        rm -f "$folder/table"
        h5dump -d "$table" -b FILE -o "$folder/table" "$1" >/dev/null 2>&1
        echo "$table $(wc -c <"$folder/table") bytes" >>"$2"
        cat "$folder/table" >>"$2"
    done
}

finish() {
    echo "[==========] $tests_run test(s) run."
    echo "[  PASSED  ] $((tests_run - tests_bad)) test(s)."
    [ "$tests_bad" -eq 0 ]
    exit
}
