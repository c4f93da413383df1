#!/usr/bin/env python3
"""The Arena for search programs that call evaluate(program_path), as OpenEvolve does.

    python3 results/python/arena/evaluator.py PROGRAM      without any of them

A program is a policy in C or Python, as tests/plugins/shortest_queue.c or first.py beside this file.
A cascade's first threshold should be just above 0: scores of stage 1 are those of three cells.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import esgsim_arena

try:
    from openevolve.evaluation_result import EvaluationResult
except ImportError:
    def EvaluationResult(metrics, artifacts):
        return {**metrics, "artifacts": artifacts}


def answer(result):
    metrics = {"combined_score": result["combined_score"], "validity": float(result["validity"])}
    return EvaluationResult(metrics=metrics, artifacts=result["artifacts"])


def evaluate_stage1(program_path):
    return answer(esgsim_arena.evaluate(program_path, stage1=True))


def evaluate_stage2(program_path):
    return answer(esgsim_arena.evaluate(program_path, seeds=1, jobs=2))


evaluate = evaluate_stage2

if __name__ == "__main__":
    print(evaluate_stage1(sys.argv[1]), evaluate(sys.argv[1]), sep="\n")
