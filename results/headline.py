"""How much load does each scheduler sustain, as shipped and at the best of its listed settings, in many worlds?

    headline.py run ESGSIM RUNS.jsonl [JOBS [WORLD…]]     the searches and runs; those that RUNS has are not repeated
    headline.py page RUNS.jsonl [FIGURE.svg] >HEADLINE.md  what they show; FIGURE.csv beside the figure. Needs gnuplot

All figures and sentences are computed.
"""

import csv
import io
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flips import MARGIN as NEAR
from flips import draw_svg, holm, judge
from worlds import table

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS, TRACES = ROOT / "workloads", ROOT / "traces"

# ---- What is compared -----------------------------------------------------------------------------

# All have the same plumbing. The first admission has the main tables, and settings are chosen under it.
PLUMBING = {"platform.cold_dispatch": "late", "record": "summary"}
ADMISSIONS = ["none", {"rate": "efficient"}]
OURS = "headway"
AQUATOPE = {"rounds": 10, "candidates": 128}  # of its tuning, for every run

# Settings beside the shipped one, at most six, and why. They are the same in every world.
SETTINGS = {
    "esg": (["headroom=0.1", "headroom=0.15", "headroom=0.1 late=ride", "headroom=0.1 infeasible=cheapest recheck_limit=1000"],
            "a margin as the others have, late jobs that ride along, batches in overload"),
    "infless": (["efficiency=repo", "efficiency=paper", "efficiency=paper limits=half-gpu", "first=largest"],
                "the readings of its placement, and a first instance with the largest batch"),
    "fast-gshare": (["headroom=0.2", "headroom=0.5", "headroom=1"], "spare capacity in the rate"),
    "orion": (["headroom=0.1", "percentile=0.99", "bundle=queued"], "a margin, and the code's bundles"),
    "aquatope": (["percentile=99", "batching=planned", "placement=best-fit"], "a margin, batches in the tuning, placement"),
    "fifo": (["max_batch=32", "head_of_line=skip", "max_batch=32 head_of_line=skip"], "batches, and no wait for the first queue"),
    "least-loaded": (["max_batch=32", "head_of_line=skip", "max_batch=32 head_of_line=skip"], "as fifo"),
    "clockwork": (["vgpu=1", "vgpu=2", "vgpu=4", "vgpu=2 max_batch=32"], "shares in place of whole GPUs"),
    "nexus": (["vgpu=1", "vgpu=2", "vgpu=4", "split=proportional"], "shares in place of whole GPUs, its rule of splitting"),
    "gpulet": (["rate=mean", "margin=1", "interference=none"], "less careful plans"),
    "alpaserve": (["margin_ms=0"], "no margin; for chains of stages alone"),
    OURS: ([], "ours has its defaults alone"),
}


def profile(name):
    return str(TRACES / f"profiles/esg-reconstructed{name}.json")


def cluster(name):
    return str(WORKLOADS / f"clusters/{name}.json")


