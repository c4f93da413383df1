"""Which assumption flips which conclusion? One assumption is changed at a time, in two worlds.

    flips.py sweep SEEDS >SWEEP.json                             the runs, for `esgsim sweep`
    flips.py page ESGSIM RESULTS.h5 FIGURE.svg >results/pages/FLIPS.md  what they show; FIGURE.csv beside the figure. Needs gnuplot
    flips.py page ESGSIM RESULTS.h5 >results/pages/FLIPS.md             the page without the figure

All figures and sentences are computed.
"""

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS, PROFILES = ROOT / "workloads", ROOT / "traces/profiles"
FOUR = ["infless", "fast-gshare", "orion", "aquatope"]
OTHERS = ["esg", *FOUR, "fifo", "clockwork"]
BUDGET = {"rounds": 10, "candidates": 128}  # of Aquatope's tuning
LENGTHS = {"requests": 1500, "warmup_requests": 500}
MARGIN = 1.0  # points of the hit rate, per cent of cost
REFERENCE = "as assumed"
HITS, COST = "slo_hit_rate", "cost_per_request_usd"


def profile(name):
    return {"profile": str(PROFILES / f"esg-reconstructed-{name}.json")}


def batches(part):
    """The profile in which each further job of a batch takes this part of its time; None: as long as a job alone."""
    found = json.loads((PROFILES / "esg-reconstructed.json").read_text(encoding="utf-8"))
    for function in found["functions"].values():
        grid, first = function["latency_ms"], function["latency_ms"][0]
        sizes = function["grid"]["batch"]
        function["latency_ms"] = [[[one * size if part is None else one + part * (more - one) for one, more in zip(ones, row)]
                                   for ones, row in zip(first, of_size)] for size, of_size in zip(sizes, grid)]
    return {"profile": found}


MIG = {"cluster": str(WORKLOADS / "clusters/esg-16-mig.json")}
MPS = {"cluster": str(WORKLOADS / "clusters/esg-16.json")}
WORLDS = {
    "below": ("SLO 1.0, load 0.8", {"slo.factor": 1.0, "arrivals": {"process": "uniform", "load": 0.8}}),
    "strict": ("SLO 0.8, load 0.4", {"slo.factor": 0.8, "arrivals": {"process": "uniform", "load": 0.4}}),
}
BURSTS = [{"rate_per_s": 1, "mean_sojourn_s": 6}, {"rate_per_s": 5, "mean_sojourn_s": 2}]
# Assumption, its value, the keys that change, the parameters of policies that change. Load stays that of the world.
CHANGES = [
    ("", REFERENCE, {}, {}),
    ("latency profile", "vCPU share 0.5", profile("cpu50"), {}),
    ("latency profile", "GPU 0.5", profile("absolute50"), {}),
    ("latency profile", "GPU 0.8", profile("absolute80"), {}),
    ("sharing", "MPS", MPS, {}),
    ("sharing", "MPS without interference", {**MPS, "platform.interference": False}, {}),
    ("warm containers", "16 of each function", {"platform.initial": 16}, {}),
    ("warm containers", "2 of each on an invoker", {"platform.initial": {"per_invoker": 2}}, {}),
    ("warm containers", "none", {"platform.initial": "cold"}, {}),
    ("cold dispatch", "wait", {"platform.cold_dispatch": "wait"}, {}),
    ("cold dispatch", "late", {"platform.cold_dispatch": "late"}, {}),
    ("cold dispatch", "wait, 16 of each function", {"platform.cold_dispatch": "wait", "platform.initial": 16}, {}),
    ("admission", "lost", {"platform.admission": "lost"}, {}),
    ("admission", "by rate", {"platform.admission": {"rate": "efficient"}}, {}),
    ("batch benefit", "none", batches(None), {}),
    ("batch benefit", "each further job in half the time", batches(0.5), {}),
    ("granularity", "fused, 2 of each on an invoker", {"granularity": "fused", "platform.initial": {"per_invoker": 2}}, {}),
    ("noise", "cv 0.15", {"platform.noise.cv": 0.15}, {}),
    ("noise", "cv 0.3", {"platform.noise.cv": 0.3}, {}),
    ("arrivals", "Poisson", {"arrivals.process": "poisson"}, {}),
    ("arrivals", "bursts of 5", {"arrivals.process": "mmpp", "arrivals.states": BURSTS}, {}),
    ("decision time", "none", {"platform.decision_cost.ns_per_unit": 0}, {}),
    ("decision time", "1000 ns per unit", {"platform.decision_cost.ns_per_unit": 1000}, {}),
    ("profiling error", "cv 0.1", {"planning.error.cv": 0.1}, {}),
    ("profiling error", "cv 0.2", {"planning.error.cv": 0.2}, {}),
    ("profiling error", "bias -0.2", {"planning.error.bias": -0.2}, {}),
    ("ESG's headroom", "0", {}, {"esg": {"headroom": 0}}),
    ("ESG's headroom", "0.15", {}, {"esg": {"headroom": 0.15}}),
    ("INFless's reading", "repo", {}, {"infless": {"efficiency": "repo"}}),
    ("INFless's reading", "paper", {}, {"infless": {"efficiency": "paper"}}),
]


