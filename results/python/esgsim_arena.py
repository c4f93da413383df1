#!/usr/bin/env python3
"""The Arena: one score for a scheduler of requests, which its author cannot lie to.

    results/python/esgsim_arena.py POLICY [--fresh NONCE] [--stage1] [--beside] [--seeds N] [--jobs N]
    results/python/esgsim_arena.py --best POLICY POLICY ... --fresh NONCE
    results/python/esgsim_arena.py --places A.json B.json ...
    results/python/esgsim_arena.py --agree FOLDER FOLDER
    results/python/esgsim_arena.py --fitted PUBLIC.json FRESH.json
    results/python/esgsim_arena.py --recognise POLICY [--stage1]

POLICY is a registered name, a file in C (sched/WRITING.md) or in Python, and may have parameters:
"mine.c margin=1.5,batch=4". One JSON object is printed:
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
import csv
import hashlib
import itertools
import json
import math
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(os.environ.get("ESGSIM_DATA") or Path(__file__).resolve().parents[2])
ARENA = ROOT / "workloads/experiments/arena.json"
VERSION = "2"
BUILT = ROOT / "build/esgsim"
PROGRAM = os.environ.get("ESGSIM") or (str(BUILT) if BUILT.exists() else "esgsim")
PYTHON = [sys.executable, str(Path(__file__).resolve().with_name("esgsim_policy.py"))]
LIBRARY = {name: os.environ[name] for name in ("ESGSIM_LIBRARY", "CC") if name in os.environ}
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
CHECKED = 0.8  # the load of the cells in which a policy runs again
STAGE1 = ("mig-chains@0.6", "mps-measured@0.4", "v100-few@0.6")
SHOWN = 20000  # bytes of artifacts at most
PAIR = (0.93, 1.07)  # of fresh loads, in turn, so that their mean is the public one
OVER = 1.3  # times the edge: a column beside the score
SHIPPED = Path(__file__).resolve().with_name("arena") / "shipped.csv"
FIGURES = ("work_in_time", "slo_hit_rate", "slo_hit_rate_worst_application", "drop_rate", "cost_per_request_usd",
           "queue_ms_mean", "cold_ms_mean", "exec_ms_mean")  # of a run, in its result
BEST_SEEDS = 10  # fresh ones, on which the best of several candidates runs again


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


def home_of(name, invokers):
    """Where a function's containers start, and in which steps others follow: of its name, as in OpenWhisk."""
    number = 14695981039346656037
    for byte in name.encode():
        number = (number ^ byte) * 1099511628211 % 2**64
    return number % invokers, (number >> 32) % max(invokers - 1, 1)


def renamed(cell, draw, at_home=False):
    """The cell under names that say nothing, or leave each function's home where it is, in another order."""
    cell = copy.deepcopy(cell)
    functions = inline(cell["functions"])
    applications = [inline(each) for each in cell["applications"]]
    used = {stage["function"] for each in applications for stage in each["stages"]}
    functions["functions"] = [f for f in functions["functions"] if f["name"] in used]
    draw.shuffle(functions["functions"])
    draw.shuffle(applications)
    names = {f["name"]: f"f{i + 1}" for i, f in enumerate(functions["functions"])}
    count = sum(group["count"] for group in inline(cell["cluster"])["invokers"]) if at_home else 1
    for name in names if at_home else ():
        names[name] = next(new for k in itertools.count() if (new := f"{names[name]}_{k}") and
                           home_of(new, count) == home_of(name, count))
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


LONGER = re.compile(r"(latency_ms|cold_start_ms(\.mean)?|decision_cost\.ms|(keep_alive|warmup|measured|mean_sojourn)_s)$")
FASTER = re.compile(r"(rate_per_s|scale_rate|bandwidth_gbps)$")
CHANGES = ("names", "functions", "applications", "invokers", "times")
SCALE = 1.7


