"""Makes a wheel of an installed tree: wheel.py USR VERSION FOLDER. It has the program, its data, headers and pages,
and the module esgsim. pip puts them where the program looks: bin/esgsim beside share/esgsim. The libraries are the
system's. The same tree gives the same bytes."""

import base64
import hashlib
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

usr, version, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
tag = f"py3-none-{platform}"
name = f"esgsim-{version}"
info, data = f"{name}.dist-info", f"{name}.data"

files = {"esgsim.py": usr / "share/esgsim/results/python/esgsim.py", f"{data}/scripts/esgsim": usr / "bin/esgsim"}
for part in ("share", "include/esgsim"):
    for file in sorted((usr / part).rglob("*")):
        if file.is_file():
            files[f"{data}/data/{file.relative_to(usr)}"] = file
subprocess.run(["strip", "-g", usr / "bin/esgsim"], check=True)
texts = {
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: esgsim\nVersion: {version}\n"
                        "Summary: Simulator of deep learning on shareable GPUs\nLicense: GPL-3.0-or-later\n"
                        "Requires-Python: >=3.9\nProvides-Extra: read\n"
                        "Requires-Dist: h5py; extra == 'read'\nRequires-Dist: pandas; extra == 'read'\n",
    f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: esgsim\nRoot-Is-Purelib: false\nTag: {tag}\n",
}
wheel = folder / f"{name}-{tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    record = []

    def add(place, content, executable=False):
        entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{place},sha256={digest},{len(content)}\n")

    for place, file in files.items():
        add(place, file.read_bytes(), file.stat().st_mode & 0o100 != 0)
    for place, text in texts.items():
        add(place, text.encode())
    add(f"{info}/RECORD", ("".join(record) + f"{info}/RECORD,,\n").encode())
print(wheel)
