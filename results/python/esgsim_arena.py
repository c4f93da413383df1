#!/usr/bin/env python3
"""The Arena: one score for a scheduler of requests, which its author cannot lie to.

    results/python/esgsim_arena.py POLICY [--fresh NONCE] [--stage1] [--seeds N] [--jobs N]
    results/python/esgsim_arena.py --places A.json B.json ...

POLICY is a registered name, a file in C (sched/WRITING.md) or in Python. One JSON object is printed:
{status, combined_score, validity, metrics, artifacts}. The score is the mean over twelve worlds of
`work_in_time` (results/README.md), and 0 for a policy that fails. results/ARENA.md says what is
measured, and why it cannot be had otherwise.

The policy's run only writes its actions. The program then does these without the policy, in the same
world, and what that run delivers is the score. In some cells the policy runs again, and once more
with another future: its actions must be equal, and equal up to there. With a nonce of the organiser
the worlds are drawn from the policy's own bytes. The program is build/esgsim, or what ESGSIM names.
"""

import argparse
import copy
import hashlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("ESGSIM_DATA") or Path(__file__).resolve().parents[2])
ARENA = ROOT / "workloads/experiments/arena.json"
VERSION = "1"
BUILT = ROOT / "build/esgsim"
PROGRAM = os.environ.get("ESGSIM") or (str(BUILT) if BUILT.exists() else "esgsim")
PYTHON = [sys.executable, str(Path(__file__).resolve().with_name("esgsim_policy.py"))]
LIBRARY = {name: os.environ[name] for name in ("ESGSIM_LIBRARY", "CC") if name in os.environ}
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
CHECKED = 0.8  # the load of the cells in which a policy runs again
STAGE1 = ("mig-chains@0.6", "mps-measured@0.4", "v100-few@0.6")
SHOWN = 20000  # bytes of artifacts at most
PAIR = (0.93, 1.07)  # of fresh loads, in turn, so that their mean is the public one


class Fault(Exception):
    """A policy that has no score, and why."""


# ---- Worlds ------------------------------------------------------------------------------------


def absolute(value, folder):
    """The value with the paths in it resolved."""
    if isinstance(value, str) and value.startswith("../"):
        return str((folder / value).resolve())
    if isinstance(value, list):
        return [absolute(entry, folder) for entry in value]
    if isinstance(value, dict):
        return {key: absolute(entry, folder) for key, entry in value.items()}
    return value


def public_cells():
    """The cells of the sweep: {name: experiment}."""
    sweep = json.loads(ARENA.read_text())
    folder = ARENA.parent
    return {row["name"]: absolute({**sweep["base"], **row, "name": "cell"}, folder)
            for row in sweep["matrix"]["setting"]}


def inline(value):
    """What a reference to a file names; the paths in it resolved."""
    if not isinstance(value, str):
        return copy.deepcopy(value)
    return absolute(json.loads(Path(value).read_text()), Path(value).parent)


