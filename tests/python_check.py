"""Checks of the Python module: what it reads is what h5dump and the CSV of the report say.

    python_check.py FOLDER    one line per check: "ok NAME", or "failed NAME" after a traceback

Run in the root of the source tree, with the variable ESGSIM.
"""

import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "results/python")

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import numpy  # noqa: E402
import pandas  # noqa: E402
from matplotlib import pyplot  # noqa: E402

import esgsim  # noqa: E402

FOLDER = Path(sys.argv[1])
BASE = {
    "cluster": {"invokers": [{"vcpus": 4, "memory_mb": 4096}]},
    "functions": [{"name": "f", "service": {"distribution": "exponential", "mean_ms": 10}}],
    "applications": [
        {"name": "one", "stages": [{"name": "s", "function": "f"}]},
        {"name": "two", "stages": [{"name": "s", "function": "f"},
                                   {"name": "t", "function": "f", "after": ["s"]}]},
    ],
    "arrivals": {"process": "poisson", "rate_per_s": 100},
    "slo": {"ms": 30},
    "policy": {"name": "fifo"},
    "requests": 60,
    "warmup_requests": 5,
}
POOL = ["arrivals.rate_per_s", "platform.noise.cv", "platform.keep_alive_s", "slo.ms"]


def random_sweep(draw):
    """Named settings that set some keys each, a key of its own, and a key of numbers and a text."""
    rows = [{"name": name, "slo.ms": 20 + place} for place, name in enumerate("abc")]
    for row in rows:
        for key in draw.sample(POOL[:3], draw.randint(0, 3)):
            row[key] = draw.randint(1, 9) / draw.choice([1, 3])
    matrix = {"setting": rows, "policy.name": ["fifo", "edf"], "requests": [30, 40]}
    if draw.random() < 0.5:
        matrix["platform.prewarm"] = ["none"]
    return {"base": BASE, "matrix": matrix, "seeds": draw.randint(1, 2)}


def same(left, right):
    """Numbers to the last digit; a missing one is NaN, or the empty text of a CSV."""
    if isinstance(left, str) or isinstance(right, str):
        return str(left) == str(right) or (right == "" and isinstance(left, float)
                                           and math.isnan(left))
    return left == right or (math.isnan(left) and math.isnan(right))


def assert_same(frame, other, columns):
    assert len(frame) == len(other) > 0, (len(frame), len(other))
    for name in columns:
        for left, right in zip(frame[name], other[name]):
            assert same(left, right), (name, left, right)


def tidy(*files):
    """The rows of report --format tidy, read as a stranger reads a CSV."""
    text = subprocess.run([esgsim.program(), "report", *files, "--format", "tidy"],
                          capture_output=True, text=True, check=True).stdout
    return pandas.read_csv(io.StringIO(text), dtype={"hash": str}, na_values=[""],
                           keep_default_na=False, float_precision="round_trip")


def dumped(path, dataset):
    """The rows of a table by h5dump, each a list of numbers and texts."""
    text = subprocess.run(["h5dump", "-d", dataset, "-m", "%.17g", path], capture_output=True,
                          text=True, check=True).stdout
    data = text[text.index("DATA {"):text.index("ATTRIBUTE")]
    rows = []
    for row in re.split(r"\(\d+\): \{", data)[1:]:
        tokens = re.findall(r'"(?:[^"\\]|\\.)*"|-?nan|-?inf|-?[\d.]+(?:e[-+]?\d+)?', row)
        rows.append([token[1:-1].replace("\\000", "") if token[0] == '"' else float(token)
                     for token in tokens])
    return rows


def check_summary_is_that_of_h5dump_and_of_the_tidy_csv():
    draw = random.Random(18)
    for instance in range(3):
        path = str(FOLDER / f"random-{instance}.h5")
        runs = esgsim.sweep(random_sweep(draw), out=path)
        rows = dumped(path, "/summary")
        assert len(rows) == len(runs)
        for place, row in enumerate(rows):
            assert len(row) == len(runs.columns)
            for name, value in zip(runs.columns, row):
                assert same(runs.at[place, name], value), (name, runs.at[place, name], value)
        table = tidy(path).fillna({name: "" for name in runs.columns if runs[name].dtype == object})
        assert sorted(table.columns) == sorted(["file", "missing_runs", *runs.columns])
        assert_same(runs, table, runs.columns)


