#!/bin/sh
# The program at its limits, as built for use: 10,000 runs, a clock that jumps, full disks, damaged
# results, exhausted memory.
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
here=$(pwd)
base=$here/workloads/experiments/theory/mm1.json

# ---- 10,000 runs -----------------------------------------------------------------------------

cat >"$folder/many.json" <<EOF
{"base": "$base", "matrix": {"policy.name": ["fifo", "edf"], "setting": [
   {"name": "a", "requests": 20, "warmup_requests": 0},
   {"name": "b", "requests": 30, "warmup_requests": 5}]}, "seeds": 2500}
EOF
run "$esgsim" sweep "$folder/many.json" --out "$folder/many.h5" --quiet
expect "a sweep of 10,000 runs ends" 0 '10000 of 10000 runs'
for shard in 1 2 3; do
    run "$esgsim" sweep "$folder/many.json" --out "$folder/many$shard.h5" --shard $shard/3 --quiet
    expect "so does its shard $shard of 3" 0 '333[34] of 333[34] runs'
done
run "$esgsim" merge --out "$folder/joined.h5" "$folder/many2.h5" "$folder/many3.h5" "$folder/many1.h5"
expect "merge joins its three shards" 0 '3 shards'
for name in many joined; do
    for table in summary applications; do
        h5dump -d "/$table" -b FILE -o "$folder/$name.$table" "$folder/$name.h5" >/dev/null 2>&1
    done
done
same "its summary is the same in one piece and in shards" "$folder/many.summary" "$folder/joined.summary"
same "and so is its table of applications" "$folder/many.applications" "$folder/joined.applications"
run "$esgsim" report "$folder/joined.h5" --format csv
expect "report reads it" 0 'fifo'
run "$esgsim" sweep "$folder/many.json" --out "$folder/many.h5" --resume --set requests=7
expect_refusal "a sweep whose matrix is overridden is refused, not resumed" 'requests'

# ---- One run that is killed or fails ---------------------------------------------------------

cat >"$folder/one.json" <<EOF
{"base": "$base", "seeds": 1}
EOF
run "$esgsim" sweep "$folder/one.json" --out "$folder/one.h5" --set requests=200 --quiet
expect "one seed is a sweep" 0 '1 of 1 runs'
run "$esgsim" report "$folder/one.h5"
expect "and a report of it gives figures without intervals" 0 'fifo'
run "$esgsim" sweep "$folder/one.json" --out "$folder/none.h5" --set seeds=0
expect_refusal "no seed is refused" 'seeds'

# ---- Arguments -------------------------------------------------------------------------------

for shard in 0/2 3/2 1 a/b 1/0 /2; do
    run "$esgsim" sweep "$folder/one.json" --out "$folder/x.h5" --shard $shard
    expect_refusal "shard $shard is refused" 'shard'
done
run "$esgsim" merge "$folder/many1.h5" "$folder/many2.h5"
expect_refusal "merge without --out is refused" '--out'
run "$esgsim" merge --out "$folder/x.h5"
expect_refusal "merge of nothing is refused" 'missing'
run "$esgsim" merge --out "$folder/x.h5" "$folder/many1.h5" "$folder/many2.h5"
expect_refusal "merge names the shard that is missing" '3/3'
head -c 30000 "$folder/many3.h5" >"$folder/cut.h5"
run "$esgsim" merge --out "$folder/x.h5" "$folder/many1.h5" "$folder/many2.h5" "$folder/cut.h5"
expect_refusal "merge refuses a shard cut short and names it" 'cut\.h5'
printf 'no results' >"$folder/text.h5"
run "$esgsim" merge --out "$folder/x.h5" "$folder/text.h5"
expect_refusal "merge refuses what is no HDF5 file" 'text\.h5'
mkdir "$folder/closed"
cp "$folder/many1.h5" "$folder/closed/one.h5"
chmod 000 "$folder/closed/one.h5"
if [ -r "$folder/closed/one.h5" ]; then
    # The superuser reads everything; a folder in the file's place is as unreadable for it.
    rm -f "$folder/closed/one.h5"
    mkdir "$folder/closed/one.h5"
fi
run "$esgsim" merge --out "$folder/x.h5" "$folder/closed/one.h5"
expect_refusal "merge refuses what cannot be read" 'one\.h5'
run "$esgsim" report "$folder/closed/one.h5"
expect_refusal "report refuses what cannot be read" 'one\.h5'

# ---- A full disk -----------------------------------------------------------------------------

cat >"$folder/small.json" <<EOF
{"base": "$base", "matrix": {"requests": [2000, 3000]}, "seeds": 10}
EOF
run "$esgsim" sweep "$folder/small.json" --out "$folder/alone.h5" --quiet --set record=requests
expect "a sweep with room ends" 0
tables "$folder/alone.h5" "$folder/alone.tables"
full=0
for blocks in 1 64 400 1000; do
    run sh -c 'ulimit -f "$1"; shift; exec "$@"' - $blocks "$esgsim" sweep "$folder/small.json" \
        --out "$folder/full.h5" --resume --quiet --set record=requests
    [ "$status" -eq 0 ] || full=$((full + 1))
    if [ "$status" -ne 0 ] && { [ "$status" -ne 1 ] || [ "$(wc -l <"$folder/err")" -ne 1 ]; }; then
        explain "room for $blocks blocks only is told in one line" "status 1 and one line"
    else
        pass "room for $blocks blocks only is told in one line"
    fi
done
if [ "$full" -ge 2 ]; then pass "files did run full"; else fail "files did run full" "only $full did"; fi
run "$esgsim" sweep "$folder/small.json" --out "$folder/full.h5" --resume --quiet --set record=requests
expect "with room again the sweep goes on to its end" 0 '20 of 20'
tables "$folder/full.h5" "$folder/full.tables"
same "and its tables are those of the sweep that always had room" "$folder/alone.tables" "$folder/full.tables"

