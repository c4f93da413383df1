#!/bin/sh
# The documents: every command in them is run, every policy in them is built and run, and what they
# say will be seen is compared with what is seen.
#
#   ```sh          commands, run in a copy of the tree, in order; a comment "status N" names the exit
#                  status where it is not 0
#   ```text        right after one: each line appears in what those commands print, in this order;
#                  blanks are squeezed, and line ends count as blanks, because lines are folded; a
#                  line "…" stands for anything. Such commands run as they are
#   ```text full   compared only by DOCUMENTS=full, which shortens nothing: minutes
#   ```c           with an esgsim_policy: saved as NAME.c, compiled as a user would, and run
#   ```python      with a class Policy: saved as NAME.py
#
# Without DOCUMENTS=full, runs whose output is not compared simulate 200 requests, and the sweeps of
# the copy have one seed, 20 requests and no Aquatope, whose tuning takes seconds a run. What is too
# long or changes the machine is not run here: `elsewhere` names the suite that covers each.
#
#   sh tests/documents.sh [PAGE...]    all, or these
#   sh tests/documents.sh --pages      their names
#
# A page that passed is not tried again while it, the program, the data and the scripts it calls are the same;
# BUILD/documents has a mark of each. A fresh clone has none.
documents="README.md CONTRIBUTING.md sched/WRITING.md workloads/README.md workloads/OWN_WORLD.md traces/README.md traces/capture/PROFILE.md traces/capture/README.md sim/README.md workloads/experiments/CLASSROOM.md workloads/experiments/MEASURED.md workloads/experiments/TRAINING.md REPRODUCING.md results/README.md results/PROOF.md results/REALITY.md results/TRAININGS.md workloads/MESSAGES.md"
if [ "${1:-}" = --pages ]; then
    echo "$documents" | tr ' ' '\n'
    exit
fi
. tests/shell.sh

full=${DOCUMENTS:-}
[ $# -eq 0 ] || documents=$*
here=$(pwd)
build=$(cd "${BUILD:-build}" && pwd)
tree=$folder/tree
blocks=$folder/blocks

# ---- A copy of the tree ----------------------------------------------------------------------

mkdir -p "$tree" "$folder/tmp" "$blocks"
for entry in sched sim traces tests plots Makefile README.md; do
    [ ! -e "$entry" ] || ln -s "$here/$entry" "$tree/$entry"
done
cp -r workloads "$tree/workloads"
mkdir "$tree/results"
cp -r results/paper results/python results/reality "$tree/results"
mkdir "$folder/bin"
python=$(python_find h5py,pandas,matplotlib)
[ -z "$python" ] || ln -s "$python" "$folder/bin/python3"
PATH=$folder/bin:$PATH
ln -s "$build" "$tree/build"
if [ "$full" != full ]; then
    for sweep in "$tree"/workloads/experiments/*.json; do
        grep -q '"matrix"' "$sweep" || continue
        sed -i -e 's/"seeds": [0-9]*/"seeds": 1/' -e 's/"requests": \[[0-9]*\]/"requests": [20]/' \
            -e 's/{"name": "aquatope", .*}\(,*\)$/{"name": "llf"}\1/' \
            -e '/^      "arrivals": .*"count": 20000/,/"stop"/{s/20000/200/;s/\[4000, 5000\]/[40, 50]/}' \
            -e 's/{"name": "aquatope"}/{"name": "sjf"}/' -e '/^ *"aquatope [^"]*": "/d' \
            -e '/^  "show": /s/,aquatope//' "$sweep"
    done
fi

# What `make reproduce` leaves behind, for the commands that read it.
# shellcheck disable=SC2086
if grep -q results/paper.h5 $documents; then
    "$build/esgsim" sweep "$tree/workloads/experiments/paper.json" --quiet --set requests=20 \
        --set warmup_requests=2 --out "$tree/results/paper.h5" >"$folder/out" 2>"$folder/err" ||
        fail "the paper's sweep, short, runs" "$(cat "$folder/err")"
fi

# ---- Taking documents apart ------------------------------------------------------------------

# blocks_of DOCUMENT: every block to $blocks/NUMBER, its kind to $blocks/NUMBER.kind.
blocks_of() {
    rm -rf "$blocks"
    mkdir "$blocks"
    awk -v out="$blocks" '
        /^```/ && !inside { inside = 1; kind = substr($0, 4); n++
            name = sprintf("%s/%03d", out, n); print kind >(name ".kind"); printf "" >name; next }
        /^```/ { inside = 0; close(name); next }
        inside { print >name }' "$1"
}