def check_tidy_of_several_files_has_the_runs_of_all():
    paths = [str(FOLDER / f"random-{instance}.h5") for instance in range(3)]
    frames = [esgsim.load(path) for path in paths]
    table = tidy(*paths)
    for path, frame in zip(paths, frames):
        own = table[table["file"] == path].reset_index(drop=True)
        own = own.fillna({name: "" for name in frame.columns if frame[name].dtype == object})
        assert_same(frame, own, frame.columns)
        others = set(table.columns) - set(frame.columns) - {"file", "missing_runs"}
        assert own[list(others)].isna().all().all()


def check_recorded_tables_are_those_of_h5dump():
    path = str(FOLDER / "recorded.h5")
    runs = esgsim.run(BASE, out=path, policy="edf", seed=7, record="all", slo__ms=25,
                      platform__sample_interval_s=0.05)
    assert list(runs["seed"]) == [7] and list(runs["policy"]) == ["edf"]
    name = runs.at[0, "hash"]
    for table in ("batches", "jobs", "decisions", "timeline"):
        frame = esgsim.load(path, table)
        own = list(frame.columns[4:])
        rows = dumped(path, f"/runs/{name}/{table}")
        assert len(rows) == len(frame) > 0 and set(frame["hash"]) == {name}
        for place, row in enumerate(rows):
            for column, value in zip(own, row, strict=True):
                if column != "application":
                    assert same(frame.at[place, column], value), (table, column)
    requests = esgsim.load(path, "requests")
    assert set(requests["application"]) == {"one", "two"}
    measured = requests[requests["measured"] == 1]
    assert len(measured) == 60 and (measured["slo_ns"] == 25e6).all()
    assert math.isclose(measured["hit"].mean(), runs.at[0, "slo_hit_rate"])
    shares = esgsim.load(path, "applications").set_index("application")["slo_hit_rate"]
    for application, rows in measured.groupby("application"):
        assert math.isclose(rows["hit"].mean(), shares[application])


def check_units_and_meanings_are_those_of_the_file():
    runs = esgsim.load(FOLDER / "random-0.h5")
    assert runs.attrs["units"]["latency_ms_p95"] == "ms"
    assert runs.attrs["units"]["slo.ms"] == "ms" and runs.attrs["units"]["cost_usd"] == "$"
    assert set(runs.attrs["units"]) == set(runs.attrs["help"]) == set(runs.columns)
    assert "dropped" in runs.attrs["help"]["latency_ms_mean"]
    assert esgsim.load(FOLDER / "recorded.h5", "timeline").attrs["units"]["time_ns"] == "ns"
    assert all("platform.decision_cost" in notice for notice in runs.attrs["notices"])


def error_of(call):
    try:
        call()
    except (esgsim.Error, LookupError, OSError) as error:
        return error
    raise AssertionError("no error")


def check_an_error_is_the_one_line_of_the_program():
    error = error_of(lambda: esgsim.run(BASE, slo__m=3))
    assert isinstance(error, esgsim.Error) and error.status == 2
    assert "slo" in str(error) and '"m"' in str(error) and "\n" not in str(error)
    assert error_of(lambda: esgsim.sweep("no-such.json")).status == 2
    answer = esgsim.capacity("workloads/experiments/theory/mm1.json", "arrivals.rate_per_s", at_least=0.9, policies=["fifo", "edf max_batch=1"],
                             seeds=3, requests=200)
    assert list(answer["policy"]) == ["fifo", "edf max_batch=1"] and (answer["surely_holds"] < answer["surely_fails"]).all()
    assert "unknown key" in str(error_of(lambda: esgsim.capacity("workloads/experiments/theory/mm1.json", "arrivals.rate", at_least=1)))
    assert "record='all'" in str(error_of(lambda: esgsim.load(FOLDER / "random-0.h5", "batches")))
    assert isinstance(error_of(lambda: esgsim.load(FOLDER / "no.h5")), OSError)


def check_trainings_are_those_of_the_tidy_csv():
    path = str(FOLDER / "trainings.h5")
    runs = esgsim.run("workloads/experiments/training-dynamic.json", out=path, record="all")
    table = tidy(path)
    own = [name for name in runs.columns if name.startswith("training_")]
    assert "training_jct_s_mean" in own and runs.attrs["units"]["training_jct_s_mean"] == "s"
    assert set(own) == {name for name in table.columns if name.startswith("training_")}
    assert_same(runs, table, own)
    row = esgsim.load(path, "training")
    assert list(row["jct_s_mean"]) == list(runs["training_jct_s_mean"])
    trainings = esgsim.load(path, "trainings")
    models = json.loads(Path("workloads/models/synergy-v100.json").read_text(encoding="utf-8"))
    assert set(trainings["model"]) <= set(models["models"]) and len(set(trainings["model"])) > 2
    leases, gpus = esgsim.load(path, "leases"), esgsim.load(path, "lease_gpus")
    assert list(gpus.groupby("lease")["units"].sum()) == list(leases["units"])
    assert list(gpus.groupby("lease").size()) == list(leases["gpus"])


