"""Thousands of damaged folders and questions: none raises anything but hackle's own errors, imports a module or takes much
memory."""

from __future__ import annotations

import copy
import json
import resource
import shutil
import sqlite3
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import SCORES, SHAPE, Visitor, good_folder, record, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hackle
from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid
from hackle.core.records import to_json
from hackle.core.regimes import Drawing, Labels, Pairs, row_weights, training_rows
from hackle.objectives import HFS, QLAE, AdaGVAE, ControlVAE, JointVAE, S2BetaVAE, Tripod
from hackle.store import Store, read
from hackle.store.merging import merge, repair
from hackle.store.run_folders import read_scores
from hackle.store.tables import Outcome
from hackle.studies.folder import read_wanted
from hackle.train.curves import read_curves
from hackle.train.model import Model, load_weights
from hackle.train.record_files import peek_record, read_record
from hackle.train.sampling import check_data

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from hackle.explorer import create_app
from hackle.explorer.catalogue import Catalogue
from hackle.explorer.listing import Listing

MANY = settings(
    max_examples=500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FEWER = settings(MANY, max_examples=100)
FEW = settings(MANY, max_examples=40)

_WORDS = (
    "a 0 . ~ / ../.. Run VAE Own Adam constructor __proto__ ~nobody os:system subprocess:call antigravity:fly C:\\data"
)
ODD = st.sampled_from(["", "\0", "\ud800", "a" * 5000, *_WORDS.split()])
NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.sampled_from([2**31, 2**63, -(2**63), 10**9, 10**400, 1e308, 5e-324, -0.0]),
)
PLAIN = st.one_of(st.none(), NUMBERS, ODD, st.text(max_size=20))
JSON = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(ODD, st.just("type")), inner, max_size=4)
    ),
    max_leaves=12,
)
_CLASSES = """Run Adam VAE BetaVAE FactorVAE InfoGAN DIPVAEI AnnealedVAE MLP Own Convolutional Split Sharing Adversarial
Drawing Pairs Labels Tripod QLAE JointVAE HFS AdaGVAE SlowVAE S2BetaVAE ControlVAE"""
TYPES = st.sampled_from([*_CLASSES.split(), "antigravity:Method", "subprocess:Popen", "test_fuzz:Nothing"])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in some JSON."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inside for place in places(part, (*path, key)))]


RUN_JSON: dict[str, Any] = {"hackle": "0.1.0", "hash": "0" * 16, "shape": list(SHAPE), "record": record()}

GRID = FactorGrid(
    [
        *(Factor(f"{part}_hue", 4, "cyclic") for part in ("floor", "wall")),
        Factor("shape", 3, "categorical", words=("cube", "a|b", "=1")),
        Factor("scale", 5, "continuous", values=(0.0, 0.2, 0.5, 0.7, 1.0)),
    ]
)
REGIMES = {
    "drawing": Drawing("floor_hue~wall_hue", 0.3, "shape=cube & scale>0.5"),
    "pairs": Pairs("resample", 1),
    "labels": Labels(100, "noisy", noise=0.2),
}
NEWER: list[Any] = [
    {**RUN_JSON, "record": to_json(small(method=method, **REGIMES))}
    for method in (Tripod(), QLAE(), JointVAE(categories=(3, 4)), HFS(), AdaGVAE(), S2BetaVAE(), ControlVAE())
]
"""Records of newer methods, with every regime."""