BURSTS = [{"rate_per_s": 1, "mean_sojourn_s": 6}, {"rate_per_s": 5, "mean_sojourn_s": 2}]
WARM = {"platform.initial": {"per_invoker": 4}}
MINUTES = {"measured_s": 60, "warmup_s": 60}
A100 = {"cluster": cluster("a100-mig-4"), **WARM}
V100 = {"cluster": cluster("v100-mps-4"), **WARM}
SINGLE = [{"name": name, "stages": [{"name": "run", "function": name}]} for name in ("alexnet", "resnet50", "vgg19", "ssd")]
POISSON = {"arrivals": {"process": "poisson", "load": 1}, **MINUTES}
TWITTER = {"arrivals": {"process": "trace", "file": str(TRACES / "arrivals/twitter_2021_day1_per_second.csv.gz"), "start_s": 36000}}
UNIFORM = {"arrivals": {"process": "uniform", "load": 1}, **MINUTES}
# Letter, words, experiment, its keys, SLO factors.
WORLDS = [
    *(("a", f"{sharing}, {words}", "strict-light", {"cluster": cluster(file), "profile": profile(name), **UNIFORM}, (1.0,))
      for sharing, file in (("MIG", "esg-16-mig"), ("MPS", "esg-16"))
      for name, words in (("", "vCPU share 0.2"), ("-cpu50", "vCPU share 0.5"), ("-absolute50", "GPU time measured"))),
    ("b", "A100 MIG, three DAGs", "a100-mixed-azure-code", {**A100, **POISSON}, (3,)),
    ("c", "V100 MPS, two DAGs", "v100-detect-twitter", {**V100, **POISSON}, (2.5,)),
    ("d", "V100 MPS, four networks", "v100-detect-twitter", {**V100, **POISSON, "applications": SINGLE}, (4,)),
    ("e", "2080 Ti, two chains", "2080ti-infless", POISSON, (1.2,)),
    ("f", "A100 MIG, three DAGs, MMPP", "a100-mixed-azure-code",
     {**A100, **POISSON, "arrivals": {"process": "mmpp", "load": 1, "states": BURSTS}}, (3,)),
    ("f", "A100 MIG, three DAGs, Twitter", "a100-mixed-azure-code", {**A100, **TWITTER}, (3,)),
]

THRESHOLD = 0.95
LOAD = 0.6
LEVELS = [0.06, 0.09, 0.13, 0.19, 0.28, 0.41, LOAD, 0.85, 1.2, 1.7, 2.4, 3.4, 4.8]  # of the tuning; the first is the least load that is tried
TUNING = {"seed": 101, "seeds": 2}
SHOWN = {"seed": 1, "seeds": 3, "most": 10, "tolerance": 0.2, "measured": 5}
HITS, COST = "slo_hit_rate", "cost_per_hit_usd"
MEASURES = {HITS: 100, "goodput_per_s": 1, COST: 1000, "slo_hit_rate_worst_application": 100, "jain_index": 100}
LOSS, DEARER = 2.0, 2.0  # points of hits; per cent of cost at hits within NEAR points


# ---- Runs -----------------------------------------------------------------------------------------

class Unknown(Exception):
    """An answer that the file does not have, and there is no program to ask."""


class Runs:
    """Answers of the program, by its arguments. A file keeps them, so that a broken study goes on."""

    def __init__(self, esgsim, path):
        self.esgsim, self.path, self.lock = esgsim, Path(path), threading.Lock()
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        rows = list(map(json.loads, lines))
        self.known = {row["key"]: row["value"] for row in rows}
        self.minutes = sum(row["wall_s"] for row in rows) / 60

    def call(self, *arguments):
        return subprocess.run([self.esgsim, *arguments, "--quiet"], check=True, capture_output=True, text=True).stdout

    def answer(self, key, compute):
        if key not in self.known and self.esgsim is None:
            raise Unknown
        if key not in self.known:
            start = time.monotonic()
            value = compute()
            with self.lock, self.path.open("a", encoding="utf-8") as out:
                self.known[key] = value
                print(json.dumps({"key": key, "value": value, "wall_s": round(time.monotonic() - start, 2)}), file=out)
        return self.known[key]


def params_of(words):
    pairs = (pair.split("=") for pair in words.split())
    return {key: float(value) if value.replace(".", "").isdigit() else value for key, value in pairs}


def name_of(admission):
    return admission if isinstance(admission, str) else f"rate {admission['rate']}"


