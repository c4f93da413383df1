#!/bin/sh
# Packages: each is built, installed and run from /, and its program gives the bytes of build/esgsim. Of
# `make check-all`, because the archive of the sources is built once more.
. tests/shell.sh

build=${BUILD:-build}
esgsim=$build/esgsim
version=$(sed -n 's/^version: *//p' CITATION.cff)
world="workloads/experiments/strict-light.json --set requests=500 --json --quiet"
# shellcheck disable=SC2086
run "$esgsim" run $world
expect "the program of this tree runs" 0
measured="wall_s\|peak_memory_kb\|commit" # of this machine, this minute, this tree
grep -v "$measured" "$folder/out" >"$folder/here"

# same_run NAME PROGRAM: it gives the same bytes from /.
same_run() {
    run sh -c "cd / && unset ESGSIM_DATA && exec '$2' run $world"
    expect "$1: it runs from /" 0
    grep -v "$measured" "$folder/out" >"$folder/there"
    same "$1: with the same bytes" "$folder/here" "$folder/there"
}

# ---- make dist -------------------------------------------------------------------------------

run make -s all BUILD="$build" # else make install builds elsewhere, from the beginning
expect "the build is of this commit" 0
run make -s dist
expect "make dist packs the sources" 0 "^[0-9a-f]{64}  esgsim-$version.tar.gz"
archive=$build/esgsim-$version.tar.gz
cp "$archive" "$folder/first.tar.gz"
git clone -q . "$folder/clone" 2>/dev/null
run make -s -C "$folder/clone" dist
if cmp -s "$folder/first.tar.gz" "$folder/clone/build/esgsim-$version.tar.gz" &&
    (cd "$build" && sha256sum -c "esgsim-$version.tar.gz.sha256" >/dev/null); then
    pass "another clone packs the same bytes, whose SHA-256 stands beside them"
else
    explain "another clone packs the same bytes, whose SHA-256 stands beside them" "equal archives"
fi
tar -xzf "$archive" -C "$folder"
run make -s -C "$folder/esgsim-$version"
expect "it builds" 0
same_run "the archive of the sources" "$folder/esgsim-$version/build/esgsim"
run "$folder/esgsim-$version/build/esgsim" --version
expect "it knows its version and commit" 0 "^esgsim $version \($(git rev-parse --short=12 HEAD), sources"

# ---- make deb --------------------------------------------------------------------------------

if command -v dpkg-shlibdeps >/dev/null; then
    run make -s deb
    expect "make deb builds a package" 0
    package=$(echo "$build"/esgsim_"$version"_*.deb)
    run dpkg-deb --info "$package"
    for field in "Version: $version" "Depends: .*libc6 .*libgsl" "Depends: .*libcjson1" "Depends: .*libhdf5" "Depends: .*libnettle"; do
        if grep -q "^ $field" "$folder/out"; then
            pass "its control file has $field"
        else
            explain "its control file has $field" "$field"
        fi
    done
    run dpkg-deb -x "$package" "$folder/deb"
    same_run "the Debian package" "$folder/deb/usr/bin/esgsim"
    run sh -c "cd / && '$folder/deb/usr/bin/esgsim' verify"
    expect "it lists the sections of verify" 0 '^program '
    if [ -s "$folder/deb/usr/share/man/man1/esgsim.1.gz" ]; then
        pass "it has the manual page"
    else
        fail "it has the manual page" "$(find "$folder/deb" -name '*.1*')"
    fi
else
    fail "dpkg-shlibdeps is there" "no dpkg-dev: these are packages of Debian"
fi

# ---- make wheel ------------------------------------------------------------------------------

run make -s wheel
expect "make wheel builds a wheel" 0 "esgsim-$version-py3-none-"
wheel=$(echo "$build"/esgsim-"$version"-py3-none-*.whl)
run python3 -m venv "$folder/venv"
run "$folder/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
expect "pip installs it without an index" 0
same_run "the wheel" "$folder/venv/bin/esgsim"
run "$folder/venv/bin/python" -c 'import importlib.util; print(importlib.util.find_spec("esgsim").origin)'
expect "python finds its module" 0 "$folder/venv/lib/.*/esgsim.py"
python=$(python_find h5py,pandas)
run env PYTHONPATH="$(echo "$folder"/venv/lib/python3*/site-packages)" "$python" -c 'import esgsim; print(esgsim.program())'
expect "which finds its program" 0 "$folder/venv/bin/esgsim"
finish