def best_other(of):
    """Hits of the other policy that hits most in the mean over the seeds."""
    return max((of[name, HITS] for name in OTHERS), key=sum)


def at_least(name, other):
    return lambda of: [100 * (a - b) + MARGIN for a, b in zip(of[name, HITS], of[other, HITS])]


# Conclusion, and by how much it holds for each seed: above 0 it does.
CONCLUSIONS = [
    ("headway hits at least what the best other does", lambda of: [100 * (a - b) + MARGIN for a, b in zip(of["headway", HITS], best_other(of))]),
    *((f"ESG hits at least what {name} does", at_least("esg", name)) for name in [*FOUR, "fifo"]),
    ("ESG costs at most what INFless does", lambda of: [100 * (b / a - 1) + MARGIN for a, b in zip(of["esg", COST], of["infless", COST])]),
    ("ESG saves less than 47 % against INFless", lambda of: [47 - 100 * (b / a - 1) for a, b in zip(of["esg", COST], of["infless", COST])]),
]


def sweep(seeds):
    rows = []
    for world, (_, keys) in WORLDS.items():
        for place, (_, _, changed, params) in enumerate(CHANGES):
            for name in params or ["headway", *OTHERS]:
                own = {**(BUDGET if name == "aquatope" else {}), **params.get(name, {})}
                merged = {"record": "summary", **MIG, **keys, **{key: value for key, value in changed.items() if not key.startswith("arrivals.")}}
                merged["arrivals"] = {**keys["arrivals"], **{key[9:]: value for key, value in changed.items() if key.startswith("arrivals.")}}
                rows.append({"name": f"{world} {place} {name}", **merged, "policy": {"name": name, "params": own}})
    json.dump({"name": "flips", "base": str(WORKLOADS / "experiments/strict-light.json"),
               "matrix": {"setting": rows, **{key: [value] for key, value in LENGTHS.items()}}, "seeds": seeds}, sys.stdout, indent=0)


# ---- Statistics -----------------------------------------------------------------------------------

def tail(t, freedom):
    """Two-sided p of Student's t, by the closed form for whole degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 or not odd else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    inner = math.sin(angle) * total
    return max(0.0, 1 - (2 / math.pi * (angle + inner) if odd else inner))


def judge(values):
    """(mean, two-sided p that it is 0). Without spread between the seeds a mean is sure."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    if variance == 0:
        return mean, 1.0 if mean == 0 else 0.0
    return mean, tail(mean / math.sqrt(variance / len(values)), len(values) - 1)