def longer(value, factor, key=""):
    """The value with all times so many times as long, by their keys."""
    if isinstance(value, dict):
        return {name: longer(entry, factor, f"{key}.{name}") for name, entry in value.items()}
    if isinstance(value, list):
        return [longer(entry, factor, key) for entry in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return value * factor if LONGER.search(key) else value / factor if FASTER.search(key) else value


def whole(cell):
    """The cell in one file, with the times that it leaves to defaults."""
    cell = {**copy.deepcopy(cell), "cluster": inline(cell["cluster"]), "functions": inline(cell["functions"]),
            "applications": [inline(each) for each in cell["applications"]]}
    cell["platform"] = {"keep_alive_s": 600, "transfer": {"latency_ms": 1, "bandwidth_gbps": 10}, **cell["platform"]}
    if "profile" in cell:
        cell["profile"] = inline(cell["profile"])
    else:
        cell["profiles"] = {model: inline(each) for model, each in cell.get("profiles", {}).items()}
    return cell


def fresh_cells(key):
    """Cells like the public ones, in worlds that the key draws: cluster, SLO, weights, applications,
    part of the trace, names, and a scale of all times but the charge of a decision."""
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
        cell = longer(whole(cell), SCALE ** draw.uniform(-1, 1))
        cell["platform"]["decision_cost"] = public["platform"]["decision_cost"]
        cells[name] = cell
    return cells


def with_load(cell, factor):
    """The cell at so many times its load."""
    cell = copy.deepcopy(cell)
    arrivals = cell["arrivals"]
    rate = "scale_rate" if arrivals["process"] == "trace" else "load"
    arrivals[rate] = round(arrivals[rate] * factor, 5)
    return cell


def changed(cell, change):
    """The cell, all in one file, with its names changed, or an order reversed, or all its times longer."""
    cell = whole(cell)
    if change == "names":
        return renamed(cell, SimpleNamespace(shuffle=lambda entries: None), at_home=True)
    orders = {"functions": cell["functions"]["functions"], "applications": cell["applications"],
              "invokers": cell["cluster"]["invokers"]}
    orders.get(change, []).reverse()
    return longer(cell, SCALE) if change == "times" else cell


# ---- Runs --------------------------------------------------------------------------------------


def with_parameters(policy):
    """The name or file of "NAME k=v,l=w", and the options that set its parameters."""
    name, _, parameters = policy.partition(" ")
    return name, [word for pair in parameters.split(",") if pair
                  for word in ("--set", f"policy.params.{pair.strip()}")]


class Runner:
    """Runs of one policy, in a folder of its own."""

    def __init__(self, policy, folder):
        self.folder = Path(folder)
        self.host = [PROGRAM]
        self.policy, self.settings = with_parameters(policy)
        if self.policy.endswith(".py"):
            self.host = PYTHON
            self.policy = str(Path(self.policy).resolve())

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
                                        "--set", "warmup_s=0", *self.settings])
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
        status, _, message = self.call([*self.host, "run", path, "--policy", self.policy, *self.settings, "--seed",
                                        str(seed), "--quiet", "--decision-timeout", "20", "--record-actions", actions,
                                        *more])
        if status == 2:
            return message
        if status != 0:
            raise Fault(message or f"the run ended with status {status}")
        return None

    def figures(self, path, seed, *more):
        """What a run that is not the policy's delivers."""
        status, out, message = self.call([PROGRAM, "run", path, "--seed", str(seed), "--quiet", "--json", *more])
        if status != 0:
            raise Fault(message)
        return json.loads(out)

    def judge(self, path, seed, actions):
        """What these actions deliver, without the policy."""
        try:
            return self.figures(path, seed, "--replay-actions", actions)
        except Fault as fault:
            raise Fault(f"its actions cannot be done again without it: {fault}") from None


def time_of(line):
    """The time of an action, s; the head is before all, and the end after them."""
    number = line.split(b",", 2)[1]
    return math.inf if line.startswith(b"end,") else int(number) * 1e-9 if number.isdigit() else -1.0


