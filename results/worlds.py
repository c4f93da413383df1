"""Where would ESG's published figures hold? Draws worlds over all assumptions, and looks for those in which they do.

    worlds.py sweep COUNT SEED >SWEEP.json                            the worlds as a sweep, for `esgsim sweep`
    worlds.py page COUNT SEED ESGSIM RESULTS.h5 >results/pages/WORLDS.md    what they show
    worlds.py plant COUNT SEED                                        how well a box is found that is known

All figures and sentences are computed. Draws take random.random() alone, so they are the same under every Python.
"""

import csv
import io
import json
import random
import subprocess
import sys
from math import exp, log
from pathlib import Path

sys.dont_write_bytecode = True
import prim  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
BASELINES = ["infless", "fast-gshare", "orion", "aquatope"]
BUDGET = {"rounds": 10, "candidates": 128}  # of Aquatope's tuning
PROFILES = {"vCPU share 0.2": "", "vCPU share 0.5": "-cpu50", "GPU 0.5": "-absolute50", "GPU 0.8": "-absolute80"}
APPLICATIONS = ["image-classification", "depth-recognition", "background-elimination", "expanded-image-classification"]
HITS, POINTS, COST, SERVED = "hits", "points", "cost", "served"
FIGURES = (HITS, POINTS, COST, SERVED, "both")
RANGES = {HITS: (61, 80), POINTS: (61, 80), COST: (47, 187), SERVED: (47, 187)}
SCOPES = ["some", "average", "all"]
DROPPED = 2  # points: costs are not compared where shares of refused requests differ by more, as in reports
LEAST = 20  # worlds in which a claim must hold, for boxes to be sought
PLANTED = 400  # fewest worlds in which boxes are planted


def choice(u, values):
    return values[int(u * len(values))]


def logarithmic(u, low, high):
    return exp(log(low) + u * (log(high) - log(low)))


# Axis, what it is, the law of a draw u in [0, 1), grade, source.
AXES = [
    ("profile", "latency profile: vCPUs carry this share of a recalled anchor; or the time on the GPU is measured, and vCPUs carry 0.5 or 0.8 of the rest",
     lambda u, w: choice(u, list(PROFILES)), "assumed", "`traces/profiles/README.md`"),
    ("sharing", "MIG slices, MPS, or MPS without interference", lambda u, w: choice(u, ["mig", "mps", "mps without interference"]),
     "recalled (MIG), assumed", "`platform.interference`"),
    ("invokers", "invokers of one A100 and 16 vCPUs each", lambda u, w: 4 + int(13 * u), "recalled: 16", "`workloads/clusters/esg-16.json`"),
    ("warm", "warm containers of each function and invoker at the start; a quarter of the worlds starts cold",
     lambda u, w: round(5 * w["invokers"] * max(0.0, u - 0.25) / 0.75) / w["invokers"], "assumed: 5", "`platform.initial`"),
    ("load", "arrivals relative to the capacity at minimum configurations", lambda u, w: 0.2 + 1.2 * u,
     "recalled: 0.21, 0.43, 0.85", "`arrivals.load`"),
    ("arrivals", "process of the arrivals", lambda u, w: choice(u, ["uniform", "poisson", "mmpp"]), "assumed: uniform", "`arrivals.process`"),
    ("burst", "rate of a burst / rate between bursts, logarithmic; bursts take a quarter of the time; 1: no bursts",
     lambda u, w: logarithmic(u, 2, 20) if w["arrivals"] == "mmpp" else 1.0, "assumed: 1", "`arrivals.states`"),
    ("cycle_s", "seconds from burst to burst in the mean, logarithmic; 0: no bursts",
     lambda u, w: logarithmic(u, 2, 40) if w["arrivals"] == "mmpp" else 0.0, "assumed", "`arrivals.states`"),
    ("slo", "SLO / latency at the minimum configuration", lambda u, w: 0.7 + 0.8 * u, "recalled: 0.8, 1, 1.2", "`slo.factor`"),
    ("noise", "coefficient of variation of execution times, logarithmic", lambda u, w: logarithmic(u, 0.02, 0.3),
     "assumed: 0.05", "`platform.noise.cv`"),
    ("requests", "requests measured, logarithmic", lambda u, w: round(logarithmic(u, 300, 3000)), "assumed: 10000", "`requests`"),
    ("warmup", "requests before the measured ones: none or 500", lambda u, w: choice(u, [0, 500]), "assumed: 1000", "`warmup_requests`"),
    ("keep_alive_s", "keep-alive of containers, logarithmic", lambda u, w: logarithmic(u, 5, 600), "recalled: 600", "`platform.keep_alive_s`"),
    ("prewarm", "prewarming by arrival intervals, or none", lambda u, w: choice(u, ["ewma", "none"]), "secondary: ewma", "`platform.prewarm`"),
    ("decision_ns", "nanoseconds per unit of a policy's work, logarithmic", lambda u, w: logarithmic(u, 10, 1000),
     "assumed: 100", "`platform.decision_cost`"),
    ("headroom", "ESG's headroom; 0 in half of the worlds", lambda u, w: 0.3 * max(0.0, u - 0.5), "assumed: 0.1", "`headroom` of `esg`"),
    ("infless", "reading of INFless's placement", lambda u, w: choice(u, ["logged", "repo", "paper"]), "derived (logged), published (paper)",
     "`efficiency` of `infless`"),
    ("applications", "one of the four applications, or all", lambda u, w: choice(u, ["all", *APPLICATIONS]), "recalled: all", "`applications`"),
]
NAMES = [axis[0] for axis in AXES]


