#!/usr/bin/env python3
"""The program esgsim with policies in Python, for teaching.

    make python
    results/python/esgsim_policy.py run EXP.json --policies mine.py,fifo

It takes the commands and options of esgsim. Wherever a policy is named, also in a sweep's file, a
path that ends in .py is a policy in Python: a file with a class Policy. sched/WRITING.md, "In
Python", has an example. The program is loaded as a library, and calls the policy through ctypes, by
the contract of sched/policy.h. All structures and functions are read from these headers, so this
file repeats none of them. It needs the standard library alone.

The class has `name`, and may have `summary`, `parameters` and methods with the names of the
contract's callbacks, without `state`: decide(platform), on_ready(platform, queue) ... Only `decide`
is needed. Modules of its own lie beside it, and belong to its identity. `parameters` maps a name to (least, most, default, help); a whole number as default allows
whole numbers alone. Before `init` each parameter becomes an attribute. The file is executed anew for
each run, and the numbers of `random` begin with the run's seed: a run depends on nothing before it.

`platform` has the queries and actions of the contract as methods, without "platform_" in their names
(platform.return_ for platform_return) and without the first argument. SIM_NONE is None, and
platform.FOREVER is SIM_FOREVER; the words of enumerations are attributes, platform.TRAINING_WAITING.
A dict, or a list of dicts, is a structure or an array of them; its length is not an argument.
platform.workload and platform.models are copies of the structures of workloads/world/workload.h and
workloads/training/training_models.h, with a list for each array. What only C can use is left out (LEFT_OUT).
"""

import ast
import ctypes
import functools
import importlib.util
import keyword
import operator
import os
import random
import re
import sys
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import SimpleNamespace

FOREVER = (2**63 - 1) // 4
NONE = 2**32 - 1
ROOT = Path(os.environ.get("ESGSIM_DATA") or Path(__file__).resolve().parents[2])
HEADERS = ("sim/base/units.h", "sim/base/error.h", "sim/base/keys.h", "traces/readers/training_trace.h",
           "workloads/world/workload.h", "workloads/training/training_models.h", "sched/policy.h",
           "sched/policy_instances.h", "sched/policy_training.h", "sched/policy_reproduction.h")

# ---- The contract ------------------------------------------------------------------------------

PLAIN = {"void": None, "bool": ctypes.c_bool, "char": ctypes.c_char, "int": ctypes.c_int,
         "unsigned": ctypes.c_uint, "double": ctypes.c_double, "size_t": ctypes.c_size_t,
         "sim_time_t": ctypes.c_int64,
         **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
            for sign in ("", "u") for bits in (8, 16, 32, 64)}}
IDENTIFIER = r"[A-Za-z_]\w*"


