"""How much load does each scheduler sustain, as shipped and at the best of its listed settings, in many worlds?

    headline.py run ESGSIM RUNS.jsonl [JOBS [WORLD…]]       the searches and runs; those that RUNS has are not repeated
    headline.py page RUNS.jsonl TABLE.csv [FIGURE.svg]      HEADLINE.md on standard output. The figure needs gnuplot
    headline.py verify ESGSIM TABLE.csv WORLD POLICY        repeats one row of a world's table

All figures and sentences are computed.
"""

import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from flips import MARGIN as NEAR
from flips import holm, judge
from worlds import table

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS, TRACES = ROOT / "workloads", ROOT / "traces"

# ---- What is compared -----------------------------------------------------------------------------

PLUMBING = {"platform.cold_dispatch": "late", "record": "summary"}
OURS, FOUR = "headway", ["infless", "fast-gshare", "orion", "aquatope"]
PERIODIC = {"infless", "fast-gshare", "nexus", "gpulet"}  # change their plans or instances every 10 s, and so run longer
DRAWS = ["", "tuning_seed=2", "tuning_seed=3"]  # of Aquatope's tuning, which one draw decides
AQUATOPE = {"rounds": 10, "candidates": 128}  # of its tuning, for every run
PLAIN = "headroom=0 late=lead"  # ESG as its abstract can be read: a row beside its default

# Settings beside the shipped one, and why. They are the same in every world. The costly policies come first.
SETTINGS = {
    OURS: ([], "ours has its defaults alone"),
    "esg": ([PLAIN, "headroom=0.15", "infeasible=cheapest recheck_limit=1000"], "no margin, and late jobs first; a wider margin; batches in overload"),
    "aquatope": (["percentile=99", "batching=planned"], "a margin, batches in the tuning"),
    "least-loaded": (["max_batch=32", "head_of_line=skip", "max_batch=32 head_of_line=skip"], "as fifo"),
    "fifo": (["max_batch=32", "head_of_line=skip", "max_batch=32 head_of_line=skip"], "batches, and no wait for the first queue"),
    "orion": (["headroom=0.1", "percentile=0.99", "bundle=queued"], "a margin, and the code's bundles"),
    "clockwork": (["vgpu=1", "vgpu=2"], "shares in place of whole GPUs"),
    "infless": (["efficiency=repo", "efficiency=paper", "efficiency=paper limits=half-gpu"], "the readings of its placement"),
    "fast-gshare": (["headroom=0.2", "headroom=0.5", "headroom=1"], "spare capacity in the rate"),
    "nexus": (["vgpu=1", "vgpu=2", "split=proportional"], "shares in place of whole GPUs, its rule of splitting"),
    "gpulet": (["rate=mean", "margin=1"], "less careful plans"),
    "alpaserve": (["margin_ms=0"], "no margin; for chains of stages alone"),
}
OWN_RULE = ["clockwork", "nexus", "gpulet", "alpaserve", "infless"]  # refuse by a rule of their own, which `own_admission` turns off
REFUSING = [OURS, *OWN_RULE]
DEFAULT, NOBODY = "each by its default", "nobody refuses"


class World(NamedTuple):
    name: str
    words: str
    gpus: str
    measured: bool  # the latency profile
    base: str
    keys: dict
    slo: float
    seeds: int = 5  # of the hits; a search begins with five


def profile(name):
    return str(TRACES / f"profiles/{name}.json")


def cluster(name, count):
    return {"cluster": str(WORKLOADS / f"clusters/{name}.json"), "cluster.invokers.0.count": count}


def single(*functions):
    return {"applications": [{"name": name, "stages": [{"name": "run", "function": name}]} for name in functions]}


def chain(functions, output_bytes):
    stages = [{"name": f"s{i}", "function": name, "output_bytes": output_bytes, **({"after": [f"s{i - 1}"]} if i else {})} for i, name in enumerate(functions)]
    return {"applications": [{"name": "chain", "stages": stages}]}


def shape(process, measured_s, warmup_s, **more):
    return {"arrivals": {"process": process, "load": 1, **more}, "measured_s": measured_s, "warmup_s": warmup_s}


BURSTS = {"states": [{"rate_per_s": 1, "mean_sojourn_s": 6}, {"rate_per_s": 5, "mean_sojourn_s": 2}]}
TWITTER = {"process": "trace", "file": str(TRACES / "arrivals/twitter_2021_day1_per_second.csv.gz"), "start_s": 36000}
SHORT, LONG, MMPP = shape("poisson", 15, 30), shape("poisson", 50, 30), shape("mmpp", 40, 30, **BURSTS)
WARM = {"platform.initial": {"per_invoker": 4}}
A100, HALF, V100 = {**cluster("a100-mig-4", 4), **WARM}, {**cluster("a100-mig-4", 2), **WARM}, {**cluster("v100-mps-4", 4), **WARM}
PAPER = ["super-resolution", "segmentation", "deblur", "classification", "background-removal", "depth-recognition"]