# commands_of BLOCK: each command of it to $folder/commands/NUMBER: lines are joined until the shell
# finds them complete and no here-document is open.
commands_of() {
    rm -rf "$folder/commands"
    mkdir "$folder/commands"
    count=0
    buffer=
    while IFS= read -r line || [ -n "$line" ]; do
        [ -n "$buffer$line" ] || continue
        buffer=$buffer${buffer:+
}$line
        case $buffer in
        *\\) continue ;;
        *"<<'EOF'"*) printf '%s\n' "$buffer" | grep -qx EOF || continue ;;
        esac
        printf '%s\n' "$buffer" | sh -n 2>/dev/null || continue
        count=$((count + 1))
        printf '%s\n' "$buffer" >"$folder/commands/$(printf '%03d' $count)"
        buffer=
    done <"$1"
    if [ -n "$buffer" ]; then fail "a command of $document is complete" "$buffer"; fi
}

# elsewhere COMMAND: which suite covers what is not run here, and a word that it must hold; empty:
# run it here.
elsewhere() {
    case $1 in
    *"experiments/headline.json --out /tmp/headline.h5"* | *" /tmp/headline.h5"*) [ "$full" = full ] || echo "Makefile HEADLINE" ;;
    "make reproduce"*) echo "REPRODUCING.md esgsim.sweep" ;;
    "make test"* | "make check"* | "make lint"*) echo "tests/run.sh SCRIPTS" ;;
    "make bench"* | *"esgsim bench"*) echo "tests/release.sh bench" ;;
    "make fuzz"*) echo "tests/fuzz.sh fuzz" ;;
    "make derive"*) echo "tests/derive.sh derive" ;;
    "make install"* | *"pkg-config --cflags --libs esgsim"* | "export PKG_CONFIG_PATH"* | "ESGSIM_DATA="*) echo "tests/install.sh install" ;;
    "make deps"* | "apt-get "* | "sudo "*) echo ".ci/deps.sh apt-get" ;;
    make | "make "*) echo "tests/run.sh BUILD" ;;
    "esgsim validate"* | "build/esgsim validate"*) [ "$full" = full ] || echo "tests/release.sh validate" ;;
    "git clone"* | "cd "*) echo ".ci/run sh" ;;
    *Dilu/scheduling/*) echo "tests/test_dilu_instances.c gpus_active_max" ;;
    "podman "* | "apptainer "*) echo "tests/containers.sh CONTAINERS" ;;
    esac
}

# shorten COMMAND: the same with fewer requests, where it does not say how many itself.
shorten() {
    case $1 in
    *requests=*) printf '%s\n' "$1" ;;
    *"esgsim sweep "*k-and-groups.json* | *"esgsim sweep "*sensitivity.json* | \
        *"esgsim sweep "*paper-scarce.json* | *"esgsim sweep "*ablation.json* | *"esgsim sweep "*decision-time.json* | \
        *"esgsim sweep "*dispatch.json*) printf '%s\n' "$1" ;;
    *"esgsim sweep "*/training-synergy-window.json*) # its first setting
        printf '%s\n' "$1" | sed "s|window.json|& --set 'matrix.setting=[{\"name\":\"4000-4999 at 9 per hour\"}]'|" ;;
    *"esgsim sweep "*/training-*.json* | *"esgsim sweep "*/fgd-*.json* | *"esgsim run "*/training-dynamic.json*) printf '%s\n' "$1" ;; # no requests
    *"esgsim claims "*) printf '%s --dry-run\n' "$1" ;;
    *) printf '%s\n' "$1" |
        sed 's/\(esgsim \(run\|sweep\) [^ ]*\.json\)/\1 --set requests=200 --set warmup_requests=20/' ;;
    esac
}

# ---- Running them ----------------------------------------------------------------------------

# perform COMMAND COMPARED: runs it in the copy; what it prints is added to $folder/printed.
perform() {
    line=$(printf '%s\n' "$1" | head -n 1 | sed 's/[[:space:]][[:space:]]*#.*//')
    wanted=$(printf '%s\n' "$1" | sed -n 's/.*#.*status \([0-9]\).*/\1/p' | head -n 1)
    title="$document: $(printf '%s' "$line" | tr -d '\134')"
    case $line in '' | '#'*) return ;; esac
    covered=$(elsewhere "$line")
    if [ -n "$covered" ]; then
        if grep -q "${covered#* }" "${covered%% *}"; then
            pass "$title (not here: ${covered%% *} covers it)"
        else
            fail "$title (not here: ${covered%% *} covers it)" "no '${covered#* }' in ${covered%% *}"
        fi
        return
    fi
    command=$1
    if [ "$full" != full ] && [ "$2" != yes ]; then command=$(shorten "$command"); fi
    printf '%s\n' "$command" | sed "s|/tmp/|$folder/tmp/|g" >"$folder/script"
    run sh -c 'cd "$1" && exec sh "$2"' - "$tree" "$folder/script"
    ran=$command
    cat "$folder/out" "$folder/err" >>"$folder/printed"
    expect "$title" "${wanted:-0}"
}

