#!/usr/bin/env python3
"""What the shipped schedulers score, without the referee: a replay of one is its run (tests/test_actions.c).

    results/python/arena/shipped.py OUT [--word WORD | --own WORD] [--seeds N] [--policies A,B]
    results/python/arena/shipped.py PUBLIC FRESH --csv

OUT/NAME.json is each policy's result, as esgsim_arena.py prints it: in the public worlds, in fresh ones of WORD that
are the same for all, or in each one's own. --csv writes shipped.csv beside this file from two such folders.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import esgsim_arena as arena

NAMES = ("esg,infless,fast-gshare,orion,fifo,headway,clockwork,dilu,edf,sjf,llf,grandslam,nexus,gpulet,clipper,alpaserve")


def run_cells(folder, names, jobs):
    """{name: rows} of policies that take every world, or of one that may refuse some."""
    rows, runner = {name: [] for name in names}, arena.Runner(names[0], folder)
    for cell_name, cell, seed, _ in jobs:
        try:
            runs = runner.figures(runner.write(cell, "cell"), seed, "--policies", ",".join(names))["policies"]
        except arena.Fault as fault:
            if len(names) > 1:
                raise
            runs = [{"refused": str(fault)}]
        for name, figures in zip(names, runs):
            figures = {key: figures[key] for key in (*arena.FIGURES, "refused") if key in figures}
            rows[name].append({"cell": cell_name, "seed": seed, **figures})
    return rows


def write_differences(folders):
    public, fresh = (arena.read_results(sorted(Path(folder).glob("*.json"))) for folder in folders)
    lines = [f"{name},{public[name]['combined_score']:.4f},{fresh[name]['combined_score']:.4f}\n"
             for name in public if name in fresh]
    arena.SHIPPED.write_text("policy,public,fresh\n" + "".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", nargs="+", help="a folder; with --csv PUBLIC and FRESH")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--word")
    parser.add_argument("--own")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--policies", default=NAMES)
    asked = parser.parse_args()
    if asked.csv:
        return write_differences(asked.out)
    names = asked.policies.split(",")
    together = [[name for name in names if (name == "alpaserve") == alone] for alone in (False, True)]  # it refuses some worlds
    for group in [[name] for name in names] if asked.own else together:
        key = arena.key_of([], asked.word) if asked.word else arena.key_of(group, asked.own) if asked.own else ""
        with tempfile.TemporaryDirectory() as folder:
            rows = run_cells(folder, group, arena.jobs_of(asked.seeds, key)) if group else {}
            over = run_cells(folder, group, arena.over_jobs()) if group and not key else {}
        for name, cells in rows.items():
            path = Path(asked.out[0]) / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(arena.with_beside(arena.result_of(cells, 0), over.get(name))) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
