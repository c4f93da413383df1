#!/usr/bin/env python3
"""Derives the shipped profiles from the raw measurements, the same bytes on every machine.

A profile is a template with its holes filled. The template is a profile without functions, whose
member "function" is the template of each. Strings have holes, <name>. A string that begins with #
becomes a number. Numbers are rounded to 6 significant digits, coefficients of fits to 4.

esg-reconstructed*.json are the six functions of the ESG paper, shaped like measured donors:

    T(b, c, g) = L ((1 - f) D(b, g/7) / D(1, 1/7) + f b / c)

L is the latency at the minimum configuration (1, 1, 1), the anchor. D is the share law fitted to
the donor's measurements. f is the fraction of L spent on the vCPUs. T(1, 1, 1) is exactly L. The
profiles "absolute" take the time on the GPU from a measurement on an A100 and not from L:

    T(b, c, g) = G(b, g) + (L - G(1, 1)) (f b / c + 1 - f)

G(b, g) is the measured time of the donor on g sevenths for the same number of
multiply-accumulates. f is the fraction of the rest that is spent on the vCPUs.
"""
import argparse
import copy
import functools
import itertools
import json
import math
import statistics
from pathlib import Path

SHARE_EXPONENT = 1  # of the interference law, held; the profile's derivation gives the reason
CO_LOCATED = ("2", "4", "8", "16", "32")  # iGniter's batches in co-locations

# ---- Inputs ------------------------------------------------------------------------------------

def latencies(rows, share):
    """Milliseconds of batches alone by model, batch and share, without those that did not run."""
    ran = {}
    for row in rows:
        if row.get("mps_procs", "1") == "1" and row["latency_ms"] not in ("", "oom"):
            ran.setdefault((row["model"], int(row["batch"]), int(row[share])), float(row["latency_ms"]))
    return ran

def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)

def error_percent(pairs):
    return 100 * mean(abs(predicted / measured - 1) for predicted, measured in pairs)

class Side:
    """One of the two batches of a co-location."""
    def __init__(self, row, own, other):
        self.model, self.other, self.share = row["model" + own], row["model" + other], int(row[f"mps{other}_pct"]) / 100
        self.pair, self.slowdown = {self.model, self.other}, float(row["slowdown" + own])
        self.cv = float(row[f"std{own}_ms"]) / float(row[f"lat{own}_ms"])