def reconstructed(place):
    """The paper's four applications under one of two ways to share a GPU, and one of three assumptions about latency."""
    sharing, file = (("MIG", "esg-16-mig"), ("MPS", "esg-16"))[place // 3]
    name, words = (("", "vCPU share 0.2"), ("-cpu50", "vCPU share 0.5"), ("-absolute50", "GPU time measured"))[place % 3]
    return World(f"a{place + 1}", f"{sharing}, {words}", "16 A100", False, "strict-light",
                 {**cluster(file, 16), "profile": profile(f"esg-reconstructed{name}"), **shape("uniform", 30, 30)}, 1.0)


# In the order in which they are run, so that a study that is cut off has whole worlds.
WORLDS = {world.name: world for world in (
    reconstructed(0),
    World("b", "MIG, three DAGs", "4 A100", True, "a100-mixed-azure-code", {**A100, **SHORT}, 3),
    World("c", "MPS, two DAGs", "4 V100", True, "v100-detect-twitter", {**V100, **SHORT}, 2.5),
    World("d", "MPS, four networks", "4 V100", True, "v100-detect-twitter", {**V100, **SHORT, **single("alexnet", "resnet50", "vgg19", "ssd")}, 4),
    World("e", "MPS, two chains", "12 2080 Ti", True, "2080ti-infless", SHORT, 1.2),
    World("f1", "MIG, three DAGs, MMPP", "2 A100", True, "a100-mixed-azure-code", {**HALF, **MMPP}, 3, 8),
    World("f2", "MIG, three DAGs, Twitter", "2 A100", True, "a100-mixed-azure-code", {**HALF, "arrivals": TWITTER}, 3),
    World("g", "MIG, three single networks", "2 A100", True, "a100-mixed-azure-code",
          {**HALF, **SHORT, **single("mobilenetv2", "resnet50", "densenet169")}, 4),
    World("h", "MPS, one network", "1 V100", True, "v100-detect-twitter", {**cluster("v100-mps-4", 1), **WARM, **SHORT, **single("resnet50")}, 3),
    World("i", "MPS, a chain of ten, vCPU share 0.2", "8 A100", False, "strict-light", {**cluster("esg-16", 8), **LONG, **chain([*PAPER, *PAPER[:4]], 600000)}, 1.2),
    World("j", "MPS, a join, MMPP", "2 V100", True, "v100-detect-twitter",
          {**cluster("v100-mps-4", 2), **WARM, **MMPP, "applications": [str(WORKLOADS / "applications/v100-detect.json")]}, 3, 8),
    World("k", "MIG, a cluster of five, vCPU share 0.5", "5 A100", False, "strict-light",
          {**cluster("esg-16-mig", 5), "profile": profile("esg-reconstructed-cpu50"), **LONG}, 1.0),
    World("l", "shares of one H200, a chain and a fork", "1 H200", True, "proof-light", SHORT, 2.5),
    *map(reconstructed, (3, 1, 2, 4, 5)),
)}

THRESHOLD = 0.95
LEVELS = [0.06, 0.13, 0.19, 0.28, 0.41, 0.6, 0.75, 0.9, 1.1, 1.35, 1.7, 2.1, 2.6, 3.2, 4]  # of the tuning, which begins at FIRST
FIRST, HALVINGS = 0.6, 2
TUNING = {"seed": 7001, "seeds": 2}
SHOWN = {"seed": 7101, "seeds": 5, "most": 10, "tolerance": 0.12}
AROUND = [0.9, 1.0, 1.2]  # of the greatest load that anybody sustains
NEARBY = 0.6  # of it, which a policy must sustain for its hits there to be run, unless it refuses requests
HITS, COST = "slo_hit_rate", "cost_per_hit_usd"
MEASURES = [HITS, COST, "drop_rate", "goodput_per_s", "slo_hit_rate_worst_application", "jain_index"]
LOSS, DEARER = 2.0, 2.0  # points of hits; per cent of cost at hits within NEAR points


# ---- Runs -----------------------------------------------------------------------------------------

class Unknown(Exception):
    """An answer that the file does not have, and there is no program to ask."""


class Runs:
    """Answers of the program, by their key. A file keeps them, so that a broken study goes on."""

    def __init__(self, esgsim, path):
        self.esgsim, self.path, self.lock, self.spent = esgsim, Path(path), threading.Lock(), threading.local()
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        rows = list(map(json.loads, lines))
        self.known = {row["key"]: row["value"] for row in rows}
        self.minutes = sum(row["cpu_s"] for row in rows) / 60

    def call(self, *arguments):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:
            with subprocess.Popen([self.esgsim, *arguments, "--quiet"], stdout=out, stderr=told) as child:
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            self.spent.s = getattr(self.spent, "s", 0) + usage.ru_utime + usage.ru_stime
            texts = []
            for file in (out, told):
                file.seek(0)
                texts.append(file.read().decode())
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, arguments, *texts)
        return texts[0]

    def answer(self, key, compute):
        if key not in self.known and self.esgsim is None:
            raise Unknown
        if key not in self.known:
            self.spent.s = 0
            value = compute()
            with self.lock, self.path.open("a", encoding="utf-8") as out:
                self.known[key] = value
                print(json.dumps({"key": key, "value": value, "cpu_s": round(self.spent.s, 2)}), file=out, flush=True)
        return self.known[key]