@st.composite
def damaged(draw: Any, whole: Any = RUN_JSON) -> Any:
    """Some JSON in which a few things have become something else, have gone or were added."""
    found = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(found)[1:] or [()]))
        if not path:
            return draw(JSON)
        *steps, last = path
        home = found
        for step in steps:
            home = home[step]
        act = draw(st.sampled_from(["replace", "replace", "type", "remove", "add"]))
        if act == "replace":
            home[last] = draw(JSON)
        elif act == "type":
            home[last] = {"type": draw(TYPES), **draw(st.dictionaries(ODD, JSON, max_size=2))}
        elif act == "remove":
            del home[last]
        elif isinstance(home, dict):
            home[draw(ODD)] = draw(JSON)
    return found


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[None]:
    """No module but Python's own is imported meanwhile, and little memory is taken."""
    good = good_folder(tmp_path / "warm")
    Model.load(good)
    Model.load(good_folder(tmp_path / "quantised", method=QLAE()))
    hackle.results(good)
    Listing(Catalogue(tmp_path)).answer()
    before, most = set(sys.modules), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "left out")
        warnings.filterwarnings("ignore", "invalid value encountered in cast")
        yield
    come = {name.partition(".")[0] for name in set(sys.modules) - before} - {"hackle", "hypothesis"}
    assert come <= sys.stdlib_module_names - {"antigravity", "this"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 500 * 1024


def try_to(*readers: Callable[[], object]) -> None:
    """Read, or be refused with a reason."""
    for reader in readers:
        with suppress(HackleError):
            reader()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return good_folder(tmp_path / "run")


@pytest.mark.usefixtures("quiet")
@MANY
@given(content=damaged())
def test_any_run_json(folder: Path, content: Any) -> None:
    (folder / "run.json").write_text(json.dumps(content))
    try_to(lambda: peek_record(folder), lambda: read_record(folder))


@pytest.mark.usefixtures("quiet")
@FEW
@given(content=st.sampled_from(NEWER).flatmap(damaged))
def test_any_regime_and_newer_method(folder: Path, content: Any) -> None:
    (folder / "run.json").write_text(json.dumps(content))
    try_to(lambda: Model.load(folder), lambda: hackle.results(folder), lambda: Listing(Catalogue(folder)).answer())
    try_to(lambda: check_data(read_record(folder)[0], GRID))


CONDITION = st.lists(
    st.sampled_from(
        [
            "shape",
            "scale",
            "random",
            "element",
            "range",
            ":",
            "#",
            "&",
            "|",
            "=",
            "!=",
            "<",
            ">=",
            "~",
            "*",
            ",",
            "-",
            "0",
            "1",
            "1e400",
            "nan",
            "cube",
            "\x1b",
            "0.5",
        ]
    ),
    max_size=12,
).map("".join)


@FEWER
@given(text=CONDITION, correlated=CONDITION, sigma=st.one_of(st.just(0.2), st.floats()))
def test_any_condition_and_correlation(text: str, correlated: str, sigma: float) -> None:
    try_to(lambda: training_rows(GRID, text))
    with suppress(HackleError):
        assert np.isclose(row_weights(GRID, Drawing(correlated, sigma, text)).sum(), 1)


@pytest.mark.usefixtures("quiet")
@FEWER
@given(content=damaged())
def test_any_run_json_everywhere(folder: Path, content: Any) -> None:
    (folder / "run.json").write_text(json.dumps(content))
    try_to(lambda: Model.load(folder), lambda: hackle.results(folder), lambda: Listing(Catalogue(folder)).answer())


@pytest.mark.usefixtures("quiet")
@FEWER
@given(
    text=st.one_of(
        st.binary(max_size=200), st.sampled_from([b"[" * 10**5, b'{"a":' * 10**5, b"9" * 10**4, b"NaN", b"\xff"])
    )
)
def test_any_bytes_in_any_file(folder: Path, text: bytes) -> None:
    for name in ("run.json", "scores.json", "curves.csv", "weights.safetensors"):
        before = (folder / name).read_bytes() if (folder / name).exists() else b""
        (folder / name).write_bytes(text)
        try_to(lambda: peek_record(folder), lambda: read_scores(folder), lambda: read_curves(folder))
        try_to(lambda: load_weights(folder, small(), SHAPE))
        (folder / name).write_bytes(before)


@pytest.mark.usefixtures("quiet")
@MANY
@given(rows=damaged(SCORES))
def test_any_scores(folder: Path, rows: Any) -> None:
    (folder / "scores.json").write_text(json.dumps(rows))
    try_to(lambda: read_scores(folder))


@pytest.mark.usefixtures("quiet")
@FEWER
@given(rows=damaged(SCORES))
def test_any_scores_everywhere(folder: Path, rows: Any) -> None:
    (folder / "scores.json").write_text(json.dumps(rows))
    try_to(lambda: hackle.results(folder), lambda: Listing(Catalogue(folder)).answer())


CELL = st.one_of(
    st.sampled_from(["", "inf", "-inf", "nan", "1", "1e400", '"', "step", "constructor", "９", "0x1", "1_0"]),
    st.text(max_size=5),
)


@pytest.mark.usefixtures("quiet")
@MANY
@given(
    lines=st.lists(st.lists(CELL, max_size=4).map(",".join), max_size=5),
    head=st.sampled_from(["step,kl", "step", "kl", ""]),
)
def test_any_curves(folder: Path, lines: list[str], head: str) -> None:
    text = "\n".join([head, *lines, ""])
    (folder / "curves.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    try_to(lambda: read_curves(folder))


HEADER: dict[str, Any] = {
    name: {"dtype": "F32", "shape": list(value.shape), "data_offsets": [0, 4 * value.numel()]}
    for name, value in Model(small(), SHAPE).weights().items()
}


@pytest.mark.usefixtures("quiet")
@MANY
@given(header=damaged(HEADER), length=st.one_of(st.none(), st.integers(0, 2**64 - 1)), data=st.integers(0, 4096))
def test_any_header_of_weights(folder: Path, header: Any, length: int | None, data: int) -> None:
    text = json.dumps(header).encode()
    size = struct.pack("<Q", len(text) if length is None else length)
    (folder / "weights.safetensors").write_bytes(size + text + bytes(data))
    with pytest.raises(HackleError):
        load_weights(folder, small(), SHAPE)


def small_store(folder: Path) -> Path:
    """A study of three runs with scores, curves and arrays."""
    with Store.create_or_open(folder, "locatello2019") as store:
        for seed in range(3):
            curves, arrays = {"step": np.arange(2), "kl": np.ones(2)}, {"codes": np.zeros((4, 2), np.float32)}
            store.add(Outcome(small(seed=seed), "done", scores=SCORES, curves=curves, arrays=arrays))
    return folder


def read_store(folder: Path) -> None:
    found = read(folder)
    found.curve("kl")
    found.array("codes")


_COLUMNS = """meta.value runs.run runs.study runs.status runs.dataset runs.method runs.strength runs.architecture runs.record
runs.sources runs.training_seconds runs.finished measures.metric measures.protocol measures.scoring_seed scores.score
scores.seconds scores.note scores.measure packed_scores.data packed_scores.checksum curves.name curves.dtype curves.shape
curves.data arrays.dtype arrays.shape arrays.data arrays.run"""
_CELLS = (
    None,
    0,
    -1,
    2**62,
    1e308,
    "",
    "x",
    "\0",
    "constructor",
    "[",
    "{}",
    b"",
    b"\xff" * 9,
    "|O",
    "|V8",
    "<U4",
    "9" * 30,
)
CELLS = st.sampled_from([*_CELLS, "999999,999999", '{"method": {"type": "subprocess:call"}}', "quick@evil.py:x@3"])


@pytest.mark.usefixtures("quiet")
@FEW
@given(changes=st.lists(st.tuples(st.sampled_from(_COLUMNS.split()), CELLS), min_size=1, max_size=3))
def test_any_cell_of_a_store(tmp_path: Path, changes: list[tuple[str, Any]]) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    if not good.exists():
        small_store(good)
    bad.mkdir(exist_ok=True)
    shutil.copy(good / "results.sqlite", bad)
    with closing(sqlite3.connect(bad / "results.sqlite")) as file:
        for place, value in changes:
            table, column = place.split(".")
            with suppress(sqlite3.IntegrityError):
                file.execute(f"UPDATE {table} SET {column} = ?", (value,))
        file.commit()
    try_to(lambda: hackle.results(bad), lambda: read_store(bad), lambda: merge(tmp_path / "merged", bad))
    try_to(lambda: repair(bad))
    for left in bad.iterdir():
        left.unlink()


@pytest.mark.usefixtures("quiet")
@FEW
@given(places=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=60))
def test_any_bytes_of_a_store(tmp_path: Path, places: list[tuple[float, int]]) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    if not good.exists():
        small_store(good)
    bad.mkdir(exist_ok=True)
    content = bytearray((good / "results.sqlite").read_bytes())
    for place, value in places:
        content[int(place * len(content))] = value
    (bad / "results.sqlite").write_bytes(content)
    try_to(lambda: hackle.results(bad), lambda: read_store(bad), lambda: merge(tmp_path / "merged", bad))
    try_to(lambda: repair(bad))
    for left in bad.iterdir():
        left.unlink()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("CREATE TRIGGER mark AFTER INSERT ON runs BEGIN DELETE FROM scores; END", "the trigger mark"),
        ("CREATE TABLE mark (size BLOB DEFAULT (zeroblob(900000000)))", "the computed default in the table mark"),
    ],
)
def test_a_store_with_a_program_in_it_is_refused(tmp_path: Path, program: str, said: str) -> None:
    with closing(sqlite3.connect(small_store(tmp_path) / "results.sqlite")) as file:
        file.execute(program)
        file.commit()
    with pytest.raises(HackleError, match=f"{said}, which hackle does not make"):
        read(tmp_path)