class Cell:
    """A world at one SLO under one admission."""

    def __init__(self, world, slo, admission):
        self.letter, self.words, file, keys, _ = world
        self.slo, self.base = slo, str(WORKLOADS / f"experiments/{file}.json")
        self.keys = {**keys, **PLUMBING, "slo.factor": slo, "platform.admission": admission}
        self.name = f"({self.letter}) {self.words}, SLO {slo:g}"
        self.key = f"{self.name}; {name_of(admission)}"
        self.over, self.unit = "arrivals.load", 1.0

    def probe(self, runs):
        """A trace has no load. A second at load 1 says which rate that is, and how much faster the trace must be."""
        if self.keys["arrivals"]["process"] == "trace":
            second = self.settings({**self.keys, **POISSON, "measured_s": 1, "warmup_s": 0}, "fifo", "")
            rate, mean = runs.answer(f"rates; {self.words}", lambda: [
                json.loads(runs.call("run", self.base, "--json", *second))["capacity_per_s"],
                json.loads(runs.call("trace", "stats", self.keys["arrivals"]["file"], "--json"))["mean_rate_per_s"]])
            self.over, self.unit = "arrivals.scale_rate", rate / mean
            self.keys.update({"requests": round(60 * rate), "warmup_requests": round(60 * rate)})
        return self

    def policy(self, name, words):
        return {"name": name, "params": {**(AQUATOPE if name == "aquatope" else {}), **params_of(words)}}

    def settings(self, keys, name, words):
        whole = {**keys, "policy": self.policy(name, words)}
        return [part for key, value in whole.items() for part in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]

    def sweep(self, runs, policies, loads, seed, seeds):
        """{(policy's place, load's place): the rows of `report --format tidy`, by seed}."""
        rows = [{"name": f"{p} {at}", **self.keys, "policy": self.policy(name, words),
                 "arrivals": {**self.keys["arrivals"], self.over.split(".")[1]: load * self.unit}}
                for p, (name, words) in enumerate(policies) for at, load in enumerate(loads)]
        with tempfile.TemporaryDirectory() as folder:
            file, results = Path(folder) / "sweep.json", str(Path(folder) / "sweep.h5")
            file.write_text(json.dumps({"base": self.base, "matrix": {"setting": rows}, "seeds": seeds}), encoding="utf-8")
            runs.call("sweep", str(file), "--set", f"seed={seed}", "--jobs", "1", "--out", results)
            table = runs.call("report", results, "--format", "tidy")
        found = {}
        for row in sorted(csv.DictReader(io.StringIO(table)), key=lambda row: int(row["seed"])):
            found.setdefault(tuple(map(int, row["setting"].split())), []).append(row)
        return found

    def tuned(self, runs, name):
        """[words of the best setting, {words: [last level of LEVELS that held, first that failed]}]; None: it does not fit the world."""
        words = ["", *SETTINGS[name][0]]
        held, failed = dict.fromkeys(words), dict.fromkeys(words)

        def look(level, left):
            """The settings that hold, and all of them, the one that hits most first."""
            found = self.sweep(runs, [(name, one) for one in left], [LEVELS[level]], TUNING["seed"], TUNING["seeds"])
            hits = {one: statistics.fmean(float(row[HITS]) for row in found[p, 0]) for p, one in enumerate(left)}
            for one in left:
                (held if hits[one] >= THRESHOLD else failed)[one] = LEVELS[level]
            return [one for one in left if hits[one] >= THRESHOLD], sorted(left, key=hits.get, reverse=True)

        def search():
            level = LEVELS.index(LOAD)
            try:
                left, order = look(level, words)
            except subprocess.CalledProcessError as error:
                if "is not a chain" in error.stderr:
                    return None
                raise
            while not left and level > 0:
                level -= 1
                left = look(level, words)[0]
                order = sorted(left, key=order.index) or order
            while left and level + 1 < len(LEVELS) and failed[left[0]] is None:
                level += 1
                left, order = look(level, left)
            return [order[0], {one: [held[one], failed[one]] for one in words}]
        return runs.answer(f"tuned; {self.key}; {name}", search)

    def edge(self, runs, name, words, start, *ends):
        """[last load that surely holds, crossing, first that surely fails] of `capacity`; crossing 0: none holds."""
        told = json.loads(runs.call(
            "capacity", self.base, "--over", self.over, "--at-least", str(THRESHOLD), "--greatest", "--json", "--jobs", "1", *ends,
            "--seeds", str(SHOWN["seeds"]), "--max-seeds", str(SHOWN["most"]), "--tolerance", str(SHOWN["tolerance"]),
            *self.settings({**self.keys, "seed": SHOWN["seed"], self.over: round(start * self.unit, 6)}, name, words)))["policies"][0]
        holds, fails = (end and end / self.unit for end in told["interval"])
        return [holds, (told["crossing"] or 0) / self.unit, fails]

    def shown(self, runs, name, words, bracket):
        """The load sustained: first between the levels of the tuning, and where that has no answer, from the lower one on."""
        def search():
            low, high = bracket
            if low and high:
                found = self.edge(runs, name, words, low, "--low", f"{low * self.unit:.6g}", "--high", f"{high * self.unit:.6g}")
                if all(found):
                    return found
            return self.edge(runs, name, words, low or LEVELS[0], "--low", f"{LEVELS[0] * self.unit:.6g}")
        return runs.answer(f"shown; {self.key}; {name} {words}".strip(), search)

    def measured(self, runs, bests, edge):
        """{policy: {measure: [values by seed at LOAD, at the edge]}}, at the best settings."""
        def sweep():
            found = self.sweep(runs, list(bests.items()), [LOAD, edge], SHOWN["seed"], SHOWN["measured"])
            return {name: {measure: [[float(row[measure]) if row[measure] else None for row in found[p, place]] for place in (0, 1)]
                           for measure in MEASURES} for p, name in enumerate(bests)}
        return runs.answer(f"measured; {self.key}", sweep)