def draw(count, seed):
    """The worlds, {axis: value} each."""
    source = random.Random(seed)
    worlds = []
    for _ in range(count):
        world = {}
        for name, _words, law, _grade, _key in AXES:
            world[name] = law(source.random(), world)
        worlds.append(world)
    return worlds


def arrivals(world):
    if world["arrivals"] == "uniform":
        return {"process": "uniform", "load": world["load"]}
    if world["arrivals"] == "poisson":
        return {"process": "poisson", "load": world["load"]}
    return {"process": "mmpp", "load": world["load"],
            "states": [{"rate_per_s": 1, "mean_sojourn_s": 0.75 * world["cycle_s"]},
                       {"rate_per_s": world["burst"], "mean_sojourn_s": 0.25 * world["cycle_s"]}]}


def keys(world):
    """The world as keys of an experiment."""
    sharing = "mig" if world["sharing"] == "mig" else "mps"
    chosen = APPLICATIONS if world["applications"] == "all" else [world["applications"]]
    return {
        "profile": str(ROOT / f"traces/profiles/esg-reconstructed{PROFILES[world['profile']]}.json"),
        "cluster": str(ROOT / f"workloads/clusters/esg-16{'-mig' if sharing == 'mig' else ''}.json"),
        "cluster.invokers.0.count": world["invokers"],
        "applications": [str(ROOT / f"workloads/applications/{name}.json") for name in chosen],
        "platform.interference": world["sharing"] != "mps without interference",
        "platform.initial": round(world["warm"] * world["invokers"]),
        "arrivals": arrivals(world),
        "slo.factor": world["slo"],
        "platform.noise.cv": world["noise"],
        "requests": world["requests"],
        "warmup_requests": world["warmup"],
        "platform.keep_alive_s": world["keep_alive_s"],
        "platform.prewarm": world["prewarm"],
        "platform.decision_cost.ns_per_unit": world["decision_ns"],
        "record": "summary",
    }


def policies(world):
    params = {"esg": {"headroom": world["headroom"]}, "infless": {"efficiency": world["infless"]}, "aquatope": BUDGET}
    return [{"name": name, "params": params.get(name, {})} for name in ["esg", *BASELINES]]


def sweep(count, seed):
    rows = [{"name": f"{number} {policy['name']}", **keys(world), "policy": policy}
            for number, world in enumerate(draw(count, seed)) for policy in policies(world)]
    json.dump({"name": "worlds", "base": str(ROOT / "workloads/experiments/strict-light.json"), "matrix": {"setting": rows}, "seeds": 1},
              sys.stdout, indent=0)


