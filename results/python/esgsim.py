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
import warnings
from pathlib import Path

import h5py
import pandas

__all__ = ["Error", "program", "run", "sweep", "capacity", "load"]

#: Attributes of a run that identify it, as columns of its tables.
_RUN = ("hash", "setting", "policy", "seed")


class Error(RuntimeError):
    """A command failed. The text is its message; `status` is 1 (run failed) or 2 (bad input).

    `file`: the results file with the finished runs of a failed sweep that was given no `out`; the
    caller deletes it. None: there is none.
    """

    def __init__(self, message, status, file=None):
        super().__init__(message)
        self.status = status
        self.file = file


def program():
    """The path of the program, a str. Raises FileNotFoundError if there is none."""
    named = os.environ.get("ESGSIM")
    if named:
        return named
    here = Path(__file__).resolve().parent
    # In the source tree, below share/esgsim/results of an installed one, and of a wheel.
    for beside in ("../../build/esgsim", "../../../../bin/esgsim", "../../../bin/esgsim"):
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
    policy: a name, or a path of one's own (sched/WRITING.md); seed: a whole number.
    settings: keys of the experiment: requests=500, slo__factor=0.9 (for slo.factor). Values may be
    numpy's.
    """
    options = [] if policy is None else ["--policy", policy]
    options += [] if seed is None else ["--seed", str(seed)]
    return _execute("run", experiment, out, options, settings)


def sweep(file, out=None, jobs=None, resume=False, **settings):
    """Run a sweep; return the summary, one row per run, as a DataFrame.

    file: a sweep's file, or a dict with the same keys.
    out: the results file; None keeps none, unless a run fails (Error.file).
    jobs: processes at a time (default: all cores).
    resume: go on after an interruption. settings: as for run(), of the base experiment.
    """
    options = [] if jobs is None else ["--jobs", str(jobs)]
    options += ["--resume"] if resume else []
    return _execute("sweep", file, out, options, settings)


def capacity(experiment, over, at_least=None, at_most=None, policies=None, seeds=None, metric=None, **settings):
    """Find the greatest or least value of a key at which a metric meets a limit; return a row per policy.

    over: the key, as "arrivals.load"; at_least or at_most: the limit. policies: a list of names, with
    parameters behind them if any: ["esg headroom=0", "fifo"]. The columns `surely_holds` and
    `surely_fails` are the ends of the interval, `crossing` is between them. `attrs["visited"]` has
    every visited value by policy, `attrs["notices"]` what a reader of the figures must know.
    """
    given = {"--over": over, "--at-least": at_least, "--at-most": at_most, "--seeds": seeds, "--metric": metric,
             "--policies": policies and ",".join(policies)}
    options = [text for option, value in given.items() if value is not None for text in (option, str(value))]
    folder = Path(tempfile.mkdtemp(prefix="esgsim-"))
    try:
        answer = json.loads(_call("capacity", experiment, ["--json", *options], settings, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = answer["policies"]
    frame = pandas.DataFrame([{"policy": of["policy"], "verdict": of["verdict"], "surely_holds": of["interval"][0],
                               "surely_fails": of["interval"][1], "crossing": of["crossing"], "seeds": of["seeds"]}
                              for of in found])
    frame.attrs["visited"] = {of["policy"]: of["visited"] for of in found}
    frame.attrs["notices"] = [of["text"] for of in answer["warnings"] + answer["notes"]]
    return frame


def load(file, table="summary"):
    """Read one table of a results file as a DataFrame.

    table: "summary" (one row per run; swept keys are columns, such as "slo.factor"; metrics of
    trainings are columns that begin with "training_"), "applications" (one row per run and
    application), "training" (one row per run that has trainings), or a recorded table of the runs:
    "requests", "batches", "jobs", "parts", "containers", "decisions", "timeline", "trainings", "leases",
    "lease_gpus", "outages", "lost". A recorded table has the rows of all runs one after the other, with the
    columns hash, setting, policy and seed before its own.

    attrs["units"] and attrs["help"] of the DataFrame describe its columns; attrs["notices"] are the
    warnings and notes about the runs; attrs["missing_runs"] is the number of runs that the file
    lacks. A warning says so where runs are missing, or lack a recorded table.
    results/README.md describes all tables.
    """
    with h5py.File(file, "r") as results:
        notices = _notices(results)
        missing = int(results.attrs.get("missing_runs", 0))
        if isinstance(results.get(table), h5py.Dataset):
            joined = _frame(results[table])
            if table == "summary" and "training" in results:
                joined = _with_trainings(joined, _frame(results["training"]))
        else:
            joined = _recorded(results, file, table)
    if missing > 0 and table != "missing":
        warnings.warn(f"{file}: {missing} runs of the sweep are missing", stacklevel=2)
    joined.attrs.update(notices=notices, missing_runs=missing)
    return joined


def _recorded(results, file, table):
    """A recorded table of all runs that have it."""
    runs = results["runs"]
    # In the order of the summary.
    hashes = [name.decode() for name in results["summary"]["hash"]]
    having = [name for name in hashes if table in runs[name]]
    if not having:
        there = {name for run in runs.values() for name in run}
        there.update(name for name in results if isinstance(results[name], h5py.Dataset))
        raise LookupError(f"{file}: has no table '{table}'; it has {', '.join(sorted(there))}. "
                          "Runs with record='all' have all that they can have")
    if len(having) < len(hashes):
        warnings.warn(f"{file}: {len(having)} of {len(hashes)} runs have the table '{table}'",
                      stacklevel=3)
    frames = [_run_frame(runs[name], table) for name in having]
    joined = pandas.concat(frames, ignore_index=True)
    joined.attrs.update(frames[0].attrs)
    return joined


def _with_trainings(summary, training):
    """The summary with the metrics of trainings, named as report --format tidy names them."""
    metrics = [name for name in training if name not in (*_RUN, "name")]
    names = {name: f"training_{name}" for name in metrics}
    joined = summary.join(training.set_index("hash")[metrics].rename(columns=names), on="hash")
    for about in ("units", "help"):
        own = {names[name]: training.attrs[about][name] for name in metrics}
        joined.attrs[about] = {**summary.attrs[about], **own}
    return joined


def _plain(value):
    """A value of numpy as JSON knows it."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"{value!r} is no value of an experiment")
    return value.tolist()