def middle(low, high):
    """The edge between two levels."""
    return [low, math.sqrt(low * high) if low and high else low or 0, high]


class Told:
    """What is known of a cell: of each policy the best setting, the edge as shipped and at the best, and the measures."""

    def __init__(self, runs, world, slo, pool=map):
        self.runs, self.of, self.pool = runs, (world, slo), pool
        self.first = Cell(world, slo, ADMISSIONS[0]).probe(runs)
        tuned = dict(zip(SETTINGS, pool(lambda name: self.first.tuned(runs, name), SETTINGS)))
        self.tuned = {name: one for name, one in tuned.items() if one}
        self.best = {name: words for name, (words, _) in self.tuned.items()}
        self.edges = self.under(ADMISSIONS[0])
        # Where the shipped setting is not the best one, the levels of the tuning are what is known of it.
        self.shipped = {name: middle(*brackets[""]) if words else self.edges[name] for name, (words, brackets) in self.tuned.items()}
        self.leader = max(edge[1] for edge in self.edges.values()) or LOAD
        self.values = self.first.measured(runs, self.best, self.leader)

    def under(self, admission):
        """The edges at the best settings."""
        cell = Cell(*self.of, admission).probe(self.runs)
        found = self.pool(lambda name: cell.shown(self.runs, name, self.best[name], self.tuned[name][1][self.best[name]]), self.best)
        return dict(zip(self.best, found))


def tell(runs, pool=map):
    """The cells with all answers; without a program only those that are in the file."""
    def known(work):
        try:
            return work()
        except Unknown:
            return None
    cells = [told for world in WORLDS for slo in world[4] if (told := known(lambda at=(world, slo): Told(runs, *at, pool=pool)))]
    others = {name_of(admission): [(told, edges) for told in cells if (edges := known(lambda told=told, by=admission: told.under(by)))]
              for admission in ADMISSIONS[1:]}
    return cells, others


def study(esgsim, path, jobs=2):
    """All runs. The page finds the same answers without a run."""
    with ThreadPoolExecutor(int(jobs)) as workers:
        tell(Runs(esgsim, path), workers.map)


# ---- The page -------------------------------------------------------------------------------------

def load_words(edge):
    low, crossing, high = edge
    if crossing == 0:
        return f"< {high or LEVELS[0]:.2g}"
    ends = [f"{end:.2f}" if end else "?" for end in (low, high)]
    return (f"> {low:.2f}" if crossing is None else f"{crossing:.2f}") + f" [{', '.join(ends)}]"


