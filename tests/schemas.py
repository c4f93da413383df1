"""Compares the JSON Schemas with the loaders, by a validator that is not ours (jsonschema).

    schemas.py ESGSIM FOLDER [SEED]

What the loaders accept, the schemas must accept. What the loaders refuse for an unknown key, a wrong
type, a range or a word, the schemas must refuse. The documents are those that ship, the faulty ones
of tests/corpus/, and random changes of the shipped ones. Prints one line per fault.
"""

import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
import jsonschema  # noqa: E402

ESGSIM, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
SCHEMAS = pathlib.Path("workloads/schemas").resolve()
STRUCTURE = re.compile(r"unknown key|must be (an?|true) |must lie within|must be at least|must be one of")
# Faults that depend on another value. The schema of a place has the keys, types and ranges of all
# the forms that the place may have; in a matrix, of all keys.
DEPENDS = re.compile(r"law|interference|arrivals|keep_alive|samples_ms|layers|blocks|inputs|excess|seeds|params|"
                     r"initial|latency_ms|grid|matrix|measured\[|pairs\.|: with .*=|slo: unknown key")


def validators():
    found = {}
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        resolver = jsonschema.RefResolver(path.as_uri(), schema)
        found[path.stem.replace("-", " ")] = jsonschema.Draft7Validator(schema, resolver=resolver)
    return found


def check(paths):
    """The loaders' answers: {path: (kind, message or None)}."""
    command = [ESGSIM, "check", "--json", "--", *map(str, paths)]
    answer = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    return {pathlib.Path(f["file"]): (f["kind"], f.get("error")) for f in answer["files"]}


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from places(child, path + (key,))


def changed(document, chance):
    """The document with one value removed, renamed, or replaced by one of another size or type."""
    document = copy.deepcopy(document)
    path = chance.choice([p for p in places(document) if p])
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    kind = chance.randrange(4)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent["x" + key] = parent.pop(key)
    else:
        parent[key] = chance.choice([-1, 0, 0.5, 3, 1e12, "word", "", True, None, [], {}, [1, 2], {"a": 1}])
    return document


def small(path):
    return path.stat().st_size < 20000 and not path.is_relative_to("workloads/schemas")


def main():
    shipped = [p for f in ("workloads", "traces/profiles", "results/paper", "tests/schemas")
               for p in sorted(pathlib.Path(f).rglob("*.json")) if small(p)]
    light = [p for p in shipped if '"matrix"' not in p.read_text()]
    corpus = [p for p in sorted(pathlib.Path("tests/corpus").rglob("*.json"))]
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    changes = []
    for i in range(400):
        source = light[i % len(light)]
        # In the folder of the original, because a file names others relative to itself.
        path = source.with_name(f"schema-test-{i}.json")
        path = WORK / path.name if source.parent == pathlib.Path("tests/schemas") else WORK / source.parent / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(changed(json.loads(source.read_text()), chance)))
        changes.append(path)
    known = validators()
    counts = {"accepted": 0, "refused": 0}
    for path, (kind, message) in check(light + corpus + changes).items():
        if kind not in known:
            continue
        try:
            document = json.loads(path.read_text())
        except ValueError:
            continue
        fault = jsonschema.exceptions.best_match(known[kind].iter_errors(document))
        if message is None and fault is not None:
            print(f"{path}: the loader accepts, the schema does not: {fault.message[:200]} at {list(fault.path)}")
        elif message is None:
            counts["accepted"] += 1
        elif fault is None and STRUCTURE.search(message) and not DEPENDS.search(message):
            print(f"{path}: the schema accepts, the loader does not: {message[:300]}")
        elif STRUCTURE.search(message):
            counts["refused"] += 1
    print(f"agree: {counts['accepted']} accepted, {counts['refused']} refused")


main()