def _json(value):
    return json.dumps(value, default=_plain)


def _call(command, file, options, settings, folder, kept=None):
    """What the command prints. A file from a dict is written into `folder`; `kept`: left to the caller on a failure."""
    if isinstance(file, dict):
        own = folder / "own.json"
        own.write_text(_json(file), encoding="utf-8")
        file = own
    for key, value in settings.items():
        text = value if isinstance(value, str) else _json(value)
        options = [*options, "--set", f"{key.replace('__', '.')}={text}"]
    done = subprocess.run([program(), command, str(file), "--quiet", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        left = kept if kept is not None and kept.exists() else None
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        message = lines[-1].removeprefix("esgsim: ")
        if left is not None:
            message += f"; the finished runs are in {left}"
        raise Error(message, done.returncode, left)
    return done.stdout


def _execute(command, file, out, options, settings):
    folder = Path(tempfile.mkdtemp(prefix="esgsim-"))
    kept = out if out is not None else folder / "results.h5"
    left = None
    try:
        _call(command, file, ["--out", str(kept), *options], settings, folder, kept if out is None else None)
        return load(kept)
    except Error as error:
        left = error.file
        raise
    finally:
        if left is None:
            shutil.rmtree(folder, ignore_errors=True)


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
    """A recorded table of one run, with the run's own columns and names instead of indices."""
    frame = _frame(run[table])
    for column, attribute in (("application", "applications"), ("model", "models")):
        if column in frame:
            names = _text(run.attrs[attribute]).split("\n")
            frame[column] = frame[column].map(dict(enumerate(names)))
    for at, name in enumerate(_RUN):
        frame.insert(at, name, _text(run.attrs[name]))
        frame.attrs["units"].setdefault(name, "")
    return frame