def above(one, two):
    """Whether the interval of the first is above that of the second."""
    return one[0] is not None and two[2] is not None and one[0] >= two[2]


def rivals(edges):
    return [name for name in edges if name != OURS]


def changes(told, name):
    """Policies whose order to this one is another as shipped than at the best settings, with intervals apart in both."""
    return [other for other in told.best for before, after in [(told.shipped, told.edges)]
            if (above(before[name], before[other]) and above(after[other], after[name]))
            or (above(before[other], before[name]) and above(after[name], after[other]))]


def pairs(told, place):
    """{policy: (points that ours hits more, sure?, per cent that ours costs more per hit or None, sure?)}; Holm over the table."""
    tests = []
    for name in rivals(told.best):
        for measure in (HITS, COST):
            two = list(zip(told.values[OURS][measure][place], told.values[name][measure][place]))
            if all(None not in pair for pair in two):
                tests.append((name, measure, *judge([100 * (a - b if measure == HITS else a / b - 1) for a, b in two])))
    adjusted = holm([test[3] for test in tests])
    found = {(name, measure): (mean, p < 0.05) for (name, measure, mean, _), p in zip(tests, adjusted)}
    return {name: (*found[name, HITS], *found.get((name, COST), (None, False))) for name in rivals(told.best)}


def number(values, scale=1, form="+.1f"):
    return "-" if None in values else f"{scale * statistics.fmean(values):{form}}"


def cell_table(told):
    compared = [pairs(told, place) for place in (0, 1)]
    rows = []
    for name, words in told.best.items():
        measures = [" / ".join(number(values, scale, ".3g" if scale == 1000 else ".1f") for values in told.values[name][measure])
                    for measure, scale in MEASURES.items()]
        against = [" / ".join(number([one[name][k]]) + "*" * one[name][k + 1] for one in compared) if name != OURS else "" for k in (0, 2)]
        low, _, high = told.shipped[name]
        shipped = f"{low:g} to {high:g}" if words and low and high else load_words(told.shipped[name])
        rows.append([f"`{name}`", shipped, f"`{words}`" if words else "as shipped", load_words(told.edges[name]),
                     ", ".join(changes(told, name)), *measures, *against])
    head = ["policy", "as shipped", "best listed setting", "sustains", "order reversed to", "hits %", "goodput/s", "$/1,000 hits",
            "worst application %", "Jain %", "ours hits more, points", "ours dearer, %"]
    return f"### {told.first.name}\n\nLoads {LOAD} / {told.leader:.2f}.\n\n{table(head, rows)}\n"


def load_sentence(admission, cells):
    """How much more ours sustains than the best other, under one admission. Cells: with the edges under it."""
    ratios, more, less, alone = [], [], [], 0
    for told, edges in cells:
        rival = max(rivals(edges), key=lambda name: edges[name][1])
        if edges[rival][1] == 0:
            alone += edges[OURS][1] > 0
            continue
        ratios.append(edges[OURS][1] / edges[rival][1])
        (more if above(edges[OURS], edges[rival]) else less if above(edges[rival], edges[OURS]) else []).append(
            f"{told.first.name} (×{ratios[-1]:.2f} of `{rival}`)")
    return (f"* With admission `{admission}` for all, `{OURS}` sustains ×{statistics.median(ratios):.2f} (median; {min(ratios):.2f} to {max(ratios):.2f}) of what the best "
            f"other scheduler does, over {len(ratios)} worlds, each other at its best listed setting. It sustains surely more in {len(more)} "
            f"and surely less in {len(less)}. In the other {len(ratios) - len(more) - len(less)} the intervals overlap. "
            + (f"In {alone} more no other sustains {LEVELS[0]}. " if alone else "") + f"Surely less: {'; '.join(less) or 'none'}.")


