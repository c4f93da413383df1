#!/bin/sh
# Files after signals, full disks and other writers: each destination is whole, and either as it was
# before or as the undisturbed command writes it. What can still act leaves nothing else behind.
. tests/shell.sh

esgsim=$(pwd)/${BUILD:-build}/esgsim
strict=$(pwd)/workloads/experiments/strict-light.json
work=$folder/work
mkdir "$work" "$folder/temporary" "$folder/old" "$folder/new"
TMPDIR=$folder/temporary
export TMPDIR

# ---- Commands and what they write ------------------------------------------------------------

cat >"$folder/sweep.json" <<END
{"base": "$strict", "seeds": 4, "matrix": {"policy.name": ["fifo", "edf"]}}
END

# act NAME VARIANT: writes into $work; `old` and `new` differ in every file.
act() {
    case $2 in old) requests=100 ;; *) requests=300 ;; esac
    small="--set requests=$requests --set warmup_requests=20"
    # Words without blanks.
    # shellcheck disable=SC2086
    case $1 in
    run) $prefix "$esgsim" run "$strict" $small --set record=all --out "$work/run.h5" --timeline "$work/run.json" ;;
    sweep) $prefix "$esgsim" sweep "$folder/sweep.json" $small --restart --jobs 2 --out "$work/sweep.h5" ;;
    merge) $prefix "$esgsim" merge --out "$work/merged.h5" "$folder/$2/shard1.h5" "$folder/$2/shard2.h5" ;;
    convert) $prefix "$esgsim" trace convert "$folder/$2/trace.csv" --out "$work/trace.csv" ;;
    report) $prefix "$esgsim" report "$folder/$2/sweep.h5" --format html --out "$work/page.html" ;;
    plot) $prefix "$esgsim" plot "$folder/$2/sweep.h5" --only hit-rate --only latency-cdf --out "$work" ;;
    esac >"$folder/out" 2>"$folder/err"
}

# The files that a command writes, of which each kind is compared by all that a rerun repeats.
files_of() {
    case $1 in
    run) echo run.h5 run.json ;;
    sweep) echo sweep.h5 ;;
    merge) echo merged.h5 ;;
    convert) echo trace.csv ;;
    report) echo page.html ;;
    plot) echo hit-rate-strict-light.csv hit-rate-strict-light.svg latency-cdf-strict-light.csv latency-cdf-strict-light.svg ;;
    esac
}
digest() {
    case $1 in
    *.h5) h5dump -A 0 "$1" 2>&1 | sed 1d | cksum ;;
    *) cksum <"$1" ;;
    esac
}

prefix=
for variant in old new; do
    for shard in 1 2; do
        case $variant in old) requests=100 ;; *) requests=300 ;; esac
        "$esgsim" sweep "$folder/sweep.json" --set requests=$requests --set warmup_requests=20 --quiet \
            --shard $shard/2 --out "$folder/$variant/shard$shard.h5" >"$folder/out"
    done
    "$esgsim" merge --quiet --out "$folder/$variant/sweep.h5" "$folder/$variant"/shard?.h5
    rows=3000
    [ $variant = old ] || rows=30000
    { echo time_ms,application; seq $rows | sed 's/$/,a/'; } >"$folder/$variant/trace.csv"
