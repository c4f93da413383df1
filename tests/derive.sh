#!/bin/sh
# The profiles that ship are what the committed derivation and `esgsim calibrate` make of the raw
# measurements, byte by byte.
. tests/shell.sh

derive() { run python3 traces/profiles/derive.py "$@"; }

mkdir "$folder/profiles"
derive --out "$folder/profiles"
expect "the derivation runs" 0
run sh traces/profiles/raw/infless/profile.sh "$BUILD/esgsim" "$folder/profiles/2080ti-infless.json"
expect "the calibration of INFless's table runs" 0
run sh traces/profiles/raw/h200/profile.sh "$BUILD/esgsim" "$folder/profiles/h200-green.json"
expect "the calibration of the H200's tables runs" 0
# SGPRS's pools are not derived.
for file in traces/profiles/*.json; do
    case $file in
    */2080ti-sgprs*) ;;
    *) same "$file is what the derivation writes" "$folder/profiles/$(basename "$file")" "$file" ;;
    esac
done

derive --out "$folder/profiles" --cpu-fraction 0
same "--cpu-fraction sets that of esg-reconstructed.json" \
    "$folder/profiles/esg-reconstructed.json" "$folder/profiles/esg-reconstructed-cpu0.json"

for fraction in 1.5 -0.1 nan x; do
    derive --out "$folder" --cpu-fraction $fraction
    expect_refusal "a CPU fraction of $fraction is refused" 'derive\.py: .*cpu-fraction'
done
derive --frobnicate
expect_refusal "an unknown option is refused" frobnicate
derive --raw tests/corpus/profile --out "$folder"
expect_refusal "missing tables are refused" 'tests/corpus/profile/.*solo\.csv'
derive --out no/such/folder
expect_refusal "a folder that is not there is refused" no/such/folder

# refused NAME FILE SCRIPT PATTERN: what sed's SCRIPT makes of a raw file is refused.
refused() {
    rm -rf "$folder/raw" "$folder/empty"
    cp -r traces/profiles/raw "$folder/raw"
    mkdir "$folder/empty"
    sed "$3" "traces/profiles/raw/$2" >"$folder/raw/$2"
    derive --raw "$folder/raw" --out "$folder/empty"
    expect_refusal "$1 is refused" "$4"
    rmdir "$folder/empty" || fail "$1 leaves no profile" "$(ls "$folder/empty")"
}
refused "a row with a cell too few" igniter/gpu_time.csv '5s/,[^,]*$//' 'gpu_time\.csv: row 4 has not 4 cells'
refused "a table without a column" models/models.csv '1s/pipeswitch/other/' pipeswitch
refused "a network without a row" models/models.csv '/^srgan,/d' '"srgan" is missing'
refused "a donor without measurements" igniter/solo.csv '/^ssd,/d' ssd
refused "a hole without a value" esg/assumptions.csv '/^noise_cv,/d' 'profile\.json: no value.*noise_cv'
refused "a value that is no number" esg/assumptions.csv 's/^noise_cv,[^,]*/noise_cv,small/' 'no value, or no number.*small'
refused "a template that is no JSON" esg/absolute.json '1d' 'derive\.py'
finish
