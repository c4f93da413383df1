"""The sentences of the main result: computed from runs, and compared with what the pages say.

    sentences.py reproduce ESGSIM HEADLINE.h5 PAPER.h5               what `make reproduce` ran: all in REPRODUCING.md, the first of each in README.md
    sentences.py wider ESGSIM HEADLINE.h5 SCALERS.h5 PAPER.h5…       longer runs of scaling systems, more settings of the paper: REPRODUCING.md
    sentences.py headline results/pages/HEADLINE.md                        the first paragraph of that page's block of the same name: README.md

Each prints its sentences, compares them with the block of the same name, and ends in status 1 where a sentence differs.
--update: write them into the pages instead. --pages FOLDER: of README.md and REPRODUCING.md.
A block stands between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`. Line breaks do not count.
"""

import argparse
import difflib
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOUR = ("infless", "fast-gshare", "orion", "aquatope")
PLAIN = "esg headroom=0 late=lead"
WORDS = "none one two three four five six seven eight nine ten".split()
WIDTH = 150


def word(number):
    return WORDS[number] if number < len(WORDS) else str(number)


def some(number, of):
    """'none of 18', 'all 18', '5 of 18'."""
    return f"none of {of}" if number == 0 else f"all {of}" if number == of else f"{number} of {of}"


def listed(parts):
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# ---- What was measured ----------------------------------------------------------------------------

def report(*arguments):
    done = subprocess.run([*arguments, "--format", "json"], check=True, capture_output=True)
    return json.loads(done.stdout)


class Loads:
    """The greatest load that each policy sustains: {(label, conditions): {policy: load}}, 0 where it sustains none."""

    def __init__(self, esgsim, results):
        curves = report(esgsim, "report", results)["curves"]
        self.results, self.limit, self.sustained = results, curves["at_least"], {}
        values, seeds = set(), set()
        for panel in curves["panels"]:
            self.sustained[panel["label"] or panel["setting"], panel["conditions"]] = {f"{line['policy']} {line['variant']}".strip(): line["sustained"] or 0
                                                                                          for line in panel["policies"]}
            values.update(point["value"] for line in panel["policies"] for point in line["points"])
            seeds.update(point[curves["metric"]]["seeds"] for line in panel["policies"] for point in line["points"])
        self.first, self.last, self.seeds = min(values), max(values), max(seeds)
        self.lengths = dict(part.split("=", 1) for part in curves["panels"][0]["conditions"].split() if "=" in part)

    def parts(self, key):
        """How many sharings (0) and latencies (1) the labels name, of which each is 'sharing, latency'."""
        return word(len({label.split(", ")[key] for label, _ in self.sustained}))

    def of(self, policy):
        """{case: load} of one policy."""
        try:
            return {case: of[policy] for case, of in self.sustained.items()}
        except KeyError:
            sys.exit(f"sentences.py: {self.results} has no policy '{policy}' in one of its settings")

    def best_other(self):
        """{case: (greatest load of a policy that is not headway, the names of those that sustain it)}."""
        best = {}
        for case, of in self.sustained.items():
            others = {policy: load for policy, load in of.items() if policy.split()[0] != "headway"}
            most = max(others.values())
            best[case] = most, {policy.split()[0] for policy, load in others.items() if load == most}
        return best


def against(ours, others):
    """How many cases are above, equal and below."""
    return tuple(sum(sign == (ours[case] > others[case]) - (ours[case] < others[case]) for case in ours) for sign in (1, 0, -1))


def at_least_the_four(loads, name):
    """In how many cases a row of ESG sustains at least as much as every row of its four rivals."""
    ours = loads.of(name)
    return sum(all(ours[case] >= load for policy, load in of.items() if policy.split()[0] in FOUR)
               for case, of in loads.sustained.items())


class Pairs:
    """Of the published figures: (pairs in which one holds, pairs), summed over results files; and the ranges."""

    def __init__(self, esgsim, files):
        paper = str(ROOT / "results/paper/esg-hpdc24.json")
        self.counts, self.ranges, self.most = Counter(), {}, 0.0
        for of_file in report(esgsim, "report", *files, "--paper", paper, "--verdicts")["files"]:
            for figure in of_file["figures"]:
                rivals = {pair["policy"] for pair in figure["ours"]}
                key = figure["metric"], figure["policy"], rivals.pop().split()[0] if len(rivals) == 1 else "four"
                for standing in ("holds", "below", "above"):
                    self.counts[key, standing] += figure["pairs"].get(standing, 0)
                self.counts[key, "all"] += sum(figure["pairs"].values())
                self.ranges[figure["metric"]] = f"{figure['low'] or 0:g}–{figure['high']:g} %"
                if figure["metric"] == "slo_hit_rate_gain":
                    self.most = 100 / (1 + figure["low"] / 100)

    def holds(self, metric, esg="esg", rivals="four"):
        key = metric, esg, rivals
        return some(self.counts[key, "holds"], self.counts[key, "all"])


