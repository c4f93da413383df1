#!/bin/sh
# The M/M/1 of `esgsim bench` beside other engines, where they are installed: peers.sh ESGSIM FOLDER
# (FOLDER: for what is compiled). Debian: python3-simpy3, libsimgrid-dev.
set -eu
esgsim=$1
folder=$2
here=$(dirname "$0")
mkdir -p "$folder"

ours=$("$esgsim" bench --only mm1_jobs_per_s --json 2>/dev/null |
    sed -n 's/.*"mm1_jobs_per_s":[[:space:]]*\([0-9.e+]*\).*/\1/p')

# compare NAME RATE
compare() {
    awk -v name="$1" -v peer="$2" -v ours="$ours" 'BEGIN {
        printf "%-40s %12.3f M jobs/s; esgsim %.2f M, %.1f times as fast\n",
               "mm1 beside " name, peer / 1e6, ours / 1e6, ours / peer }'
}

# The system's Python has the package even where another one stands first.
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import simpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -n "$python" ]; then
    compare SimPy "$("$python" "$here/mm1_simpy.py")"
else
    echo 'mm1 beside SimPy: not installed (python3-simpy3)'
fi

if echo '#include <simgrid/s4u.hpp>' | c++ -std=c++17 -E -x c++ - >/dev/null 2>&1; then
    c++ -std=c++17 -O2 -o "$folder/mm1_simgrid" "$here/mm1_simgrid.cpp" -lsimgrid
    compare SimGrid "$("$folder/mm1_simgrid" --cfg=contexts/factory:raw --log=root.thres:error)"
else
    echo 'mm1 beside SimGrid: not installed (libsimgrid-dev)'
fi