def warned(call):
    """What the call returns, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return call(), [str(warning.message) for warning in caught]


def check_values_of_numpy_are_accepted():
    by_key = esgsim.run(BASE, requests=numpy.int64(20), slo__ms=numpy.float64(25),
                        seed=numpy.int32(3))
    assert list(by_key["requests"]) == [20] and list(by_key["seed"]) == [3]
    assert list(esgsim.run({**BASE, "requests": numpy.int64(21)})["requests"]) == [21]


def check_a_failed_sweep_keeps_its_runs_and_says_which_are_missing():
    culprit = str(Path(esgsim.program()).parent / "tests/plugins/culprit.so")
    sweep = {"base": {**BASE, "policy": {"name": culprit}}, "seeds": 2,
             "matrix": {"policy.params.fault": ["none", "abort"]}}
    error = error_of(lambda: esgsim.sweep(sweep, jobs=1))
    assert error.status == 1 and str(error.file) in str(error)
    runs, said = warned(lambda: esgsim.load(error.file))
    assert len(runs) == 2 and runs.attrs["missing_runs"] == 2
    assert len(said) == 1 and "2 runs of the sweep are missing" in said[0], said
    shutil.rmtree(Path(error.file).parent)


def check_a_table_of_some_runs_says_how_many():
    path = str(FOLDER / "some.h5")
    settings = [{"name": "short", "record": "summary"},
                {"name": "long", "record": "requests", "slo.ms": 40}]
    runs = esgsim.sweep({"base": BASE, "seeds": 2, "matrix": {"setting": settings}}, out=path)
    assert len(runs) == 4 and runs.attrs["missing_runs"] == 0
    requests, said = warned(lambda: esgsim.load(path, "requests"))
    assert len(set(requests["hash"])) == 2
    assert said == [f"{path}: 2 of 4 runs have the table 'requests'"], said
    assert warned(lambda: esgsim.load(path))[1] == []


def check_the_program_is_found_by_name_beside_and_in_path():
    named = os.environ.pop("ESGSIM")
    path = os.environ["PATH"]
    home = FOLDER / "home"
    try:
        moved = home / "share/esgsim/results/python/esgsim.py"
        moved.parent.mkdir(parents=True)
        moved.write_text(Path("results/python/esgsim.py").read_text(encoding="utf-8"),
                         encoding="utf-8")
        script = "import sys; sys.path.insert(0, sys.argv[1]); import esgsim; print(esgsim.program())"

        def found():
            return subprocess.run([sys.executable, "-c", script, str(moved.parent)],
                                  capture_output=True, text=True, check=False)

        os.environ["PATH"] = "/usr/bin:/bin"
        assert "FileNotFoundError" in found().stderr
        (home / "anywhere").mkdir()
        (home / "bin").mkdir()
        (home / "anywhere/esgsim").symlink_to(Path(named).resolve())
        os.environ["PATH"] = f"{home}/anywhere:/usr/bin:/bin"
        assert found().stdout.strip() == str(home / "anywhere/esgsim")
        (home / "bin/esgsim").symlink_to(Path(named).resolve())
        assert found().stdout.strip() == str(Path(named).resolve())
        os.environ["ESGSIM"] = "/some/program"
        assert found().stdout.strip() == "/some/program"
    finally:
        os.environ.update(ESGSIM=named, PATH=path)


def check_the_notebook_draws_two_figures():
    notebook = json.loads(Path("results/python/esgsim.ipynb").read_text(encoding="utf-8"))
    space = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert len(figures) == 2
    for figure in figures:
        (axes,) = figure.axes
        assert len(axes.get_legend().get_texts()) == 4
        assert axes.get_xlabel() and axes.get_ylabel()
        for line in axes.lines[:4]:
            assert len(line.get_xdata()) >= 2 and not any(map(math.isnan, line.get_ydata()))


for check, function in list(globals().items()):
    if check.startswith("check_"):
        words = check.removeprefix("check_").replace("_", " ")
        try:
            function()
            print("ok", words, flush=True)
        except Exception:
            traceback.print_exc()
            print("failed", words, flush=True)