def replaced(value, names):
    """The value with these names replaced, wherever one is a key or a text."""
    if isinstance(value, dict):
        return {names.get(key, key): replaced(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [replaced(entry, names) for entry in value]
    return names.get(value, value) if isinstance(value, str) else value


def renamed(cell, draw):
    """The cell under names that say nothing, its applications and functions in another order."""
    cell = copy.deepcopy(cell)
    functions = inline(cell["functions"])
    applications = [inline(each) for each in cell["applications"]]
    used = {stage["function"] for each in applications for stage in each["stages"]}
    functions["functions"] = [f for f in functions["functions"] if f["name"] in used]
    draw.shuffle(functions["functions"])
    draw.shuffle(applications)
    names = {f["name"]: f"f{i + 1}" for i, f in enumerate(functions["functions"])}
    for i, application in enumerate(applications):
        application["name"] = f"a{i + 1}"
        for stage in application["stages"]:
            stage["function"] = names[stage["function"]]
    for function in functions["functions"]:
        function["name"] = names[function["name"]]
    initial = cell["platform"].get("initial")
    if isinstance(initial, dict):
        cell["platform"]["initial"] = {names.get(name, name): count for name, count in initial.items()
                                       if name in names or name == "per_invoker"}
    if "profile" in cell:
        cell["profile"] = replaced(inline(cell["profile"]), names)
    elif "profiles" in cell:
        cell["profiles"] = {model: replaced(inline(each), names) for model, each in cell["profiles"].items()}
    return {**cell, "functions": functions, "applications": applications}


def fresh_cells(key):
    """Cells like the public ones, in worlds that the key draws: cluster, SLO, weights, applications,
    part of the trace, names."""
    cells = {}
    for name, public in public_cells().items():
        draw = random.Random(f"{key} {name.split('@')[0]}")  # the same for each load of a world
        cell = copy.deepcopy(public)
        cluster = inline(cell["cluster"])
        for group in cluster["invokers"]:
            group["count"] = max(1, round(group["count"] * draw.uniform(0.75, 1.25)))
        cell["cluster"] = cluster
        cell["slo"]["factor"] = round(cell["slo"]["factor"] * draw.uniform(0.85, 1.15), 3)
        if len(cell["applications"]) > 2:
            cell["applications"].pop(draw.randrange(len(cell["applications"])))
        if cell["arrivals"]["process"] == "trace":
            cell["arrivals"]["start_s"] = round(draw.uniform(0, 1200))
        cell = renamed(cell, draw)
        for application in cell["applications"]:
            application["weight"] = round(draw.uniform(0.7, 1.4), 3)
        cells[name] = cell
    return cells


def with_load(cell, factor):
    """The cell at so many times its load."""
    cell = copy.deepcopy(cell)
    arrivals = cell["arrivals"]
    rate = "scale_rate" if arrivals["process"] == "trace" else "load"
    arrivals[rate] = round(arrivals[rate] * factor, 5)
    return cell


# ---- Runs --------------------------------------------------------------------------------------


class Runner:
    """Runs of one policy, in a folder of its own."""

    def __init__(self, policy, folder):
        self.folder = Path(folder)
        self.host = [PROGRAM]
        self.policy = policy
        if policy.endswith(".py"):
            self.host = PYTHON
            self.policy = str(Path(policy).resolve())

    def call(self, arguments):
        """A command with nothing of the caller's environment. Returns status, output, message."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            done = subprocess.run(arguments, capture_output=True, text=True, cwd=scratch, check=False, timeout=600,
                                  env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TMPDIR": scratch,
                                       "ESGSIM_DATA": str(ROOT), **LIBRARY})
        return done.returncode, done.stdout, done.stderr.strip()

    def compile(self, cell):
        """Checks a policy in C as the program does, then compiles it once for all runs."""
        if not self.policy.endswith(".c"):
            return
        source = str(Path(self.policy).resolve())
        path = self.write(cell, "first")
        status, _, message = self.call([PROGRAM, "run", path, "--policy", source, "--quiet", "--set", "measured_s=0.1",
                                        "--set", "warmup_s=0"])
        if status != 0:
            raise Fault(message)
        self.policy = str(self.folder / (Path(source).stem + ".so"))
        status, _, message = self.call([os.environ.get("CC", "cc"), *FLAGS, "-I", str(ROOT), "-o", self.policy, source])
        if status != 0:
            raise Fault(message)

    def write(self, cell, name):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(cell))
        return str(path)

    def act(self, path, seed, actions, *more):
        """The policy's run, of which only the actions are kept. Returns why it refuses the world, or
        None."""
        status, _, message = self.call([*self.host, "run", path, "--policy", self.policy, "--seed", str(seed), "--quiet",
                                        "--decision-timeout", "20", "--record-actions", actions, *more])
        if status == 2:
            return message
        if status != 0:
            raise Fault(message or f"the run ended with status {status}")
        return None

    def judge(self, path, seed, actions):
        """What these actions deliver, without the policy."""
        status, out, message = self.call([PROGRAM, "run", path, "--seed", str(seed), "--quiet", "--json",
                                          "--replay-actions", actions])
        if status != 0:
            raise Fault(f"its actions cannot be done again without it: {message}")
        return json.loads(out)


def before(path, seconds):
    """The actions before that time, as one digest."""
    digest = hashlib.sha256()
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number >= 2 and (line.startswith("end,") or int(line.split(",", 2)[1]) >= seconds * 1e9):
                break
            digest.update(line.encode())
    return digest.hexdigest()


def run_again(runner, name, path, seed, actions):
    """The policy does the same twice, and does the same before another future begins."""
    end = 3 if name.startswith("a100-trace") else 30
    other = f"{actions}.again"
    runner.act(path, seed, other)
    if before(actions, math.inf) != before(other, math.inf):
        raise Fault(f"twice: in {name}, seed {seed}, a second run did otherwise: the policy uses a clock, chance or a file")
    runner.act(path, seed, other, "--swerve", str(end))
    if before(actions, end) != before(other, end):
        raise Fault(f"swerve: in {name}, seed {seed}, its actions before {end} s depend on what comes later, or on memory "
                    "that is not the policy's")
    os.unlink(other)


def run_cell(runner, name, cell, seed, again):
    """The figures of one cell and seed; None: the policy refuses the world."""
    path = runner.write(cell, f"{name}-{seed}")
    actions = str(runner.folder / f"{name}-{seed}.csv")
    refusal = runner.act(path, seed, actions)
    if refusal is not None:
        return {"cell": name, "seed": seed, "refused": refusal}
    if again:
        run_again(runner, name, path, seed, actions)
    figures = runner.judge(path, seed, actions)
    os.unlink(actions)
    keys = ("work_in_time", "slo_hit_rate", "slo_hit_rate_worst_application", "drop_rate", "cost_per_request_usd",
            "queue_ms_mean", "cold_ms_mean", "exec_ms_mean")
    return {"cell": name, "seed": seed, **{key: figures[key] for key in keys}}


# ---- The score ---------------------------------------------------------------------------------


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.fmean(values) if values else 0.0


def worst(rows):
    """Why requests were late in the three worst cells."""
    lines = []
    for row in sorted(rows, key=lambda row: row["work_in_time"])[:3]:
        parts = ", ".join(f"{part} {row[key] or 0:.1f} ms" for part, key in
                          (("queues", "queue_ms_mean"), ("cold starts", "cold_ms_mean"), ("execution", "exec_ms_mean")))
        late = 1 - row["slo_hit_rate"] - row["drop_rate"]
        lines.append(f"{row['cell']}, seed {row['seed']}: {row['work_in_time']:.3f} of the work in time, "
                     f"{row['drop_rate']:.3f} of the requests dropped, {late:.3f} late; of those served, in the mean: {parts}")
    return "\n".join(lines)


def result_of(rows, wall_s):
    served = [row for row in rows if "refused" not in row]
    worlds = sorted({row["cell"].split("@")[0] for row in rows})
    takes = {row["cell"].split("@")[0] for row in served}
    by_world = {world: mean([row["work_in_time"] for row in served if row["cell"].startswith(world + "@")])
                for world in worlds}
    seeds = sorted({row["seed"] for row in rows})
    each = [sum(row["work_in_time"] for row in served if row["seed"] == seed) /
            sum(row["seed"] == seed for row in rows) for seed in seeds]
    score = mean(by_world.values())
    hits, dropped = (mean([row[key] for row in served]) for key in ("slo_hit_rate", "drop_rate"))
    refusals = sorted({row["refused"] for row in rows if "refused" in row})
    return {"status": "ok", "combined_score": max(score, 1e-9), "validity": 1,
            "metrics": {"work_in_time": score, "worlds": f"{len(takes)} of {len(worlds)}",
                        "work_in_time_of_those": mean([by_world[world] for world in takes]), "slo_hit_rate": hits,
                        "worst_application": mean([row["slo_hit_rate_worst_application"] for row in served]),
                        "dropped": dropped, "late": max(1 - hits - dropped, 0) if served else 0.0,
                        "cost_per_request_usd": mean([row["cost_per_request_usd"] for row in served]),
                        "by_world": by_world, "by_seed": each, "wall_s": round(wall_s, 1)},
            "artifacts": {"worst_cells": worst(served)[:SHOWN // 2], "refused": "\n".join(refusals)[:SHOWN // 4]}}


def failed(message):
    return {"status": "error", "combined_score": 0.0, "validity": 0, "error": message[:SHOWN // 2], "metrics": {},
            "artifacts": {"error": message[:SHOWN // 2]}}


def key_of(policy, nonce):
    """The key of a policy's fresh worlds: known only once the policy is fixed."""
    path = Path(policy)
    data = path.read_bytes() if path.is_file() else policy.encode()
    return hashlib.sha256(b"\n".join((data, VERSION.encode(), nonce.encode()))).hexdigest()


def jobs_of(policy, seeds, nonce, stage1):
    """What is to be run: (name, cell, seed, whether it runs again)."""
    key = key_of(policy, nonce) if nonce else ""
    cells = fresh_cells(key) if nonce else public_cells()
    slow = policy.endswith(".py")
    if stage1:
        cells = {name: {**cells[name], "warmup_s": 5, "measured_s": 5} for name in STAGE1}
    elif slow:
        cells = {name: {**cell, **({"warmup_requests": 1000, "requests": 1000} if "requests" in cell else
                                   {"warmup_s": 10, "measured_s": 3})}
                 for name, cell in cells.items() if name.endswith(("@0.6", "@1"))}
    count = 1 if stage1 else seeds or (1 if slow else 5)
    draw = random.Random(key)
    numbers = [draw.randrange(2**50) for _ in range(count + count % 2)] if nonce else list(range(1, count + 1))
    checked = "@0.6" if stage1 or slow else f"@{CHECKED:g}"
    return [(name, with_load(cell, PAIR[place % 2]) if nonce else cell, seed, place == 0 and name.endswith(checked))
            for place, seed in enumerate(numbers) for name, cell in cells.items()]


def evaluate(policy, seeds=None, nonce=None, stage1=False, jobs=1):
    """The result of a policy, a dict; it never raises for what a policy did."""
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="esgsim-arena") as folder:
        runner = Runner(policy, folder)
        try:
            runner.compile(next(iter(public_cells().values())))
            with ThreadPoolExecutor(jobs) as pool:
                rows = list(pool.map(lambda job: run_cell(runner, *job), jobs_of(policy, seeds, nonce, stage1)))
        except Fault as fault:
            return failed(str(fault))
        except subprocess.TimeoutExpired:
            return failed("a run took more than ten minutes")
    return result_of(rows, time.time() - began)


def sealed(policy, nonce, budget, **options):
    """The score of a fresh draw and nothing else, while the file `budget` counts runs left."""
    path = Path(budget)
    left = int(path.read_text())
    if left <= 0:
        return failed("no sealed run is left")
    path.write_text(f"{left - 1}\n")
    result = evaluate(policy, nonce=nonce, **options)
    return {key: result[key] for key in ("status", "combined_score", "validity")}


# ---- Places ------------------------------------------------------------------------------------

T95 = (0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def separated(better, other):
    """Whether the paired interval of two results, seed by seed, leaves 0 out."""
    pairs = [a - b for a, b in zip(better["metrics"]["by_seed"], other["metrics"]["by_seed"])]
    n = len(pairs)
    if n < 2:
        return False
    return abs(mean(pairs)) > T95[min(n - 1, 9)] * statistics.stdev(pairs) / math.sqrt(n)


def places(results):
    """(place, name, result), best first. Who is not separated from the first of a place shares it,
    and stands there by cost per request."""
    rest = sorted(results.items(), key=lambda entry: -entry[1]["combined_score"])
    table = []
    while rest:
        first = rest[0][1]
        tied = [entry for entry in rest if entry[1] is first or
                (first["validity"] and entry[1]["validity"] and not separated(first, entry[1]))]
        place = len(table) + 1
        table += [(place, *entry) for entry in sorted(tied, key=lambda e: e[1]["metrics"].get("cost_per_request_usd", 0))]
        rest = [entry for entry in rest if entry not in tied]
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("policy", nargs="+", help="a name or a file; with --places, results")
    parser.add_argument("--places", action="store_true", help="print the places of results, as this program printed them")
    parser.add_argument("--fresh", metavar="NONCE", help="draw the worlds from the policy and this word of the organiser")
    parser.add_argument("--sealed", metavar="FILE", help="with --fresh: print the score alone, and count FILE down")
    parser.add_argument("--stage1", action="store_true", help="three short cells alone")
    parser.add_argument("--seeds", type=int, help="per cell (5; 1 for Python)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (1)")
    asked = parser.parse_args()
    if asked.places:
        results = {Path(path).stem: json.loads(Path(path).read_text()) for path in asked.policy}
        for place, name, result in places(results):
            metrics = result["metrics"]
            print(f"{place:3} {name:20} {result['combined_score']:.3f}  {metrics.get('worlds', '')}")
        return 0
    options = {"seeds": asked.seeds, "stage1": asked.stage1, "jobs": asked.jobs}
    if asked.sealed:
        result = sealed(asked.policy[0], asked.fresh or "", asked.sealed, **options)
    else:
        result = evaluate(asked.policy[0], nonce=asked.fresh, **options)
    print(json.dumps(result))
    return 0 if result["validity"] else 1


if __name__ == "__main__":
    sys.exit(main())