WANTED: dict[str, Any] = {
    "study": "locatello2019",
    "options": {"seeds": 1, "steps": 2},
    "data": {"a": "b"},
    "groups": [{"label": ["dsprites", "beta-vae", "convolutional", 10, 2, 0.0], "runs": ["0" * 16]}],
}


@pytest.mark.usefixtures("quiet")
@MANY
@given(content=damaged(WANTED))
def test_any_study_json(tmp_path: Path, content: Any) -> None:
    (tmp_path / "study.json").write_text(json.dumps(content))
    try_to(lambda: read_wanted(tmp_path))


ROUTES = [
    "",
    "/model",
    "/decode",
    "/start",
    "/upload",
    "/captured",
    "/importance",
    "/vary",
    "/curves",
    "/thumbnail.png",
    "/export",
]
QUESTIONS: list[Any] = [
    {"z": [[0.0, 0.0]]},
    {"seed": 0, "count": 2, "row": None},
    {"row": [0, 0, 0], "factor": 0},
    {"format": "gif", "z": [[0.0, 0.0]] * 4, "rows": 1, "columns": 2, "milliseconds": 80},
]


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    root = tmp_path_factory.mktemp("fuzzed")
    good_folder(root / "run", dataset="nowhere")
    return Visitor(create_app(root))


@FEWER
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE"]),
    route=st.sampled_from(ROUTES),
    question=st.sampled_from(QUESTIONS).flatmap(damaged),
    known=st.booleans(),
    query=st.sampled_from(
        ["", "?after=-1", "?after=x", "?after=99999999999999999999", "?protocol=%00&representation=%ff"]
    ),
)
def test_any_question_to_any_route(
    visitor: Visitor, method: str, route: str, question: Any, known: bool, query: str
) -> None:
    identifier = visitor.identifiers()[0] if known else "constructor"
    answer = visitor(method, f"/api/runs/{identifier}{route}{query}", content=json.dumps(question).encode())
    assert answer.status_code < 500, answer.text
    assert visitor("GET", f"/api/runs{query}").status_code < 500