class Contract:
    """The headers' constants, structures {name: class} and functions {name: (result, arguments)}."""

    def __init__(self, folder):
        self.constants, self.structures, self.functions = {}, {}, {}
        text = "\n".join((folder / name).read_text(encoding="utf-8") for name in HEADERS)
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.abi = int(re.search(r"#define POLICY_ABI (\d+)", text)[1])
        text = re.sub(r"^\s*#(.*\\\n)*.*", "", text, flags=re.M)
        text = re.sub(r"__attribute__\(\(.*?\)\)\)?|\bconst\b|\bextern\b", " ", text)
        text = re.sub(r"static inline[^{]*\{(?:[^{}]|\{[^{}]*\})*\}", "", text)
        text = re.sub(r"enum (\w*)\s*\{([^{}]*)\}", self._enumeration, text)
        innermost, count = re.compile(rf"struct ({IDENTIFIER})\s*\{{([^{{}}]*)\}}"), 1
        bodies = {}
        while count:
            text, count = innermost.subn(lambda m: bodies.setdefault(m[1], m[2]) and f"struct {m[1]}",
                                         text)
        for name in bodies:
            self.structures[name] = type(name, (ctypes.Structure,), {})
        for name, body in bodies.items():
            self._fields(self.structures[name], body)
        for match in re.finditer(r"([\w\s*]+?\W)(platform_\w+)\(([^()]*)\)\s*;", text):
            if match[2] not in LEFT_OUT:
                self.functions[match[2]] = (self._type(match[1]), self._arguments(match[3]))

    def _enumeration(self, match):
        value = -1
        for entry in filter(str.strip, match[2].split(",")):
            name, _, given = entry.partition("=")
            value = int(eval(given, {}, self.constants)) if given else value + 1
            self.constants[name.strip()] = value
        return f"enum {match[1]}"

    def _type(self, text):
        stars, words = text.count("*"), text.replace("*", " ").split()
        base = (self.structures.get(words[1]) if words[0] == "struct" else
                ctypes.c_uint if words[0] == "enum" else PLAIN[words[0]])
        if stars and base is ctypes.c_char:
            base, stars = ctypes.c_char_p, stars - 1
        if stars and base is None:  # void, or a structure that is not in the headers
            return ctypes.c_void_p
        for _ in range(stars):
            base = ctypes.POINTER(base)
        return base

    def _arguments(self, text):
        parts = [re.fullmatch(rf"\s*(.*?\W)({IDENTIFIER})\s*", part, re.S) for part in text.split(",")]
        return [(part[2], self._type(part[1])) for part in parts if part]

    def _fields(self, structure, body):
        fields = []
        for line in filter(str.strip, body.split(";")):
            call = re.fullmatch(r"\s*(.*?)\(\*(\w+)\)\((.*)\)\s*", line, re.S)
            if call:
                types = [kind for _, kind in self._arguments(call[3])]
                fields.append((call[2], ctypes.CFUNCTYPE(self._type(call[1]), *types)))
                continue
            base = re.match(r"\s*((?:struct|enum)\s+\w+|\w+)", line)
            for declarator in line[base.end():].split(","):
                stars, name, length = re.fullmatch(r"([\s*]*)(\w+)(?:\[(\w+)\])?\s*", declarator).groups()
                kind = self._type(base[1] + stars)
                if length:
                    kind *= int(self.constants.get(length) or length)
                fields.append((name, kind))
        if all(kind for _, kind in fields):  # else it holds a structure of another header
            structure._fields_ = fields


def plain(value, **counts):
    """A copy of a structure, with a list for each array whose length it has. `counts`: other lengths,
    by structure and field."""
    if not isinstance(value, ctypes.Structure):
        return value
    kind, copy = type(value).__name__, SimpleNamespace()
    for name, of in value._fields_:
        field = getattr(value, name)
        if isinstance(field, bytes):
            field = field.decode()
        elif isinstance(field, ctypes._Pointer):
            singular = re.sub(r"s$|s_ms$", "", name)
            count = counts.get(f"{kind}_{name}")
            for known in (f"{singular}_count", f"{name}_count"):
                count = getattr(value, known, count)
            if count is None or not field:
                continue  # a pointer to what a policy has no use for
            field = [plain(field[i], **counts) for i in range(count)]
        elif isinstance(field, ctypes.Structure):
            field = plain(field, **counts)
        setattr(copy, name, field)
    return copy


# ---- The platform ------------------------------------------------------------------------------

#: What C alone can use.
LEFT_OUT = {"platform_allocate", "platform_reallocate", "platform_gang", "platform_training_shape",
            "platform_typical_shapes", "refuses_gang"}


class Whole:
    """How an argument of this type is passed: a number that it does not hold breaks rule range."""

    def __init__(self, kind):
        self.kind, signed = kind, kind(-1).value < 0
        bits = 8 * ctypes.sizeof(kind) - signed
        self.low, self.high = -2**bits if signed else 0, 2**bits - 1

    def from_param(self, value):
        value = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
        if not self.low <= value <= self.high:
            raise ValueError(f"rule range: {value} is not in {self.low} .. {self.high}")
        return self.kind(value)