# ---- What is said ---------------------------------------------------------------------------------

def headway(loads):
    ours, best = loads.of("headway"), loads.best_other()
    above, equal, below = against(ours, {case: most for case, (most, _) in best.items()})
    text = [f"**`headway` sustains the greatest load in {some(above + equal, len(ours))} cases, and alone in {word(above)}.**",
            "It learns how late batches are and plans with that risk."]
    if below:
        rivals = Counter(name for case, (most, names) in best.items() if most > ours[case] for name in sorted(names))
        text.append("More is sustained by " + listed([f"`{name}` in {word(count)}" for name, count in rivals.most_common()]) + ".")
    ended = sum(ours[case] == most == loads.last for case, (most, _) in best.items())
    if ended:
        text.append(f"In {some(ended, equal)} ties the sweep ends before either fails.")
    return text


def esg(loads):
    above, equal, below = map(word, against(loads.of("fifo"), loads.of("esg")))
    return ["**ESG sustains at least as much as each of the four systems that it was compared with in "
            f"{some(at_least_the_four(loads, 'esg'), len(loads.sustained))} cases.**",
            "Its plans leave a tenth of the SLO unused, and late jobs ride along: both are our assumptions.",
            f"Without this margin, and with late jobs first (`{PLAIN.removeprefix('esg ')}`), it is {word(at_least_the_four(loads, PLAIN))}.",
            f"A static plan served in order of arrival (`fifo`) sustains more than ESG in {above}, as much in {equal}, and less in {below}."]


def published(pairs):
    hits, points, cost, by_all, held = "slo_hit_rate_gain", "slo_hit_rate_gain_points", "cost_saving", "cost_saving_per_arrival", "cost_saving_held"
    text = [f"**ESG's published hit-rate gain of {pairs.ranges[hits]} holds in {pairs.holds(hits)} pairs of baseline and setting, and read as points in {pairs.holds(points)}.**",
            f"It is surely smaller in {word(pairs.counts[(hits, 'esg', 'four'), 'below'])}: such a gain leaves a rival at most {pairs.most:.0f} % of hits. "
            f"It is surely larger in {word(pairs.counts[(hits, 'esg', 'four'), 'above'])}, where the rival hits little.",
            f"The published cost saving of {pairs.ranges[cost]} holds in {pairs.holds(cost)} per request served, in {pairs.holds(by_all)} per request, "
            f"dropped ones included, and in {pairs.holds(held)} per request served with all that is held, by idle instances, too.",
            f"Against INFless by the formula of its text, in place of its authors' logs, the saving holds in {pairs.holds(cost, rivals='infless')}."]
    text += [f"{words}, the gain holds in {pairs.holds(hits, name)}, the saving in {pairs.holds(cost, name)}."
             for words, name in (("Without ESG's margin", PLAIN), ("With a margin of 15 % of the SLO", "esg headroom=0.15"))]
    text.append("Which assumption changes which verdict: `REPRODUCING.md`.")
    return text


def reproduce(esgsim, headline, paper):
    loads, pairs = Loads(esgsim, headline), Pairs(esgsim, [paper])
    factors = len({part for _, conditions in loads.sustained for part in conditions.split() if part.startswith("slo.factor=")})
    question = [f"How much load does each scheduler sustain, with at least {100 * loads.limit:g} % of the requests in time?",
                f"`make reproduce` answers this for loads of {loads.first:g} to {loads.last:g} of the cluster's capacity, {word(factors)} "
                f"deadlines, {loads.parts(0)} ways to share a GPU and {loads.parts(1)} assumptions about latency, which makes "
                f"{len(loads.sustained)} cases.", "Each scheduler refuses requests as it does by default."]
    basis = [f"Each figure rests on {word(loads.seeds)} seeds of {int(loads.lengths['requests']):,} requests after "
             f"{int(loads.lengths['warmup_requests']):,}.",
             f"A load counts as sustained if the whole 95 % interval is above {100 * loads.limit:g} %, at this load and at all below it."]
    return [question, headway(loads), esg(loads), published(pairs), basis]