done

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# Both variants undisturbed: their files, the digests of those and how long the new one takes.
failures=""
for each in run sweep merge convert report plot; do
    for variant in old new; do
        mkdir "$folder/$variant/$each"
        start=$(milliseconds)
        act $each $variant || failures="$failures $each"
        echo $(($(milliseconds) - start)) >"$folder/$each.took"
        mv "$work"/* "$folder/$variant/$each/"
        for file in $(files_of $each); do
            digest "$folder/$variant/$each/$file" >"$folder/$variant/$each/$file.digest"
        done
    done
    for file in $(files_of $each); do
        ! cmp -s "$folder/old/$each/$file.digest" "$folder/new/$each/$file.digest" || failures="$failures $file"
    done
done
if [ -z "$failures" ]; then
    pass "every command writes its files, and other ones of other input"
else
    fail "every command writes its files, and other ones of other input" "not so:$failures"
    finish
fi

# ---- What must hold whatever ended a command -------------------------------------------------

unfinished() { find "$work" "$TMPDIR" -mindepth 1 \( -name '*.partial-*' -o -name '.*.lock' -o -path "$TMPDIR/*" \); }

# None of this test's commands may go on alone: they all have the folder in their arguments.
no_process() {
    looks=0
    while pgrep -f "$folder/" >"$folder/processes"; do
        looks=$((looks + 1))
        [ $looks -lt 200 ] || return 1
        sleep 0.1
    done
}

# prepare NAME: the old files, and nothing else.
prepare() {
    rm -rf "$work"
    mkdir "$work"
    for file in $(files_of "$1"); do
        cp "$folder/old/$1/$file" "$work/$file"
    done
}

# check NAME WHAT LEFT: adds to $faults what does not hold; LEFT: "nothing" may be left.
check() {
    no_process || faults="$faults; $2 leaves a process: $(head -n 1 "$folder/processes")"
    for file in $(files_of "$1"); do
        digest "$work/$file" >"$folder/digest" 2>&1
        cmp -s "$folder/digest" "$folder/old/$1/$file.digest" ||
            cmp -s "$folder/digest" "$folder/new/$1/$file.digest" ||
            faults="$faults; $2 leaves $file neither old nor new"
    done
    [ "$3" != nothing ] || [ -z "$(unfinished)" ] ||
        faults="$faults; $2 leaves $(unfinished | tr '\n' ' ')"
}

# verdict NAME: passes where $faults is empty.
verdict() {
    if [ -z "$faults" ]; then
        pass "$1"
    else
        fail "$1" "${faults#; }"
    fi
}

# moment NAME I COUNT: the I-th of COUNT moments that are spread evenly over the command, in seconds.
moment() {
    awk -v i="$2" -v n="$3" -v ms="$(cat "$folder/$1.took")" 'BEGIN { printf "%.3f", ms * (i - 0.5) / n / 1000 }'
}

# ---- Signals ---------------------------------------------------------------------------------

points=0
disturb() { # disturb NAME COUNT SIGNAL LEFT
    i=1
    while [ $i -le "$2" ]; do
        prepare "$1"
        # In the foreground it signals the command alone, not what that has started.
        prefix="timeout --foreground --preserve-status -s $3 $(moment "$1" $i "$2")"
        status=0
        act "$1" new || status=$?
        case $status in
        0 | 1 | 137 | 143) ;; # 143: before the program has come so far as to watch for signals
        *) faults="$faults; SIG$3 at moment $i of $2 ends in status $status: $(head -n 1 "$folder/err")" ;;
        esac
        check "$1" "SIG$3 at moment $i of $2" "$4"
        rm -rf "${TMPDIR:?}"/*
        points=$((points + 1))
        i=$((i + 1))
    done
}
for each in run sweep merge convert report plot; do
    case $each in
    report | plot) count=4 ;;
    merge | convert) count=10 ;;
    *) count=8 ;;
    esac
    faults=""
    disturb "$each" $count KILL anything
    # The next writer removes what the killed one has left.
    prefix=
    act $each new || faults="$faults; $each after SIGKILL ends in status $?"
    check $each "$each after SIGKILL" nothing
    verdict "$each killed at $count moments: each file is old or new, and the next writer tidies up"
    faults=""
    disturb "$each" $count TERM nothing
    verdict "$each ended by SIGTERM at $count moments: each file is old or new, and nothing else is left"
done

# ---- Full disks ------------------------------------------------------------------------------

# In blocks of 512 bytes, less than the largest file of each command has.
cat >"$folder/limited" <<'END'
#!/bin/sh
ulimit -f "$1"
shift
exec "$@"
END
for each in run sweep merge convert report plot; do
    faults=""
    largest=$(for file in $(files_of $each); do wc -c <"$folder/new/$each/$file"; done | sort -n | tail -n 1)
    for part in 1 2 3 4; do
        prepare $each
        prefix="sh $folder/limited $((largest * part / 2560))"
        status=0
        act $each new || status=$?
        [ $status -eq 1 ] && [ "$(wc -l <"$folder/err")" -ge 1 ] && grep -qE 'File too large|is the disk full' "$folder/err" ||
            faults="$faults; with room for $part fifths status $status: $(tail -n 1 "$folder/err")"
        check $each "room for $part fifths" nothing
        points=$((points + 1))
    done
    verdict "$each without room: status 1 with the reason, each file old or new, and nothing else"
done
if [ $points -ge 100 ]; then
    pass "these were at least 100 points ($points)"
else
    fail "these were at least 100 points" "$points"
fi
prefix=

# A disk that is really full, where one may be mounted.
mkdir "$folder/disk"
if mount -t tmpfs -o size=120k esgsim-test "$folder/disk" 2>"$folder/err"; then
    run "$esgsim" merge --out "$folder/disk/merged.h5" "$folder/new"/shard?.h5
    left=$(find "$folder/disk" -mindepth 1)
    umount "$folder/disk"
    if [ "$status" -eq 1 ] && grep -q 'merged.h5: .*No space left' "$folder/err" && [ -z "$left" ]; then
        pass "merge on a full disk gives the reason and leaves nothing"
    else
        explain "merge on a full disk gives the reason and leaves nothing" "status 1, No space left, left: $left"
    fi
else
    echo "    no file system can be mounted here: $(cat "$folder/err")"
    echo "[  SKIPPED ] merge on a full disk gives the reason and leaves nothing"
fi

for arguments in --help --version "run --help" "list policies" "list policies --json" "check $strict" \
    "run $strict --set requests=50 --set warmup_requests=5 --json" "report $folder/new/sweep.h5"; do
    # shellcheck disable=SC2086
    run sh -c 'exec "$@" >/dev/full' sh "$esgsim" $arguments
    grep -q 'No space left' "$folder/err" || status=99
    expect "esgsim $arguments tells that standard output is full" 1
done
# The reader has ended before the first byte is written.
mkfifo "$folder/pipe"
for arguments in --help "list policies --json" "report $folder/new/sweep.h5" \
    "run $strict --set requests=50 --set warmup_requests=5"; do
    # shellcheck disable=SC2086
    run sh -c 'exec 3<>"$1" 4>"$1" 3<&-; shift; exec "$@" >&4' sh "$folder/pipe" "$esgsim" $arguments
    ! grep -qv 'esgsim: warning: ' "$folder/err" || status=99
    expect "esgsim $arguments ends quietly, with status 1, where nobody reads its pipe" 1
done

# ---- Several writers -------------------------------------------------------------------------

runs_still() { ps -o stat= -p "$1" | grep -q '^[^Z]'; }
alive() { # how many of $writers have not ended
    alive=0
    for writer in $writers; do
        ! runs_still "$writer" || alive=$((alive + 1))
    done
    echo $alive
}

# COUNT runs that would take hours, at once: all but one are refused by name of that one.
for count in 2 5; do
    prepare run
    writers=""
    for i in $(seq $count); do
        "$esgsim" run "$strict" --seed "$i" --set requests=2000000000 --out "$work/run.h5" \
            >"$folder/writer.$i" 2>&1 &
        writers="$writers $!"
    done
    looks=0
    while [ "$(alive)" -gt 1 ] && [ $looks -lt 600 ]; do
        looks=$((looks + 1))
        sleep 0.1
    done
    faults=""
    [ "$(alive)" -eq 1 ] || faults="; $(alive) of $count go on"
    holder=""
    for writer in $writers; do
        if runs_still "$writer"; then holder=$writer; fi
    done
    child=$(ps -o pid= --ppid "${holder:-0}" | tr -d ' ') # the process that executes the run
    i=0
    for writer in $writers; do
        i=$((i + 1))
        [ "$writer" != "$holder" ] || continue
        status=0
        wait "$writer" || status=$?
        [ $status -eq 1 ] && [ "$(wc -l <"$folder/writer.$i")" -eq 1 ] &&
            grep -q "run.h5: process $child is writing there" "$folder/writer.$i" ||
            faults="$faults; writer $i ends in $status: $(cat "$folder/writer.$i")"
    done
    status=99
    if [ -n "$holder" ] && kill -INT "$holder"; then
        status=0
        wait "$holder" || status=$?
    fi
    [ $status = 1 ] || faults="$faults; the holder ends in $status"
    check run "the holder" nothing
    verdict "of $count writers one goes on and the others end with its process id"
done

# Short ones: each writes the whole file or is refused.
prepare convert
writers=""
for i in 1 2 3 4 5; do
    "$esgsim" trace convert "$folder/new/trace.csv" --out "$work/trace.csv" >"$folder/writer.$i" 2>&1 &
    writers="$writers $!"
done
faults=""
written=0
i=0
for writer in $writers; do
    i=$((i + 1))
    status=0
    wait "$writer" || status=$?
    case $status in
    0) written=$((written + 1)) ;;
    1) grep -q 'is writing there' "$folder/writer.$i" || faults="$faults; $(cat "$folder/writer.$i")" ;;
    *) faults="$faults; status $status" ;;
    esac
done
[ $written -ge 1 ] || faults="$faults; none has written"
cmp -s "$work/trace.csv" "$folder/new/convert/trace.csv" || faults="$faults; trace.csv is not the new one"
check convert "five writers" nothing
verdict "five short writers: each writes the whole file or is refused"

finish