# compare BLOCK: its lines stand in $folder/printed, in their order.
compare() {
    tr -s ' ' <"$folder/printed" >"$folder/squeezed"
    tr -s ' ' <"$1" | sed -e 's/^ //' -e "s|/tmp/|$folder/tmp/|g" >"$folder/wanted"
    missing=$(awk 'NR == FNR { want[n++] = $0; next }
        { sub(/^ /, ""); sub(/ $/, ""); rest = rest " " $0 }
        END { for (at = 0; at < n; at++) {
                  if (want[at] == "…" || want[at] == "") continue
                  sub(/ $/, "", want[at])
                  found = index(rest, want[at])
                  if (!found) { print want[at]; exit }
                  rest = substr(rest, found + length(want[at])) } }' "$folder/wanted" "$folder/squeezed")
    title="$document: its output is as the document says: $(head -n 1 "$folder/wanted" | cut -c1-60)"
    if [ -z "$missing" ]; then
        pass "$title"
    else
        fail "$title" "not found, or not in this order: $missing" "printed:" \
            "$(grep -F -- "$(printf '%s' "$missing" | cut -d' ' -f1)" "$folder/squeezed" | head -n 8)"
    fi
}

# policy_test BLOCK: a policy of a document compiles without a warning and runs.
policy_test() {
    name=$(sed -n 's/.*\.name = "\([^"]*\)".*/\1/p' "$1")
    cp "$1" "$tree/$name.c"
    run sh -c 'cd "$1" && cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -shared -fPIC \
        -I. -o "$2.so" "$2.c"' - "$tree" "$name"
    expect "$document: policy $name compiles" 0
    wanted=0
    ! grep -q 'the platform stops it' "$1" || wanted=1
    if grep -q SERVES_TRAININGS "$1"; then
        world=training-dynamic.json
    else
        world="strict-light.json --set requests=200 --set warmup_requests=20"
    fi
    run sh -c 'cd "$1" && exec build/esgsim run workloads/experiments/'"$world"' --quiet \
        --policy "./$2.so"' - "$tree" "$name"
    expect "$document: policy $name runs" "$wanted"
}

document_test() {
    document=$1
    blocks_of "$1"
    number=1
    total=$(find "$blocks" -name '*.kind' | wc -l)
    while [ "$number" -le "$total" ]; do # a policy before the commands that use it
        block=$blocks/$(printf '%03d' "$number")
        if [ "$(cat "$block.kind")" = c ] && grep -q esgsim_policy "$block"; then policy_test "$block"; fi
        if [ "$(cat "$block.kind")" = python ] && grep -q '^class Policy' "$block"; then
            cp "$block" "$tree/$(sed -n 's/^    name = "\([^"]*\)".*/\1/p' "$block").py"
        fi
        number=$((number + 1))
    done
    number=1
    while [ "$number" -le "$total" ]; do
        block=$blocks/$(printf '%03d' "$number")
        next=$(cat "$blocks/$(printf '%03d' $((number + 1))).kind" 2>/dev/null || true)
        number=$((number + 1))
        [ "$(cat "$block.kind")" = sh ] || continue
        compared=no
        if [ "$next" = text ] || { [ "$next" = "text full" ] && [ "$full" = full ]; }; then
            compared=yes
        fi
        : >"$folder/printed"
        commands_of "$block"
        for file in "$folder"/commands/*; do
            if [ -f "$file" ]; then perform "$(cat "$file")" $compared; fi
        done
        [ $compared = no ] || compare "$blocks/$(printf '%03d' "$number")"
    done
    [ "$total" -gt 0 ] || fail "$document has blocks" "none found"
}

# The page of frequent messages quotes what the program says.
messages_test() {
    # shellcheck disable=SC2016
    grep -o '^| `[^`]*`' workloads/MESSAGES.md | sed 's/^| `//; s/`$//' >"$folder/messages"
    while IFS= read -r message; do
        if grep -rqF -- "$message" sim sched workloads results traces --include='*.[ch]'; then
            pass "workloads/MESSAGES.md: $message"
        else
            fail "workloads/MESSAGES.md: $message" "no source says so"
        fi
    done <"$folder/messages"
}

# What a page's test depends on but the page: the program, and what the copy holds.
around=$(find sched sim traces tests/plugins tests/documents.sh tests/shell.sh plots workloads results -type f ! -path '*/__pycache__/*' \
    ! -name '*.md' ! -name '*.h5' -exec cksum {} + | sort | cat - "$build/esgsim" | cksum)
mkdir -p "$build/documents"

for document in $documents; do
    mark=$build/documents/$(echo "$document" | tr / +)$full
    state="$around $(cksum <"$document")"
    if [ "$(cat "$mark" 2>/dev/null)" = "$state" ]; then
        pass "$document: nothing it depends on has changed since it passed"
        continue
    fi
    before=$tests_bad
    case $document in
    workloads/MESSAGES.md) messages_test ;;
    *) document_test "$document" ;;
    esac
    rm -f "$mark"
    [ "$tests_bad" -ne "$before" ] || echo "$state" >"$mark"
done
finish