def wider(esgsim, headline, scalers, *papers):
    loads, long, pairs = Loads(esgsim, headline), Loads(esgsim, scalers), Pairs(esgsim, papers)
    times = int(long.lengths["requests"]) / int(loads.lengths["requests"])
    rows = next(iter(long.sustained.values()))
    most = [f"`{row}` {max(long.of(row).values()):g}" for row in rows]
    longer = {(label, dict(part.split("=", 1) for part in conditions.split() if "=" in part)["slo.factor"]): of
              for (label, conditions), of in long.sustained.items()}
    for (label, conditions), of in loads.sustained.items():
        factor = dict(part.split("=", 1) for part in conditions.split() if "=" in part)["slo.factor"]
        of.update({row: load for row, load in longer[label, factor].items() if row in of})
    cases = len(loads.sustained)
    hits, cost = "slo_hit_rate_gain", "cost_saving"
    return [[f"INFless, FaST-GShare and Dilu change their instances every 10 s or more, so their runs are repeated {times:g} times as long.",
             f"The greatest load that they then sustain in any case is: {listed(most)}.",
             "With these loads in place of those of short runs, ESG sustains at least as much as each of its four in "
             f"{some(at_least_the_four(loads, 'esg'), cases)} cases."],
            [f"Under MPS and with few warm containers, too, the published {pairs.ranges[hits]} hold in {pairs.holds(hits)} pairs.",
             f"The {pairs.ranges[cost]} hold in {pairs.holds(cost)}, and against INFless by its text in {pairs.holds(cost, rivals='infless')}."]]


# ---- Pages ----------------------------------------------------------------------------------------

def block(text, name, page):
    """(start, end) of what stands between a block's marks."""
    found = re.search(rf"<!-- begin {name} -->\n(.*?)<!-- end {name} -->", text, re.DOTALL)
    if found is None:
        sys.exit(f"sentences.py: {page} has no lines '<!-- begin {name} -->' and '<!-- end {name} -->'")
    return found.span(1)


def rendered(name, paragraphs):
    """The paragraphs as Markdown. Those of `reproduce` between the first and the last are a numbered list."""
    blocks = []
    for place, sentences in enumerate(paragraphs):
        number = f"{place}. " if name == "reproduce" and 0 < place < len(paragraphs) - 1 else ""
        blocks.append(textwrap.fill(number + " ".join(sentences), WIDTH, subsequent_indent=" " * len(number),
                                    break_long_words=False, break_on_hyphens=False) + "\n")
    return "\n".join(blocks)


def sentences_of(text):
    return re.split(r"(?<=[.?*]) (?=[A-Z0-9`*])", " ".join(text.split()))


def compare(said, computed, page):
    """Prints whether a page says what was computed, and what differs; returns the exit status."""
    said, computed = sentences_of(said), sentences_of(computed)
    print(f"equal to {page}: {'yes' if said == computed else 'no'}")
    for kind, a, b, c, d in difflib.SequenceMatcher(None, said, computed, False).get_opcodes():
        if kind != "equal":
            for who, lines in ((page, said[a:b]), ("computed", computed[c:d])):
                for line in lines or ["(nothing)"]:
                    print(f"  {who}: {line}")
    return int(said != computed)


def texts(given):
    """[(page, what its block has to say)]."""
    if given.block == "headline":
        page = Path(given.files[0]).read_text(encoding="utf-8")
        first = page[slice(*block(page, "headline", given.files[0]))].partition("\n\n")[0]
        return [("README.md", rendered("headline", [sentences_of(first)]))]
    paragraphs = {"reproduce": reproduce, "wider": wider}[given.block](*given.files)
    whole = [("REPRODUCING.md", rendered(given.block, paragraphs))]
    if given.block == "wider":
        return whole
    return [*whole, ("README.md", rendered(given.block, [part[:1] for part in paragraphs]))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("block", choices=("reproduce", "wider", "headline"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--pages", type=Path, default=ROOT)
    given = parser.parse_args()
    status = 0
    for place, (name, text) in enumerate(texts(given)):
        path = given.pages / name
        page = path.read_text(encoding="utf-8")
        start, end = block(page, given.block, name)
        if given.update:
            path.write_text(page[:start] + text + page[end:], encoding="utf-8")
            continue
        if place == 0:
            print(text)
        status |= compare(page[start:end], text, name)
    return status


if __name__ == "__main__":
    sys.exit(main())