def time_of(value):
    """What a callback returned as a time."""
    if not isinstance(value, (int, float)) and not hasattr(value, "__index__") or not 0 <= value < 2**63:
        raise ValueError(f"rule range: it returned {value!r} in place of a time, in whole ns")
    return int(value)


def array_of(kind, values):
    values = [values] if isinstance(values, dict) else values
    return (kind * len(values))(*(kind(**value) for value in values))


def method_of(function, handle, result, arguments):
    """The function as a method: without platform and lengths of arrays, None for SIM_NONE."""
    if result is ctypes.c_uint32:
        def method(*given):
            value = function(handle, *given)
            return None if value == NONE else value
    else:
        method = functools.partial(function, handle)
    for place, (_, kind) in enumerate(arguments[1:]):
        if issubclass(kind, ctypes._Pointer):
            counted = [name for name, _ in arguments[place + 2:place + 3]] == ["count"]

            def with_array(*given):
                array = array_of(kind._type_, given[place])
                length = [len(array)] if counted else []
                return method(*given[:place], array, *length, *given[place + 1:])
            return with_array
    return method


class Platform:
    """The platform of one run."""

    def __init__(self, host, handle):
        self.__dict__.update(host.contract.constants, FOREVER=FOREVER)
        for name, (result, arguments) in host.contract.functions.items():
            name, function = name.removeprefix("platform_"), host.functions[name]
            setattr(self, name + "_" * keyword.iskeyword(name), method_of(function, handle, result, arguments))
        workload, models = self.workload().contents, self.training_models()
        self.workload = plain(workload, function_gpus=workload.kind_count)
        self.models = models and plain(models.contents, training_models_models=models.contents.count)


# ---- Policies ----------------------------------------------------------------------------------


class Loaded:
    """A file with a policy. Its runs are known by the address of their state."""

    def __init__(self, host, path):
        self.host, self.path, self.runs = host, path, {}
        self.files = host.files_of(path)
        self.code = compile(self.files[path], path, "exec")
        own, constants, structures = self.execute(), host.contract.constants, host.contract.structures
        if not getattr(own, "name", None) or not callable(getattr(own, "decide", None)):
            raise Refused("its class Policy needs a name and a method decide")
        table = getattr(own, "parameters", {})
        self.values = type("values", (ctypes.Structure,), {"_fields_": [
            (name, ctypes.c_int64 if isinstance(value, int) else ctypes.c_double)
            for name, (_, _, value, _) in table.items()]})
        keys = (structures["key"] * (len(table) + 1))()
        for key, (name, (least, most, value, meaning)) in zip(keys, table.items()):
            key.name, key.help, key.size = name.encode(), meaning.encode(), 8
            key.kind = constants["KIND_WHOLE" if isinstance(value, int) else "KIND_NUMBER"]
            key.offset = getattr(self.values, name).offset
            key.low, key.high, key.fallback = least, most, value
        self.policy = structures["policy"](
            abi=host.contract.abi, name=own.name.encode(), state_bytes=8,
            summary=getattr(own, "summary", "").encode(), parameters=keys,
            parameters_bytes=ctypes.sizeof(self.values))
        for name, kind in structures["policy"]._fields_:
            value = getattr(own, name, None)
            if name in ("serves", "places_containers", "admits_requests", "reads_file"):
                setattr(self.policy, name, constants.get(value, value or 0))
            elif name in ("refuses", "admission") and value:
                setattr(self.policy, name, value.encode())
            elif name in ("init", "finish") or (callable(value) and name not in LEFT_OUT):
                setattr(self.policy, name, kind(self.callback(name)))

    def execute(self):
        """The class Policy of the file, executed anew."""
        space = {"__name__": "policy", "__file__": self.path}
        exec(self.code, space)
        if "Policy" not in space:
            raise Refused("has no class Policy")
        return space["Policy"]

    def begin(self, state, handle, parameters):
        platform = Platform(self.host, handle)
        seed_all(platform.seed())
        policy = self.execute()()
        self.runs[state] = policy, platform, handle
        for name, _ in self.values._fields_:
            setattr(policy, name, getattr(self.values.from_address(parameters), name))
        getattr(policy, "init", lambda platform: None)(platform)
        return True

    def callback(self, name):
        """The contract's function of that name."""
        taken = time_of if name == "keep_alive" else lambda value: value or 0

        def call(state, handle=None, *given):
            method = None
            try:
                if name == "init":
                    return self.begin(state, handle, given[0])
                if name == "finish":
                    policy, _, handle = self.runs.pop(state, (None, None, None))
                    getattr(policy, name, lambda: None)()
                    return 0
                policy, platform, _ = self.runs[state]
                method = getattr(policy, name)
                given = (part.contents if isinstance(part, ctypes._Pointer) else part for part in given)
                return taken(method(platform, *given))
            except BaseException as fault:  # an exception ends the run
                traceback.print_exc()
                if handle is not None:
                    self.host.functions["platform_stop"](handle, described(fault, self.path, method))
                return 0
        return call