def unlike(one, other, seconds):
    """The first action before that time in which two files differ, as the first has it, or None."""
    with open(one, "rb") as a, open(other, "rb") as b:
        lines = next((pair for pair in zip(a, b) if pair[0] != pair[1]), None)
    return lines[0].decode().strip() if lines and min(map(time_of, lines)) < seconds else None


def run_again(runner, name, cell, path, seed, actions):
    """The policy does the same twice, and does the same before another future begins."""
    end = 3 if name.startswith("a100-trace") else (cell["warmup_s"] + cell["measured_s"]) / 2
    other = f"{actions}.again"
    runner.act(path, seed, other)
    action = unlike(actions, other, math.inf)
    if action is not None:
        raise Fault(f"twice: in {name}, seed {seed}, a second run did otherwise: the policy uses a clock, chance or a file. "
                    f"The first action that differs: {action}")
    runner.act(path, seed, other, "--swerve", str(end))
    action = unlike(actions, other, end)
    if action is not None:
        raise Fault(f"swerve: in {name}, seed {seed}, its actions before {end:g} s depend on what comes later, or on memory "
                    f"that is not the policy's. The first action that differs: {action}")
    os.unlink(other)


def run_cell(runner, name, cell, seed, again):
    """The figures of one cell and seed; None: the policy refuses the world."""
    path = runner.write(cell, f"{name}-{seed}")
    actions = str(runner.folder / f"{name}-{seed}.csv")
    refusal = runner.act(path, seed, actions)
    if refusal is not None:
        return {"cell": name, "seed": seed, "refused": refusal}
    if again:
        run_again(runner, name, cell, path, seed, actions)
    figures = runner.judge(path, seed, actions)
    os.unlink(actions)
    return {"cell": name, "seed": seed, **{key: figures[key] for key in FIGURES}}


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
    by_load = {load: mean([row.get("work_in_time", 0.0) for row in rows if row["cell"].endswith("@" + load)])
               for load in sorted({row["cell"].split("@")[1] for row in rows})}
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
                        "by_world": by_world, "by_load": by_load, "by_seed": each, "wall_s": round(wall_s, 1)},
            "artifacts": {"worst_cells": worst(served)[:SHOWN // 2], "refused": "\n".join(refusals)[:SHOWN // 4]}}


def failed(message):
    return {"status": "error", "combined_score": 0.0, "validity": 0, "error": message[:SHOWN // 2], "metrics": {},
            "artifacts": {"error": message[:SHOWN // 2]}}


def key_of(policies, nonce):
    """The key of fresh worlds: known only once the policies are fixed. Of several: the same worlds."""
    parts = []
    for policy in policies:
        name, settings = with_parameters(policy)
        path = Path(name)
        parts += [path.read_bytes() if path.is_file() else name.encode(), "".join(settings).encode()]
    return hashlib.sha256(b"\n".join((*filter(None, parts), VERSION.encode(), nonce.encode()))).hexdigest()


def shorter(cell, warmup, measured):
    return {**cell, "warmup_s": cell["warmup_s"] * warmup, "measured_s": cell["measured_s"] * measured}


def cells_of(key, stage1, slow):
    cells = fresh_cells(key) if key else public_cells()
    if stage1:
        return {name: shorter(cells[name], 1 / 12, 1 / 4) for name in STAGE1}
    if slow:
        return {name: {**cell, "warmup_requests": 1000, "requests": 1000} if "requests" in cell else shorter(cell, 1 / 6, 0.15)
                for name, cell in cells.items() if name.endswith(("@0.6", "@1"))}
    return cells


def jobs_of(seeds, key, stage1=False, slow=False):
    """What is to be run: (name, cell, seed, whether it runs again). No key: the public worlds. Each pair of fresh
    seeds has worlds of its own, so that an interval over seeds knows what a draw of worlds is worth."""
    count = 1 if stage1 else seeds or (1 if slow else 5)
    draw = random.Random(key)
    numbers = [draw.randrange(2**50) for _ in range(count + count % 2)] if key else list(range(1, count + 1))
    checked = "@0.6" if stage1 or slow else f"@{CHECKED:g}"
    pairs = [cells_of(f"{key} {pair}" if key and pair else key, stage1, slow) for pair in range((len(numbers) + 1) // 2)]
    return [(name, with_load(cell, PAIR[place % 2]) if key else cell, seed, place == 0 and name.endswith(checked))
            for place, seed in enumerate(numbers) for name, cell in pairs[place // 2].items()]


def over_jobs():
    """One seed of each world above its edge."""
    return [(name.replace("@1", f"@{OVER:g}"), with_load(cell, OVER), 1, False)
            for name, cell in public_cells().items() if name.endswith("@1")]


def with_beside(result, over):
    if over:
        result["metrics"][f"beside_at_{OVER:g}"] = mean([row.get("work_in_time", 0.0) for row in over])
    return result


def evaluate(policy, seeds=None, nonce=None, stage1=False, jobs=1, beside=False, key=""):
    """The result of a policy, a dict; it never raises for what a policy did."""
    began, used = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    key = key or (key_of([policy], nonce) if nonce else "")
    with tempfile.TemporaryDirectory(prefix="esgsim-arena") as folder:
        runner = Runner(policy, folder)
        try:
            runner.compile(next(iter(public_cells().values())))
            with ThreadPoolExecutor(jobs) as pool:
                rows, over = (list(pool.map(lambda job: run_cell(runner, *job), each)) for each in
                              (jobs_of(seeds, key, stage1, runner.policy.endswith(".py")), over_jobs() if beside else []))
        except Fault as fault:
            return failed(str(fault))
        except subprocess.TimeoutExpired:
            return failed("a run took more than ten minutes")
    result = with_beside(result_of(rows, time.time() - began), over)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    result["metrics"]["processor_s"] = round(ended.ru_utime + ended.ru_stime - used.ru_utime - used.ru_stime, 1)
    return result


def recognition(policy, stage1=False):
    """How far the scores of cells move where one thing is changed that an honest policy does not look at."""
    cells = [(name, cell) for name, cell, _, _ in jobs_of(1, "", stage1) if stage1 or name.endswith("@0.6")]
    moves = {}
    with tempfile.TemporaryDirectory(prefix="esgsim-arena") as folder:
        runner = Runner(policy, folder)
        runner.compile(cells[0][1])
        for name, cell in cells:
            scores = {change: run_cell(runner, name, changed(cell, change), 1, False).get("work_in_time", 0.0)
                      for change in ("", *CHANGES)}
            for change in CHANGES:
                moves.setdefault(change, {})[name] = scores[change] - scores[""]
    return {change: {"largest": max(map(abs, each.values())), "mean": mean(each.values()), "cells": each}
            for change, each in moves.items()}


def best(policies, nonce, **options):
    """The result of the best of several candidates, in worlds of all their bytes: what chose it does not count."""
    results = {policy: evaluate(policy, **options) for policy in policies}
    chosen = max(policies, key=lambda policy: results[policy]["combined_score"])
    if not results[chosen]["validity"]:
        return results[chosen]
    again = evaluate(chosen, **{**options, "seeds": BEST_SEEDS, "stage1": False}, key=key_of(policies, nonce))
    return {**again, "policy": chosen, "chosen_by": {policy: results[policy]["combined_score"] for policy in policies}}


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


def agreement(one, other):
    """Whether another draw of worlds orders policies alike: Kendall's tau over the pairs that a paired interval of the
    first separates, and the largest difference, in either, of a pair that swaps."""
    scores = [{name: result["combined_score"] for name, result in draw.items()} for draw in (one, other)]
    counts, largest, swapped = [0, 0], 0.0, ""
    for a, b in itertools.combinations(sorted(set(one) & set(other)), 2):
        first, second = (score[a] - score[b] for score in scores)
        swaps = first * second < 0
        if separated(one[a], one[b]):
            counts[swaps] += 1
        if swaps and max(abs(first), abs(second)) > largest:
            largest, swapped = max(abs(first), abs(second)), f"{a} and {b}: {first:+.3f} and {second:+.3f}"
    pairs = sum(counts)
    return {"pairs": pairs, "tau": (counts[0] - counts[1]) / pairs if pairs else None,
            "largest_difference_that_swaps": largest, "of": swapped}


def fitted(public, fresh, shipped):
    """Public minus fresh, less the median of the shipped policies, which fitted nothing, with the interval of 95 % that
    one more of them has."""
    others = [float(row["public"]) - float(row["fresh"]) for row in shipped]
    difference = public["combined_score"] - fresh["combined_score"]
    beside = difference - statistics.median(others)
    half = T95[min(len(others) - 1, 9)] * statistics.stdev(others) * math.sqrt(1 + 1 / len(others))
    return {"public_minus_fresh": difference, "of_shipped": statistics.median(others), "beside_shipped": beside,
            "interval": [beside - half, beside + half], "fitted": beside - half > 0}


def read_results(paths):
    return {Path(path).stem: json.loads(Path(path).read_text()) for path in paths}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("policy", nargs="+", help="a name or a file, \"mine.c x=1\"; with --places and --fitted, results")
    compare = parser.add_mutually_exclusive_group()
    compare.add_argument("--places", action="store_true", help="print the places of results, as this program printed them")
    compare.add_argument("--agree", action="store_true", help="print how far two folders of results order alike")
    compare.add_argument("--fitted", action="store_true", help="print public minus fresh beside the shipped policies'")
    compare.add_argument("--recognise", action="store_true", help="print how far changed names, orders and times move the score")
    compare.add_argument("--best", action="store_true", help=f"run the best of several again, on {BEST_SEEDS} fresh seeds")
    parser.add_argument("--fresh", metavar="NONCE", help="draw the worlds from the policy and this word of the organiser")
    parser.add_argument("--sealed", metavar="FILE", help="with --fresh: print the score alone, and count FILE down")
    parser.add_argument("--stage1", action="store_true", help="three short cells alone")
    parser.add_argument("--beside", action="store_true", help=f"also one seed at {OVER:g} of the edge, beside the score")
    parser.add_argument("--seeds", type=int, help="per cell (5; 1 for Python)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (1)")
    asked = parser.parse_args()
    if (asked.agree or asked.fitted) and len(asked.policy) != 2:
        parser.error("give two of them")
    if asked.places:
        for place, name, result in places(read_results(asked.policy)):
            print(f"{place:3} {name:20} {result['combined_score']:.3f}  {result['metrics'].get('worlds', '')}")
    elif asked.agree:
        print(json.dumps(agreement(*(read_results(Path(folder).glob("*.json")) for folder in asked.policy))))
    elif asked.fitted:
        results = (json.loads(Path(path).read_text()) for path in asked.policy)
        print(json.dumps(fitted(*results, list(csv.DictReader(SHIPPED.open(encoding="utf-8"))))))
    elif asked.recognise:
        print(json.dumps(recognition(asked.policy[0], asked.stage1)))
    if asked.places or asked.agree or asked.fitted or asked.recognise:
        return 0
    options = {"seeds": asked.seeds, "stage1": asked.stage1, "jobs": asked.jobs, "beside": asked.beside}
    if asked.best:
        result = best(asked.policy, asked.fresh or parser.error("--best needs --fresh"), **options)
    elif asked.sealed:
        result = sealed(asked.policy[0], asked.fresh or "", asked.sealed, **options)
    else:
        result = evaluate(asked.policy[0], nonce=asked.fresh, **options)
    print(json.dumps(result))
    return 0 if result["validity"] else 1


if __name__ == "__main__":
    sys.exit(main())