def holm(ps):
    """Holm's adjusted p, in the order given."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, greatest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        greatest = max(greatest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = greatest
    return adjusted


# ---- The page -------------------------------------------------------------------------------------

def figures(esgsim, results):
    """{(world, place of the change): {(policy, metric): values by seed}}, with runs of the reference where a change leaves a policy as it is."""
    text = subprocess.run([esgsim, "report", results, "--format", "tidy"], check=True, capture_output=True, text=True).stdout
    found = {}
    for row in sorted(csv.DictReader(io.StringIO(text)), key=lambda row: int(row["seed"])):
        world, place, policy = row["setting"].split()
        for metric in (HITS, COST):
            found.setdefault((world, int(place)), {}).setdefault((policy, metric), []).append(float(row[metric] or "nan"))
    return {key: {**found[key[0], 0], **values} for key, values in found.items()}


def verdicts(found):
    """{(world, place, conclusion): (verdict, mean)}; Holm's adjustment is over all of them."""
    keys = [(*key, c) for key in found for c in range(len(CONCLUSIONS))]
    judged = [judge(CONCLUSIONS[c][1](found[world, place])) for world, place, c in keys]
    judged = [(mean, 1.0 if p != p else p) for mean, p in judged]  # a policy that serves nobody has no cost
    return {key: ("undecided" if p >= 0.05 else "holds" if mean > 0 else "fails", mean)
            for key, (mean, _), p in zip(keys, judged, holm([p for _, p in judged]))}


def flipped(told, world, place, c):
    return {told[world, 0, c][0], told[world, place, c][0]} == {"holds", "fails"}


def change_words(place):
    return f"{CHANGES[place][0]} {CHANGES[place][1]}".strip()


def sentence(told, c):
    """What happens to one conclusion."""
    parts = []
    for world, (label, _) in WORLDS.items():
        flips = [change_words(place) for place in range(1, len(CHANGES)) if flipped(told, world, place, c)]
        open_ = sum(told[world, place, c][0] == "undecided" for place in range(1, len(CHANGES)))
        first = told[world, 0, c][0]
        if first == "undecided":
            sides = [f"{verdict} with {', '.join(names)}" for verdict in ("holds", "fails")
                     for names in [[change_words(place) for place in range(1, len(CHANGES)) if told[world, place, c][0] == verdict]] if names]
            parts.append(f"at {label} it is undecided as assumed, and " + ("; ".join(sides) if sides else "with every change"))
        else:
            parts.append(f"at {label} it {first}, and " + (f"flips with {', '.join(flips)}" if flips else "nothing flips it")
                         + (f" ({open_} of {len(CHANGES) - 1} undecided)" if open_ else ""))
    return f"* {CONCLUSIONS[c][0]}: " + ". ".join(part[0].upper() + part[1:] for part in parts) + "."


def table(told, world):
    head = ["assumption", "value", *(words for words, _ in CONCLUSIONS)]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for place, (what, value, _, _) in enumerate(CHANGES):
        cells = []
        for c in range(len(CONCLUSIONS)):
            verdict, mean = told[world, place, c]
            cells.append(f"{f'**{verdict}**' if flipped(told, world, place, c) else verdict} {mean:+.1f}")
        print(f"| {what or 'none'} | {value} | " + " | ".join(cells) + " |")


def draw(told, path):
    """The CSV of plots/flips.gp, and its picture."""
    rows = [(c, world) for c in range(len(CONCLUSIONS)) for world in WORLDS]
    flips = {(c, world): [place for place in range(len(CHANGES)) if flipped(told, world, place, c)] for c, world in rows}
    calm, idle = sum(not places for places in flips.values()), len(CHANGES) - 1 - len(set().union(*flips.values()))
    caption = (f"Decided with Holm's adjusted p < 0.05. The other {calm} conclusions, of which no change flips one, and the other "
               f"{idle} changes, which flip none, are in the tables. GPU 0.5: the time on the GPU is "
               "measured, and vCPUs cause half of the rest.")
    value = {"holds": 1, "undecided": 0, "fails": -1}
    with Path(path).with_suffix(".csv").open("w", encoding="utf-8") as out:
        print("conclusion,change,column,row,verdict,flips,subject,caption", file=out)
        for x, (c, world) in enumerate(rows):
            for place in range(len(CHANGES)):
                first = (x, place) == (0, 0)
                cells = [f"{CONCLUSIONS[c][0]}, {WORLDS[world][0]}", change_words(place), x, place, value[told[world, place, c][0]],
                         int(flipped(told, world, place, c)), "-", caption if first else "-"]
                print(",".join(str(cell).replace(", ", "\u201a ").replace(",", "\u201a") for cell in cells), file=out)
    redraw(path)