def refusals(runs):
    """{policy: by which rule it refuses requests unless it is told otherwise}"""
    return runs.answer("refusals", lambda: {policy["name"]: policy["refuses"] for policy in json.loads(runs.call("list", "policies", "--json"))["policies"]
                                            if "refuses" in policy})


def params_of(words):
    pairs = (pair.split("=") for pair in words.split())
    return {key: float(value) if value.replace(".", "").isdigit() else value for key, value in pairs}


def clamp(low, high):
    """The edge where all that is known are two levels between which hits fall below the wish."""
    return {"holds": low, "crossing": math.sqrt(low * high) if low and high else low or 0, "fails": high, "visited": []}


def sustained(edge):
    """0 where no load surely holds, or where hits are near the wish over loads of which one is thrice another."""
    low, high = edge["holds"], edge["fails"]
    return edge["crossing"] if low and (high is None or high <= 3 * low) else 0


class Cell:
    """A world, and who refuses in it."""

    def __init__(self, runs, world, refusing=DEFAULT):
        self.runs, self.world, self.refusing = runs, world, refusing
        self.base = str(WORKLOADS / f"experiments/{world.base}.json")
        self.keys = {**world.keys, **PLUMBING, "slo.factor": world.slo, **({"platform.admission": "none"} if refusing == NOBODY else {})}
        self.over, self.unit, self.rate = "arrivals.load", 1.0, 0.0
        if self.keys["arrivals"]["process"] == "trace":  # it has no load: a second at load 1 says which rate that is
            second = self.settings({**self.keys, **shape("poisson", 1, 0)}, "fifo", "")
            rate, mean = runs.answer(f"{world.name}; rates", lambda: [
                json.loads(runs.call("run", self.base, "--json", *second))["capacity_per_s"],
                json.loads(runs.call("trace", "stats", self.keys["arrivals"]["file"], "--json"))["mean_rate_per_s"]])
            self.over, self.unit = "arrivals.scale_rate", rate / mean
            self.rate = rate

    def length(self, name):
        """How long a policy runs: a trace by requests, of which it has so many in a second at load 1."""
        measured, warmup = self.world.keys.get("measured_s", 40), self.world.keys.get("warmup_s", 30)
        if name in PERIODIC:
            measured, warmup = max(measured, 40), 60
        return {"requests": round(measured * self.rate), "warmup_requests": round(warmup * self.rate)} if self.rate else {"measured_s": measured, "warmup_s": warmup}

    def answer(self, what, compute):
        return self.runs.answer(f"{self.world.name}; {self.refusing}; {what}", compute)

    def policy(self, name, words):
        off = "own_admission=off" if self.refusing == NOBODY and name in OWN_RULE else ""
        return {"name": name, "params": {**(AQUATOPE if name == "aquatope" else {}), **params_of(f"{words} {off}")}}

    def settings(self, keys, name, words):
        whole = {**keys, "policy": self.policy(name, words)}
        return [part for key, value in whole.items() for part in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]

    def sweep(self, policies, loads, seed, seeds):
        """{(policy's place, load's place): the rows of `report --format tidy`, by seed}."""
        rows = [{"name": f"{p} {at}", **self.keys, **self.length(name), "policy": self.policy(name, words),
                 "arrivals": {**self.keys["arrivals"], self.over.split(".")[1]: load * self.unit}}
                for p, (name, words) in enumerate(policies) for at, load in enumerate(loads)]
        with tempfile.TemporaryDirectory() as folder:
            file, results = Path(folder) / "sweep.json", str(Path(folder) / "sweep.h5")
            file.write_text(json.dumps({"base": self.base, "matrix": {"setting": rows}, "seeds": seeds}), encoding="utf-8")
            self.runs.call("sweep", str(file), "--set", f"seed={seed}", "--jobs", "1", "--out", results)
            told = self.runs.call("report", results, "--format", "tidy")
        found = {}
        for row in sorted(csv.DictReader(io.StringIO(told)), key=lambda row: int(row["seed"])):
            found.setdefault(tuple(map(int, row["setting"].split())), []).append(row)
        return found

    def tuned(self, name):
        """{"best": the setting that sustains most, "brackets": {setting: [last load that held, first that failed]}, "hits": {load: those
        of the shipped setting}}; None: the policy does not fit the world. Brackets are halved as long as several lead."""
        words = ["", *SETTINGS[name][0]]
        held, failed, last, hits = dict.fromkeys(words), dict.fromkeys(words), {}, {}

        def look(load, left):
            found = self.sweep([(name, one) for one in left], [load], TUNING["seed"], TUNING["seeds"])
            for p, one in enumerate(left):
                last[one] = statistics.fmean(float(row[HITS]) for row in found[p, 0])
                (held if last[one] >= THRESHOLD else failed)[one] = load
            hits.update({f"{load:g}": last[""]} if "" in left else {})
            return [one for one in left if last[one] >= THRESHOLD]

        def search():
            level = LEVELS.index(FIRST)
            try:
                lead = look(LEVELS[level], words)
            except subprocess.CalledProcessError as error:
                if "is not a chain" in error.stderr:
                    return None
                raise
            while not lead and level > 0:
                level -= 1
                lead = look(LEVELS[level], words)
            while lead and failed[lead[0]] is None and level + 1 < len(LEVELS):
                level += 1
                lead = look(LEVELS[level], lead) or lead
            # All that lead have one bracket. What fails in its middle, while another holds there, no longer leads.
            for _ in range(HALVINGS if lead and failed[lead[0]] else 0):
                lead = look(math.sqrt(held[lead[0]] * failed[lead[0]]), lead) or lead
            return {"best": max(lead, key=lambda one: (one == "", last[one])) if lead else "", "hits": hits,
                    "brackets": {one: [held[one], failed[one]] for one in words}}
        return self.answer(f"tuned; {name}", search)

    def edge(self, name, words, low, high):
        """{"holds": last load that surely holds, "crossing": 0: none, "fails": first that surely fails, "visited": [[load, hits]]}."""
        def search():
            at, end, seen = low / 1.05, high * 1.05, {}
            for _ in range(3):
                told = json.loads(self.runs.call(
                    "capacity", self.base, "--over", self.over, "--at-least", str(THRESHOLD), "--greatest", "--json", "--jobs", "1",
                    "--low", f"{at * self.unit:.6g}", "--high", f"{end * self.unit:.6g}", "--seeds", str(SHOWN["seeds"]), "--max-seeds", str(SHOWN["most"]),
                    "--tolerance", str(SHOWN["tolerance"]), *self.settings({**self.keys, **self.length(name), "seed": SHOWN["seed"]}, name, words)))["policies"][0]
                seen.update({point["value"] / self.unit: point["mean"] for point in told["visited"]})
                holds, fails = told["interval"]
                if holds is not None and fails is not None:
                    break
                at, end = (at / 1.5 if holds is None else at), (end * 1.5 if fails is None else end)
            return {"holds": holds and holds / self.unit, "crossing": (told["crossing"] or 0) / self.unit, "fails": fails and fails / self.unit,
                    "visited": sorted(seen.items())}
        return self.answer(f"edge; {name} {words}", search)

    def hits(self, name, words, leader):
        """{measure: [values by seed, for each load of AROUND]}."""
        def search():
            found = self.sweep([(name, words)], [around * leader for around in AROUND], SHOWN["seed"], self.world.seeds)
            return {measure: [[float(row[measure]) if row[measure] else None for row in found[0, at]] for at in range(len(AROUND))] for measure in MEASURES}
        return self.answer(f"hits at {leader:.4f}; {name} {words}", search)


