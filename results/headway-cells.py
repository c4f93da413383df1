"""Cells drawn at random on which rules of `headway` are tried: shapes, profiles, arrivals, loads. All by the seed of the draw.

    headway-cells.py run ESGSIM DRAW COUNT RUNS.jsonl VARIANT…   runs what RUNS lacks; two processes
    headway-cells.py show RUNS.jsonl VARIANT…                    each against the best rival, and against the first one

A variant is "POLICY WORDS" or "POLICY WORDS @ ADMISSION", with "LABEL:" before it to tell versions apart. The variant
`rivals` stands for all rivals. Draw 11 with 48 cells was for development, draws 12 and 13 with 40 each for judging.
"""

import csv
import io
import json
import random
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headline import BURSTS, PLUMBING, params_of

TRACES = str(Path(__file__).resolve().parent.parent / "traces/profiles")
WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
RIVALS = ["clockwork", "clockwork vgpu=1", "gpulet", "nexus", "nexus vgpu=1", "fifo", "esg headroom=0.1 late=ride", "orion"]
SEEDS = 2


def cluster(name):
    return str(WORKLOADS / f"clusters/{name}.json")


def profile(name):
    return f"{TRACES}/esg-reconstructed{name}.json"


# Experiment, functions, clusters, profiles, invokers, SLO factors, loads, how often.
FAMILIES = {
    "paper": ("strict-light", "esg", ["esg-16-mig", "esg-16"], [profile(""), profile("-cpu50")], [4, 8, 16], [0.8, 1, 1.2], [0.4, 1.3], 8),
    "a100": ("a100-mixed-azure-code", "a100-mig", ["a100-mig-4"], [f"{TRACES}/a100-mig-parvagpu.json"], [2, 4], [2, 3, 5], [0.6, 2.2], 6),
    "v100": ("v100-detect-twitter", "v100-mps", ["v100-mps-4"], [f"{TRACES}/v100-mps-igniter.json"], [1, 2], [2.5, 4, 6], [0.4, 1.2], 6),
    "2080ti": ("2080ti-infless", "2080ti-infless", ["2080ti-4x3"], [f"{TRACES}/2080ti-infless.json"], [1, 2], [1.2, 2], [0.4, 1.3], 2),
    "h200": ("proof-light", "networks", ["h200-1"], [f"{TRACES}/h200-green.json"], [1], [2.5, 4], [0.4, 1.3], 2),
}


def draw(seed, count):
    """[(name, experiment, keys)]"""
    rng = random.Random(seed)
    cells = []
    for number in range(count):
        family = rng.choices(list(FAMILIES), [known[-1] for known in FAMILIES.values()])[0]
        base, functions, clusters, profiles, invokers, slos, loads, _ = FAMILIES[family]
        names = [f if isinstance(f, str) else f["name"] for f in json.loads((WORKLOADS / f"functions/{functions}.json").read_text(encoding="utf-8"))["functions"]]
        shape, applications, used = rng.choice(["chain", "chain", "join", "single"]), [], []
        size = rng.choice({"chain": [1, 2, 3, 4, 6, 10], "join": [2, 3], "single": [1, 2, 4]}[shape])
        for a in range(size if shape == "single" else rng.choice([1, 2])):
            stages = [{"name": f"s{i}", "function": rng.choice(names), "output_bytes": 600000} for i in range(1 if shape == "single" else size)]
            for before, stage in zip(stages, stages[1:] if shape == "chain" else []):
                stage["after"] = [before["name"]]
            if shape == "join":
                stages.append({"name": "end", "function": rng.choice(names), "after": [stage["name"] for stage in stages]})
            applications.append({"name": f"a{a}", "stages": stages})
            used += [stage["function"] for stage in stages]
        process, load = rng.choice(["uniform", "poisson", "mmpp"]), round(rng.uniform(*loads), 2)
        time = 10 if family == "2080ti" else 60  # it serves thousands per second
        keys = {"cluster": cluster(rng.choice(clusters)), "cluster.invokers.0.count": rng.choice(invokers), "profile": rng.choice(profiles),
                "applications": applications, "slo.factor": rng.choice(slos), "measured_s": time, "warmup_s": time,
                "arrivals": {"process": process, "load": load, **(BURSTS if process == "mmpp" else {})}, **PLUMBING,
                "platform.initial": {"per_invoker": {name: 24 if family == "h200" else 5 if len(set(used)) < 6 else 3 for name in sorted(set(used))}}}
        words = f"{number} {family} {Path(keys['cluster']).name} x{keys['cluster.invokers.0.count']} {shape} {size}/{len(applications)} slo {keys['slo.factor']} {process} {load}"
        cells.append((words, str(WORKLOADS / f"experiments/{base}.json"), keys))
    return cells


