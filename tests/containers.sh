#!/bin/sh
# The container recipes: what can be checked of Containerfile and esgsim.def where no image is built.
# CONTAINERS=podman (or docker, apptainer) builds the image, too; that needs the program and a network.
. tests/shell.sh

# check NAME FOUND: passes if FOUND, what is wrong, is empty.
check() {
    if [ -z "$2" ]; then pass "$1"; else fail "$1" "$2"; fi
}

# ---- Instructions ----------------------------------------------------------------------------

# Instructions on one line each, without comments.
sed -e '/^#/d' -e '/^$/d' Containerfile >"$folder/instructions"
check "Containerfile has only instructions that docker, podman and buildah share" \
    "$(grep -vE '^(FROM|WORKDIR|COPY|RUN|ARG|ENV|VOLUME|CMD) .*[^\\]$' "$folder/instructions")"
check "it begins with the base image" \
    "$(head -n 1 "$folder/instructions" | grep -vx 'FROM debian:bookworm')"
check "it ends with one command, a JSON list" \
    "$(grep -c '^CMD \["[^\\]*"\]$' "$folder/instructions" | grep -vx 1)"
sed -n 's/^RUN //p' "$folder/instructions" >"$folder/run.sh"
run sh -n "$folder/run.sh"
expect "what it runs is shell" 0

# Sections of the definition file to $folder/SECTION, its head to $folder/head.
awk -v out="$folder/" 'BEGIN { name = out "head" }
    /^%/ { gsub("%", ""); gsub(" ", "-"); name = out $0; print >(out "sections"); next }
    /^#/ || /^$/ { next }
    { print >name }' esgsim.def
check "esgsim.def has the same base image" \
    "$(tr '\n' ' ' <"$folder/head" | grep -vx 'Bootstrap: docker From: debian:bookworm ')"
while read -r section; do
    case $section in
    files | arguments) ;;
    environment | post | runscript | apprun-test)
        sed 's/{{ [A-Z]* }}/argument/g' "$folder/$section" >"$folder/$section.sh"
        run sh -n "$folder/$section.sh"
        expect "its %$section is shell" 0 ;;
    *) fail "esgsim.def has only sections that this suite knows" "$section" ;;
    esac
done <"$folder/sections"
check "its arguments have the defaults that its sections use" "$(
    for name in $(grep -o '{{ [A-Z]* }}' esgsim.def | sort -u | tr -d '{} '); do
        grep -q "^ *$name=" "$folder/arguments" || echo "no default for $name"
    done)"

# ---- Files -----------------------------------------------------------------------------------

# What each copies, one path a line.
sed -n -e 's/^COPY \(.*\) [^ ]*$/\1/p' "$folder/instructions" | tr ' ' '\n' | sort >"$folder/copied"
sed 's/^ *\([^ ]*\) .*/\1/' "$folder/files" | sort >"$folder/copied.def"
check "both recipes copy the same" "$(diff "$folder/copied" "$folder/copied.def")"
check "esgsim.def keeps the names" \
    "$(awk '$2 != "/esgsim/" $1' "$folder/files")"
check "a folder keeps its name" "$(sed -n 's/^COPY //p' "$folder/instructions" | while read -r from to rest; do
    [ ! -d "$from" ] || { [ "$from" = "$to" ] && [ -z "$rest" ]; } || echo "COPY $from $to $rest"
done)"
check "all that is copied is there" "$(while read -r name; do
    [ -e "$name" ] || echo "$name"
done <"$folder/copied")"
# A tree without git, such as the image's own, is a copy of what is tracked, and of what was built.
{ git -c safe.directory='*' ls-files 2>/dev/null || ls -A; } | cut -d / -f 1 | sort -u |
    grep -vxE '\.(git|gitignore|gitattributes|clang-format|clang-tidy)|build|out|gpu-out|.*\.sif' >"$folder/there"
check "all that is there is copied, but what git and the analysers need" \
    "$(diff "$folder/there" "$folder/copied")"

# The program can be made of what is copied.
mkdir "$folder/esgsim"
while read -r name; do
    ln -s "$(pwd)/$name" "$folder/esgsim/$name"
done <"$folder/copied"
run make -C "$folder/esgsim" -n BUILD="$folder/built" COMMIT=0123456789ab all
expect "and the program is made of it" 0 '0\.[0-9.]* 0123456789ab'

# ---- Packages and targets --------------------------------------------------------------------

packages=$(sed -n '/^deps-test:/{n;s/^\t@//p;}' Makefile)
for recipe in Containerfile esgsim.def; do
    check "$recipe installs by the line of \`make deps-test\`" \
        "$(grep -qF "$packages" $recipe || echo "no '$packages' in it")"
    check "and names no package manager itself" "$(grep -nE 'apt(-get)? |dnf |pacman |apk ' $recipe)"
    check "the make targets of $recipe exist" "$(
        sed -e '/^ *#/d' -e 's/[]",[]/ /g' $recipe | grep -oE '(^| )make .*' | tr ' ' '\n' |
            grep -E '^[a-z-]+$' | grep -vx make | while read -r target; do
            grep -q "^$target:" Makefile || echo "$target"
        done)"
    check "REPRODUCING.md says how to build $recipe" \
        "$(grep -qE "^(podman|apptainer) build .* ($recipe|-t esgsim \. )" REPRODUCING.md || echo 'it does not')"
done

# ---- The image -------------------------------------------------------------------------------

case ${CONTAINERS:-} in
'') echo "[  SKIPPED ] the image is built and runs (CONTAINERS=podman sh tests/containers.sh does it)" ;;
apptainer)
    run apptainer build "$folder/esgsim.sif" esgsim.def
    expect "apptainer builds the image" 0
    run apptainer exec "$folder/esgsim.sif" /esgsim/build/esgsim --version
    expect "and its program runs" 0 'esgsim [0-9.]*' ;;
*)
    run "$CONTAINERS" build -f Containerfile -t esgsim-test .
    expect "$CONTAINERS builds the image" 0
    run "$CONTAINERS" run --rm esgsim-test build/esgsim --version
    expect "and its program runs" 0 'esgsim [0-9.]*' ;;
esac

finish