def row_of(cell, name):
    """What is known of a policy: {setting: edge}, and the best setting; None: it does not fit the world."""
    tuned = cell.tuned(name)
    if tuned is None:
        return None
    brackets, best = tuned["brackets"], tuned["best"]
    edges = {}
    for words in {best: 0, "": 0, **({PLAIN: 0} if name == "esg" else {})}:
        low, high = brackets[words]
        near = words in (best, PLAIN) or name == "esg" or (low and low >= 0.8 * brackets[best][0])
        edges[words] = cell.edge(name, words, low, high) if low and high and near else clamp(low, high)
    if name == "aquatope" and all(brackets[best]):
        draws = [edges[best], *(cell.edge(name, f"{best} {draw}".strip(), *brackets[best]) for draw in DRAWS[1:])]
        lows, highs = ([draw[end] for draw in draws] for end in ("holds", "fails"))
        edges[best] = {"holds": None if None in lows else min(lows), "crossing": statistics.median(draw["crossing"] for draw in draws),
                       "fails": None if None in highs else max(highs), "visited": sum((draw["visited"] for draw in draws), [])}
    # On the seeds that are shown, too, the better of the two stands in the tables.
    best = max((one for one in edges if one != PLAIN or one == best), key=lambda one: (sustained(edges[one]), one == best))
    return {"best": best, "edges": edges, "hits": tuned["hits"]}


class Told:
    """What is known of a world."""

    def __init__(self, runs, world, pool=map):
        self.world, self.cell = world, Cell(runs, world)
        self.rows = {name: row for name, row in zip(SETTINGS, pool(lambda name: row_of(self.cell, name), SETTINGS)) if row}
        self.best = {name: row["best"] for name, row in self.rows.items()}
        self.edges = {name: row["edges"][row["best"]] for name, row in self.rows.items()}
        self.shipped = {name: row["edges"][""] for name, row in self.rows.items()}
        self.leader = max(map(sustained, self.edges.values())) or FIRST
        self.plain = self.rows["esg"]["edges"][PLAIN]
        near = [name for name in self.best if name in REFUSING or sustained(self.edges[name]) >= NEARBY * self.leader]
        self.values = dict(zip(near, pool(lambda name: self.cell.hits(name, self.best[name], self.leader), near)))
        nobody = Cell(runs, world, NOBODY)
        who = [name for name in self.best if name in REFUSING and sustained(self.edges[name])]
        found = pool(lambda name: nobody.edge(name, self.best[name], 0.8 * self.edges[name]["crossing"], self.edges[name]["crossing"]), who)
        self.nobody = {**self.edges, **dict(zip(who, found))}


