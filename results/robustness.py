"""Writes ROBUSTNESS.md from the results of workloads/experiments/robustness.json.

    robustness.py ESGSIM RESULTS.h5 [FIGURE.svg] >results/pages/ROBUSTNESS.md   FIGURE.csv beside the figure. Needs gnuplot
    robustness.py PAGE.md [FIGURE.svg]                                    the page again, its sentences and figure from its own tables

All figures and sentences are computed: tables from `esgsim report`, sentences and figure from the tables.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from flips import redraw

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


HEAD = "| policy | no error |"


def table(label, cvs, biases):
    """The lines of a table."""
    some = next(iter(cvs.values()))
    names = [f"cv {cv:g}" for cv in sorted(some)[1:]] + ["bias -0.2", "bias 0.2"]
    lines = [f"{HEAD} {' | '.join(names)} | cost |", f"|{'---|' * (len(names) + 3)}"]
    for policy, by_cv in cvs.items():
        changes = [by_cv[cv]["change"] for cv in sorted(by_cv)[1:]] + [biases[policy][b]["change"] for b in (-0.2, 0.2)]
        lines.append(f"| `{policy}` | {100 * by_cv[0][HITS]['mean']:.1f} | {' | '.join(map(cell, changes))} | {cost_change(by_cv):+.1f} % |")
    return f"\n## {label}\n\nHits without errors in %, and changes in points. Bold: the interval excludes 0. Cost: its change at cv {SHOWN:g}.\n\n" + "\n".join(lines) + "\n"


def read(tables):
    """{label: {policy: {column: (text without stars, mean, half or None, whether it is bold)}}}."""
    found = {}
    for part in tables.split("\n## ")[1:]:
        lines = [[text.strip() for text in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
        found[part.splitlines()[0]] = {line[0].strip("`"): dict(zip(lines[0][1:], map(value, line[1:]))) for line in lines[2:]}
    return found


def value(text):
    plain = text.strip("*")
    numbers = [float(number) for number in re.findall(r"[-+]?[0-9.]+", plain)]
    return plain, numbers[0], numbers[1] if len(numbers) > 1 else None, text != plain


def group(row, columns):
    """" at cv 0.1 and 0.2 (-56.2 ± 15.1 at cv 0.1": the shown one of them, or the last."""
    numbers = [column.split()[1] for column in columns]
    at = f"{SHOWN:g}" if f"{SHOWN:g}" in numbers else numbers[-1]
    last = [column for column in row if column.startswith("cv ")][-len(columns):]
    where = f"from cv {numbers[0]} on" if columns == last else f"at cv {' and '.join(numbers)}"
    return f"surely {where}", f"{row['cv ' + at][0]} at cv {at}"


def clause(row, label):
    columns = [column for column in row if column.startswith("cv ")]
    parts, told = [], []
    sures = [(verb, [column for column in columns if row[column][3] and sign * row[column][1] > 0]) for verb, sign in (("loses", -1), ("gains", 1))]
    for verb, sure in sorted((pair for pair in sures if pair[1]), key=lambda pair: columns.index(pair[1][0])):
        where, number = group(row, sure)
        parts.append(f"{verb} {where}")
        told.append(number)
    if row["no error"][1] < 5:
        words, told = f"has too few hits in {label} to lose any", []
    elif parts:
        words = f"{' and '.join(parts)} in {label}"
    elif all(abs(row[column][1]) < 1 for column in columns):
        words = f"keeps its hits in {label}"
    else:
        words, told = f"shows no sure change in {label}", [f"{row[f'cv {SHOWN:g}'][0]} at cv {SHOWN:g}"]
    if abs(row["cost"][1]) >= 10:
        told.append(f"cost {row['cost'][0]}")
    return words + (f" ({', '.join(told)})" if told else "")


def sentences(found):
    lines = [f"* `{policy}` {', and '.join(clause(found[label][policy], label) for label in found)}." for policy in next(iter(found.values()))]
    return "## One sentence for each policy\n\nChanges of hits are in points. Costs are given from 10 % on.\n\n" + "\n".join(lines) + "\n"


def draw(found, path):
    """The CSV of plots/robustness.gp, and its picture: of each world the changes at the shown error, sorted by those of the first."""
    shown = f"cv {SHOWN:g}"
    order = sorted(next(iter(found.values())), key=lambda policy: [-found[label][policy][shown][1] for label in found])
    caption = (f"Change of hits at {shown} against no error, with 95 % intervals paired by seed. Orange: the interval excludes 0. "
               "Dashed: no change. In brackets: hits without errors in %.")
    with Path(path).with_suffix(".csv").open("w", encoding="utf-8") as out:
        print("panel,panel_title,axis,row,contender,value,low,high,bound,colour,point,subject,caption", file=out)
        for p, (label, rows) in enumerate(found.items(), 1):
            for r, policy in enumerate(order, 1):
                _, mean, half, sure = rows[policy][shown]
                before = " / ".join(f"{found[world][policy]['no error'][1]:.0f}" for world in found)
                cells = [p, label, "change of the hit rate (% of the requests)", r, f"{policy} ({before})", mean, *(("", "") if half is None else (round(max(-100, mean - half), 1), round(min(100, mean + half), 1))),
                         0, "0xD55E00" if sure else "0x767676", 7 if sure else 6, "-", caption if (p, r) == (1, 1) else "-"]
                print(",".join(str(text).replace(",", "\u201a") for text in cells), file=out)
    redraw(path)


def again(page, figure):
    text = Path(page).read_text(encoding="utf-8")
    start, end = text.index("## One sentence"), text.index("\n## ", text.index("## One sentence"))
    found = read(text[end:])
    Path(page).write_text(text[:start] + sentences(found) + text[end:], encoding="utf-8")
    if figure:
        draw(found, figure)


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
and draws all policies against cv. The figure has the changes at cv {SHOWN:g}. "Words" in `sim/README.md` explains the terms.

![Change of hits at cv {SHOWN:g}, a row for each policy, a panel for each world](../paper/robustness.svg)
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
    tables = "".join(table(label, cvs[setting], biases[setting]) for setting, label in labels.items())
    print("\n" + sentences(read(tables)) + tables, end="")
    if len(sys.argv) > 3:
        draw(read(tables), sys.argv[3])


if sys.argv[1].endswith(".md"):
    again(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
else:
    main()
