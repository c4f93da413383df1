"""Makes the JSON Schemas of the input files from what the loaders ask of sample files.

    build/schemas FILE.json… | schemas.py FOLDER [KEYS.md]

What the loaders ask of all files of a kind becomes the kind's schema. A value that a loader accepts
without a question adds its own type. So every file given is valid by the schema, and a key, range or
word that changes in a loader changes in the schema. tests/schemas/ has files with the forms that no
shipped file has. keys.txt says what each key of an experiment means: that becomes the descriptions of its schema,
and with the types and ranges the page KEYS.md. A key without words, or words without a key, is a fault of the page.
"""

import json
import math
import pathlib
import sys

# The kind of the file that a key may name.
KINDS = {"cluster": "cluster", "functions": "functions", "profile": "profile", "applications": "application",
         "ref": "application", "profiles": "profile", "base": "experiment"}


class Place:
    """What is known of the values at one place."""

    def __init__(self):
        self.members = {}  # by name; "": members of any name
        self.entries = None
        self.types = set()
        self.words = []
        self.low, self.high = math.inf, -math.inf  # of numbers
        self.least, self.most = math.inf, -math.inf  # of entries
        self.closed = self.named = False  # its keys are those of the members, and names that the file defines
        self.in_file = self.of_ref = False  # may be the name of a file; a key beside "ref"
        self.visits = 0  # by a loader that knows its keys
        self.needed, self.needed_in = 0, 0  # visits of the parent in which this member was required
        self.told = None  # its line of keys.txt

    def member(self, name):
        return self.members[name] if self.closed and name in self.members else self.members.setdefault("", Place())

    def entry(self):
        self.entries = self.entries or Place()
        return self.entries

    def at(self, path, content):
        """The place of a path of json.h; None if the file has none. Names may have dots: the longest counts."""
        place = self
        while path:
            if path[0] == "[" and isinstance(content, list):
                index, path = path[1:].split("]", 1)
                place, content = place.entry(), content[int(index)]
                continue
            path = path.removeprefix(".")
            names = [n for n in content if path.startswith(n) and path[len(n):len(n) + 1] in ("", ".", "[")] \
                if isinstance(content, dict) else []
            if not names:
                return None
            name = max(names, key=len)
            place, content, path = place.member(name), content[name], path[len(name):]
        return place

    def ask_range(self, kind, low, high):
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.types.add(kind)

    def ask_length(self, least, most):
        """A fixed length depends on another value, such as the number of functions: it is not kept."""
        if least == most:
            least, most = 0, math.inf
        self.least, self.most = min(self.least, least), max(self.most, most)
        self.types.add("array")

    def ask_keys(self, keys, named):
        for key in keys:
            child = self.members.setdefault(key, Place())
            child.of_ref = child.of_ref or "ref" in keys
        self.closed, self.named = True, self.named or named

    def ask(self, question, asking):
        kind, low, high = question["ask"], float(question["low"]), float(question["high"])
        if kind == "object":
            self.types.add("object")
            if "words" in question:
                self.visits += asking
                self.ask_keys(question["words"], question["named"])
        elif kind == "array":
            self.ask_length(low, high)
        elif kind in ("number", "integer"):
            self.ask_range(kind, low, high)
        elif kind == "choice":
            self.words += [w for w in question["words"] if w not in self.words]
        elif kind == "file":
            self.in_file = True
        elif kind == "key":
            child = self.members.get(question["key"])
            if child is not None and child.needed_in != self.visits:
                child.needed_in = self.visits
                child.needed += 1
        else:
            self.types.add(kind)

    def learn(self, value):
        """Adds the type of an accepted value. Where no loader asked, such as of a note, any will do."""
        if not (self.types or self.words or self.in_file):
            return
        if isinstance(value, list):
            if "array" not in self.types:
                self.ask_length(0, math.inf)
            for each in value:
                self.entry().learn(each)
        elif isinstance(value, dict):
            self.types.add("object")
            for name, each in value.items():
                self.member(name).learn(each)
        elif isinstance(value, bool) or value is None:
            self.types.add("null" if value is None else "boolean")
        elif isinstance(value, str):
            self.types |= set() if value in self.words else {"string"}
        elif not self.types & {"number", "integer"}:
            self.ask_range("number", -math.inf, math.inf)

    # ---- Writing ----

    def numbers(self):
        return {"type": "number" if "number" in self.types else "integer",
                **({"minimum": self.low} if self.low > -1e300 else {}),
                **({"maximum": self.high} if self.high < 1e300 else {})}

    def array(self, name):
        return {"type": "array", **({"items": self.entries.schema(name)} if self.entries else {}),
                **({"minItems": self.least} if self.least > 0 else {}),
                **({"maxItems": self.most} if self.most < 1e15 else {})}

    def object(self, name, of_ref=False):
        keys = {k: v for k, v in self.members.items() if k != "" and (v.of_ref or not of_ref)}
        schema = {"type": "object"}
        if any(self.visits > 0 and v.needed == self.visits for v in keys.values()):
            schema["required"] = [k for k, v in keys.items() if v.needed == self.visits]
        if keys:
            schema["properties"] = {k: v.schema(k) for k, v in keys.items()}
        if self.closed and not self.named:
            schema["additionalProperties"] = False
        elif "" in self.members:
            schema["additionalProperties"] = self.members[""].schema(name)
        return schema

    def file(self, name, kind):
        """The alternatives for what is in another file, or may be."""
        forms = [{"type": "string"}, {"$ref": f"{kind}.json"}]
        if kind == "functions":  # within an experiment, the list alone will do
            forms.append({"type": "array", "items": {"$ref": "functions.json#/properties/functions/items"}})
        if "ref" in self.members:
            forms.append(self.object(name, of_ref=True))
        if kind == "profile" and "" in self.members:  # or one by model
            forms.append(self.object(name))
        return forms

    def values(self):
        """Its values in a cell of the page."""
        numbers = self.types & {"number", "integer"}
        ends = [f"{end:.12g}" if abs(end) < 1e15 else "" for end in (self.low, self.high)]
        return " or ".join([", ".join(f"`{word}`" for word in self.words)] * bool(self.words)
                           + ["whole " * ("number" not in numbers) + "…".join(ends)] * bool(numbers)
                           + ["`true`, `false`"] * ("boolean" in self.types)
                           + ["file"] * self.in_file + ["text"] * ("string" in self.types and not self.in_file)
                           + ["list"] * ("array" in self.types) + ["object"] * ("object" in self.types))

    def schema(self, name):
        """`name` is that of the member that has the value, or of the nearest one around it."""
        described = {"description": self.told} if self.told else {}
        forms = self.file(name, KINDS[name]) if self.in_file and name in KINDS else []
        if not forms:
            if "string" in self.types or (self.in_file and not self.words):
                forms.append({"type": "string"})
            elif self.words:
                forms.append({"enum": self.words})
            if self.types & {"number", "integer"}:
                forms.append(self.numbers())
            forms += [{"type": kind} for kind in ("boolean", "null") if kind in self.types]
            if "array" in self.types:
                forms.append(self.array(name))
            if "object" in self.types:
                forms.append(self.object(name))
        return {**described, **(forms[0] if len(forms) == 1 else {"anyOf": forms} if forms else {})}