def tell(runs, worlds=None, pool=map):
    """The worlds with all answers; without a program only those that are in the file."""
    told = []
    for name in worlds or WORLDS:
        try:
            told.append(Told(runs, WORLDS[name], pool))
        except Unknown:
            pass
    return told


def study(esgsim, path, jobs=2, *worlds):
    """All runs. The page finds the same answers without a run."""
    runs = Runs(esgsim, path)
    refusals(runs)
    with ThreadPoolExecutor(int(jobs)) as workers:
        tell(runs, worlds, workers.map)


# ---- The page -------------------------------------------------------------------------------------

def load_words(edge, hits=()):
    """Hits: {load: those of the tuning}, for a policy that was not searched further."""
    if sustained(edge):
        low, high = edge["holds"], edge["fails"]
        return f"{edge['crossing']:.2f} [{low:.2f}, {high:.2f}]" if high else f"> {low:.2f}"
    seen = edge["visited"] or [[float(load), value] for load, value in dict(hits).items()]
    if not seen:  # of a setting of which the choice needed to know no more
        return f"< {edge['fails']:.2g}"
    loads, values = [load for load, _ in seen], [100 * value for _, value in seen]
    return f"no edge: {min(values):.0f}–{max(values):.0f} % at loads {min(loads):.2g}–{max(loads):.2g}"


def above(one, two):
    """Whether the interval of the first is above that of the second."""
    return bool(sustained(one)) and two["fails"] is not None and one["holds"] >= two["fails"]


def rivals(edges):
    return [name for name in edges if name != OURS]


def best_rival(edges):
    return max(rivals(edges), key=lambda name: sustained(edges[name]))


def places(edges):
    """{policy: 1 + how many sustain surely more}, so that those that no interval separates share a place. The first one first."""
    found = {name: 1 + sum(above(other, edge) for other in edges.values()) for name, edge in edges.items()}
    return dict(sorted(found.items(), key=lambda item: (item[1], -sustained(edges[item[0]]))))


def pairs(told, at):
    """{policy: (points that ours hits more, sure?, per cent that ours costs more per hit or None, sure?)}; Holm over the world."""
    tests = []
    for name in rivals(told.values):
        for measure in (HITS, COST):
            two = list(zip(told.values[OURS][measure][at], told.values[name][measure][at]))
            if all(None not in pair for pair in two):
                tests.append((name, measure, *judge([100 * (a - b if measure == HITS else a / b - 1) for a, b in two])))
    adjusted = holm([test[3] for test in tests])
    found = {(name, measure): (mean, p < 0.05) for (name, measure, mean, _), p in zip(tests, adjusted)}
    return {name: (*found[name, HITS], *found.get((name, COST), (None, False))) for name in rivals(told.values)}


def mean_of(values, scale=1.0, form=".1f"):
    return "-" if None in values else f"{scale * statistics.fmean(values):{form}}"


def cell_table(told):
    found, found_by = places(told.edges), pairs(told, AROUND.index(1.0))
    rows = []
    for name, place in found.items():
        words, row = told.best[name], [str(place), f"`{name}`"]
        row += [f"`{words}`" if words else "as shipped", load_words(told.edges[name], told.rows[name]["hits"])]
        if name in told.values:
            values = told.values[name]
            row += [" / ".join(mean_of(one, 100) for one in values[HITS]), mean_of(values["drop_rate"][-1], 100), mean_of(values[COST][0], 1000, ".3g")]
        row += [f"{found_by[name][0]:+.1f}{'*' * found_by[name][1]}" if name in found_by else "" if name == OURS else "-"]
        rows.append([*row[:-1], *["-"] * (8 - len(row)), row[-1]])
    rows += [["", "`esg`", f"`{PLAIN}`", load_words(told.plain), "", "", "", ""]] if told.best["esg"] != PLAIN else []
    head = ["place", "policy", "setting", "sustains", "hits %", "refused %", "$/1,000 hits", "ours hits more, points"]
    world, load = told.world, told.leader
    return (f"### ({world.name}) {world.gpus}: {world.words}\n\nSLO × {world.slo:g}, {'measured' if world.measured else 'reconstructed'} profile, {world.keys.get('measured_s', 40)} s. Hits at loads "
            f"{' / '.join(f'{around * load:.2f}' for around in AROUND)}, refused at the last, $ at the first, difference at {load:.2f}.\n\n{table(head, rows)}\n")


def compared(cells, edges_of):
    """(ratios, worlds in which ours surely sustains more, surely less) against the best other."""
    ratios, more, less = [], [], []
    for told in cells:
        edges = edges_of(told)
        rival = best_rival(edges)
        if sustained(edges[rival]):
            ratios.append(sustained(edges[OURS]) / sustained(edges[rival]))
        (more if above(edges[OURS], edges[rival]) else less if above(edges[rival], edges[OURS]) else []).append(
            f"({told.world.name})" + (f" ×{ratios[-1]:.2f} of `{rival}`" if sustained(edges[rival]) else ""))
    return ratios, more, less


