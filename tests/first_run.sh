#!/bin/sh
# The first run on a machine without packages: one transaction of one package manager, and one clear
# line where it fails. Stand-ins take the places of the package manager and of what it installs, so
# nothing is installed and nothing built: the compiler's stand-in ends each run where the build begins.
. tests/shell.sh

bin=$folder/bin           # the whole PATH of the runs
packages=$folder/packages # what an installation adds to it
state=$folder/state       # what the package manager did

# ---- A machine -------------------------------------------------------------------------------

mkdir "$bin" "$packages" "$state"
for tool in sh make awk basename cat cmp cp date dirname echo env expr false find grep head ls mkdir mktemp mv \
    nproc printf rm rmdir sed sleep sort tail test touch tr true uname wc; do
    path=$(IFS=:; for place in $PATH; do [ -x "$place/$tool" ] && echo "$place/$tool" && break; done)
    [ -z "$path" ] || ln -s "$path" "$bin/$tool"
done

# stand_in FILE: a script, from standard input.
stand_in() {
    { echo '#!/bin/sh' && cat; } >"$1"
    chmod +x "$1"
}
stand_in "$bin/id" <<'EOF'
echo 0
EOF
# Like apt-get it has a lock. For the lock of the lists it never waits, for dpkg's as long as it is
# told. $state/broken: installations fail. $state/lists: so many updates find the lists locked.
stand_in "$bin/apt-get" <<EOF
state=$state
echo "\$*" >>"\$state/calls"
patience=0
for argument; do
    case \$argument in DPkg::Lock::Timeout=*) patience=\${argument#*=} ;; esac
done
left=\$(cat "\$state/lists" 2>/dev/null || echo 0)
if [ "\$1" = update ] && [ "\$left" -gt 0 ]; then
    echo \$((left - 1)) >"\$state/lists"
    echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1' >&2
    exit 100
fi
tries=0
until mkdir "\$state/lock" 2>/dev/null; do
    tries=\$((tries + 1))
    if [ "\$1" = update ] || [ \$tries -gt \$((10 * patience)) ]; then
        echo "\$*" >>"\$state/clashes"
        echo 'E: Could not get lock /var/lib/dpkg/lock-frontend' >&2
        exit 100
    fi
    sleep 0.1
done
sleep 0.3
status=0
if [ "\$1" = install ]; then
    if [ -e "\$state/broken" ]; then
        echo 'E: Unable to fetch some archives' >&2
        status=100
    else
        cp "$packages"/* "$bin/"
    fi
fi
rmdir "\$state/lock"
exit \$status
EOF
for command in python3 gnuplot valgrind h5dump slurmctld slurmd sbatch munged rsvg-convert pdfinfo gcc-ar; do
    stand_in "$packages/$command" <<'EOF'
exit 0
EOF
done
stand_in "$packages/pkg-config" <<'EOF'
exit 0
EOF
stand_in "$packages/gcc" <<EOF
case \$* in '-E -') exit 0 ;; esac
echo "\$*" >>"$state/compiled"
echo 'no compiler here' >&2
exit 1
EOF

# fresh: takes every package from the machine. machine TARGET...: runs make on it.
fresh() {
    rm -rf "$state" && mkdir "$state"
    for file in "$packages"/*; do rm -f "$bin/$(basename "$file")"; done
    rm -f "$bin/gnuplot"
}
machine() {
    run env -i PATH="$bin" HOME="$folder" TMPDIR="$folder" DEPS_WAIT="${patience:-20}" make "$@" \
        BUILD="$folder/build" RESULTS="$folder/results.h5"
}
installs() { grep -c '^install ' "$state/calls" 2>/dev/null || true; }

# expect_install NAME PACKAGE...: one call of the package manager installed all of these, and then
# the build began.
expect_install() {
    name=$1
    shift
    lacking=
    for package; do
        grep '^install ' "$state/calls" | grep -qw -- "$package" || lacking="$lacking $package"
    done
    if [ "$(installs)" = 1 ] && [ -z "$lacking" ] && [ ! -e "$state/clashes" ] &&
        [ -s "$state/compiled" ]; then
        pass "$name"
    else
        explain "$name" "one installation and a build; without:$lacking; calls: $(cat "$state/calls")"
    fi
}
# expect_stop NAME PATTERN: it failed with one line of ours, which has the pattern, and built nothing.
expect_stop() {
    if [ "$status" -ne 0 ] && [ "$(grep -cE '^(deps|reproduce): ' "$folder/err")" -eq 1 ] &&
        grep -E '^(deps|reproduce): ' "$folder/err" | grep -qE -- "$2" &&
        [ ! -e "$state/compiled" ] && [ ! -e "$folder/results.html" ]; then
        pass "$1"
    else
        explain "$1" "a status that is not 0, one line with /$2/, no build and no page"
    fi
}

# ---- What is installed -----------------------------------------------------------------------

fresh
machine reproduce
expect_install "make reproduce installs everything in one transaction" \
    gcc libgsl-dev libhdf5-dev gnuplot-nox python3
fresh
machine test
expect_install "make test installs everything in one transaction" \
    gcc libgsl-dev gnuplot-nox libcmocka-dev valgrind librsvg2-bin poppler-utils
machine reproduce
if [ "$(installs)" = 1 ]; then
    pass "what is there is not installed again"
else
    explain "what is there is not installed again" "calls: $(cat "$state/calls")"
fi
fresh
machine reproduce FIGURES=none
expect_install "make reproduce FIGURES=none builds" gcc libgsl-dev python3
if ! grep -q gnuplot "$state/calls"; then
    pass "and wants no gnuplot"
else
    explain "and wants no gnuplot" "calls: $(cat "$state/calls")"
fi

# ---- What fails ------------------------------------------------------------------------------

for target in reproduce test; do
    fresh
    : >"$state/broken"
    machine $target
    expect_stop "make $target stops with one line where the installation fails" 'by hand.*libgsl-dev'
    if [ "$(installs)" = 1 ]; then
        pass "and tries nothing else"
    else
        explain "and tries nothing else" "one installation; calls: $(cat "$state/calls")"
    fi
done
fresh
mv "$packages/gnuplot" "$folder/gnuplot.away"
machine reproduce
expect_stop "without gnuplot make reproduce stops with one line, and there is no page" \
    'gnuplot.*FIGURES=none'
mv "$folder/gnuplot.away" "$packages/gnuplot"
fresh
mv "$bin/apt-get" "$folder/apt-get.away"
machine reproduce
expect_stop "without a package manager make reproduce stops with one line" 'by hand.*gnuplot'
mv "$folder/apt-get.away" "$bin/apt-get"

# ---- Somebody else's lock --------------------------------------------------------------------

fresh
echo 2 >"$state/lists"
machine reproduce
expect_install "package lists that are locked for a while are waited for" gcc gnuplot-nox
fresh
mkdir "$state/lock"
patience=1
machine reproduce
patience=
if [ "$(installs)" = 1 ] && [ ! -e "$state/compiled" ] && [ "$status" -ne 0 ] &&
    grep -q '^deps: the installation failed' "$folder/err"; then
    pass "a lock that is never given back ends make reproduce"
else
    explain "a lock that is never given back ends make reproduce" "one installation, status not 0"
fi
fresh
for target in reproduce test; do
    env -i PATH="$bin" HOME="$folder" TMPDIR="$folder" DEPS_WAIT=60 make $target \
        BUILD="$folder/build-$target" RESULTS="$folder/results.h5" \
        >"$folder/$target.out" 2>"$folder/$target.err" &
done
wait
if [ "$(installs)" = 2 ] && ! grep -q '^install' "$state/clashes" 2>/dev/null &&
    [ "$(grep -l 'no compiler here' "$folder/reproduce.err" "$folder/test.err" | wc -l)" -eq 2 ]; then
    pass "two runs side by side wait for each other"
else
    fail "two runs side by side wait for each other" "calls: $(cat "$state/calls")" \
        "$(cat "$folder/reproduce.err" "$folder/test.err")"
fi
finish