def run_cell(esgsim, cell, variants):
    """{variant: hit rates by seed}; a variant that fails has none."""
    words, base, keys = cell
    rows = []
    for at, variant in enumerate(variants):
        policy, _, admission = variant.partition(" @ ")
        name, _, params = policy.split(":")[-1].partition(" ")
        rows.append({"name": str(at), **keys, "policy": {"name": name, "params": params_of(params)}, "platform.admission": json.loads(admission) if admission else "none"})
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder) / "sweep.json", f"{folder}/sweep.h5"
        file.write_text(json.dumps({"base": base, "matrix": {"setting": rows}, "seeds": SEEDS}), encoding="utf-8")
        done = subprocess.run(["nice", esgsim, "sweep", str(file), "--set", "seed=501", "--jobs", "1", "--out", results, "--quiet"], capture_output=True, text=True)
        if done.returncode != 0 and len(variants) > 1:
            return {key: value for variant in variants for key, value in run_cell(esgsim, cell, [variant]).items()}
        if done.returncode != 0:
            print(words, variants[0], done.stderr[-300:], file=sys.stderr)
            return {variants[0]: []}
        told = subprocess.run([esgsim, "report", results, "--format", "tidy", "--quiet"], check=True, capture_output=True, text=True).stdout
    found = {variant: [] for variant in variants}
    for row in csv.DictReader(io.StringIO(told)):
        found[variants[int(row["setting"])]].append(float(row["slo_hit_rate"]))
    return found


def run(esgsim, seed, count, path, *variants):
    variants = [one for variant in variants for one in (RIVALS if variant == "rivals" else [variant])]
    path = Path(path)
    known = {row["cell"]: row["hits"] for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}

    def work(cell):
        hits = known.setdefault(cell[0], {})
        missing = [variant for variant in variants if variant not in hits]
        if missing:
            hits.update(run_cell(esgsim, cell, missing))
            print(cell[0], {key: round(100 * statistics.fmean(hits[key]), 1) for key in missing if hits[key]}, flush=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, draw(int(seed), int(count))))
    path.write_text("".join(json.dumps({"cell": cell, "hits": hits}) + "\n" for cell, hits in known.items()))


def show(path, *variants):
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for variant in variants:
        places, gains = {"won": 0, "tied": 0, "lost": 0}, []
        for row in rows:
            mean = {key: 100 * statistics.fmean(value) for key, value in row["hits"].items() if value}
            gap = mean[variant] - max(mean[rival] for rival in RIVALS if rival in mean)
            places["won" if gap > 2 else "lost" if gap < -2 else "tied"] += 1
            gains.append(mean[variant] - mean[variants[0]])
        better, worse = sum(gain > 2 for gain in gains), sum(gain < -2 for gain in gains)
        print(f"{variant}: {places['won']}/{places['tied']}/{places['lost']}, against the first {statistics.fmean(gains):+.2f}, {better} better, {worse} worse")


if __name__ == "__main__":
    {"run": run, "show": show}[sys.argv[1]](*sys.argv[2:])