def seed_all(seed):
    """All random numbers of a run begin with its seed, also those of the system, with which libraries begin."""
    random.seed(seed)
    os.urandom = random._urandom = random.Random(seed).randbytes
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(seed % 2**32)


def is_own(origin):
    """Whether the file of a module is of the user, and neither of Python nor installed."""
    folders = {"dist-packages", "site-packages", "lib-dynload", f"python3.{sys.version_info.minor}"}
    return str(origin).endswith(".py") and not folders & set(Path(origin).parts)


class Beside:
    """Finds the modules of a policy's own among the texts that its identity covers."""

    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        for end in (".py", "/__init__.py"):
            for file in self.texts:
                if file.endswith("/" + name.replace(".", "/") + end):
                    return importlib.util.spec_from_loader(name, self, origin=file, is_package=end != ".py")
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = file = module.__spec__.origin
        exec(compile(self.texts[file], file, "exec"), module.__dict__)


class Refused(Exception):
    """A file that is no policy."""


def described(fault, path, method=None):
    """The exception as one line, with the innermost line of the policy's file, or that of the method."""
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == path]
    lines += [fault.lineno] if isinstance(fault, SyntaxError) and fault.filename == path else []
    lines = lines or [method.__code__.co_firstlineno for method in [method] if hasattr(method, "__code__")]
    kind = "" if isinstance(fault, Refused) else f"{type(fault).__name__}: "
    text = f"{path}{''.join(f':{line}' for line in lines[-1:])}: {kind}{fault}"
    return " ".join(text.split()).encode()


# ---- The program -------------------------------------------------------------------------------


