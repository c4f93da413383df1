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
find tests/corpus workloads traces/profiles traces/capture/networks -type f -size -64k 2>/dev/null | while read -r file; do
    cp "$file" "$seeds/$(echo "$file" | tr '/' '_')"
done

for fuzzer in "$build"/tests/fuzz_*; do
    case $fuzzer in *.o | *.d) continue ;; esac
    name=$(basename "$fuzzer")
    mkdir -p "$build/found/$name"
    echo "== $name, $seconds s"
    # Inputs that crash stay in BUILD/found; a fixed one belongs into tests/corpus.
    "$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$build/found/$name/" -print_final_stats=1 "$build/found/$name" "$seeds"
done