# ---- Exhausted memory ------------------------------------------------------------------------

# From its FAIL_FROMth allocation on the program gets no memory. Without FAIL_FROM it counts them.
cat >"$folder/exhaust.c" <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static long count, from = -1;
static int fails(void)
{
    if (from < 0) {
        const char *text = getenv("FAIL_FROM");
        from = text != NULL ? atol(text) : 0;
    }
    count++;
    if (from == 0 || count < from)
        return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t entries, size_t size) { return fails() ? NULL : __libc_calloc(entries, size); }
void *realloc(void *block, size_t size) { return fails() ? NULL : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
__attribute__((destructor)) static void tell(void)
{
    if (from == 0)
        fprintf(stderr, "allocations %ld\n", count);
}
EOF
run "${CC:-gcc}" -shared -fPIC -o "$folder/exhaust.so" "$folder/exhaust.c"
expect "exhausted memory is built" 0
# starves WHAT COMMAND...: wherever memory ends, the program says so and ends in status 1.
starves() {
    what=$1
    shift
    run env LD_PRELOAD="$folder/exhaust.so" "$esgsim" "$@"
    expect "$what" 0
    all=$(sed -n 's/^allocations //p' "$folder/err")
    cp "$folder/out" "$folder/whole"
    ends=0
    at=1
    while [ "$at" -lt "$all" ]; do
        run env LD_PRELOAD="$folder/exhaust.so" FAIL_FROM="$at" "$esgsim" "$@"
        # The last allocations are buffers of the output, without which it is written all the same.
        [ "$status" -ne 0 ] || ! cmp -s "$folder/out" "$folder/whole" || break
        if [ "$status" -ne 1 ] || ! grep -q '^esgsim: .*memory' "$folder/err"; then
            explain "$what without memory from allocation $at of $all on is status 1" "status 1 and a word of memory"
            return
        fi
        ends=$((ends + 1))
        at=$((at + all / 50))
    done
    pass "$what without memory is status 1 ($ends places)"
}
starves "check" check workloads/experiments/strict-light.json
starves "check of a sweep" check "$folder/small.json"
starves "check of a trace" check traces/trainings/muri_trace1.csv.gz
starves "run" run workloads/experiments/strict-light.json --set requests=20 --in-process --quiet
starves "trace stats" trace stats traces/arrivals/AzureLLMInferenceTrace_code.csv.gz
starves "list" list clusters

# ---- File systems without locks --------------------------------------------------------------

cat >"$folder/unlocked.c" <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int refuse(void)
{
    errno = atoi(getenv("LOCK_ERRNO"));
    return -1;
}
int flock(int file, int operation) { return (void)file, (void)operation, refuse(); }
int fcntl(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *value = va_arg(rest, void *);
    va_end(rest);
    return command == F_SETLK || command == F_GETLK ? refuse() : (int)syscall(SYS_fcntl, file, command, value);
}
int fcntl64(int, int, ...) __attribute__((alias("fcntl")));
EOF
run "${CC:-gcc}" -D_GNU_SOURCE -shared -fPIC -o "$folder/unlocked.so" "$folder/unlocked.c"
expect "a file system without locks is built" 0
for number in 37 95 524; do # ENOLCK, EOPNOTSUPP, that of Cray's DVS
    run env LD_PRELOAD="$folder/unlocked.so" LOCK_ERRNO=$number "$esgsim" sweep "$folder/small.json" \
        --out "$folder/unlocked.h5" --quiet --restart
    expect "a sweep where locks end in error $number is written" 0 '20 of 20'
    run env LD_PRELOAD="$folder/unlocked.so" LOCK_ERRNO=$number "$esgsim" report "$folder/unlocked.h5"
    expect "and reported" 0 fifo
    run env LD_PRELOAD="$folder/unlocked.so" LOCK_ERRNO=$number HDF5_USE_FILE_LOCKING=TRUE "$esgsim" report "$folder/unlocked.h5"
    if [ "$status" -eq 1 ] && grep -q 'no lock: .*; set HDF5_USE_FILE_LOCKING=FALSE' "$folder/err"; then
        pass "who asks for locks is told what to do"
    else
        explain "who asks for locks is told what to do" "status 1 and HDF5_USE_FILE_LOCKING=FALSE"
    fi
done

# ---- A clock that jumps ----------------------------------------------------------------------

# Every look at a clock finds it some hours before or behind, the monotonic one included.
cat >"$folder/jump.c" <<'EOF'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static unsigned looks;
int clock_gettime(clockid_t clock, struct timespec *now)
{
    long result = syscall(SYS_clock_gettime, clock, now);
    looks = looks * 1103515245u + 12345u;
    now->tv_sec += (long)(looks >> 16 & 0x7fff) - 16384;
    if (now->tv_sec < 0)
        now->tv_sec = 0;
    return (int)result;
}
time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
EOF
run "${CC:-gcc}" -D_GNU_SOURCE -shared -fPIC -o "$folder/jump.so" "$folder/jump.c"
expect "the jumping clock is built" 0
run env LD_PRELOAD="$folder/jump.so" "$esgsim" sweep "$folder/small.json" --out "$folder/jump.h5" \
    --set record=requests
expect "a sweep under a jumping clock ends" 0 '20 of 20'
tables "$folder/jump.h5" "$folder/jump.tables"
same "and its tables are those of the sweep under a steady one" "$folder/alone.tables" "$folder/jump.tables"
if grep -qE -- '-[0-9]+ (s|min|h)|nan|inf' "$folder/err"; then
    explain "its progress shows no senseless time" "no negative or undefined time"
else
    pass "its progress shows no senseless time"
fi
finish
