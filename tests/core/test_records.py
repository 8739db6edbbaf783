"""Records as data: what is written is read back, equal records have equal hashes, float fields are found and replaced."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from hackle.core.reading import from_json
from hackle.core.records import float_fields, record_hash, to_json, with_fields
from hackle.core.types import Adam


@dataclass(frozen=True)
class Rate:
    value: float = 0.5
    warmup: int = 3


@dataclass(frozen=True)
class Speed:
    value: float = 0.5
    warmup: int = 3


@dataclass(frozen=True)
class Net:
    widths: tuple[int, ...]
    rate: Rate = Rate()
    build: Any = None


@dataclass(frozen=True)
class Job:
    name: str
    net: Net
    parts: tuple[Rate, ...] = ()
    weight: float = 1.0
    limit: float | None = None
    fast: bool = False
    extras: tuple[Any, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Typed:
    type: str = "x"


CLASSES = {"Job": Job, "Net": Net, "Rate": Rate}
JOB = Job(
    "β-job", Net((32, 64), Rate(0.25)), (Rate(1.5), Rate(2.0, 9)), weight=4.0, limit=1e-8, extras=((1, "a"), None)
)


def at_the_top_level() -> None:
    """A function that a record can name."""


def test_nested_records_come_back_equal_through_json() -> None:
    text = json.dumps(to_json(JOB))
    assert from_json(json.loads(text), CLASSES, trust=True) == JOB
    assert record_hash(from_json(json.loads(text), CLASSES, trust=True)) == record_hash(JOB)


def test_plain_data_names_the_class_of_each_record() -> None:
    assert to_json(Net((1, 2), Rate(0.5, 3))) == {
        "type": f"{__name__}:Net",
        "widths": [1, 2],
        "rate": {"type": f"{__name__}:Rate", "value": 0.5, "warmup": 3},
        "build": None,
    }
    assert to_json(Adam())["type"] == "Adam"


def test_records_of_classes_that_are_not_hackles_are_imported() -> None:
    plain = json.loads(json.dumps(to_json(JOB)))
    assert from_json(plain, {}, trust=True) == JOB
    mine, theirs = (dataclass(type("Adam", (), {"__module__": name})) for name in ("mine", "theirs"))
    assert record_hash(mine()) != record_hash(theirs())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "no_such_module:Rate",
            r"'no_such_module:Rate', which cannot be imported .*no_such_module must be on the Python path",
        ),
        (f"{__name__}:Velocity", "cannot be imported .*Velocity"),
        ("__main__:Velocity", "defined in a script or a notebook"),
        (f"{__name__}:test.<locals>.Rate", "inside a function"),
        (f"{__name__}:at_the_top_level", "no dataclass"),
    ],
)
def test_classes_that_cannot_be_imported_are_named(name: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        from_json({"type": name}, CLASSES, trust=True)


def test_processes_of_a_script_name_its_classes_as_the_script_does() -> None:
    there, here = (dataclass(type("Pause", (), {"__module__": name})) for name in ("__mp_main__", "__main__"))
    assert to_json(there()) == to_json(here()) == {"type": "__main__:Pause"}


def test_fields_that_a_record_leaves_out_take_their_defaults() -> None:
    assert from_json({"type": "Rate", "value": 2.0}, CLASSES) == Rate(2.0)


def test_unknown_types_and_fields_and_missing_fields_are_named() -> None:
    with pytest.raises(ValueError, match="unknown record type 'Sum'; known are Job, Net, Rate"):
        from_json({"type": "Job", "name": "a", "net": {"type": "Sum"}}, CLASSES)
    with pytest.raises(ValueError, match="unknown record type None"):
        from_json({"value": 1.0}, CLASSES)
    with pytest.raises(ValueError, match="Rate has no field colour, size; it was written by another version"):
        from_json({"type": "Rate", "size": 1, "colour": 2}, CLASSES)
    with pytest.raises(ValueError, match="Job lacks name, net; it is incomplete"):
        from_json({"type": "Job", "weight": 1.0}, CLASSES)


def test_classes_and_functions_are_written_as_where_they_are() -> None:
    name = f"{__name__}:at_the_top_level"
    assert to_json(Net((1,), build=at_the_top_level))["build"] == name
    assert to_json(Net((1,), build=Rate))["build"] == f"{__name__}:Rate"
    assert record_hash(Net((1,), build=at_the_top_level)) == record_hash(Net((1,), build=name))
    assert "build" not in " ".join(float_fields(Net((1,), build=Rate)))


@pytest.mark.parametrize(
    "value", [{}, {1}, np.float32(1), np.int64(1), torch.ones(1), lambda: None, functools.partial(print), 1j, b"a"]
)
def test_what_a_record_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a record cannot hold"):
        to_json(Net((1,), build=value))


def test_functions_that_cannot_be_told_apart_are_refused() -> None:
    def local() -> None: ...

    with pytest.raises(TypeError, match="top level of a module"):
        record_hash(Net((1,), build=local))


def test_a_field_that_would_hide_the_class_name_is_refused() -> None:
    with pytest.raises(TypeError, match="Typed has a field called type"):
        to_json(Typed())


def test_the_hash_of_a_record_never_changes() -> None:
    """Results are stored under these hashes: a change here orphans every stored run.

    Each is the beginning of `sha256sum` of the record's text, keys sorted and no spaces:
    {"beta1":0.9,"beta2":0.999,"epsilon":1e-08,"learning_rate":0.0001,"type":"Adam"} for the second. In the first the class of
    a record is named by its module, as those of others than hackle are.
    """
    assert record_hash(Net((32, 64), Rate(0.25))) == "5fbb8e282724e7e3"
    assert record_hash(Adam()) == "43d137427c09d9aa"


def test_the_hash_depends_on_every_field_and_on_the_class() -> None:
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"net.widths": (64, 32)},
        {"net.rate.value": 0.26},
        {"net.rate.warmup": 4},
        {"parts": ()},
        {"weight": 4.000000000000001},
        {"limit": None},
        {"fast": True},
        {"extras": ((1, "a"),)},
    ]
    hashes = {record_hash(with_fields(JOB, change)) for change in changes}
    assert len(hashes | {record_hash(JOB)}) == len(changes) + 1
    assert record_hash(Rate(0.5, 3)) != record_hash(Speed(0.5, 3))


def test_whole_numbers_in_float_fields_are_the_same_record() -> None:
    assert Job("a", Net((1,)), weight=4) == Job("a", Net((1,)), weight=4.0)
    assert record_hash(Job("a", Net((1,)), weight=4)) == record_hash(Job("a", Net((1,)), weight=4.0))
    assert record_hash(Net((1,), Rate(1))) == record_hash(Net((1,), Rate(1.0)))


def test_float_fields_are_found_in_nested_records_by_their_path() -> None:
    assert float_fields(JOB) == {"net.rate.value": 0.25, "weight": 4.0}
    later = dict.fromkeys(("warmup", "decay_to", "decay_steps", "clip_norm", "clip_value", "weight_decay"), 0.0)
    assert float_fields(Adam()) == {"learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, **later}
    found = float_fields(Job("a", Net((1,)), weight=4))
    assert isinstance(found["weight"], float)


def test_fields_are_replaced_in_a_copy() -> None:
    changed = with_fields(JOB, {"weight": 2.0, "net.rate.value": 7.0, "net.rate.warmup": 8, "net.widths": (1,)})
    assert changed == Job("β-job", Net((1,), Rate(7.0, 8)), JOB.parts, 2.0, 1e-8, extras=JOB.extras)
    assert JOB.weight == 4.0
    assert JOB.net == Net((32, 64), Rate(0.25))
    assert with_fields(JOB, {}) == JOB


def test_whole_records_and_tensors_can_be_put_in() -> None:
    assert with_fields(JOB, {"net": Net((5,))}).net == Net((5,))
    values = torch.tensor([1.0, 2.0])
    stacked = with_fields(JOB, dict.fromkeys(float_fields(JOB), values))
    assert stacked.net.rate.value is values  # type: ignore[comparison-overlap]
    assert stacked.weight is values  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("path", ["wieght", "net.rate.vaule", "net.depth", "name.length", "net.rate.value.x"])
def test_paths_that_lead_nowhere_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=f"has no field '{path.rsplit('.', 1)[-1]}'"):
        with_fields(JOB, {path: 1.0})


@dataclass(frozen=True)
class Grown:
    weight: float = 1.0
    warmth: float = field(default=0.5, metadata={"later": True})


def test_a_field_added_later_leaves_the_hash_of_records_from_before_it() -> None:
    assert to_json(Grown(2.0)).keys() == {"type", "weight"}
    assert to_json(Grown(2.0, 0.25))["warmth"] == 0.25
    assert record_hash(Grown(2.0)) != record_hash(Grown(2.0, 0.25))
    for record in (Grown(2.0), Grown(2.0, 0.25)):
        assert from_json(to_json(record), {}, trust=True) == record
