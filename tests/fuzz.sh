#!/bin/sh
# Runs each libFuzzer target for SECONDS on a copy of the corpus and the files that ship.
#
#   tests/fuzz.sh BUILD SECONDS
set -eu
cd "$(dirname "$0")/.."

build=$1
seconds=$2
seeds=$build/seeds
mkdir -p "$seeds"
find tests/corpus workloads traces/profiles traces/trainings results/paper -type f -size -64k 2>/dev/null | while read -r file; do
    cp "$file" "$seeds/$(echo "$file" | tr '/' '_')"
done

for fuzzer in "$build"/tests/fuzz_*; do
    case $fuzzer in *.o | *.d) continue ;; esac
    name=$(basename "$fuzzer")
    mkdir -p "$build/found/$name"
    echo "== $name, $seconds s"
    # HDF5 keeps free lists, which would be looked through for leaks after every input. Its leaks are
    # found when the corpus is replayed.
    leaks=1
    case $name in fuzz_results) leaks=0 ;; esac
    # Inputs that crash stay in BUILD/found; a fixed one belongs into tests/corpus.
    "$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -detect_leaks="$leaks" \
        -artifact_prefix="$build/found/$name/" -print_final_stats=1 "$build/found/$name" "$seeds"
done
