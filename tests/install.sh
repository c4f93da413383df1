#!/bin/sh
# What `make install` leaves behind is enough for those who have nothing else: to run, to build a policy,
# to build a program around the library.
. tests/shell.sh

here=$(pwd)
prefix=$(make -s -f - <<'END'
PREFIX ?= /usr/local
all: ; @echo $(PREFIX)
END
)
root=$folder/root$prefix
run make -s install DESTDIR="$folder/root"
expect "make install puts everything under DESTDIR" 0 'installed under'
mv "$root" "$folder/moved" # an installed tree may be moved
installed=$folder/moved
PKG_CONFIG_PATH=$installed/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH

for file in bin/esgsim lib/libesgsim.a include/esgsim/sched/policy.h include/esgsim/sim/platform/simulation.h \
    share/man/man1/esgsim.1 share/doc/esgsim/README.md share/doc/esgsim/ARCHITECTURE.md share/doc/esgsim/LICENSE \
    share/doc/esgsim/sched/WRITING.md share/doc/esgsim/sim/examples/compare.c \
    share/esgsim/workloads/experiments/paper.json share/esgsim/results/slurm/sweep.sh \
    share/esgsim/results/python/esgsim.py share/esgsim/results/python/esgsim_policy.py share/esgsim/results/python/esgsim.ipynb; do
    if [ -s "$installed/$file" ]; then
        pass "$file is installed"
    else
        fail "$file is installed" "no such file, or empty"
    fi
done
# A sweep may run while another version is installed.
before=$(stat -c '%i %y' build/esgsim 2>/dev/null)
run make -n install DESTDIR="$folder/other" PREFIX=/opt/other COMMIT=0123456789ab
if [ -n "$before" ] && grep -q 'install -m 755 build/install/esgsim' "$folder/out" &&
    ! grep -qE -- '-o build/esgsim|[^ ]*build/esgsim\.new build/esgsim$' "$folder/out"; then
    pass "another commit is built and installed beside build/esgsim"
else
    explain "another commit is built and installed beside build/esgsim" "install of build/install/esgsim alone"
fi
run make -s install DESTDIR="$folder/other" PREFIX=/opt/other
if [ "$status" -eq 0 ] && [ "$(stat -c '%i %y' build/esgsim)" = "$before" ] &&
    cmp -s build/esgsim "$folder/other/opt/other/bin/esgsim"; then
    pass "another PREFIX installs build/esgsim and leaves it as it is"
else
    explain "another PREFIX installs build/esgsim and leaves it as it is" "$before"
fi
# Data never go without their origin, nor a file that came under a licence without that.
missing=$(find traces/arrivals traces/profiles -type f | while read -r file; do
    [ -e "$installed/share/esgsim/$file" ] || echo "$file"
done)
if [ -z "$missing" ]; then
    pass "measured data are installed with all that stands beside them"
else
    fail "measured data are installed with all that stands beside them" "$missing"
fi
# From where a document stands to where its link leads, which pictures also need.
doc=$installed/share/doc/esgsim
links=$(cd "$doc" && find . -name '*.md' | while read -r file; do
    grep -o '](\([^):#]*\))' "$file" | sed 's/^](//; s/)$//' | while read -r link; do
        echo "$(dirname "$file")/$link"
    done
done)
missing=$(echo "$links" | while read -r link; do
    [ -s "$doc/$link" ] || echo "$link"
done)
if [ -z "$missing" ] && echo "$links" | grep -q 'headline-worlds\.svg$'; then
    pass "what the documents link to is installed, their pictures too"
else
    fail "what the documents link to is installed, their pictures too" "missing: $missing" "of: $links"
fi
private=$(cd "$installed/include/esgsim" && find . -name state.h -o -name event_queue_internal.h -o -name policy_api_internal.h)
if [ -n "$private" ]; then
    fail "the simulator's own state is not a public header" "installed: $private"
else
    pass "the simulator's own state is not a public header"
fi

# ---- A program around the library ------------------------------------------------------------

strict=workloads/experiments/strict-light.json
cp "$installed/share/doc/esgsim/sim/examples/compare.c" "$folder/compare.c"
run sh -c 'cd "$1" && ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -o compare compare.c \
    $(pkg-config --cflags --libs esgsim)' - "$folder"
expect "the example compiles and links by pkg-config alone" 0
run sh -c 'cd / && ESGSIM_DATA=$2 exec "$1/compare" '$strict - "$folder" "$installed/share/esgsim"
expect "the example runs from any folder" 0 '^hurry'
cp "$folder/out" "$folder/example"
run sh -c 'cd / && exec "$1/bin/esgsim" run '$strict' --set requests=2000 --policy fifo --json --quiet' \
    - "$installed"
rate=$(sed -n 's/^	"slo_hit_rate":	\([0-9.]*\),$/\1/p' "$folder/out" | head -n 1)
if [ -n "$rate" ] && grep -q "^fifo *$(echo "$rate" | awk '{ printf "%.2f", 100 * $1 }') %" "$folder/example"; then
    pass "the example's figure of fifo is the program's"
else
    fail "the example's figure of fifo is the program's" "program: $rate" "$(cat "$folder/example")"
fi

# ---- A policy --------------------------------------------------------------------------------

cp "$here/tests/plugins/shortest_queue.c" "$folder/mine.c"
run sh -c 'cd "$1" && ${CC:-cc} -std=c11 -D_GNU_SOURCE -shared -fPIC $(pkg-config --cflags esgsim) \
    -o mine.so mine.c' - "$folder"
expect "a policy compiles against the installed headers" 0
run sh -c 'cd "$1" && exec "$2/bin/esgsim" run '$strict' --set requests=100 --policy ./mine.so --quiet' \
    - "$folder" "$installed"
expect "the installed program runs it" 0 'policy shortest-queue'
run sh -c 'cd "$1" && exec "$2/bin/esgsim" run '$strict' --set requests=100 --policy mine.c --quiet' \
    - "$folder" "$installed"
expect "and compiles it by itself" 0 'policy shortest-queue'
finish
