#!/bin/sh
# The program as built for use, under valgrind: no leak and no invalid access in short invocations.
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
small="--set requests=60 --set warmup_requests=10"
strict=workloads/experiments/strict-light.json

clean() { # clean NAME ARGUMENTS...
    name=$1
    shift
    run valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,indirect \
        --show-leak-kinds=definite,indirect --error-exitcode=99 "$esgsim" "$@"
    expect "$name" 0
}

clean "list policies frees what it takes" list policies
clean "list profiles frees what it takes" list profiles
clean "check frees what it takes" check "$strict"
# shellcheck disable=SC2086
clean "a run frees what it takes" run "$strict" --in-process $small --policy min-config --json
# shellcheck disable=SC2086
clean "a run of esg that writes HDF5 frees what it takes" run "$strict" --in-process $small --policy esg \
    --out "$folder/run.h5"
clean "a report frees what it takes" report "$folder/run.h5" --format json
clean "slo frees what it takes" slo "$strict" --application image-classification --json
clean "search frees what it takes" search "$strict" --application image-classification \
    --budget-ms 500 --k 3 --json
finish
