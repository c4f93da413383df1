"""Run esgsim from Python, and read its results as pandas DataFrames.

    import esgsim

    runs = esgsim.sweep("workloads/experiments/headline.json", out="headline.h5", requests=200)
    runs.groupby(["policy", "arrivals.load"])["slo_hit_rate"].mean()

    requests = esgsim.load("run.h5", "requests")
    requests.attrs["units"]["finish_ns"]  # "ns"

Needs h5py and pandas (Debian: python3-h5py, python3-pandas). The program is the one that the
variable ESGSIM names, else the one that this module came with, else the first in PATH.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import h5py
import pandas

__all__ = ["Error", "program", "run", "sweep", "load"]

#: Tables of the whole file; all others are of one run.
_WHOLE = ("summary", "applications")
#: Attributes of a run that identify it, as columns of its tables.
_RUN = ("hash", "setting", "policy", "seed")


class Error(RuntimeError):
    """A command failed. The text is its message; `status` is 1 (run failed) or 2 (bad input)."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def program():
    """The path of the program, a str. Raises FileNotFoundError if there is none."""
    named = os.environ.get("ESGSIM")
    if named:
        return named
    here = Path(__file__).resolve().parent
    # In the source tree, and below share/esgsim/results of an installed one.
    for beside in ("../../build/esgsim", "../../../../bin/esgsim"):
        path = (here / beside).resolve()
        if os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("esgsim")
    if found is None:
        raise FileNotFoundError("no program esgsim: build it, or name it in the variable ESGSIM")
    return found


def run(experiment, out=None, policy=None, seed=None, **settings):
    """Simulate one experiment; return its row of the summary as a DataFrame.

    experiment: a file, or a dict with the same keys.
    out: the results file, which load() reads; None keeps none.
    policy: a name, or a path that ends in .so; seed: a whole number.
    settings: keys of the experiment: requests=500, slo__factor=0.9 (for slo.factor).
    """
    options = [] if policy is None else ["--policy", policy]
    options += [] if seed is None else ["--seed", str(seed)]
    return _execute("run", experiment, out, options, settings)


def sweep(file, out=None, jobs=None, resume=False, **settings):
    """Run a sweep; return the summary, one row per run, as a DataFrame.

    file: a sweep's file, or a dict with the same keys.
    out: the results file; None keeps none. jobs: processes at a time (default: all cores).
    resume: go on after an interruption. settings: as for run(), of the base experiment.
    """
    options = [] if jobs is None else ["--jobs", str(jobs)]
    options += ["--resume"] if resume else []
    return _execute("sweep", file, out, options, settings)


def load(file, table="summary"):
    """Read one table of a results file as a DataFrame.

    table: "summary" (one row per run; swept keys are columns, such as "slo.factor"),
    "applications" (one row per run and application), or a recorded table of the runs: "requests",
    "batches", "jobs", "containers", "decisions", "timeline". A recorded table has the rows of all
    runs one after the other, with the columns hash, setting, policy and seed before its own.

    attrs["units"] and attrs["help"] of the DataFrame describe its columns; attrs["notices"] are the
    warnings and notes about the runs. results/README.md describes all tables.
    """
    with h5py.File(file, "r") as results:
        notices = _notices(results)
        if table in _WHOLE:
            frame = _frame(results[table])
            frame.attrs["notices"] = notices
            return frame
        runs = results["runs"]
        # In the order of the summary.
        hashes = [name.decode() for name in results["summary"]["hash"]]
        frames = [_run_frame(runs[name], table) for name in hashes if table in runs[name]]
    if not frames:
        raise LookupError(f"{file}: no run has the table '{table}': run it with record='all'")
    joined = pandas.concat(frames, ignore_index=True)
    joined.attrs.update(frames[0].attrs, notices=notices)
    return joined


def _execute(command, file, out, options, settings):
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(file, dict):
            own = Path(folder) / "own.json"
            own.write_text(json.dumps(file), encoding="utf-8")
            file = own
        kept = out if out is not None else Path(folder) / "results.h5"
        for key, value in settings.items():
            text = value if isinstance(value, str) else json.dumps(value)
            options += ["--set", f"{key.replace('__', '.')}={text}"]
        arguments = [program(), command, str(file), "--out", str(kept), "--quiet", *options]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise Error(lines[-1].removeprefix("esgsim: "), done.returncode)
        return load(kept)


def _text(value):
    """A text of a column or an attribute, which may be bytes. A number stays a number."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def _notices(results):
    """The distinct lines of all runs' notices, in order of appearance."""
    summary = results["summary"]
    noted = summary["hash"][summary["notices"] > 0] if "notices" in summary.dtype.names else []
    texts = (_text(results["runs"][name.decode()].attrs["notices"]) for name in noted)
    return list(dict.fromkeys(line for text in texts for line in text.splitlines()))


def _frame(dataset):
    """A table with the units and meanings of its columns. An array becomes several columns."""
    columns, units, meaning = {}, {}, {}
    rows = dataset[:]
    for index, name in enumerate(rows.dtype.names):
        values = rows[name]
        parts = {name: values}
        if values.ndim == 2:
            parts = {f"{name}_{i}": values[:, i] for i in range(values.shape[1])}
        for part, entries in parts.items():
            columns[part] = [_text(e) for e in entries] if entries.dtype.kind == "S" else entries
            units[part] = _text(dataset.attrs[f"FIELD_{index}_UNIT"])
            meaning[part] = _text(dataset.attrs[f"FIELD_{index}_HELP"])
    frame = pandas.DataFrame(columns)
    frame.attrs.update(units=units, help=meaning)
    return frame


def _run_frame(run, table):
    """A recorded table of one run, with the run's own columns and the names of applications."""
    frame = _frame(run[table])
    if "application" in frame:
        names = _text(run.attrs["applications"]).split("\n")
        frame["application"] = frame["application"].map(dict(enumerate(names)))
    for at, name in enumerate(_RUN):
        frame.insert(at, name, _text(run.attrs[name]))
        frame.attrs["units"].setdefault(name, "")
    return frame
