"""Writes ROBUSTNESS.md from the results of workloads/experiments/robustness.json.

    robustness.py ESGSIM RESULTS.h5 >results/ROBUSTNESS.md

All figures and sentences are computed from `esgsim report`.
"""

import json
import subprocess
import sys

CV, BIAS = "planning.error.cv", "planning.error.bias"
HITS, COST = "slo_hit_rate", "cost_per_request_usd"
SHOWN = 0.2  # the error of the sentences


def report(over):
    command = [sys.argv[1], "report", sys.argv[2], "--over", over, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def without(panels, other):
    """{setting: {policy: {value: point}}} of the panels in which the other error is 0."""
    return {p["setting"]: {line["policy"]: {point["value"]: point for point in line["points"]} for line in p["policies"]}
            for p in panels if f"{other}=0" in p["conditions"].split()}


def points(change):
    mean, half = round(100 * change["mean"], 1) + 0, change["half_width_95"]  # + 0: no -0.0
    return f"{mean:+.1f}" + ("" if half is None else f" ± {100 * half:.1f}")


def is_sure(change):
    return change["low_95"] is not None and (change["low_95"] > 0 or change["high_95"] < 0)


def cell(change):
    return f"**{points(change)}**" if is_sure(change) else points(change)


def cost_change(by_cv):
    return 100 * (by_cv[SHOWN][COST]["mean"] / by_cv[0][COST]["mean"] - 1)


def clause(by_cv, label):
    changes = {cv: by_cv[cv]["change"] for cv in sorted(by_cv) if cv > 0}
    first = None  # from here on all changes are sure and of one sign
    for cv, change in reversed(changes.items()):
        if not is_sure(change) or change["mean"] * changes[max(changes)]["mean"] < 0:
            break
        first = cv
    if by_cv[0][HITS]["mean"] < 0.05:
        words = f"has too few hits in {label} to lose any"
    elif first is not None:
        verb, at = "loses" if changes[first]["mean"] < 0 else "gains", max(first, SHOWN)
        words = f"{verb} surely from cv {first:g} on in {label} ({points(changes[at])} at cv {at:g}"
    elif all(abs(change["mean"]) < 0.01 for change in changes.values()):
        words = f"keeps its hits in {label}"
    else:
        words = f"shows no sure change in {label} ({points(changes[SHOWN])} at cv {SHOWN:g}"
    cost = cost_change(by_cv)
    if abs(cost) >= 10:
        words += f"{', ' if '(' in words else ' ('}cost {cost:+.0f} %"
    return words + (")" if "(" in words else "")


def table(label, cvs, biases):
    some = next(iter(cvs.values()))
    print(f"\n## {label}\n\nHits without errors in %, and changes in points. Bold: the interval excludes 0. "
          f"Cost: its change at cv {SHOWN:g}.\n")
    names = [f"cv {cv:g}" for cv in sorted(some)[1:]] + ["bias -0.2", "bias 0.2"]
    print(f"| policy | no error | {' | '.join(names)} | cost |\n|{'---|' * (len(names) + 3)}")
    for policy, by_cv in cvs.items():
        changes = [by_cv[cv]["change"] for cv in sorted(by_cv)[1:]] + [biases[policy][b]["change"] for b in (-0.2, 0.2)]
        print(f"| `{policy}` | {100 * by_cv[0][HITS]['mean']:.1f} | {' | '.join(map(cell, changes))} | {cost_change(by_cv):+.1f} % |")


def main():
    whole = report(CV)
    panels = whole["curves"]["panels"]
    cvs, biases = without(panels, BIAS), without(report(BIAS)["curves"]["panels"], CV)
    lengths = dict(word.split("=", 1) for word in panels[0]["conditions"].split() if "=" in word)
    growing = sum(warning["runs"] for warning in whole["warnings"] if "not stationary" in warning["text"])
    labels = {p["setting"]: p["label"] or p["setting"] for p in panels}
    seeds = max(point[HITS]["seeds"] for line in panels[0]["policies"] for point in line["points"])
    print(f"""# What errors in the profile cost

Policies plan with wrong times, and executions take the true times: `planning` in `sim/README.md`. Each planning time is the true time × a lognormal
factor of mean 1 and coefficient of variation *cv*, drawn for each function and configuration, × (1 + *bias*). At bias -0.2 policies plan as if
everything ran 20 % faster. Each of the {seeds} seeds draws its own errors, arrivals and noise, the same for all policies, so the changes
are paired by seed. ± is half of a 95 % interval (Student's t). `workloads/experiments/robustness.json` has the settings. `make robustness` writes this page
and draws all policies against cv. The figure shows ten of those with the most hits without errors:
`esgsim plot results/robustness.h5 --over {CV} --policies NAMES --out figures`.

![Hit rate, cost and 95th percentile of latency against the cv of the planning errors, in ESG heavy](paper/robustness.svg)
""")
    for setting, label in labels.items():
        lines = cvs[setting].values()
        good = [line for line in lines if line[0][HITS]["mean"] >= 0.99]
        kept = sum(line[SHOWN][HITS]["mean"] >= 0.99 for line in good)
        evidence = next(p["profile_evidence"] for p in panels if p["setting"] == setting)
        print(f"* {label}: {len(good)} of {len(lines)} policies hit 99 % without errors, {kept} of them at cv {SHOWN:g}. "
              f"The latencies are {evidence}.")
    print(f"* Each run has {lengths['requests']} requests after {lengths['warmup_requests']} of warm-up. In {growing} of "
          f"{whole['runs']} runs the queues grew until the end, so their hits depend on the length of the run.")
    print("""* If a policy loses nearly all hits, the cluster is overloaded. Errors make other configurations look cheapest. Their vCPUs and units fill the
  invokers less well, so the cluster serves less than what arrives. `gpu_fragmentation` and `stranded_vgpu` show it:
  `esgsim run workloads/experiments/relaxed-heavy.json --set policy.name=fifo --set planning.error.cv=0.1 --details`.""")
    print("\n## One sentence for each policy\n\nChanges of hits are in points. Costs are given from 10 % on.\n")
    for policy in next(iter(cvs.values())):
        print(f"* `{policy}` {', and '.join(clause(cvs[s][policy], labels[s]) for s in labels)}.")
    for setting, label in labels.items():
        table(label, cvs[setting], biases[setting])


main()