def esg_sentence(cells):
    four = ["infless", "fast-gshare", "orion", "aquatope"]
    counts = [sum(not any(above(edges[name], edges["esg"]) for name in four) for edges in each)
              for each in ([told.shipped for told in cells], [told.edges for told in cells])]
    fifo = [sum(above(told.edges[one], told.edges[two]) for told in cells) for one, two in (("esg", "fifo"), ("fifo", "esg"))]
    return (f"* None of the four that ESG was compared with sustains surely more than `esg` in {counts[0]} of {len(cells)} worlds as shipped, and in {counts[1]} "
            f"with all five at their best listed settings. There `esg` sustains surely more than `fifo` in {fifo[0]}, and surely less in {fifo[1]}.")


def losses(cells):
    hits, dearer = [], []
    for told in cells:
        for place, load in enumerate((LOAD, told.leader)):
            for name, (points, sure, cost, cost_sure) in pairs(told, place).items():
                where = f"{told.first.name}, load {load:.2f}, `{name}`"
                if points < -LOSS:
                    hits.append(f"{where}: {points:+.1f}{'*' * sure}")
                elif abs(points) <= NEAR and cost is not None and cost > DEARER:
                    dearer.append(f"{where}: {cost:+.1f} %{'*' * cost_sure}")
    return hits, dearer


PLOT = """
set datafile separator ","
set terminal svg size 1500,{height} font "sans,10" background rgb "white"
set output figure
set multiplot layout {rows},5 title "Load sustained, with its interval. Hollow: as shipped. Full: best listed setting. Blue: headway"
unset key; set yrange [{policies}-0.5:-0.5]; set xrange [0:*]; set ytics ({ytics}) scale 0; set grid x; set xtics format "%g"
"""
PANEL = """
set title "{title}"
plot data using ($1=={at} && $2==0 ? $4 : NaN):($3-0.15):5:6 with xerrorbars pt 6 ps 0.6 lc rgb "#888888", \
     data using ($1=={at} && $2==1 && $3!={ours} ? $4 : NaN):($3+0.15):5:6 with xerrorbars pt 7 ps 0.6 lc rgb "#d95f02", \
     data using ($1=={at} && $2==1 && $3=={ours} ? $4 : NaN):($3+0.15):5:6 with xerrorbars pt 7 ps 0.6 lc rgb "#1b7faa"
"""