def redraw(path):
    """Draws FIGURE.svg from FIGURE.csv, with the script of its name."""
    script = ROOT / "plots" / Path(path).with_suffix(".gp").name
    subprocess.run(["gnuplot", "-e", f"data='{Path(path).with_suffix('.csv')}'; out='{path}'", script], check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    tidy(path)


def tidy(path):
    """Browsers show titles as tooltips, and the description has gnuplot's version, so `plot` removes them, too."""
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(re.sub(r"\s*<(title|desc)>.*?</\1>", "", text), encoding="utf-8")


def draw_svg(script, data, path):
    """Gnuplot's script finds the files as `data` and `figure`."""
    subprocess.run(["gnuplot", "-e", f"data = '{data}'; figure = '{path}'", "-"], check=True, input=script, text=True)
    tidy(path)


def page(esgsim, results, figure=None):
    found = figures(esgsim, results)
    told = verdicts(found)
    seeds = len(next(iter(next(iter(found.values())).values())))
    changed = [key for key in told if key[1] > 0]
    flips = sum(flipped(told, *key) for key in changed)
    same = sum(told[key][0] == told[key[0], 0, key[2]][0] != "undecided" for key in changed)
    undecided = sum(told[key][0] == "undecided" for key in changed)
    print(f"""# Which assumption flips which conclusion?

We test {len(CONCLUSIONS)} conclusions of the main comparison in two worlds under {len(CHANGES) - 1} changes of one assumption at a time. Of these {len(changed)} cells,
{flips} flip, {undecided} are undecided, {same} are decided as before the change, and {len(changed) - flips - undecided - same} are decided only after it. "Words" in `sim/README.md` explains the terms.
""")
    for c in range(len(CONCLUSIONS)):
        print(sentence(told, c))
    print(f"""
*Holds*, *fails*: the mean over {seeds} seeds, paired by seed, is above or below 0 with Holm's adjusted p < 0.05 over all {len(told)} cells of this
page. *Undecided*: neither. *Flips*: decided as assumed, and decided the other way after the change. "At least" and "at most" allow {MARGIN:g} point,
or {MARGIN:g} % of cost. The best other is the one of {', '.join(OTHERS)} with the highest mean hit rate.
A pair without spread between the seeds counts as sure. "At least" also holds if both hit nothing.

Assumptions: MIG slices on 16 invokers, vCPU share 0.2, 80 warm containers of each function, noise of cv 0.05, 100 ns per
unit of decision, uniform arrivals, policies as shipped. Changes: GPU 0.5 and 0.8: the time on the GPU is measured, and vCPUs cause this share of the rest. Batch benefit none: a batch takes as long as its jobs one after another.
Fused: each chain is one function. Its containers need the memory of all stages, so that only 2 fit on an invoker. Load is relative to the capacity at minimum configurations, also if the profile changes. Each run has
{LENGTHS["requests"]} requests after {LENGTHS["warmup_requests"]} of warm-up. Aquatope tunes with {BUDGET["rounds"]} rounds of {BUDGET["candidates"]} candidates.
INFless and FaST-GShare change their instances every 10 s, so these short runs measure their start-up; they hit more in longer runs.
We tried a third world, SLO 1.0 at load 1.1, and omit it: ESG's hits differ so much between seeds that most of its rows are undecided.
`make flips` runs the sweep and writes this page.
""")
    if figure:
        draw(told, figure)
        print("![Which assumption flips which conclusion](../paper/flips.svg)\n")
    for world, (label, _) in WORLDS.items():
        print(f"## {label}\n\nBy how much each conclusion holds, in points or per cent, with what is allowed. Bold: flipped.\n")
        table(told, world)
        print()


def main():
    if sys.argv[1] == "sweep":
        sweep(int(sys.argv[2]))
    else:
        page(*sys.argv[2:])


if __name__ == "__main__":
    main()
