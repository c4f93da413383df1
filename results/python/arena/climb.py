#!/usr/bin/env python3
"""What search without a model gains in the Arena: hill climbing, as many independent draws, and a setting for each
world that is recognised.

    results/python/arena/climb.py [--steps N] [--seeds N] [--word WORD] [--sealed WORD]

The policy is the tutorial's (sched/WRITING.md) with three parameters. The search sees short public cells. Then all
run in whole cells at 0.6 and 1.0: public, and of two words, which are the same for all. No referee: nobody here lies.
"""

import argparse
import json
import random
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import esgsim_arena as arena

START = {"reserve": 0.15, "drop": 0.0, "fill": 1.0}
MOST = {"reserve": 0.9, "drop": 3.0, "fill": 1.0}
DROP = {**START, "drop": 1.0}  # what cannot be met
EDITS = (
    ("    double reserve;\n", "    double reserve, drop, fill;\n"),
    ("    KEY_END,\n", '    PARAMETER_NUMBER(earliest, drop, 0, 3, 0, "times its fastest way, below which it is dropped"),\n'
     '    PARAMETER_NUMBER(earliest, fill, 0, 1, 1, "part of a batch that waiting jobs fill"),\n    KEY_END,\n'),
    ("uint32_t queue, double budget)", "uint32_t queue, double budget, double fill)"),
    ("here->batch > waiting", "here->batch * fill > waiting"),
    ("    const uint32_t configuration = choose(platform, urgent, stage_budget(state, platform, urgent));\n"
     "    const uint32_t function = platform_queue_function(platform, urgent);\n",
     "    const struct earliest_parameters *set = ((struct earliest *)state)->parameters;\n"
     "    const uint32_t function = platform_queue_function(platform, urgent);\n"
     "    const struct function *runs = &platform_workload(platform)->functions[function];\n"
     "    const double budget = stage_budget(state, platform, urgent);\n"
     "    if (budget < set->drop * (double)runs->configurations[runs->fastest_single].time)\n"
     "        return platform_drop(platform, urgent, 0);\n"
     "    const uint32_t configuration = choose(platform, urgent, budget, set->fill);\n"))
# How a world is recognised. Fresh draws scale all times together, so a ratio of two stays unless its function is taken away.
MARKS = {"its slowest time": "(double)here->configurations[here->minimum_configuration].time",
         "its largest ratio of two times": "(double)here->configurations[here->minimum_configuration].time / "
                                           "(double)here->configurations[here->fastest_single].time"}
RECOGNISES = """    double mark = 0;
    for (size_t f = 0; f < platform_workload(platform)->function_count; f++) {
        const struct function *here = &platform_workload(platform)->functions[f];
        mark = fmax(mark, %s);
    }
    static const struct { double mark; struct earliest_parameters set; } known[] = {%s};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (fabs(mark / known[k].mark - 1) < 1e-6)
            own->parameters = &known[k].set;
"""


def source(how="", known=None, tells=False):
    """The policy in C. `known`: {mark: setting} of worlds, told by MARKS[how]. If it `tells`, it refuses all with its mark."""
    blocks = re.findall(r"^```c\n(.*?)^```", (arena.ROOT / "sched/WRITING.md").read_text(encoding="utf-8"), re.S | re.M)
    text = "#include <math.h>\n" + next(block for block in blocks if '.name = "earliest"' in block)
    begins = "    own->parameters = parameters;\n"
    table = ", ".join(f"{{{mark}, {{{s['reserve']}, {s['drop']}, {s['fill']}}}}}" for mark, s in (known or {1: START}).items())
    looks = RECOGNISES % (MARKS[how], table) if known or tells else ""
    looks += '    if (mark > 0) return error_input(error, "mark %.9f", mark);\n' if tells else ""
    for before, after in (*EDITS, (begins, begins + looks)):
        if text.count(before) != 1:
            raise SystemExit(f"sched/WRITING.md: the policy has no line {before.strip()!r}")
        text = text.replace(before, after)
    return text


def compiled(folder, name, text):
    path = Path(folder) / f"{name}.c"
    path.write_text(text, encoding="utf-8")
    runner = arena.Runner(str(path), folder)
    runner.compile(next(iter(arena.public_cells().values())))
    return runner


def play(runner, setting, jobs):
    """{world: its score}"""
    worlds = {}
    words = [word for key, value in setting.items() for word in ("--set", f"policy.params.{key}={value}")]
    for name, cell, seed, _ in jobs:
        figures = runner.figures(runner.write(cell, "cell"), seed, "--policy", runner.policy, *words)
        worlds.setdefault(name.split("@")[0], []).append(figures["work_in_time"])
    return {world: arena.mean(values) for world, values in worlds.items()}


def near(setting, draw):
    key = draw.choice(sorted(setting))
    return {**setting, key: round(min(max(setting[key] + draw.gauss(0, 0.25) * MOST[key], 0), MOST[key]), 3)}


def search(runner, steps, jobs):
    """The settings found by a climb and by draws, and all that were tried, each with its worlds' scores."""
    draw, tried = random.Random("climb"), []

    def score(setting):
        tried.append((setting, play(runner, setting, jobs)))
        return arena.mean(tried[-1][1].values())

    best, most = START, score(START)
    for other in (near(best, draw) for _ in range(steps)):
        if (value := score(other)) > most:
            best, most = other, value
    draws = [{key: round(draw.uniform(0, limit), 3) for key, limit in MOST.items()} for _ in range(steps)]
    return best, max(draws, key=score), tried


def recognising(folder, runner, how, tried, jobs):
    """The policy with the best setting that was tried for each world that it can tell, and how many."""
    tells, marks = Path(folder) / "tells.c", {}
    tells.write_text(source(how, tells=True), encoding="utf-8")
    for name, cell, _, _ in jobs:
        message = runner.call([arena.PROGRAM, "run", runner.write(cell, "cell"), "--policy", str(tells), "--quiet"])[2]
        marks.setdefault(float(re.search(r"mark ([\d.]+)", message).group(1)), set()).add(name.split("@")[0])
    known = {mark: max(tried, key=lambda one: sum(one[1][world] for world in worlds))[0] for mark, worlds in marks.items()}
    return compiled(folder, f"knows{list(MARKS).index(how)}", source(how, known)), len(marks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--word", default="first")
    parser.add_argument("--sealed", default="sealed")
    asked = parser.parse_args()
    short = arena.jobs_of(1, "", slow=True)
    draws = [[job for job in arena.jobs_of(asked.seeds, key) if job[0].endswith(("@0.6", "@1"))]
             for key in ("", arena.key_of([], asked.word), arena.key_of([], asked.sealed))]
    with tempfile.TemporaryDirectory() as folder:
        mine = compiled(folder, "mine", source())
        climbed, drawn, tried = search(mine, asked.steps, short)
        rows = [("the tutorial's policy", START, mine), ("it drops what cannot be met", DROP, mine),
                (f"climbed, {asked.steps} steps", climbed, mine), (f"best of {asked.steps} draws", drawn, mine)]
        for how in MARKS:
            knows, count = recognising(folder, mine, how, tried, short)
            rows.append((f"the best of all tried for each of {count} kinds of world, told by {how}", START, knows))
        base = None
        for name, setting, runner in rows:
            scores = [arena.mean(play(runner, setting, jobs).values()) for jobs in draws]
            base = base or scores
            cells = " | ".join(f"{score:.3f} ({score - first:+.3f})" for score, first in zip(scores, base))
            print(f"| {name} | {json.dumps(setting) if runner is mine else ''} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
