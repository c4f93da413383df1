#!/bin/sh
# The manual page and the completion, both of which follow from the program's --help.
. tests/shell.sh

esgsim=${BUILD:-build}/esgsim
page=$folder/esgsim.1
commands=$("$esgsim" --help | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')

# ---- The manual page -------------------------------------------------------------------------

run sh sim/cli/manual.sh "$esgsim"
cp "$folder/out" "$page"
expect "the manual page is written from the program's help" 0 '^\.TH ESGSIM 1'
if [ -s "$folder/err" ]; then explain "writing it says nothing" "an empty standard error"; fi
if LC_ALL=C grep -n '[^ -~	]' "$page" >"$folder/odd"; then
    fail "the manual page is plain ASCII" "$(head -n 5 "$folder/odd")"
else
    pass "the manual page is plain ASCII"
fi
for command in $commands; do
    if grep -qx "\\.SS $command" "$page"; then
        pass "the manual page has $command"
    else
        fail "the manual page has $command" "no line .SS $command"
    fi
done
sections=$(sed -n 's/^\.SH //p' "$page" | tr '\n' ',')
if [ "$sections" = "NAME,SYNOPSIS,DESCRIPTION,COMMANDS,EXIT STATUS,ENVIRONMENT,FILES,SEE ALSO," ]; then
    pass "the manual page has the sections of a manual page, in their order"
else
    fail "the manual page has the sections of a manual page, in their order" "got: $sections"
fi
if command -v groff >/dev/null; then
    run groff -man -Tascii -ww -P-c -P-b -P-u "$page"
    if [ "$status" -eq 0 ] && [ ! -s "$folder/err" ]; then
        pass "groff lays it out without a warning"
    else
        explain "groff lays it out without a warning" "status 0 and an empty standard error"
    fi
    tr -s ' \n' ' ' <"$folder/out" >"$folder/page.txt"
    missing=$(for command in $commands; do
        "$esgsim" "$command" --help | grep -oE -- '--[a-z][a-z-]*' | sort -u | while read -r option; do
            grep -qF -- "$option" "$folder/page.txt" || echo "$command $option"
        done
    done)
    if [ -z "$missing" ]; then
        pass "every option of every command can be read in it"
    else
        fail "every option of every command can be read in it" "missing: $missing"
    fi
else
    echo "[  SKIPPED ] groff lays it out without a warning (no groff here)"
fi
if command -v mandoc >/dev/null; then
    run mandoc -Tlint -W warning "$page"
    expect "mandoc finds no fault in it" 0
fi

# ---- Completion ------------------------------------------------------------------------------

run bash -n sim/cli/completion.bash
expect "the completion is bash" 0

# completes NAME WANTED WORD...: completing the last word offers just WANTED, in any order.
completes() {
    name=$1
    wanted=$2
    shift 2
    # shellcheck disable=SC2016
    run bash -c '. sim/cli/completion.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _esgsim 2>/dev/null
        printf "%s\n" "${COMPREPLY[@]}" | sort | tr "\n" " "' - "$@"
    got=$(cat "$folder/out")
    if [ "$got" = "$wanted " ]; then
        pass "$name"
    else
        fail "$name" "words:  $*" "wanted: $wanted" "got:    $got" "$(cat "$folder/err")"
    fi
}
completes "it completes a command" "report" "$esgsim" repo
# shellcheck disable=SC2086
completes "it offers every command" \
    "$(printf '%s\n' --help --version $commands | sort | tr '\n' ' ' | sed 's/ $//')" "$esgsim" ""
completes "it completes an option" "--timeline" "$esgsim" run --ti
completes "it completes a policy's name" "clipper clockwork" "$esgsim" run x --policy cl
completes "it completes the first of several policies" "clipper clockwork" \
    "$esgsim" capacity x --policies cl
completes "it completes a key" "slo.factor" "$esgsim" capacity x --over slo
completes "it completes an application's name" "image-classification" \
    "$esgsim" slo x --application image
completes "it completes a choice" "astar exhaustive frontier" "$esgsim" search x --method ""
completes "it completes a kind" "policies profiles" "$esgsim" list p
completes "it completes an experiment's file" "workloads/experiments/strict-light.json" \
    "$esgsim" run workloads/experiments/strict
completes "it completes a section to verify" "reality" "$esgsim" verify rea
completes "it completes a part of trace" "convert stats" "$esgsim" trace ""
completes "it completes a trace's file" "traces/arrivals/twitter_2021_day1_per_second.csv.gz" \
    "$esgsim" trace stats traces/arrivals/twitter
mkdir "$folder/files"
touch "$folder/files/a.h5" "$folder/files/b.json" "$folder/files/c.txt"
completes "report takes results files alone" "$folder/files/a.h5" "$esgsim" report "$folder/files/"
completes "--paper takes JSON files alone" "$folder/files/b.json" \
    "$esgsim" report x.h5 --paper "$folder/files/"
completes "--out takes results files" "$folder/files/a.h5" "$esgsim" run x --out "$folder/files/"
completes "an unknown command is left alone" "" "$esgsim" nonsense ""
completes "it completes an entry of a kind" "esg-16-mig.json esg-16.json esg-4.json esg-8.json" \
    "$esgsim" list clusters esg

# ---- The same in zsh and fish ------------------------------------------------------------------

# offers SHELL NAME WANTED WORD...: as `completes`, of what is no file.
offers() {
    shell=$1
    name="$shell: $2"
    wanted=$3
    shift 3
    last=$(for word; do :; done; printf '%s' "$word")
    # shellcheck disable=SC2016
    case $shell in
    zsh) run zsh -f -c '. sim/cli/completion.zsh
        compadd() { while [[ $1 == -* && $1 != -- ]]; do shift; [[ -n $1 ]] || shift; done; print -rl -- "${@:2}"; }
        _files() { : }
        words=("$@") CURRENT=$#
        _esgsim' - "$@" ;;
    fish) run fish --no-config -c '. sim/cli/completion.fish; function __fish_complete_suffix; end; __esgsim_complete $argv' -- "$@" ;;
    esac
    got=$(grep -F -- "$last" "$folder/out" | sort | tr '\n' ' ')
    if [ "$got" = "$wanted " ] && [ ! -s "$folder/err" ]; then
        pass "$name"
    else
        fail "$name" "words:  $*" "wanted: $wanted" "got:    $got" "$(cat "$folder/err")"
    fi
}
for shell in zsh fish; do
    if ! command -v "$shell" >/dev/null; then
        fail "$shell is there" "make deps installs it"
        continue
    fi
    offers "$shell" "it completes a command" "report" "$esgsim" repo
    offers "$shell" "it completes an option" "--timeline" "$esgsim" run --ti
    offers "$shell" "it completes a policy's name" "clipper clockwork" "$esgsim" run x --policy cl
    offers "$shell" "it completes a choice" "astar exhaustive" "$esgsim" search x --method a
    offers "$shell" "it completes a key" "slo.factor" "$esgsim" capacity x --over slo
    offers "$shell" "it completes a kind" "profiles" "$esgsim" list prof
    offers "$shell" "it completes an entry of a kind" "esg-16-mig.json esg-16.json esg-4.json esg-8.json" \
        "$esgsim" list clusters esg-
    offers "$shell" "it completes an application's name" "expanded-image-classification image-classification" \
        "$esgsim" slo x --application image
    offers "$shell" "it completes a section to verify" "program" "$esgsim" verify prog
    offers "$shell" "it completes a part of trace" "convert stats" "$esgsim" trace t
done

# ---- Where they go ---------------------------------------------------------------------------

run make -n install DESTDIR="$folder/root" PREFIX=/usr
for place in share/man/man1/esgsim.1 share/bash-completion/completions/esgsim \
    share/zsh/site-functions/_esgsim share/fish/vendor_completions.d/esgsim.fish; do
    if grep -q "$folder/root/usr/$place" "$folder/out"; then
        pass "make install puts $place in its place"
    else
        explain "make install puts $place in its place" "$place among the commands"
    fi
done
finish
