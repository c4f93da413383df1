#!/bin/sh
# The Python module and its notebook, with an interpreter that has what they need.
. tests/shell.sh
BUILD=${BUILD:-build}

# ---- Policies in Python, which need the standard library alone -------------------------------

hosted=results/python/esgsim_policy.py
if [ ! -e "$BUILD/python/esgsim.so" ]; then
    fail "the program is there as a library" "no $BUILD/python/esgsim.so; make python"
    finish
fi
ESGSIM_LIBRARY=$(cd "$BUILD" && pwd)/python/esgsim.so
PYTHONDONTWRITEBYTECODE=1
export ESGSIM_LIBRARY PYTHONDONTWRITEBYTECODE

# What Python takes from the headers, as assertions for the compiler.
python3 - >"$folder/layout.c" <<'EOF'
import ctypes, sys
sys.path.insert(0, "results/python")
import esgsim_policy
contract = esgsim_policy.Contract(esgsim_policy.ROOT)
for header in esgsim_policy.HEADERS:
    print(f'#include "{header}"')
def check(condition):
    print(f'_Static_assert({condition}, "differs");')
for name, value in contract.constants.items():
    check(f"{name} == {value}")
check(f"SIM_FOREVER == {esgsim_policy.FOREVER} && SIM_NONE == {esgsim_policy.NONE} && POLICY_ABI == {contract.abi}")
for name, structure in contract.structures.items():
    fields = getattr(structure, "_fields_", ())
    if fields:
        check(f"sizeof(struct {name}) == {ctypes.sizeof(structure)}")
    for field, _ in fields:
        at, member = getattr(structure, field), f"(({f'struct {name} *'})0)->{field}"
        check(f"offsetof(struct {name}, {field}) == {at.offset} && sizeof({member}) == {at.size}")
for name, (result, arguments) in contract.functions.items():
    print(f"static const void *const has_{name} = (const void *){name};")
EOF
run ${CC:-cc} -std=c11 -D_GNU_SOURCE -w -I. -fsyntax-only "$folder/layout.c"
expect "structures and constants of the contract are the compiler's, in size and place" 0
if [ "$(grep -c _Static_assert "$folder/layout.c")" -gt 300 ] && [ "$(grep -c has_platform "$folder/layout.c")" -gt 50 ]; then
    pass "all of them"
else
    fail "all of them" "too few assertions in $(wc -l <"$folder/layout.c") lines"
fi