def outcomes(count, esgsim, results):
    """For each world {figure: {baseline: value in %, None where it is not defined}}."""
    command = [esgsim, "report", results, "--format", "tidy"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures = [{} for _ in range(count)]
    for row in csv.DictReader(io.StringIO(text)):
        number, policy = row["setting"].split()
        figures[int(number)][policy] = (100 * float(row["slo_hit_rate"]), float(row["cost_per_request_usd"] or "nan"), 100 * float(row["drop_rate"]))
    whole = [number for number, world in enumerate(figures) if len(world) == 1 + len(BASELINES)]
    values = []
    for number in whole:
        hits, cost, dropped = figures[number]["esg"]
        others = {name: figures[number][name] for name in BASELINES}
        values.append({
            HITS: {name: 100 * (hits / other - 1) if other > 0 else None for name, (other, _, _) in others.items()},
            POINTS: {name: hits - other for name, (other, _, _) in others.items()},
            COST: {name: 100 * (other / cost - 1) if cost > 0 and abs(other_dropped - dropped) <= DROPPED else None
                   for name, (_, other, other_dropped) in others.items()},
            SERVED: {name: 100 * (other / cost - 1) if cost > 0 else None for name, (_, other, _) in others.items()},
            "esg": hits, "others": {name: other for name, (other, _, _) in others.items()}})
    return whole, values


def within(figure, value):
    low, high = RANGES[figure]
    return value is not None and low <= value <= high


def holds(value, figure, scope):
    """Whether the published range holds in a world: against some baseline, on average over the four, or against all."""
    if scope == "average":
        four = list(value[figure].values())
        return None not in four and within(figure, sum(four) / len(four))
    return (any if scope == "some" else all)(within(figure, one) for one in value[figure].values())


def both(value, scope):
    if scope == "average":
        return holds(value, HITS, scope) and holds(value, COST, scope)
    return (any if scope == "some" else all)(within(HITS, value[HITS][name]) and within(COST, value[COST][name]) for name in BASELINES)


# ---- A box that is known --------------------------------------------------------------------------

def planted_box(points, source):
    """A box over two to four axes that holds 5 to 20 % of the points."""
    while True:
        axes, wanted = [], 2 + int(3 * source.random())
        while len(axes) < wanted:
            axis = int(len(NAMES) * source.random())
            axes += [axis] if axis not in axes else []
        share = (0.05 + 0.15 * source.random()) ** (1 / wanted)
        box = {}
        for axis in axes:
            values = sorted(point[axis] for point in points)
            if isinstance(values[0], str):
                names = sorted(set(values))
                kept = min(len(names) - 1, max(1, round(share * len(names))))
                names.sort(key=lambda _: source.random())
                box[axis] = frozenset(names[:kept])
            else:
                first = source.random() * (1 - share)
                low, high = values[int(first * len(values))], values[int((first + share) * len(values))]
                box[axis] = low, high
        volume = sum(prim.inside(box, point) for point in points) / len(points)
        if 0.05 <= volume <= 0.2:
            return box, volume


def plant(worlds, seed, boxes=20, noise=0.05):
    """For each planted box: (volume, precision, recall) on the worlds of the second half. A twentieth of the labels is wrong."""
    source = random.Random(seed)
    points = [tuple(world.values()) for world in worlds]
    half, found = len(points) // 2, []
    for _ in range(boxes):
        box, volume = planted_box(points, source)
        labels = [prim.inside(box, point) != (source.random() < noise) for point in points]
        guess = prim.cover(points[:half], labels[:half], 1)
        guessed = [bool(guess) and prim.inside(guess[0], point) for point in points[half:]]
        truth = [prim.inside(box, point) for point in points[half:]]
        right = sum(g and t for g, t in zip(guessed, truth))
        found.append((volume, right / max(1, sum(guessed)), right / max(1, sum(truth))))
    return found


def plant_words(found):
    volumes, precisions, recalls = zip(*found)

    def mean(values):
        return sum(values) / len(values)

    return (mean(precisions), mean(recalls),
            f"{len(found)} planted boxes, {100 * min(volumes):.1f} to {100 * max(volumes):.1f} % of the worlds each: precision "
            f"{100 * mean(precisions):.1f} % in the mean ({100 * min(precisions):.1f} % at worst), recall "
            f"{100 * mean(recalls):.1f} % ({100 * min(recalls):.1f} % at worst)")


# ---- The page -------------------------------------------------------------------------------------

TITLES = {HITS: "hit-rate gain 61–80 % of the baseline's", POINTS: "hit-rate gain 61–80 points", COST: "cost saving 47–187 %, where as many are refused", SERVED: "cost saving 47–187 %, whatever is refused",
          "both": "hit-rate gain 61–80 % and cost saving 47–187 %"}
SCOPE_WORDS = {"some": "at least one baseline", "average": "the average over the four", "all": "all four"}


def share(hits, count):
    low, high = prim.wilson(hits, count)
    return f"{100 * hits / max(1, count):.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def side_words(name, side):
    if isinstance(side, frozenset):
        return f"`{name}` is {' or '.join(sorted(str(one) for one in side))}"
    low, high = side
    if low is None:
        return f"`{name}` ≤ {number(high)}"
    return f"`{name}` ≥ {number(low)}" + ("" if high is None else f" and ≤ {number(high)}")


def box_words(box):
    return ", ".join(side_words(NAMES[axis], side) for axis, side in sorted(box.items()))


def claim(figure, scope):
    return (lambda value: both(value, scope)) if figure == "both" else (lambda value: holds(value, figure, scope))


def boxes_of(points, labels):
    """Boxes found in the first half of the worlds, each with what it holds of the second half that earlier ones leave."""
    half, told, before = len(points) // 2, [], []
    for box in prim.cover(points[:half], labels[:half], 3):
        left = [i for i in range(half, len(points)) if not any(prim.inside(one, points[i]) for one in before)]
        held = [labels[i] for i in left if prim.inside(box, points[i])]
        rest = [labels[i] for i in left if not prim.inside(box, points[i])]
        before.append(box)
        if prim.wilson(sum(held), len(held))[0] > sum(rest) / max(1, len(rest)):
            told.append((box, sum(held), len(held), len(points) - half, sum(labels[half:])))
    return told


def answer(counts, total):
    """What the page says first."""
    return (f"Against all four at once, the hit-rate gain holds in {counts[HITS, 'all']} of {total} worlds and the cost saving in "
            f"{counts[COST, 'all']}. Against at least one, they hold in {counts[HITS, 'some']} and {counts[COST, 'some']}, and both against "
            f"the same one in {counts['both', 'some']}. Costs are compared where as many requests are refused. Whatever is refused, the saving holds "
            f"against all four in {counts[SERVED, 'all']}, and against at least one in {counts[SERVED, 'some']}.")


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def counts_table(counts, total):
    rows = [[TITLES[figure], *(f"{counts[figure, scope]}: {share(counts[figure, scope], total)}" for scope in SCOPES)]
            for figure in FIGURES]
    return table(["range", *(SCOPE_WORDS[scope] for scope in SCOPES)], rows)


def baseline_table(values):
    rows = []
    for name in BASELINES:
        gains = sorted(value[POINTS][name] for value in values)
        held = [sum(within(figure, value[figure][name]) for value in values) for figure in (HITS, POINTS, COST, SERVED)]
        rows.append([f"`{name}`", *(share(one, len(values)) for one in held), *(f"{100 * sum(map(test, gains)) / len(gains):.0f} %" for test in (lambda g: g < -1, lambda g: abs(g) <= 1, lambda g: g > 1)),
                     sum(value[HITS][name] is None for value in values)])
    return table(["baseline", "gain 61–80 %", "gain 61–80 points", "saving 47–187 %", "whatever is refused", "ESG hits less", "within 1 point", "ESG hits more",
                  "baseline hits nothing"], rows)


def boxes_table(boxes):
    rows = [[TITLES[figure], SCOPE_WORDS[scope], box_words(box), share(size, held), f"{hits} of {size}: {share(hits, size)}",
             f"{100 * hits / max(1, all_hits):.0f} %"]
            for (figure, scope), found in boxes.items() for box, hits, size, held, all_hits in found]
    return table(["range", "against", "box", "volume", "holds in", "of all where it holds"], rows)


def page(count, seed, esgsim, results):
    worlds = draw(count, seed)
    whole, values = outcomes(count, esgsim, results)
    points = [tuple(worlds[i].values()) for i in whole]
    labels = {(figure, scope): [claim(figure, scope)(value) for value in values] for figure in FIGURES for scope in SCOPES}
    counts = {key: sum(one) for key, one in labels.items()}
    boxes = {key: boxes_of(points, one) for key, one in labels.items() if counts[key] >= LEAST}
    few = [f"{TITLES[figure]}, {SCOPE_WORDS[scope]}" for (figure, scope), n in counts.items() if n < LEAST]
    mixed = sum(1 < value["esg"] < 99 for value in values)
    nobody = sum(max(value["esg"], *value["others"].values()) < 1 for value in values)
    unlike = {name: sum(value[COST][name] is None for value in values) for name in BASELINES}
    apart = " and ".join(f"`{name}` in {worlds_apart} worlds" for name, worlds_apart in unlike.items() if worlds_apart) or "none"
    _, _, planted = plant_words(plant(draw(max(count, PLANTED), seed), seed))
    print(f"""# Where would ESG's published figures hold?

ESG's abstract says that its hit rate is 61–80 % above that of four systems, and that it saves 47–187 % of cost. `REPRODUCING.md` judges both
with one assumption changed at a time. Here all vary together: {count} worlds are drawn. ESG and the four systems run in each, with equal arrivals and noise. "Words" in `sim/README.md` explains the terms.

{answer(counts, len(values))}

`make worlds` draws the worlds (COUNT={count}, SEED={seed}), runs them, and writes this page: about ten minutes on one core for 2000. Brackets
contain Wilson's 95 % intervals.

## How often each range holds

{counts_table(counts, len(values))}

A range holds in a world if the value of its one run is inside. Both ranges hold if they hold against the same baseline, or for both averages.
The average is not defined if a baseline hits nothing, and the range then counts as not held. Costs are per request served. "Where as many
are refused": the shares of requests refused differ by {DROPPED} points at most, as in reports. They differ by more from that of {apart}.

Against each baseline, and how often ESG hits more or less:

{baseline_table(values)}

ESG's hit rate is between 1 and 99 % in {share(mixed, len(values))} of the worlds. In {share(nobody, len(values))}, none of the five hits 1 %,
because of cold starts and overload.

## Boxes of assumptions

A box restricts some assumptions to ranges. Each is found in the first half of the worlds by patient rule induction (Friedman
and Fisher 1999): peel off a twentieth of the worlds at a time, then move every bound to maximise the likelihood. A bound is kept if it gains more than
the logarithm of the number of worlds. Up to three boxes are found for each range, each in the worlds outside the previous boxes. All numbers are for
the held-out second half. Boxes in which the range does not hold significantly more often there than outside are omitted. Volume: the share of worlds in the box.

{boxes_table(boxes)}

No box is sought for ranges that hold in fewer than {LEAST} worlds: {"; ".join(few) or "none"}.

**Check of the search.** Synthetic claims hold in known boxes, over two to four of the same assumptions, with 5 % of the labels wrong.
{planted}. Both are shares of held-out worlds.

## The assumptions drawn

Each value is drawn uniformly from its range (or its logarithm, where stated), independently of the others.

{assumptions_table(worlds)}

## Limits

* Each world has one seed: an interval over seeds would be narrower than the spread between worlds, and needs as many runs again.
* INFless and FaST-GShare change their instances every 10 s. Many runs here are not much longer, so they measure the start-up of these two.
* Aquatope tunes with a smaller budget than its default: {BUDGET["rounds"]} rounds of {BUDGET["candidates"]} candidates.
* The shares depend on the distributions drawn. They measure the size of the region, not the probability that the authors' testbed was in it.
* Not varied: rules of dispatch and admission, other profiles, other clusters than invokers with one A100, other readings of FaST-GShare, Orion
  and Aquatope.""")
    if len(values) < count:
        print(f"* {count - len(values)} worlds have failed runs, and are omitted.")


def assumptions_table(worlds):
    rows = []
    for name, words, _law, grade, key in AXES:
        drawn = [world[name] for world in worlds]
        values = ", ".join(sorted({str(one) for one in drawn})) if isinstance(drawn[0], str) else f"{number(min(drawn))} to {number(max(drawn))}"
        rows.append([f"`{name}`", words, values, grade, key])
    return table(["name", "what", "values", "grade of our value", "source or key"], rows)


def main():
    command, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if command == "sweep":
        sweep(count, seed)
    elif command == "page":
        page(count, seed, *sys.argv[4:6])
    elif command == "plant":
        precision, recall, words = plant_words(plant(draw(count, seed), seed))
        print(words)
        sys.exit(0 if min(precision, recall) >= 0.95 else 1)


if __name__ == "__main__":
    main()