def draw(cells, path):
    """A panel for each cell, a row for each policy."""
    data, names = Path(path).with_suffix(".csv"), list(SETTINGS)
    with data.open("w", encoding="utf-8") as out:
        print("cell,best_setting,policy,load,low,high,name", file=out)
        for at, told in enumerate(cells):
            for best, edges in enumerate((told.shipped, told.edges)):
                for name, (low, crossing, high) in edges.items():
                    print(f'{at},{best},{names.index(name)},{crossing:.4f},{low or 0:.4f},{high or crossing:.4f},"{told.first.name}, {name}"', file=out)
    rows = -(-len(cells) // 5)
    script = PLOT.format(height=60 + 230 * rows, rows=rows, policies=len(names), ytics=", ".join(f'"{name}" {y}' for y, name in enumerate(names)))
    draw_svg(script + "".join(PANEL.format(title=told.first.name, at=at, ours=names.index(OURS)) for at, told in enumerate(cells)), data, path)


def page(path, figure=None):
    runs = Runs(None, path)
    cells, others = tell(runs)
    hits, dearer = losses(cells)
    turned = [f"{told.first.name}: {' and '.join(sorted({f'`{one}`' for one in (name, other)}))}" for told in cells for name in told.best
              for other in changes(told, name) if name < other]
    line = "\n"
    print(f"""# How much load does each scheduler sustain?

<!-- begin headline -->
{load_sentence(name_of(ADMISSIONS[0]), [(told, told.edges) for told in cells])}
{line.join(load_sentence(*other) for other in others.items() if other[1])}
{esg_sentence(cells)}
<!-- end headline -->
* `{OURS}` and each other policy at its best listed setting make {2 * sum(len(told.best) - 1 for told in cells)} pairs, at load {LOAD} and at the greatest load that any policy sustains.
  `{OURS}` hits over {LOSS:g} points less in {len(hits)}, and costs over {DEARER:g} % more per hit at hits within {NEAR:g} point in {len(dearer)}. Both are listed below.
* A listed setting reverses the order of two policies in {len(turned)} cases. As shipped, their intervals or the levels of the tuning are disjoint. At the best
  settings their intervals are disjoint in the opposite order. They are listed below.

`make headline` runs this study, and resumes it after an interruption. {len(cells)} of {sum(len(world[4]) for world in WORLDS)} worlds are complete; the others are omitted. The runs took {runs.minutes:.0f} minutes of one core, some of them beside other work.

## What was run

A load is sustained if {100 * THRESHOLD:g} % of the requests are in time. `esgsim capacity` finds it. The number is the load at which the mean crosses, and the interval extends from the last load
that surely holds to the first that surely fails. Loads are relative to the capacity at minimum configurations. Each run has 60 s of warm-up and
60 s that are measured, at every load. At every load the same part of the trace is used; it has this length at load 1. The loads shown use the seeds {SHOWN["seed"]} to {SHOWN["most"]}: {SHOWN["seeds"]} at first,
and up to all if the interval needs them. The other measures use {SHOWN["measured"]} seeds. "<": no load from {LEVELS[0]} on was found to hold. If hits are not monotone in the load, the search
ends at one of several crossings. If another setting is better, "as shipped" has no interval, only the two loads of the tuning between which the mean of its seeds crosses.
The figure draws these two, with a point in their middle.

All policies share the platform settings: {", ".join(f"`{key}` {value}" for key, value in PLUMBING.items() if key != "record")}, `platform.admission` {name_of(ADMISSIONS[0])} in the main tables, the same warm containers, and no pool.
Aquatope tunes with {AQUATOPE["rounds"]} rounds of {AQUATOPE["candidates"]} candidates, once per cell.

Each policy runs as shipped, and at the best of its listed settings. The list is the same in all worlds. The best setting is chosen in each world on the seeds {TUNING["seed"]} to {TUNING["seed"] + TUNING["seeds"] - 1}. It is the one that sustains most
of the loads {", ".join(f"{level:g}" for level in LEVELS)}; among equals, the one that hits most at the first load that none of them sustains. `{OURS}` runs only with its defaults.
""")
    print(table(["policy", "settings beside the shipped one", "why"], [[f"`{name}`", ", ".join(f"`{one}`" for one in words) or "none", why] for name, (words, why) in SETTINGS.items()]) + "\n")
    if figure:
        draw(cells, figure)
        print("![Load sustained by each scheduler in each world](paper/headline-worlds.svg)\n")
    for title, items in ((f"Where `{OURS}` hits over {LOSS:g} points less", hits), (f"Where `{OURS}` is over {DEARER:g} % dearer at equal hits", dearer),
                         ("Orders that a listed setting reverses", turned)):
        print(f"## {title}\n\n" + ("\n".join(f"* {item}" for item in items) or "Nowhere.") + "\n")
    print(f"""## The main tables

Pairs of numbers are at load {LOAD} and at the greatest load that any policy sustains, at the best listed settings. "*": Holm's adjusted p is below 0.05 over the pairs of `{OURS}` and the
others at one load of one table, hits and cost, paired by seed. "Order reversed to": the intervals are disjoint in one order as shipped, and in the other at the best settings.
""")
    print("\n".join(map(cell_table, cells)))
    for admission, found in others.items():
        rows = [[told.first.name, *(load_words(edges[name]) if name in edges else "-" for name in SETTINGS)] for told, edges in found]
        print(f"## Load sustained with admission `{admission}`\n\nSettings are those chosen under `{name_of(ADMISSIONS[0])}`.\n")
        print(table(["world", *(f"`{name}`" for name in SETTINGS)], rows))


if __name__ == "__main__":
    {"run": study, "page": page}[sys.argv[1]](*sys.argv[2:])