# block KIND NAME: the tutorial's policy of that name, of ```c or ```python.
block() {
    awk -v kind="\`\`\`$1" -v name="name = \"$2\"" '
        $0 == kind { inside = 1; text = ""; found = 0; next }
        /^```/ { if (inside && found) printf "%s", text; inside = 0 }
        inside { text = text $0 "\n"; found = found || index($0, name) }' sched/WRITING.md
}
block c earliest >"$folder/earliest.c"
block python earliest >"$folder/earliest.py"
if [ "$(grep -c . "$folder/earliest.py")" -le 31 ]; then
    pass "the tutorial's policy has 30 lines in Python"
else
    fail "the tutorial's policy has 30 lines in Python" "$(grep -c . "$folder/earliest.py")"
fi

# rows_of FILE: the bytes of all recorded tables of its run.
rows_of() {
    h5ls -r "$1" | awk '$2 == "Dataset" && /^\/runs\// { print $1 }' | sort | while read -r table; do
        h5dump -d "$table" -b FILE -o "$folder/table" "$1" >/dev/null 2>&1
        echo "${table##*/}"
        cat "$folder/table"
    done
}
# twins NAME FILE.c FILE.py EXPERIMENT SETTING...: both record the same rows.
twins() {
    title=$1 twin=$2 own=$3 world=workloads/experiments/$4.json
    shift 4
    for setting in "$@"; do
        shift
        set -- "$@" --set "$setting"
    done
    for policy in "$twin" "$own"; do
        run "$hosted" run "$world" "$@" --set record=all --policy "$policy" --quiet --out "$folder/twin.h5"
        [ "$status" -eq 0 ] || explain "$title: $policy runs" "status 0"
        rows_of "$folder/twin.h5" >"$folder/${policy##*.}.rows"
    done
    same "$title" "$folder/c.rows" "$folder/py.rows"
}
while read -r world settings; do
    # shellcheck disable=SC2086
    twins "the same decisions in Python as in C: $world $settings" "$folder/earliest.c" "$folder/earliest.py" $world $settings
done <<EOF
$(sed 's/ --.*//; s/ policy\.params\.[^ ]*//g; s/requests=[0-9]*/requests=200 warmup_requests=0/; s/^\([^ ]*\) [^ ]*/\1/' tests/golden.txt | sort -u)
moderate-normal requests=200 warmup_requests=0 policy.params.reserve=0.5
strict-light requests=200 warmup_requests=0 platform.cold_dispatch=late platform.initial=cold
EOF

# A scheduler of trainings: arrays of structures, and the constants of an enumeration.
block c smallest >"$folder/smallest.c"
cat >"$folder/smallest.py" <<'EOF'
class Policy:
    name = "smallest"
    serves = "SERVES_TRAININGS"

    def waiting(self, platform):
        training = platform.next_training(0)
        while training is not None:
            view = platform.training(training)
            if view.state == platform.TRAINING_WAITING and view.gpus <= 64:
                yield view.gpus * view.iteration_s * view.iterations, training, view.gpus
            training = platform.next_training(training + 1)

    def decide(self, platform):
        first = min(self.waiting(platform), default=None)
        if first is None:
            return False
        groups = [g for g in platform.workload.cluster.groups for _ in range(g.count)]
        free = [{"invoker": i, "gpu": gpu, "share": g.gpus[gpu].units, "quota": 100,
                 "vcpus": g.vcpus / g.gpu_count, "memory_mb": g.memory_mb / g.gpu_count}
                for i, g in enumerate(groups) for gpu in range(g.gpu_count)
                if platform.resident(i, gpu, 0) is None]
        _, training, gpus = first
        return len(free) >= gpus and platform.place(training, free[:gpus], platform.FOREVER)
EOF
twins "and so is a scheduler of trainings" "$folder/smallest.c" "$folder/smallest.py" training-dynamic seed=1

# State and chance: each run begins anew.
cat >"$folder/chance.py" <<'EOF'
import random

calls = 0


class Policy:
    name = "chance"

    def decide(self, platform):
        global calls
        calls += 1
        queue = platform.next_queue(0)
        if queue is None:
            return False
        function = platform.queue_function(queue)
        every = len(platform.workload.functions[function].configurations)
        chosen = (calls + random.randrange(every) + int(platform.random() * every)) % every
        invoker = platform.best_fit(function, chosen, False)
        return invoker is not None and platform.dispatch(queue, 1, chosen, invoker)
EOF
echo "{\"base\": \"$(pwd)/workloads/experiments/strict-light.json\", \"seeds\": 3, \"matrix\": {\"requests\": [40], \"warmup_requests\": [0], \"policy.name\": [\"$folder/chance.py\", \"fifo\"]}}" >"$folder/chance.json"
for jobs in 1 3; do
    run "$hosted" sweep "$folder/chance.json" --jobs $jobs --quiet --out "$folder/chance.h5" --restart
    expect "a sweep runs policies in Python, $jobs at a time" 0 '^6 of 6 runs'
    tables "$folder/chance.h5" "$folder/chance-$jobs"
done
same "global variables and random numbers begin anew in each run" "$folder/chance-1" "$folder/chance-3"

# What goes wrong.
sed 's/max(room/max(rom/' "$folder/earliest.py" >"$folder/wrong.py"
strict="workloads/experiments/strict-light.json --set requests=40 --quiet --policy"
# shellcheck disable=SC2086
run "$hosted" run $strict "$folder/wrong.py"
if [ "$status" -eq 1 ] && grep -q "^esgsim: strict-light: .*wrong\.py:20: NameError: .*(decide, at .* policy earliest, seed 1)" "$folder/err"; then
    pass "an exception ends the run with file, line, time and seed"
else
    explain "an exception ends the run with file, line, time and seed" "wrong.py:20: NameError"
fi
sed 's/0.15, "/1.5, "/' "$folder/earliest.py" >"$folder/default.py"
printf 'class Policy:\n    def x(:\n' >"$folder/syntax.py"
echo 'x = 1' >"$folder/none.py"
echo 'class Policy: name = "x"' >"$folder/idle.py"
while read -r file words; do
    # shellcheck disable=SC2086
    run "$hosted" run $strict "$folder/$file.py"
    expect_refusal "a file in Python is refused: $words" "$file\.py:.*$words"
done <<'EOF'
absent No such file
default default 1.5 of parameter "reserve" is outside its range
syntax 2: SyntaxError
none has no class Policy
idle a name and a method decide
EOF
# shellcheck disable=SC2086
run "$hosted" run $strict "$folder/earliest.py" --set policy.params.reserve=2
expect_refusal "so is a parameter out of range" 'reserve: 2 is out of range'
# What is no time, or no number of an id, ends the run there; so does an exception in finish.
while IFS='|' read -r method body words; do
    { cat "$folder/earliest.py"; printf '    def %s:\n        %s\n' "$method" "$body"; } >"$folder/odd.py"
    line=$(($(wc -l <"$folder/odd.py")))
    # shellcheck disable=SC2086
    run "$hosted" run $strict "$folder/odd.py"
    if [ "$status" -eq 1 ] && [ ! -s "$folder/out" ] && grep -qE "^esgsim: strict-light: .*odd\.py:($line|$((line - 1))): .*$words" "$folder/err"; then
        pass "$method with '$body' ends the run with file and line"
    else
        explain "$method with '$body' ends the run with file and line" "odd.py:$line: $words"
    fi
done <<'EOF'
keep_alive(self, platform, function, invoker)|return None|rule range: it returned None
keep_alive(self, platform, function, invoker)|return -5|rule range: it returned -5
keep_alive(self, platform, function, invoker)|return 2**80|rule range: it returned 12
keep_alive(self, platform, function, invoker)|return float("nan")|rule range: it returned nan
keep_alive(self, platform, function, invoker)|return "600"|rule range: it returned '600'
keep_alive(self, platform, function, invoker)|pass|rule range: it returned None
on_ready(self, platform, queue)|platform.queue_length(queue + 2**32)|rule range: 42949
on_ready(self, platform, queue)|platform.queue_length(-1)|rule range: -1
on_ready(self, platform, queue)|platform.set_timer(2**70, 0)|rule range: 11805
on_ready(self, platform, queue)|platform.set_timer(0.5, 0)|TypeError
on_ready(self, platform, queue)|platform.charge(-1)|rule range: -1
on_finish(self, platform, batch)|1 / 0|ZeroDivisionError
finish(self)|1 / 0|ZeroDivisionError
EOF
for time in '600 * 10**9' '600e9' '6.0e11'; do
    { cat "$folder/earliest.py"; printf '    def keep_alive(self, platform, function, invoker):\n        return %s\n' "$time"; } >"$folder/kept.py"
    # shellcheck disable=SC2086
    run "$hosted" run $strict "$folder/kept.py" --json
    grep -vE '"(wall_s|peak_memory_kb|config_hash|decision_processor_us_mean)"' "$folder/out" >"$folder/kept-$time"
    same "keep_alive with $time is the time that it says" "$folder/kept-600 * 10**9" "$folder/kept-$time"
done

# What a policy draws, by whatever module, begins with the run's seed.
for draw in 'random.random()' 'random.SystemRandom().random()' 'int.from_bytes(os.urandom(4), "big") / 2**32' \
    'secrets.randbelow(1000) / 1000' 'uuid.uuid4().int % 1000 / 1000' 'numpy.random.random()' 'numpy.random.default_rng().random()'; do
    case $draw in
    numpy*) module=", numpy" runs=$(python_find numpy) ;;
    *) module="" runs=python3 ;;
    esac
    [ -n "$runs" ] || continue
    cat >"$folder/draws.py" <<EOF
import os, random, secrets, uuid$module
first = random.random()
class Policy:
    name = "draws"
    def decide(self, platform):
        platform.charge(int(1e6 * (first + $draw)))
        queue = platform.next_queue(0)
        return queue is not None and platform.drop(queue, 0)
EOF
    for seed in 1 1 2; do
        # shellcheck disable=SC2086
        run "$runs" "$hosted" run $strict "$folder/draws.py" --json --seed $seed
        mv "$folder/drawn-$seed" "$folder/drawn-before" 2>/dev/null
        grep -E '"decision_units(_mean)?"' "$folder/out" >"$folder/drawn-$seed"
    done
    same "$draw is the same for one seed" "$folder/drawn-before" "$folder/drawn-1"
    if cmp -s "$folder/drawn-1" "$folder/drawn-2"; then fail "and another one for another" "$draw"; else pass "and another one for another"; fi
    rm -f "$folder"/drawn-*
done

# A policy is all of its files, and no others can be read.
mkdir -p "$folder/parts/deeper"
echo 'RESERVE = 0.15' >"$folder/parts/deeper/__init__.py"
echo 'from deeper import RESERVE' >"$folder/parts/helper.py"
{ echo 'import helper'; sed 's/self\.reserve)/helper.RESERVE)/' "$folder/earliest.py"; } >"$folder/parts/pol.py"
echo 'x = 1' >"$folder/parts/other.py"
# shellcheck disable=SC2120
digest() {
    # shellcheck disable=SC2086
    run "$hosted" run $strict "$folder/parts/pol.py" --json "$@"
    sed -n 's/.*"config_hash":[[:space:]]*"\(.*\)".*/\1/p' "$folder/out"
}
# shellcheck disable=SC2015,SC2119
first=$(digest)
if [ -n "$first" ]; then pass "a policy imports what lies beside it"; else fail "a policy imports what lies beside it" "$(cat "$folder/err")"; fi
echo 'x = 2' >"$folder/parts/other.py"
# shellcheck disable=SC2015,SC2119
[ "$first" = "$(digest)" ] && pass "a file that it does not load is not of it" || fail "a file that it does not load is not of it" "other hash"
for part in helper deeper/__init__; do
    echo '# changed' >>"$folder/parts/$part.py"
    # shellcheck disable=SC2015,SC2119
    now=$(digest)
    if [ -n "$now" ] && [ "$now" != "$first" ]; then pass "$part.py is of the policy"; else fail "$part.py is of the policy" "$first, $now"; fi
    first=$now
done
for reads in 'open("/proc/sys/kernel/hostname").read()' "open(\"$folder/earliest.py\").read()" 'open("/tmp/walls-new", "w")' '__import__("subprocess").run(["true"])'; do
    printf 'got = %s\n' "$reads" | cat - "$folder/earliest.py" >"$folder/reads.py"
    # shellcheck disable=SC2086
    run "$hosted" run $strict "$folder/reads.py"
    if [ "$status" -ne 0 ] && grep -qE 'reads\.py(:1)?: (PermissionError|.*rule walls|.*rule crash)' "$folder/err"; then
        pass "an import meets the walls: $reads"
    else
        explain "an import meets the walls: $reads" "PermissionError or a rule"
    fi
done
printf 'while True:\n    pass\n' >"$folder/endless.py"
# shellcheck disable=SC2086
run timeout -k 1 60 "$hosted" run $strict "$folder/endless.py" --decision-timeout 1
if [ "$status" -le 2 ] && grep -q 'endless\.py: rule decision time: .*(load' "$folder/err"; then
    pass "an import that never returns is ended"
else
    explain "an import that never returns is ended" "rule decision time"
fi

run env ESGSIM_LIBRARY=/nowhere/esgsim.so "$hosted" --version
if [ "$status" -eq 1 ] && grep -q 'make python' "$folder/err"; then
    pass "without the library it says how to build it"
else
    explain "without the library it says how to build it" "make python"
fi

# ---- The module ------------------------------------------------------------------------------

python=$(python_find h5py,pandas,matplotlib)
if [ -z "$python" ]; then
    fail "a python3 has h5py, pandas and matplotlib" "none of python3 and /usr/bin/python3; make deps"
    finish
fi

ESGSIM=$(cd "$BUILD" && pwd)/esgsim
MPLCONFIGDIR=$folder
export ESGSIM MPLCONFIGDIR
run "$python" tests/python_check.py "$folder"
while read -r outcome words; do
    case $outcome in
    ok) pass "$words" ;;
    *) fail "$words" "$(tail -n 12 "$folder/err")" ;;
    esac
done <"$folder/out"
expect "all checks of the module are made" 0 'notebook'

# The studies: where published figures hold, and what flips a conclusion.
run "$python" results/worlds.py plant 2000 1
expect "planted boxes are found with precision and recall of at least 95 %" 0 '^20 planted boxes, .* precision .* recall'
"$python" results/worlds.py sweep 4 3 >"$folder/worlds.json"
run "$ESGSIM" sweep "$folder/worlds.json" --jobs 2 --quiet --out "$folder/worlds.h5"
expect "worlds that are drawn can be simulated" 0 '^20 of 20 runs'
run "$python" results/worlds.py page 4 3 "$ESGSIM" "$folder/worlds.h5"
expect "and their page counts them" 0 '^Against all four at once, the hit-rate gain holds in [0-9]+ of 4 worlds'
run "$python" -c 'import sys; sys.argv.append(""); sys.dont_write_bytecode = True; sys.path.insert(0, "results")
import flips
ps = [flips.tail(t, n) for t, n in ((12.7062047, 1), (4.3026527, 2), (2.7764451, 4), (2.2621572, 9), (2.2281389, 10))]
print(all(abs(p - 0.05) < 1e-7 for p in ps), flips.holm([0.01, 0.04, 0.03, 0.005]))'
expect "p values are those of the tables of t, and are adjusted as Holm says" 0 '^True \[0.03, 0.06, 0.06, 0.02\]'
"$python" results/flips.py sweep 2 >"$folder/flips.json"
run "$ESGSIM" sweep "$folder/flips.json" --set 'matrix.requests=[40]' --set 'matrix.warmup_requests=[0]' --jobs 2 --quiet --out "$folder/flips.h5"
expect "each assumption can be changed" 0 '^848 of 848 runs'
run "$python" results/flips.py page "$ESGSIM" "$folder/flips.h5"
expect "and the page says what each change does to each conclusion" 0 '^. ESG hits at least what fifo does: .*(undecided as assumed|it holds|it fails)'

# Three seconds of one world, one listed setting of two policies. A second run finds all answers in the file.
cat >"$folder/headline_small.py" <<'EOF'
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "results")
import headline

headline.SETTINGS = {name: (words[: name in ("clockwork", "esg")], why) for name, (words, why) in headline.SETTINGS.items()}
headline.DRAWS, headline.AQUATOPE = [""], {"initial": 1, "rounds": 1, "candidates": 8}
headline.TUNING, headline.SHOWN = {"seed": 1, "seeds": 2}, {"seed": 3, "seeds": 2, "most": 2, "tolerance": 0.4}
headline.HALVINGS, headline.PERIODIC = 1, set()
world = headline.WORLDS["a1"]
headline.WORLDS = {"a1": world._replace(keys={**world.keys, "measured_s": 3, "warmup_s": 3}, seeds=2)}
sys.exit(getattr(headline, sys.argv[1])(*sys.argv[2:]))
EOF
small() { # small COMMAND ARGUMENT...: of the study, with the study above
    run "$python" "$folder/headline_small.py" "$@"
}
small study "$ESGSIM" "$folder/headline.jsonl"
expect "the study of load sustained can be run" 0
small study /nowhere "$folder/headline.jsonl"
expect "and finds all answers in its file" 0
small page "$folder/headline.jsonl" "$folder/headline.csv" "$folder/headline.svg"
# shellcheck disable=SC2016
expect "its page says how much more ours sustains, by who refuses" 0 '^. nobody refuses . 1 with reconstructed profiles . ×[0-9.]+'
expect "how many worlds are whole, and what they cost" 0 '^1 of 1 worlds are complete\. The runs took [0-9]+ minutes'
# shellcheck disable=SC2016
expect "lists the setting that was chosen for each policy, and its place" 0 '^. [0-9]+ . `clockwork` . (as shipped|`vgpu=1`) . [0-9]+\.[0-9]+ \['
run cat "$folder/headline.csv"
expect "and leaves all numbers in a table" 0 '^a1,"MIG, vCPU share 0.2",0,clockwork,[^,]*,[1-9],([0-9.]+,){9}'
run grep -c '<text' "$folder/headline.svg"
expect "and draws the load that each sustains" 0 '^[1-9][0-9]'
small verify "$ESGSIM" "$folder/headline.csv" a1 clockwork
expect "a row can be repeated" 0 '^PASS    a1 clockwork load: '
sed 's/^\(a1,.*,clockwork,[^,]*,[0-9]*\),[^,]*/\1,0.123/' "$folder/headline.csv" >"$folder/wrong.csv"
small verify "$ESGSIM" "$folder/wrong.csv" a1 clockwork
expect "and a wrong number is told" 1 '^DIFFERS a1 clockwork load: 0.123, printed '
small verify "$ESGSIM" "$folder/headline.csv" a1 nobody
expect_refusal "a policy that it does not have is refused" "no world 'a1' with a policy 'nobody'"
# README's sentences, from loads that are made up: in place of the program, one that prints what a report would.
sentences() { # sentences ARGUMENT...: with the made-up results and README
    run "$python" results/sentences.py reproduce "$folder/fake" "$folder/made.json" "$folder/verdicts.json" --pages "$folder" "$@"
}
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec cat "$2"\n' >"$folder/fake"
chmod +x "$folder/fake"
"$python" - "$folder" <<'EOF'
import json, sys
def panel(label, factor, of):
    points = [{"value": load, "slo_hit_rate": {"seeds": 3}} for load in (0.2, 0.4, 0.6)]
    return {"label": label, "setting": "", "conditions": f"slo.factor={factor} requests=1000 warmup_requests=50",
            "policies": [{"policy": (name + " ").split(" ")[0], "variant": name.partition(" ")[2], "sustained": load, "points": points}
                         for name, load in of.items()]}
def loads(headway, clockwork, fifo, esg, plain, infless):
    return {"headway": headway, "clockwork": clockwork, "fifo": fifo, "esg": esg, "esg headroom=0 late=lead": plain,
            "infless": infless, "fast-gshare": None, "orion": 0.2, "aquatope": 0.2}
panels = [panel("MIG, vCPU share 0.2", 0.8, loads(0.4, 0.6, 0.2, 0.4, None, 0.2)),
          panel("MIG, vCPU share 0.2", 1, loads(0.6, 0.6, 0.2, 0.2, 0.2, 0.4)),
          panel("MPS, vCPU share 0.2", 1, loads(0.4, None, 0.2, 0.2, 0.2, None))]
def figure(metric, low, high, policy, rivals, holds):
    return {"metric": metric, "policy": policy, "low": low, "high": high, "ours": [{"policy": name} for name in rivals],
            "pairs": {"holds": holds, "below": 4 - holds}}
figures = [figure(metric, low, high, policy, rivals, holds)
           for holds, (metric, low, high) in enumerate((("slo_hit_rate_gain", 61, 80), ("cost_saving", 47, 187), ("slo_hit_rate_gain_points", 61, 80)))
           for policy, rivals in (("esg", ["infless", "orion"]), ("esg headroom=0 late=lead", ["infless", "orion"]),
                                  ("esg headroom=0.15", ["infless", "orion"]), ("esg", ["infless efficiency=paper"]))]
for name, told in (("made", {"curves": {"at_least": 0.95, "metric": "slo_hit_rate", "panels": panels}}), ("verdicts", {"files": [{"figures": figures}]})):
    with open(f"{sys.argv[1]}/{name}.json", "w") as out:
        json.dump(told, out)
EOF
for page in README REPRODUCING; do
    printf 'Before.\n<!-- begin reproduce -->\n<!-- end reproduce -->\nAfter.\n' >"$folder/$page.md"
done
sentences --update
expect "the sentences of the main result can be written" 0
# shellcheck disable=SC2016
run grep -cE '^[123]\. .*(greatest load in 2 of 3 cases|compared with in 2 of 3 cases|holds in none of 4 pairs)' "$folder/README.md"
expect "README has the first of each" 0 '^3$'
# shellcheck disable=SC2016
for words in 'loads of 0.2 to 0.6 .* two deadlines, two ways to share a GPU and one .* makes 3 cases' \
    'sustains the greatest load in 2 of 3 cases, and alone in one\.' 'More is sustained by `clockwork` in one\.' \
    'In all 1 ties the sweep ends' 'compared with in 2 of 3 cases' 'headroom=0 late=lead`.*, it is one\.' \
    '`fifo`. sustains more than ESG in none, as much in two, and less in one' 'and read as points in 2 of 4\.' \
    'holds in none of 4 pairs' 'surely smaller in four: .* at most 62 % of hits' 'saving of 47–187 % holds in 1 of 4 per request served, in none of 0' 'three seeds of 1,000 requests after 50\.'; do
    if tr '\n' ' ' <"$folder/REPRODUCING.md" | tr -s ' ' | grep -qE "$words"; then
        pass "the sentences say what was computed: $words"
    else
        fail "the sentences say what was computed: $words" "$(cat "$folder/REPRODUCING.md")"
    fi
done
sed -e 's/sustains the greatest/sustains\nthe greatest/' "$folder/README.md" >"$folder/broken.md"
mv "$folder/broken.md" "$folder/README.md"
sentences
expect "and compared with the page, whatever its lines" 0 '^equal to README.md: yes$'
sed -i 's/, it is one\./, it is two./' "$folder/REPRODUCING.md"
sentences
expect "a wrong figure is told" 1 '^equal to REPRODUCING.md: no$'
expect "beside what the page says" 1 '^  REPRODUCING.md: .*late=lead`.*, it is two'
expect "and what was computed" 1 '^  computed: .*late=lead`.*, it is one'
if [ "$(grep -c '^  computed: ' "$folder/out")" = 1 ]; then
    pass "and nothing else"
else
    fail "and nothing else" "$(cat "$folder/out")"
fi
printf 'No block.\n' >"$folder/README.md"
sentences
if [ "$status" = 1 ] && grep -q "README.md has no lines '<!-- begin reproduce -->'" "$folder/err"; then
    pass "a README without the block is told"
else
    explain "a README without the block is told" "status 1 and one line"
fi
finish
