"""Writes COLUMNS.md, the columns of every table of a results file, from the program's own tables.

    columns.py build/esgsim.so >results/COLUMNS.md
"""

import ctypes
import re
import sys
from pathlib import Path

TYPES = ("text", "u8", "u16", "u32", "u64", "i32", "i64", "f64")  # of enum column_type


class Column(ctypes.Structure):  # of results/store/columns.h
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("help", ctypes.c_char_p), ("type", ctypes.c_int),
                ("offset", ctypes.c_size_t), ("length", ctypes.c_size_t), ("later", ctypes.c_bool)]


class Layout(ctypes.Structure):
    _fields_ = [("title", ctypes.c_char_p), ("columns", ctypes.POINTER(Column)), ("count", ctypes.c_size_t),
                ("row_bytes", ctypes.c_size_t), ("writer", ctypes.c_char_p)]


def table(library, name):
    layout = Layout.in_dll(library, f"layout_{name}")
    yield from ("| column | type | unit | meaning |", "|---|---|---|---|")
    for column in layout.columns[:layout.count]:
        title, unit, meaning = (text.decode() for text in (column.name, column.unit, column.help))
        if name == "applications" and title == "requests":
            break  # those of /summary follow
        kind = TYPES[column.type]
        entries = f"[{column.length}]" if kind != "text" and column.length > 1 else ""
        yield f"| `{title}` | {kind}{entries} | {unit or '-'} | {meaning} |"


def main():
    library = ctypes.CDLL(str(Path(sys.argv[1]).resolve()))
    records = re.findall(r"^(?:RECORD|TABLE)\(\w+, (\w+)", Path("sim/base/records.def").read_text("utf-8"), re.M)
    places = {f"/{name}": name for name in ("summary", "applications", "training", "missing")}
    places |= {f"/runs/<hash>/{name}": name for name in records}
    print("# The columns of a results file\n\n*`make schemas` writes this page from `sim/base/metrics.def`, "
          "`sim/base/records.def` and `results/store/columns.h`. Change those.*\n\n"
          "`README.md` says which rows a table has, when it is present, and what the units and types are. The "
          "brackets\nafter a metric say what it counts, and over which time.")
    for place, name in places.items():
        print("", f"## `{place}`", "", *table(library, name), sep="\n")


main()