class Host:
    """The program, loaded as a library."""

    def __init__(self):
        named = os.environ.get("ESGSIM_LIBRARY")
        places = [named] if named else [ROOT / "build/python/esgsim.so", ROOT / "../../lib/esgsim.so"]
        path = next((Path(place) for place in places if Path(place).exists()), None)
        if path is None:
            sys.exit(f"esgsim: {places[0]} is missing; run `make python`")
        # The headers of which the library was made.
        own = path.parent / "include"
        self.contract = Contract(own if own.exists() else path.parent.parent / "include/esgsim")
        self.library = ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        known = self.contract.structures["policy"].in_dll(self.library, "policy_fifo")
        if known.abi != self.contract.abi or known.name != b"fifo":
            sys.exit(f"esgsim: {path} is of another version of the contract; run `make python` again")
        self.loaded, self.functions, self.texts = {}, {}, {}
        for name, (result, arguments) in self.contract.functions.items():
            function = self.functions[name] = self.library[name]
            function.restype, function.argtypes = result, [
                Whole(kind) if kind in (ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64) else kind
                for _, kind in arguments]
        self.load_python = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(self.load)
        self.library.parameters_check.restype = ctypes.c_bool
        hook = ctypes.c_void_p.in_dll(self.library, "policy_load_python")
        hook.value = ctypes.cast(self.load_python, ctypes.c_void_p).value
        self.bundle_python = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(self.bundle)
        hook = ctypes.c_void_p.in_dll(self.library, "policy_bundle_python")
        hook.value = ctypes.cast(self.bundle_python, ctypes.c_void_p).value
        # The walls around a run leave Python and what is installed for it readable.
        installed = [sys.prefix, sys.base_prefix, *(folder for folder in sys.path if "-packages" in folder)]
        self.libraries = ctypes.create_string_buffer(os.fsencode(":".join(
            folder for folder in installed if folder not in ("/usr", "/"))))
        ctypes.c_void_p.in_dll(self.library, "walls_libraries").value = ctypes.addressof(self.libraries)

    def files_of(self, path):
        """The texts of a policy's file and of all modules of its own, by file. It executes none of them."""
        if path in self.texts:
            return self.texts[path]
        texts, open_files = {}, [Path(path)]
        while open_files:
            file = open_files.pop()
            if str(file) in texts:
                continue
            text = texts[str(file)] = file.read_text(encoding="utf-8")
            names = set()
            for node in ast.walk(ast.parse(text, str(file))):
                names |= {name.name for name in node.names} if isinstance(node, ast.Import) else set()
                names |= {node.module or ""} if isinstance(node, ast.ImportFrom) else set()
            for name in {name.split(".")[0] for name in names if name} - set(sys.builtin_module_names):
                spec = PathFinder.find_spec(name, [str(Path(path).resolve().parent), *sys.path])
                if spec and spec.origin and is_own(spec.origin):
                    parts = spec.submodule_search_locations or ()
                    open_files += [Path(spec.origin), *(part for folder in parts for part in Path(folder).rglob("*.py"))]
        self.texts[path] = texts
        return texts

    def bundle(self, path, to):
        """Writes the policy's own file, and behind it the modules of its own, of which it is the digest."""
        path, to = os.fsdecode(path), Path(os.fsdecode(to))
        try:
            first, *others = self.files_of(path).items()
        except (OSError, SyntaxError, UnicodeDecodeError):
            to.write_bytes(Path(path).read_bytes() if os.path.exists(path) else b"")
            return
        folder = Path(path).resolve().parent
        to.write_text(first[1] + "".join(f"\n# {os.path.relpath(file, folder)}\n{text}"
                                         for file, text in sorted(others)), encoding="utf-8")

    def load(self, path, error):
        """The address of a file's policy; None with an error."""
        path = os.fsdecode(path)
        try:
            seed_all(0)
            finder = Beside(self.files_of(path))
            sys.meta_path.insert(0, finder)
            loaded = self.loaded.get(path) or Loaded(self, path)
        except BaseException as fault:
            self.library.error_input(ctypes.c_void_p(error), b"%s", described(fault, path))
            return None
        size = ctypes.sizeof(loaded.values)
        if not self.library.parameters_check(loaded.policy.parameters, ctypes.c_size_t(size), os.fsencode(path),
                                             ctypes.c_void_p(error)):
            return None
        self.loaded[path] = loaded
        return ctypes.addressof(loaded.policy)

    def main(self, words):
        texts = [ctypes.create_string_buffer(os.fsencode(word)) for word in ["esgsim", *words]]
        pointers = (ctypes.c_char_p * (len(texts) + 1))(*map(ctypes.addressof, texts))
        return self.library.main(len(texts), pointers)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets have one order in every run
        os.environ["PYTHONHASHSEED"] = "0"
        ctypes.CDLL(None).personality(0x0040000)  # no random addresses, by which objects may be ordered
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    os.environ["ESGSIM_DATA"] = str(ROOT)
    sys.stdout = sys.stderr  # results alone go to standard output
    os._exit(Host().main(sys.argv[1:]))
