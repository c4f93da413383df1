#!/bin/sh
# The profiles that ship are what the committed derivation and `esgsim calibrate` make of the raw
# measurements, byte by byte.
. tests/shell.sh

mkdir "$folder/profiles"
run "${SAN_BUILD:-build/sanitized}/derive-profiles" --out "$folder/profiles"
expect "the derivation runs" 0
run sh traces/profiles/raw/infless/profile.sh "$BUILD/esgsim" "$folder/profiles/2080ti-infless.json"
expect "the calibration of INFless's table runs" 0
run sh traces/profiles/raw/h200/profile.sh "$BUILD/esgsim" "$folder/profiles/h200-green.json"
expect "the calibration of the H200's tables runs" 0
for file in "$folder"/profiles/*.json; do
    [ -e "$file" ] || { fail "the derivation writes profiles" "no file written"; continue; }
    name=$(basename "$file")
    same "traces/profiles/$name is what the derivation writes" "$file" "traces/profiles/$name"
done
finish