class Raw:
    """Everything below the folder of raw measurements; `values` are for all profiles."""
    def __init__(self, folder):
        self.folder = folder
        self.igniter = latencies(self.rows("igniter/solo.csv"), "mps_pct")
        self.parvagpu = latencies(self.rows("parvagpu/parvagpu_all.csv"), "mig_gpcs")
        self.sides = [Side(row, *order) for row in self.rows("igniter/pairs.csv") for order in ("12", "21")]
        # Only the mean, minimum and maximum of ten values are known. The expected range of ten normal
        # deviates is 3.078 standard deviations (Tippett 1925).
        init = {key: float(self.rows("streambox/cuda_init.csv")[0][key]) for key in ("min_ms", "mean_ms", "max_ms")}
        self.values = {row["quantity"]: row["value"] for row in self.rows("esg/assumptions.csv")}
        self.values.update(restart_cv=repr((init["max_ms"] - init["min_ms"]) / 3.078 / init["mean_ms"]),
                           pairs=str(len(self.sides) // 2), slowdowns=str(len(self.sides)))

    @functools.cache
    def rows(self, file):
        """A table with a header line, without quoting."""
        names, *rows = (line.split(",") for line in (self.folder / file).read_text(encoding="utf-8").splitlines())
        for number, row in enumerate(rows, 1):
            if len(row) != len(names):
                raise ValueError(f"{self.folder / file}: row {number} has not {len(names)} cells, as the header has")
        return [dict(zip(names, row)) for row in rows]

    def find(self, file, column, name):
        for row in self.rows(file):
            if row[column] == name:
                return row
        raise ValueError(f'{self.folder / file}: {column} "{name}" is missing')

    @functools.cache
    def demand(self, model):
        """Bandwidth demand: DRAM utilisation, 0..1, at a share of 80 %, the largest measured."""
        return mean(float(row["dram_util_pct"]) for row in self.rows("igniter/solo.csv")
                    if row["model"] == model and row["mps_pct"] == "80" and row["batch"] in CO_LOCATED) / 100

    def restart_ms(self, model):
        return mean(float(row["lat_avg_ms"]) for row in self.rows("pipeswitch/pipeswitch_v100_latency.csv")
                    if row["system"] == "kill_restart" and row["model_or_interval"] == model)

    def network(self, name):
        """Its row, its weights, and the mean process restart of this network if it was measured, else
        of the two convolutional networks that were."""
        row = self.find("models/models.csv", "network", name)
        restarted = [row["pipeswitch"]] if row["pipeswitch"] else ["resnet152", "inception_v3"]
        return {**row, "weights_mb": repr(float(row["parameters"]) * 4 / 1024**2),
                "restart_ms": repr(mean(map(self.restart_ms, restarted)))}

# ---- Output ------------------------------------------------------------------------------------

def rounded(value, digits=6):
    return float(f"{value:.{digits}g}")

def filled(item, values):
    """A copy with the holes filled that `values` names."""
    if isinstance(item, dict):
        return {key: filled(value, values) for key, value in item.items()}
    if not isinstance(item, str):
        return item
    for name, value in values.items():
        item = item.replace(f"<{name}>", value)
    try:
        return rounded(float(item[1:])) if item.startswith("#") else item
    except ValueError:
        return item

class Latencies(list):
    """Those of a function, which are printed with one line per batch size."""

def add_function(profile, name, template, values, latency):
    function, grid = filled(template, values), template["grid"]
    function["latency_ms"] = Latencies([[rounded(latency(b, c, g)) for g in grid["vgpu"]] for c in grid["vcpu"]]
                                       for b in grid["batch"])
    profile["functions"][name] = function

def printed(item, depth=0):
    """As cJSON prints it."""
    tabs = "\n" + "\t" * depth
    if isinstance(item, dict):
        members = (f"{tabs}\t{printed(key)}:\t{printed(value, depth + 1)}" for key, value in item.items())
        return "{" + ",".join(members) + tabs + "}"
    if isinstance(item, Latencies):
        return "[" + ",".join(tabs + "\t" + printed(batch) for batch in item) + tabs + "]"
    if isinstance(item, list):
        return "[" + ", ".join(map(printed, item)) + "]"
    if isinstance(item, float):
        return f"{item:.15g}" if math.isfinite(item) else "null"
    return json.dumps(item, ensure_ascii=False)

def derive(raw, template, fill, *arguments):
    """The text of a profile."""
    path = raw.folder / template
    profile = json.loads(path.read_text(encoding="utf-8"))
    fill(raw, profile, *arguments)
    del profile["function"]
    text = printed(filled(profile, raw.values)) + "\n"
    holes = [line.strip() for line in text.splitlines() if "<" in line or "#" in line]
    if holes:
        raise ValueError(f"{path}: no value, or no number, for the hole in {holes[0][:80]}")
    return text

# ---- Profiles of measured latencies ------------------------------------------------------------

def item_memory(raw, name, batches, weights_mb):
    """Estimates the memory per item of a batch. Every batch that ran gives an upper bound, and every
    batch that ran out of memory a lower bound. Cuts `batches` behind the largest that ran."""
    slices = [(int(row["mig_gpcs"]), float(row["memory_mb"]) - weights_mb) for row in raw.rows("parvagpu/slices.csv")]
    bounds = [((name, batch, gpcs) in raw.parvagpu, batch, mb / batch) for batch in batches for gpcs, mb in slices]
    batches[:] = [batch for batch in batches if batch <= max(ran_at for ran, ran_at, _ in bounds if ran)]
    most = min(mb for ran, _, mb in bounds if ran)
    least = max((mb for ran, batch, mb in bounds if not ran and batch in batches), default=0)
    if least <= 0:
        return {"per_item_mb": repr(most / 2), "per_item_grade": "assumed",
                "per_item": f"half of the most that the measurements allow, {most:.4g} MB; every batch ran"}
    return {"per_item_mb": repr(math.sqrt(least * most)), "per_item_grade": "derived",
            "per_item": "geometric mean of the bracket that the out-of-memory boundary leaves: at least "
                        f"{least:.4g} MB by the batches that did not run, at most {most:.4g} MB by those that did"}

def fill_parvagpu(raw, profile):
    """Memory is estimated from which batches ran; cold starts are from other measurements."""
    for name in dict.fromkeys(row["model"] for row in raw.rows("parvagpu/parvagpu_all.csv")):
        template, values = copy.deepcopy(profile["function"]), raw.network(name)
        restarted = bool(values["pipeswitch"])
        values.update(item_memory(raw, name, template["grid"]["batch"], float(values["weights_mb"])),
                      restart_grade="measured" if restarted else "derived",
                      restart="process restart of this model" if restarted
                      else "mean process restart of resnet152 and inception_v3",
                      input_grade="assumed" if "assumed" in values["input_note"] else "derived")
        add_function(profile, name, template, values, lambda b, c, g: raw.parvagpu.get((name, b, g), math.nan))

def fill_igniter(raw, profile):
    """Also noise and pairwise interference: mean excess slowdowns, at least 0."""
    def excess(sides):
        return rounded(max(0, mean(side.slowdown - 1 for side in sides))) if sides else math.nan

    models = list(dict.fromkeys(row["model"] for row in raw.rows("igniter/solo.csv")))
    for name in models:
        runs = [side.cv for side in raw.sides if side.model == name]
        values = {**raw.network(name), "cv": repr(mean(runs)), "demand": repr(raw.demand(name)), "runs": str(len(runs))}
        add_function(profile, name, profile["function"], values,
                     lambda b, c, g: raw.igniter.get((name, b, g), math.nan))
    profile["interference"].update(constant=excess(raw.sides), functions=models, excess=[
        [excess([side for side in raw.sides if (side.model, side.other) == (victim, other)]) for other in models]
        for victim in models])

# ---- Fits by least squares of relative errors --------------------------------------------------

def minimum(slope, low, high):
    """Where a function with one minimum has it, by bisection of its slope."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return middle

def solve(rows):
    """Solves a positive definite linear system, its right side in the last column, by elimination."""
    for i, row in enumerate(rows):
        row[i:] = [value / row[i] for value in row[i:]]
        for other in rows[:i] + rows[i + 1:]:
            other[i:] = [a - other[i] * b for a, b in zip(other[i:], row[i:])]
    return [row[-1] for row in rows]

def non_negative(columns):
    """The factors of the columns, at least 0, by which their sum is nearest to 1 in every row: the
    best of the fits with some of the columns that need no negative factor."""
    products = [[math.fsum(map(float.__mul__, a, b)) for b in columns] for a in columns]
    sums = list(map(math.fsum, columns))
    nearest, best = 0, [0] * len(columns)
    for used in itertools.product((False, True), repeat=len(columns)):
        kept = list(itertools.compress(range(len(columns)), used))
        factors = dict(zip(kept, solve([[*(products[i][j] for j in kept), sums[i]] for i in kept])))
        near = sum(factor * sums[i] for i, factor in factors.items())
        if near > nearest and min(factors.values()) >= 0:
            nearest, best = near, [factors.get(i, 0) for i in range(len(columns))]
    return best

def law_ms(law, batch, share):
    k1, k2, k3, k4, k5 = law
    return ((k1 * batch + k2) * batch + k3) / (share + k4) + k5

@functools.cache
def share_law(raw, model):
    """Fits t(b, s) = (k1 b^2 + k2 b + k3) / (s + k4) + k5 ms to all of iGniter's measurements of a
    model alone: the form of iGniter (Xu et al., IEEE TPDS 2023, the GPU active time of its performance
    model). Returns k1 to k5, to the precision of the measurements, and the mean error in percent."""
    points = [(b, share / 100, ms) for (name, b, share), ms in raw.igniter.items() if name == model]
    if not points:
        raise ValueError(f"iGniter has no measurements of the donor {model}")

    def fit(k4):
        k1, k2, k3, k5 = non_negative([[b**power / (s + k4) / ms for b, s, ms in points] for power in (2, 1, 0)]
                                      + [[1 / ms for _, _, ms in points]])
        return k1, k2, k3, k4, k5

    def slope(k4):
        law = fit(k4)
        times = [(law_ms(law, b, s), s, ms) for b, s, ms in points]
        return math.fsum((fitted / ms - 1) * (law[4] - fitted) / (s + k4) / ms for fitted, s, ms in times)

    law = [rounded(k, 4) for k in fit(minimum(slope, 0, 1))]
    return law, error_percent((law_ms(law, b, s), ms) for b, s, ms in points)

def bandwidth(raw, law, side):
    """The slowdown by the bandwidth law."""
    coefficient, victim, share = law
    return 1 + coefficient * raw.demand(side.model)**victim * raw.demand(side.other) * side.share**share

def fit_bandwidth(raw, sides, share_exponent=None):
    """The coefficient has a closed form, which leaves a search for the exponents; that of the share
    may be held."""
    cells = {}
    for side in sides:
        cell = cells.setdefault((side.model, side.other, side.share), [side, 0, 0])
        cell[1] += (side.slowdown - 1) / side.slowdown**2
        cell[2] += 1 / side.slowdown**2

    def slopes(victim, share):
        """The best coefficient, and there the slopes along both exponents, but for a factor."""
        terms = [(side, bandwidth(raw, (1, victim, share), side) - 1, p, q) for side, p, q in cells.values()]
        best = math.fsum(x * p for _, x, p, _ in terms) / math.fsum(x * x * q for _, x, _, q in terms)
        errors = [(side, (best * x * q - p) * x) for side, x, p, q in terms]
        return (best, math.fsum(error * math.log(raw.demand(side.model)) for side, error in errors),
                math.fsum(error * math.log(side.share) for side, error in errors))

    def victim(share):
        return minimum(lambda exponent: slopes(exponent, share)[1], 0, 2)

    if share_exponent is None:
        share_exponent = minimum(lambda exponent: slopes(victim(exponent), exponent)[2], 0, 2)
    return slopes(victim(share_exponent), share_exponent)[0], victim(share_exponent), share_exponent

def interference(raw):
    def error(law):
        return error_percent((bandwidth(raw, law, side), side.slowdown) for side in raw.sides)

    law, free = fit_bandwidth(raw, raw.sides, SHARE_EXPONENT), fit_bandwidth(raw, raw.sides)
    left_out, by_constant = [], []  # of each side, predicted from the other pairs of models
    for pair in {frozenset(side.pair) for side in raw.sides}:
        others, sides = ([side for side in raw.sides if (side.pair == pair) == same] for same in (False, True))
        fitted, constant = fit_bandwidth(raw, others, SHARE_EXPONENT), mean(side.slowdown for side in others)
        left_out += [(bandwidth(raw, fitted, side), side.slowdown) for side in sides]
        by_constant += [(constant, side.slowdown) for side in sides]
    return {"coefficient": f"{law[0]:.4g}", "victim_exponent": f"{law[1]:.4f}", "share_exponent": f"{law[2]:g}",
            "free_exponent": f"{free[2]:.3g}", "mape": f"{error(law):.2f}", "free_mape": f"{error(free):.2f}",
            "left_out": f"{error_percent(left_out):.2f}", "by_constant": f"{error_percent(by_constant):.2f}"}

# ---- The reconstruction ------------------------------------------------------------------------

def shaped(raw, anchor, fraction):
    """The values and the latency of a function shaped as its donor. The hold-outs, batches of 16 and
    32 at shares of 10 and 100 %, were not used in the fit."""
    donor, anchor_ms = anchor["donor"], float(anchor["latency_ms"])
    law, mape = share_law(raw, donor)
    holdout = error_percent((law_ms(law, int(row["batch"]), float(row["mps_pct"]) / 100), float(row["gpu_ms"]))
                            for row in raw.rows("igniter/gpu_time.csv")
                            if row["model"] == donor and row["batch"] != "1" and row["mps_pct"] != "50")

    def latency(b, c, g):
        gpu = law_ms(law, b, g / 7) / law_ms(law, 1, 1 / 7)
        return anchor_ms * ((1 - fraction) * gpu + fraction * b / c)
    return {**{f"k{i}": f"{k:.6g}" for i, k in enumerate(law, 1)}, "law_mape": f"{mape:.2f}",
            "holdout": f"{holdout:.2f}", "demand": repr(raw.demand(donor))}, latency

def absolute(raw, anchor, fraction):
    """The same with the GPU's time as measured."""
    row, anchor_ms = raw.find("esg/absolute.csv", "function", anchor["function"]), float(anchor["latency_ms"])
    per_job = float(row["macs"]) / float(row["donor_macs"])

    def gpu_ms(batch, vgpu):
        """G: by straight lines between measured batches, beyond the last by the line through the last
        two: the GPU is busy by then. Less than one image takes the time of one."""
        low, images = 1, batch * per_job
        while 2 * low < images and (row["donor"], 4 * low, vgpu) in raw.parvagpu:
            low *= 2
        first, second = (raw.parvagpu[row["donor"], count, vgpu] for count in (low, 2 * low))
        return first + (second - first) * max(0, images - low) / low

    least = gpu_ms(1, 1)
    part = least / anchor_ms
    return {**row, "images": f"{per_job:.4g}", "gpu_ms": f"{least:.4g}", "gpu_percent": f"{100 * part:.1f}",
            "demand": repr(raw.demand(anchor["donor"]) * part)}, lambda b, c, g: (
                gpu_ms(b, g) + (anchor_ms - least) * (fraction * b / c + 1 - fraction))

def cpu_fraction(raw, what, model=None):
    """Measured CPU fraction at one core, by the model t = a + b / cores. It is the median over all
    pairs of INFless's runs with a GPU that differ only in the cores."""
    alike, fractions = {}, []
    for row in raw.rows("infless/infless_profiles_clean.csv"):
        if row["saturated"] == "0" and row["gpu_pct"] != "0" and model in (None, row["model"]):
            runs = alike.setdefault((row["model"], row["gpu_pct"], row["batch"]), [])
            runs.append((int(row["cpu_cores"]), float(row["latency_ms"])))
    for runs in alike.values():
        for (few, few_ms), (many, many_ms) in itertools.product(runs, runs):
            b = (few_ms - many_ms) / (1 / few - 1 / many) if few < many else 0
            at_one = few_ms - b / few + b
            if few < many and at_one > 0:
                fractions.append(b / at_one)
    return f"{statistics.median(fractions):.3f} {what} ({len(fractions)} pairs)"

def a100_difference(raw, model):
    """Between the law's T(b, g/7) / T(b, 1/7) and the same ratio measured on the A100. At smaller
    batches these measurements are bound by kernel launches of the eager framework, not by the GPU."""
    law, _ = share_law(raw, model)
    return error_percent((law_ms(law, b, g / 7) / law_ms(law, b, 1 / 7),
                          raw.parvagpu[model, b, g] / raw.parvagpu[model, b, 1]) for b in (16, 32) for g in (2, 4, 7))

@functools.cache
def derivation(raw):
    """What all reconstructions say of their derivation."""
    times = {row["function"]: row["latency_ms"] for row in raw.rows("esg/anchors.csv")}
    return {"shortest_ms": f"{min(map(float, times.values())):.4g}", "classification_ms": times["classification"],
            "longest_ms": f"{max(map(float, times.values())):.4g}",
            "seventh_ms": f"{raw.parvagpu['resnet50', 1, 1]:.4g}", "whole_ms": f"{raw.parvagpu['resnet50', 1, 7]:.4g}",
            "over all models": cpu_fraction(raw, "over all models"),
            "for resnet-50": cpu_fraction(raw, "for resnet-50", "resnet-50"),
            **{model: f"{a100_difference(raw, model):.1f}" for model in ("vgg19", "resnet50")}, **interference(raw)}

def fill_esg(raw, profile, form, fraction):
    for anchor in raw.rows("esg/anchors.csv"):
        values, latency = form(raw, anchor, fraction)
        values = {**raw.network(anchor["network"]), **anchor, **values}
        add_function(profile, anchor["function"], profile["function"], values, latency)
    profile.update(filled(profile, {"cpu_fraction": f"{fraction:.6g}", **derivation(raw)}))

# ---- The files ---------------------------------------------------------------------------------

def number_from_0_to_1(text):
    if 0 <= float(text) <= 1:
        return float(text)
    raise ValueError(f"{text} is no fraction")

def main():
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description="Derives the shipped profiles from the raw measurements.")
    parser.error = lambda message: parser.exit(2, f"derive.py: {message}\n")
    parser.add_argument("--raw", type=Path, default=here / "raw", help="measurements (default %(default)s)")
    parser.add_argument("--out", type=Path, default=here, help="where the profiles are written (default %(default)s)")
    parser.add_argument("--cpu-fraction", type=number_from_0_to_1, metavar="X",
                        help="0..1, the CPU's part of esg-reconstructed.json (default: raw/esg/assumptions.csv)")
    given = parser.parse_args()
    try:
        raw = Raw(given.raw)
        chosen = number_from_0_to_1(raw.values["cpu_fraction"]) if given.cpu_fraction is None else given.cpu_fraction
        texts = {"a100-mig-parvagpu": derive(raw, "parvagpu/profile.json", fill_parvagpu),
                 "v100-mps-igniter": derive(raw, "igniter/profile.json", fill_igniter)}
        for name, form, fraction in (("", shaped, chosen), ("-cpu0", shaped, 0), ("-cpu50", shaped, .5),
                                     ("-absolute50", absolute, .5), ("-absolute80", absolute, .8)):
            texts["esg-reconstructed" + name] = derive(raw, f"esg/{form.__name__}.json", fill_esg, form, fraction)
        for name, text in texts.items():
            (given.out / (name + ".json")).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        parser.exit(2, f"derive.py: {error}\n")
    except (LookupError, ArithmeticError) as error:  # a table without a column, or without a measurement
        parser.exit(2, f"derive.py: {given.raw}: the measurements have not {error}\n")

if __name__ == "__main__":
    main()
