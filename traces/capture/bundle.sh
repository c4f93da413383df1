#!/bin/sh
# Copies the libraries that PROGRAM needs, the C library's own aside, into FOLDER.
#
#   traces/capture/bundle.sh PROGRAM FOLDER
set -eu
program=$1
folder=$2

rm -rf "$folder"
mkdir -p "$folder"
ldd "$program" | sed -n 's/^\t\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux* | libresolv.so.*) ;;
    *) cp -L "$path" "$folder/$name" ;;
    esac
done
