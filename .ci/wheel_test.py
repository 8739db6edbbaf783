"""Builds the wheel, installs it into an empty environment of each Python that hackle supports, and runs `hackle demo` there.

    python .ci/wheel_test.py [--steps 20] [--only 3.12 | --here]

Interpreters are looked for on the path and among pyenv's. One that is not found is left out, and the last line says on which
Pythons the wheel was tested and on which it was not; if none is found, or a demo fails, the exit code is 1. Packages are
those of constraints.txt.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
# What is installed, not what lies here, is to be found.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
ASKED = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
LOOKED_AT = """
import hackle
assert "site-packages" in hackle.__file__, hackle.__file__
for name in hackle.__all__:
    assert getattr(hackle, name) is not None
assert hackle.results("hackle-2026")["run"].nunique() >= 467
assert all(hackle.load_model(name).run.steps for name in hackle.models()["name"])
"""


def interpreter(version: str) -> str | None:
    """The path of a Python of this version, if there is one that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python"))]
    for path in filter(None, candidates):
        found = subprocess.run([path, "-c", ASKED], capture_output=True, text=True, check=False, env=CLEAN)
        if found.stdout.strip() == version:
            return path
    return None


def built(folder: Path) -> Path:
    """The wheel, which must hold every file of the package."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True,
    )
    (wheel,) = folder.glob("hackle-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    tracked = subprocess.run(["git", "ls-files", "src/hackle"], cwd=ROOT, capture_output=True, text=True, check=True)
    missing = {path.removeprefix("src/") for path in tracked.stdout.splitlines()} - held
    if missing:
        raise SystemExit(f"the wheel lacks {', '.join(sorted(missing))}")
    return wheel


def tried(python: str, wheel: Path, folder: Path, steps: int) -> None:
    """Installs the wheel into an environment of its own and runs the demo."""
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True, env=CLEAN)
    bin_folder = folder / "venv" / "bin"
    install = [str(bin_folder / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True, env=CLEAN)
    subprocess.run([str(bin_folder / "python"), "-c", LOOKED_AT], cwd=folder, check=True, env=CLEAN)
    demo = [str(bin_folder / "hackle"), "demo", "--steps", str(steps), "--out", "demo", "--root", "data"]
    subprocess.run(demo, cwd=folder, check=True, env=CLEAN, stdout=subprocess.DEVNULL)
    if not (folder / "demo" / "index.html").stat().st_size:
        raise SystemExit("the demo wrote an empty page")


def in_words(found: dict[str, str | None], failed: list[str]) -> str:
    """On which of the Pythons asked for the wheel runs, on which it does not, and on which that is not known."""
    outcomes = {
        "tested, runs": [version for version, python in found.items() if python and version not in failed],
        "tested, FAILED": failed,
        "NOT TESTED, since not found here": [version for version, python in found.items() if python is None],
    }
    told = [f"{outcome}: Python {', '.join(versions)}" for outcome, versions in outcomes.items() if versions]
    tested = sum(python is not None for python in found.values())
    return f"{tested} of {len(found)} Pythons tested. {'; '.join(told)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20, help="updates of the demo's model; its own default is 1,000")
    parser.add_argument("--only", choices=VERSIONS, help="one version of Python instead of all that are found")
    parser.add_argument("--here", action="store_true", help="only the Python that runs this")
    options = parser.parse_args()
    if options.here:
        found: dict[str, str | None] = {".".join(map(str, sys.version_info[:2])): sys.executable}
    else:
        found = {version: interpreter(version) for version in ([options.only] if options.only else VERSIONS)}
    failed = []
    with tempfile.TemporaryDirectory() as place:
        wheel = built(Path(place))
        for version, python in found.items():
            if python is None:
                continue
            start = time.monotonic()
            try:
                with tempfile.TemporaryDirectory(dir=place) as folder:
                    tried(python, wheel, Path(folder), options.steps)
                said = "installs and runs the demo"
            except subprocess.CalledProcessError as error:
                failed.append(version)
                said = f"failed at {' '.join(error.cmd)}"
            print(f"Python {version}: {said} ({time.monotonic() - start:.0f} s, {python})", flush=True)
    print(in_words(found, failed))
    return 1 if failed or not any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