GROUPS = [("measured profiles", True), ("reconstructed profiles", False)]
TABLES = [(DEFAULT, lambda told: told.edges), (NOBODY, lambda told: told.nobody)]


def ratio_words(ratios):
    return f"×{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "-"


def ratio_table(cells):
    rows = []
    for refusing, edges_of in TABLES:
        for words, measured in GROUPS:
            chosen = [told for told in cells if told.world.measured == measured]
            ratios, more, less = compared(chosen, edges_of)
            rows.append([refusing, f"{len(chosen)} with {words}", ratio_words(ratios), str(len(more)), str(len(chosen) - len(more) - len(less)),
                         f"{len(less)}{': ' if less else ''}{', '.join(less)}"])
    return table(["who refuses", "worlds", f"`{OURS}` ÷ best other, median (range)", "more", "the same", "less"], rows)


def load_sentence(cells):
    def counted(chosen, edges_of):
        ratios, more, less = compared(chosen, edges_of)
        return f"{ratio_words(ratios)}: surely more in {len(more)}, surely less in {len(less)}"
    measured, others = ([told for told in cells if told.world.measured == measured] for _, measured in GROUPS)
    firsts = Counter(name for told in cells for name, place in places(told.edges).items() if place == 1)
    alone = sum([name for name, place in places(told.edges).items() if place == 1] == [OURS] for told in cells)
    less = compared(cells, TABLES[0][1])[2]
    return (f"How much load does each scheduler sustain, with {100 * THRESHOLD:g} % in time? Each refuses requests as it does by default, and each rival has the best of its listed settings. "
            f"`{OURS}`, at its defaults, sustains this part of what the best rival does (median, range). In {len(measured)} worlds with measured profiles: {counted(measured, TABLES[0][1])}. "
            f"In {len(others)} with reconstructed profiles: {counted(others, TABLES[0][1])}. Where nobody refuses, in all {len(cells)}: {counted(cells, TABLES[1][1])}. "
            + (f"Surely less by default: {', '.join(less)}. " if less else "")
            + f"Places are shared unless intervals are disjoint: `{OURS}` is first in {firsts.pop(OURS, 0)} of {len(cells)} worlds, alone in {alone}. Other firsts: "
            f"{', '.join(f'`{name}` {count}' for name, count in firsts.most_common()) or 'none'}.")


def esg_sentence(cells):
    def count(edges_of, against):
        return sum(not any(above(edges_of(told)[name], against(told)) for name in FOUR) for told in cells)
    shipped, best = (lambda told: told.shipped), (lambda told: told.edges)
    fifo = [sum(above(told.edges[one], told.edges[two]) for told in cells) for one, two in (("esg", "fifo"), ("fifo", "esg"))]
    return (f"None of the four systems that ESG was compared with sustains surely more than `esg` in {count(shipped, lambda told: told.shipped['esg'])} of {len(cells)} worlds as "
            f"shipped, in {count(shipped, lambda told: told.plain)} if it runs with `{PLAIN}`, and in {count(best, lambda told: told.edges['esg'])} with all five at their best "
            f"listed settings. There `esg` sustains surely more than `fifo` in {fifo[0]}, and surely less in {fifo[1]}.")


def losses(cells):
    """([(place in AROUND, words)] where a rival hits over LOSS points more, words where ours is dearer at equal hits, number of pairs)."""
    hits, dearer, count = [], [], 0
    for told in cells:
        for at, around in enumerate(AROUND):
            for name, (points, sure, cost, cost_sure) in pairs(told, at).items():
                count += 1
                where = f"({told.world.name}) {told.world.words}, load {around:g} × {told.leader:.2f}, `{name}`"
                if points < -LOSS:
                    hits.append((at, told.world.name, f"{where}: {points:+.1f}{'*' * sure}"))
                elif abs(points) <= NEAR and cost is not None and cost > DEARER:
                    dearer.append(f"{where}: {cost:+.1f} %{'*' * cost_sure}")
    return hits, dearer, count


def world_row(told):
    def of(name):
        return f"{sustained(told.edges[name]):.2f}" if sustained(told.edges[name]) else "-"
    found = places(told.edges)
    first = [name for name, place in found.items() if place == 1]
    rival = best_rival(told.edges)
    return [f"({told.world.name}) {told.world.words}", told.world.gpus, "measured" if told.world.measured else "reconstructed", of(OURS), f"{of(rival)} `{rival}`",
            of("esg"), of("fifo"), ", ".join(f"`{name}`" for name in first)]


FIELDS = ["world", "words", "measured", "policy", "setting", "place", "load", "holds", "fails", "shipped_load", "shipped_holds", "shipped_fails",
          "nobody_load", "nobody_holds", "nobody_fails", "at", *(f"{measure}_{around:g}" for measure in MEASURES for around in AROUND)]