PAGE = """# Every key of an experiment

*`make schemas` writes this page from the loaders, which have the values, and from `workloads/schemas/keys.txt`, which has the rest.
Change those.*

A default in `code` is the program's default (a test compares them). A key marked "required" must be given. A number in a key stands for any
entry of the list. Any object may have `note` and `evidence`. An unknown key is refused, and the message names the nearest existing one.
Titles in quotes are sections of `README.md`, the model.
"""


def place_of(roots, key):
    """The place of a key of an experiment, also of one in a file that the experiment may name; None: there is none."""
    place, name = roots["experiment"], ""
    for part in key.split("."):
        if place.in_file and name in KINDS and "ref" not in place.members:
            place = roots.get(KINDS[name], Place())
        place, name = (place.entries, name) if part.isdigit() else (place.members.get(part), part)
        if place is None:
            return None
    return place


def untold(place, path):
    """The keys of the place that no line of keys.txt tells of, nor of an object or file that they are in."""
    for name, child in place.members.items():
        if name not in ("", "note", "evidence") and not child.told:
            yield from untold(child, path + [name]) if child.closed else [".".join(path + [name])]


def tell(roots):
    """Gives the places their lines of keys.txt. Returns the page, and the faults."""
    page, faults = PAGE, []
    for line in pathlib.Path(__file__).with_name("keys.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            page += f"\n{line}\n\n| key | default | values | unit | meaning |\n|---|---|---|---|---|\n"
        if line.startswith("#") or not line:
            continue
        keys, default, unit, meaning = (cell.strip() for cell in line.split("|"))
        places = {key: place_of(roots, key) for key in keys.split(", ")}
        faults += [f"keys.txt: no loader asks for {key}" for key, place in places.items() if place is None]
        known = [place for place in places.values() if place is not None]
        for place in known:
            place.told = meaning + (f" ({unit})" if unit else "") + f"; default: {default}"
        cells = (", ".join(f"`{key}`" for key in places), default, known[0].values() if known else "", unit, meaning)
        page += "|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n"
    return page, faults + [f"keys.txt tells nothing of {key}" for key in untold(roots["experiment"], [])]


def text(value, depth=0):
    """As cJSON prints, with bounds in all their digits."""
    tab = "\t" * depth
    if isinstance(value, dict):
        inner = ",\n".join(f"{tab}\t{json.dumps(k)}:\t{text(v, depth + 1)}" for k, v in value.items())
        return f"{{\n{inner}\n{tab}}}" if value else f"{{\n{tab}}}"
    if isinstance(value, list):
        return "[" + ", ".join(text(v, depth + 1) for v in value) + "]"
    if isinstance(value, float):
        return "%.0f" % value if value == math.floor(value) and abs(value) < 1e17 else "%g" % value
    return json.dumps(value, ensure_ascii=False)


def main():
    files = []  # the root of the kind's places, the content, the questions
    roots = {}
    for line in map(json.loads, sys.stdin):
        if "file" in line:
            root = roots.setdefault(line["kind"], Place())
            files.append((root, json.loads(pathlib.Path(line["file"]).read_text("utf-8")), []))
        else:
            files[-1][2].append(line)
    # All shapes first: which keys a place knows decides where the value of a member belongs.
    for asking in (False, True):
        for root, content, questions in files:
            for question in questions:
                place = root.at(question["path"], content)
                if place is None or (not asking and question["ask"] != "object"):
                    continue
                if "key" in question and question["ask"] != "key":
                    place = place.member(question["key"])
                place.ask(question, asking)
    for root, content, _ in files:
        root.learn(content)
    page, faults = tell(roots) if "experiment" in roots else ("", [])
    for kind, root in roots.items():
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"esgsim: {kind}", **root.schema("")}
        path = pathlib.Path(sys.argv[1], kind.replace(" ", "-") + ".json")
        path.write_text(text(schema) + "\n", "utf-8")
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(page, "utf-8")
        if faults:
            sys.exit("\n".join(faults))


main()
