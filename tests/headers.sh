#!/bin/sh
# Every header compiles by itself, so that a program may include any one of them first.
. tests/shell.sh

flags=$(pkg-config --cflags gsl libcjson zlib nettle)
for header in $(find sim sched workloads traces results plots -name '*.h' | sort); do
    hdf5=""
    case $header in
    results/*) hdf5=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5) ;;
    esac
    printf '#include "%s"\nint used;\n' "$header" >"$folder/alone.c"
    # shellcheck disable=SC2086
    run "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I. \
        $flags $hdf5 "$folder/alone.c"
    expect "$header compiles alone" 0
done
finish