def csv_row(told, name, place):
    def short(value):
        return "" if value is None else f"{value:.6g}"

    def three(edge):
        return [sustained(edge), edge["holds"], edge["fails"]]
    numbers = [*three(told.edges[name]), *three(told.shipped[name]), *three(told.nobody[name])]
    means = [None if None in values else statistics.fmean(values) for measure in MEASURES for values in told.values.get(name, {}).get(measure, [[None]] * len(AROUND))]
    return [told.world.name, told.world.words, int(told.world.measured), name, told.best[name], place, *map(short, numbers), repr(told.leader), *map(short, means)]


def write_table(cells, path):
    with open(path, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(FIELDS)
        for told in cells:
            rows.writerows(csv_row(told, name, place) for name, place in places(told.edges).items())


def draw(cells, path):
    """A panel for each kind of profile, a row for each policy, a dot for each world, a diamond at the median; by plots/dots.gp."""
    share = {name: {measured: [100 * sustained(told.edges[name]) / told.leader for told in cells if told.world.measured == measured and name in told.edges]
                    for _, measured in GROUPS} for name in SETTINGS}
    least = min(sum(share[OURS].values(), []))
    order = sorted(SETTINGS, key=lambda name: -statistics.median(sum(share[name].values(), [0.0])))
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["panel", "panel_title", "axis", "row", "contender", "value", "low", "high", "bound", "colour", "point", "subject", "caption"])
        for panel, (words, measured) in enumerate(GROUPS, 1):
            for place, name in enumerate(order, 1):
                own, few = (0x0072B2 if name == OURS else 0xC4C4C4), share[name][measured]  # dots.gp draws no interval in this grey
                for value, colour, point in [*((value, own, 7) for value in few), *([(statistics.median(few), 0x0072B2 if name == OURS else 0x222222, 13)] if few else [])]:
                    rows.writerow([panel, f"{words}: {sum(told.world.measured == measured for told in cells)} worlds", "load sustained (% of the best)", place, name,
                                   f"{value:.2f}", "", "", "", colour, point, "-",
                                   "A dot is a world and a diamond the median. Everyone refuses by its default. Each rival is at its best listed setting. At 0 no load is sustained."])
        out.flush()
        subprocess.run(["gnuplot", "-e", f"data='{out.name}'; out='{path}'; folder='{ROOT}/plots/'; least=-4; most=104; "
                        f"heading='In each world {OURS} sustains at least {least:.0f} % of the load that the best scheduler does'", str(ROOT / "plots/dots.gp")], check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    # Browsers show titles as tooltips.
    path = Path(path)
    path.write_text(re.sub(r"\s*<title>[^<]*</title>", "", path.read_text(encoding="utf-8")), encoding="utf-8")


def page(path, data, figure=None):
    runs = Runs(None, path)
    cells = tell(runs)
    hits, dearer, count = losses(cells)
    write_table(cells, data)
    def where(at):
        return ", ".join(dict.fromkeys(f"({name})" for one, name, _ in hits if one == at)) or "nowhere"
    by_load = "; ".join(f"at {around:g} × {sum(at == one for one, _, _ in hits)}: {where(at)}" for at, around in enumerate(AROUND))
    print(f"""# How much load does each scheduler sustain?
""")
    if figure:
        draw(cells, figure)
        print("![Load that each scheduler sustains, as a share of the best scheduler's, in each world](../paper/headline-worlds.svg)\n")
    print(f"""**A load is sustained if {100 * THRESHOLD:g} % of the requests are in time.** A *world* is a set of GPUs, applications, a deadline (SLO), arrivals and a latency profile. Load 1 is the
capacity of the cluster if every job uses its smallest configuration. Each scheduler runs at the best of its *listed settings*, chosen in each world on two seeds of their own.
`{OURS}`, which is ours, runs with its defaults only. "Words" in `sim/README.md` explains the terms.

<!-- begin headline -->
{load_sentence(cells)}

{esg_sentence(cells)}
<!-- end headline -->

{ratio_table(cells)}

*More* and *less* ("surely"): the 99 % intervals of the load are disjoint. *The same*: they overlap.

**What `{OURS}` pays.** At {', '.join(f'{around:g}' for around in AROUND[:-1])} and {AROUND[-1]:g} times the greatest load that anybody sustains in a world, it hits over {LOSS:g} points less than
a rival in {len(hits)} of {count} pairs of a rival and a load ({by_load}). It is over {DEARER:g} % dearer per hit, at hits within {NEAR:g} point, in {len(dearer)}. Both are listed below.

{table(["world", "GPUs", "profile", f"`{OURS}`", "best other", "`esg`", "`fifo`", "first place"], list(map(world_row, cells)))}

Loads sustained; "-": none. Policies share a place unless their intervals are disjoint: a place is one more than the number of policies that surely sustain more. A policy that refuses more than {100 - 100 * THRESHOLD:g} % does not sustain the load, so no place rests on refusals.

## How it was run

{len(cells)} of {len(WORLDS)} worlds are complete{'' if len(cells) == len(WORLDS) else '; the others are omitted'}. The runs took {runs.minutes:.0f} minutes of one core. `make headline` repeats them, and resumes after an interruption.
`esgsim verify headline --world a1 --policy fifo` repeats one row. `results/paper/headline-worlds.csv` has all numbers, also goodput, the worst application and Jain's index.

* **Search**: `esgsim capacity` gives the load at which the mean of hits crosses {100 * THRESHOLD:g} %, and in brackets the last load that surely holds and the first that surely fails. Seeds {SHOWN["seed"]} to
  {SHOWN["seed"] + SHOWN["most"] - 1}: {SHOWN["seeds"]} at first. Hits use {' or '.join(map(str, sorted({world.seeds for world in WORLDS.values()})))} of them, more under MMPP. *No edge*: hits do not cross the wish, or stay near it over a wide range of loads.
* **Choice**: on seeds {TUNING["seed"]} to {TUNING["seed"] + TUNING["seeds"] - 1}, the setting that sustains most: brackets are halved {HALVINGS} times as long as several settings lead. The shipped setting wins ties, and stands in the row if it sustains
  more on the shown seeds. No default of any policy was set on these seeds. `{OURS}`'s were set on others (`sched/HEADWAY.md`), in part in worlds with the profiles and clusters of (a1) to (a6).
* **Length**: each world's heading has the seconds that count, after 30 s of warm-up. {', '.join(f'`{name}`' for name in SETTINGS if name in PERIODIC)} plan every 10 s, and have at least 40 s after 60 s. In (f2) every
  seed replays the same part of the trace, of this length at load 1. A slow overload shows only in longer runs, so these loads are those of runs of this length.
* **Platform**, for all: containers wait for none (`platform.cold_dispatch` {PLUMBING["platform.cold_dispatch"]}), the same warm containers, no pool. Aquatope tunes with {AQUATOPE["rounds"]} rounds of {AQUATOPE["candidates"]} candidates. Its row has
  the middle of {len(DRAWS)} draws of the tuning, and the interval covers all of them. Its hits are of the first draw.
""")
    print(table(["policy", "settings beside the shipped one", "why", "refuses by default"],
                [[f"`{name}`", ", ".join(f"`{one}`" for one in words) or "none", why, refusals(runs).get(name, "nothing")] for name, (words, why) in SETTINGS.items()]) + "\n")
    for title, items in ((f"Where `{OURS}` hits over {LOSS:g} points less", [words for _, _, words in hits]), (f"Where `{OURS}` is over {DEARER:g} % dearer at equal hits", dearer)):
        print(f"## {title}\n\n" + ("\n".join(f"* {item}" for item in items) or "Nowhere.") + "\n")
    print(f"""## Everyone refuses by its default

Hits are at {' / '.join(f'{around:g}' for around in AROUND)} times the greatest load that anybody sustains, for those that sustain {100 * NEARBY:g} % of it or refuse requests ("-": not run). "*": Holm's adjusted p is below 0.05 over the pairs of `{OURS}` and the others in this world, hits and cost, paired by seed.
""")
    print("\n".join(map(cell_table, cells)))
    who = [*REFUSING, "esg", "fifo"]
    rows = [[f"({told.world.name})", *(load_words(told.nobody[name], told.rows[name]["hits"]) if name in told.nobody else "-" for name in who)] for told in cells]
    print("## Nobody refuses\n\nLoad sustained with `platform.admission` none and each policy's own rule off, at the settings chosen above. Those that refuse nothing have the loads above.\n")
    print(table(["world", *(f"`{name}`" for name in who)], rows))


def verify(esgsim, data, world, name):
    """Prints the row that TABLE.csv has, and what a repetition gives; exit status 1 where they differ."""
    with open(data, encoding="utf-8") as file:
        known = {(row["world"], row["policy"]): row for row in csv.DictReader(file)}
    if (world, name) not in known:
        worlds, policies = (", ".join(dict.fromkeys(key[part] for key in known)) for part in (0, 1))
        print(f"esgsim: verify: headline: no world '{world}' with a policy '{name}'; worlds: {worlds}; policies: {policies}", file=sys.stderr)
        return 2
    want = known[world, name]
    with tempfile.TemporaryDirectory() as folder:
        cell = Cell(Runs(esgsim, Path(folder) / "runs.jsonl"), WORLDS[world])
        row = row_of(cell, name)
        edge = row["edges"][row["best"]]
        values = cell.hits(name, row["best"], float(want["at"])) if want[f"{HITS}_1"] else {HITS: []}
    got = {"setting": row["best"], "load": f"{sustained(edge):.6g}", "holds": f"{edge['holds'] or 0:.6g}", "fails": f"{edge['fails'] or 0:.6g}",
           **{f"{HITS}_{around:g}": f"{statistics.fmean(values[HITS][at]):.6g}" for at, around in enumerate(AROUND) if values[HITS]}}
    for key, value in got.items():
        same = value == (want[key] or "0") if key != "setting" else value == want[key]
        print(f"{'PASS   ' if same else 'DIFFERS'} {world} {name} {key}: {want[key] or ('as shipped' if key == 'setting' else '-')}" + ("" if same else f", printed {value}"))
    return int(any((want[key] or "0" if key != "setting" else want[key]) != value for key, value in got.items()))


if __name__ == "__main__":
    sys.exit({"run": study, "page": page, "verify": verify}[sys.argv[1]](*sys.argv[2:]))
