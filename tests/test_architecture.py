"""Imports point one way: the rooms of the package stand in an order, and each imports only what stands before it.

A room is a package or module directly under `hackle`. Imports inside functions, under TYPE_CHECKING and by
`import_module("hackle…")` count like any other. The picture and its reasons are in docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hackle

ROOT = Path(hackle.__file__).parent

LAYERS = {
    "ground": ("core",),
    "parts": ("kernels", "datasets", "nets", "objectives", "information", "metrics"),
    "one model": ("train", "scoring", "pictures", "shipped"),
    "many models": ("studies", "store", "engine"),
    "reading results": ("claims", "selection", "figures", "report", "explorer"),
    "what papers say": ("papers",),
    "surface": ("bench", "cli", "__main__"),
}
ORDER = [room for rooms in LAYERS.values() for room in rooms]

TRAINING = {"kernels", "datasets", "nets", "objectives", "train", "scoring", "engine"}
# What a room must not import although it stands later.
KEPT_APART = {
    "datasets": {"kernels"},
    "nets": {"datasets"},
    "objectives": {"datasets"},
    # Anyone's codes can be scored: scores know arrays, not images or networks.
    "information": TRAINING,
    "metrics": TRAINING,
    # A claim, a choice or a figure reads the table of results and nothing else, so that it can be drawn again without a model.
    "claims": TRAINING,
    "selection": TRAINING,
    "figures": TRAINING,
}


def package_of(path: Path) -> list[str]:
    """The dotted package that a file's relative imports start from."""
    return ["hackle", *path.relative_to(ROOT).parts[:-1]]


def imported(source: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything under `hackle` that a module imports, wherever in the module."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                names = [str(node.args[0].value)]
        for name in names:
            if name == "hackle" or name.startswith("hackle."):
                yield node.lineno, name  # type: ignore[attr-defined]


def room_of(name: str) -> str:
    """The room that a dotted name under `hackle` leads into; "" for the version and for the package itself."""
    parts = name.split(".")
    return "" if len(parts) == 1 or parts[1] == "__version__" else parts[1]


def wrong_imports(source: str, path: Path) -> list[str]:
    """Every import of a module that goes against the order, as a sentence."""
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    found = []
    for line, name in imported(source, package_of(path)):
        other = room_of(name)
        if other == room:
            continue
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        if not other:
            if name == "hackle":
                found.append(f"{where}, the public surface; import from the room itself")
        elif other not in ORDER:
            found.append(f"{where}: {other} has no place yet; add it to LAYERS in tests/test_architecture.py")
        elif ORDER.index(other) > ORDER.index(room):
            found.append(
                f"{where}, but {other} stands after {room}: move what is shared down, or pass it as an argument"
            )
        elif other in KEPT_APART.get(room, ()):
            found.append(f"{where}, but {room} keeps apart from {other}")
    return found


# The package's own __init__ is the public surface: it names what lies in any room.
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def test_every_module_has_a_place() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    unplaced = sorted(rooms - set(ORDER))
    assert not unplaced, (
        f"{', '.join(unplaced)}: place each in LAYERS of tests/test_architecture.py, after all that it imports, and in "
        "the picture of docs/architecture.md"
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    if path.relative_to(ROOT).parts[0].removesuffix(".py") in ORDER:
        wrong = wrong_imports(path.read_text(encoding="utf-8"), path)
        assert not wrong, "\n".join(wrong)


def test_the_picture_names_every_room() -> None:
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    missing = [room for room in sorted(rooms) if f"{room}.py" not in page and f"{room}/" not in page]
    assert not missing, f"docs/architecture.md does not show {', '.join(missing)}"


def test_the_picture_is_in_this_order() -> None:
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^  (\w+)(?:\.py|/) ", page.partition("src/hackle/\n")[2].partition("```")[0], re.MULTILINE)
    assert [room for room in shown if room != "__init__"] == ORDER


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import hackle.train", ["hackle.train"]),
        ("import numpy, hackle.metrics as metrics", ["hackle.metrics"]),
        ("from hackle import metrics, __version__", ["hackle.metrics", "hackle.__version__"]),
        ("from hackle.nets.layers import Down", ["hackle.nets.layers.Down"]),
        ("def f():\n    from hackle.train import fit", ["hackle.train.fit"]),
        ("if TYPE_CHECKING:\n    from hackle.train.model import Model", ["hackle.train.model.Model"]),
        ("from .checks import MetricError", ["hackle.metrics.checks.MetricError"]),
        ("from ..train import fit", ["hackle.train.fit"]),
        ("from .. import train", ["hackle.train"]),
        ("import_module('hackle.scoring.encode')", ["hackle.scoring.encode"]),
        ("importlib.import_module('hackle.scoring.encode')", ["hackle.scoring.encode"]),
        ("import hacklet; import_module(name); import_module('numpy')", []),
    ],
)
def test_every_way_to_import_is_seen(source: str, names: list[str]) -> None:
    assert [name for _, name in imported(source, ["hackle", "metrics"])] == names


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (
            "def f():\n    from hackle.train import fit",
            "metrics/mig.py",
            "mig.py:2 imports hackle.train.fit, but train",
        ),
        ("from hackle.datasets import load", "metrics/mig.py", "metrics keeps apart from datasets"),
        ("from ..nets import MLP", "datasets/own.py", "nets stands after datasets"),
        ("import hackle.cli.main", "scoring/models.py", "cli stands after scoring"),
        ("from hackle.brew import tea", "scoring/models.py", "brew has no place yet"),
        ("import hackle", "scoring/models.py", "the public surface"),
    ],
)
def test_wrong_imports_are_reported(source: str, place: str, message: str) -> None:
    (found,) = wrong_imports(source, ROOT / place)
    assert message in found


def test_right_imports_are_not_reported() -> None:
    source = "from hackle import __version__\nfrom hackle.scoring.encode import Codebook\nimport torch"
    assert wrong_imports(source, ROOT / "scoring/models.py") == []
