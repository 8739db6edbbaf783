"""Records read from files that anyone may have written.

Every value is checked against the declared type of its field before a record is built of it. A class that is neither
hackle's nor an installed plugin's, or a function that a record names, runs its author's code when it is imported.
So these are imported only if the user trusts the record. What needs no import needs no trust: a method or an
architecture whose module this process has already imported, and anything defined in a module that the user has named.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import keyword
import sys
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Union, get_args, get_origin

from hackle.core.errors import HackleError
from hackle.core.field_checks import expected_value, field_types
from hackle.core.method import Method
from hackle.core.parts import NAMED
from hackle.core.records import import_named
from hackle.core.types import AdversarialArchitecture, Architecture
from hackle.core.untrusted import is_text

DEPTH, MOST_ITEMS = 16, 1_000
"""The deepest nesting of records, and the most items of a tuple in one: far more than any network has layers."""
_PARTS = {Method: "phases", Architecture: "encoder", AdversarialArchitecture: "adversaries"}
"""How a record of each protocol is recognised before it is built."""
ALLOW = "Where you trust whoever made the folder, say so: --trust on the command line, trust=True in Python"
_SEQUENCES = (tuple, list, collections.abc.Sequence)


class RecordError(HackleError, ValueError):
    """A record with values that its class does not declare, or of a class that must not be imported."""


def from_json(data: Any, classes: Mapping[str, type], *, trust: bool = False, stand_ins: bool = False) -> Any:
    """The record that `to_json` wrote.

    classes: those that need no import, by the name that `to_json` writes. trust: import others, and accept functions of
    any module. stand_ins: instead of refusing a class that would have to be imported, let one of the same name and fields
    stand in for it. Its records have the same hash, and serve for lists and tables but not for computing.
    """
    if not isinstance(data, dict):
        raise RecordError(f"the record is {_short(data)}; expected an object with the key type")
    return _Reader(classes, trust, stand_ins).record(data, None, "", 0)


@dataclasses.dataclass(frozen=True)
class _Reader:
    classes: Mapping[str, type]
    trust: bool
    stand_ins: bool

    def record(self, data: dict[str, Any], kind: Any, path: str, depth: int) -> Any:
        if depth > DEPTH:
            raise RecordError(f"{path} is nested too deep; expected at most {DEPTH} records in each other")
        name, values = data.get("type"), {key: value for key, value in data.items() if key != "type"}
        cls = self._class_of(name, kind, path)
        if cls is None:
            return _stand_in(str(name), {key: self.value(value, None, key, depth + 1) for key, value in values.items()})
        if not _fits(cls, kind):
            raise RecordError(f"{path} is a record of {name}; expected {_described(kind)}")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        if unknown := values.keys() - fields.keys():
            listed = _short(", ".join(sorted(unknown)))
            raise RecordError(f"{name} has no field {listed[1:-1]}; it was written by another version")
        missing = [
            field.name
            for field in fields.values()
            if field.name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise RecordError(f"{name} lacks {', '.join(missing)}; it is incomplete or was written by another version")
        kinds, before = field_types(cls), f"{path}." if path else ""
        checked = {key: self.value(value, kinds.get(key), before + key, depth + 1) for key, value in values.items()}
        try:
            return cls(**checked)
        except HackleError:
            raise
        except Exception as error:
            raise RecordError(f"{name} refuses these values ({type(error).__name__}: {error})") from error

    def value(self, data: Any, kind: Any, path: str, depth: int) -> Any:
        """A field's value, if it is of the declared type; a type of None or Any leaves it open."""
        if isinstance(data, dict):
            if not any(_is_open(one) or _is_record_type(one) for one in _alternatives(kind)):
                raise RecordError(f"{path} is a record; expected {_described(kind)}")
            return self.record(data, kind, path, depth)
        if isinstance(data, list):
            return self._items(data, kind, path, depth)
        if isinstance(data, str) and not is_text(data):
            raise RecordError(f"{path} is {_short(data)}; expected text in Unicode without NUL")
        if expected := _expected(kind, data):
            raise RecordError(f"{path} is {_short(data)}; expected {expected}")
        if isinstance(data, str) and any(_is_function_type(one) for one in _alternatives(kind)):
            self._check_function(data, path)
        return data

    def _items(self, data: list[Any], kind: Any, path: str, depth: int) -> tuple[Any, ...]:
        sequences = [one for one in _alternatives(kind) if _is_open(one) or _is_sequence(one)]
        if not sequences:
            raise RecordError(f"{path} is a list; expected {_described(kind)}")
        if len(data) > MOST_ITEMS:
            raise RecordError(f"{path} has {len(data):,} items; expected at most {MOST_ITEMS:,}")
        # Where several tuple types are allowed, it may be any of them.
        items = get_args(sequences[0]) if len(sequences) == 1 else ()
        kinds = [items[0] if items else None] * len(data)
        if len(items) > 1 and items[1] is not Ellipsis:
            if len(items) != len(data):
                raise RecordError(f"{path} has {len(data)} items; expected {len(items)}")
            kinds = list(items)
        if depth > DEPTH:
            raise RecordError(f"{path} is nested too deep; expected at most {DEPTH} lists in each other")
        return tuple(
            self.value(item, each, f"{path}[{place}]", depth + 1)
            for place, (item, each) in enumerate(zip(data, kinds, strict=True))
        )

    def _class_of(self, name: Any, kind: Any, path: str) -> type | None:
        """The class of a record with this type name; None where a stand-in is wanted."""
        if isinstance(name, str) and name in self.classes:
            return self.classes[name]
        module, colon, qualified = name.partition(":") if isinstance(name, str) else ("", "", "")
        if not colon:
            raise RecordError(
                f"unknown record type {_short(name)}; known are {', '.join(sorted(self.classes))}, and a class of your own "
                "is written as module:name"
            )
        here = _defined(module, qualified)
        if isinstance(here, type) and dataclasses.is_dataclass(here):
            declared: list[Any] = [
                one for one in _alternatives(kind) if dataclasses.is_dataclass(one) and isinstance(one, type)
            ]
            is_part = any(callable(getattr(here, method, None)) for method in _PARTS.values())
            if is_part or _is_named(module) or any(issubclass(here, one) for one in declared):
                return here
        if self.trust:
            return _imported(name)
        if self.stand_ins:
            return None
        raise RecordError(
            f"{path or 'the record'} is of the class {_short(name)}, which is neither hackle's nor an installed plugin's. To "
            f"read it the module {_short(module)} would be imported, which runs its code. {ALLOW}"
        )

    def _check_function(self, place: str, path: str) -> None:
        """Refuse a function that is to be imported, unless the user trusts this record or has named the module."""
        module, colon, name = place.partition(":")
        if not colon or self.trust or self.stand_ins:
            return
        if _is_named(module) and _defined(module, name) is not None:
            return
        raise RecordError(
            f"{path} is {_short(place)}. To use this record {_short(name)} of the module {_short(module)} would be imported "
            f"and called. {ALLOW}"
        )


def _is_named(module: str) -> bool:
    """Whether the user has named this module in this process, or runs it."""
    return module in NAMED or module == "__main__"


def _defined(module: str, name: str) -> Any:
    """The class or function of this name that an imported module defines itself; None where there is none.

    Nothing is imported, and no code of the module runs: attributes are looked up in dictionaries, and not in those of
    other modules, so that neither `my:subprocess.call` nor a `call` imported into `my` is found.
    """
    home: Any = sys.modules.get(module)
    thing: Any = None
    for step in name.split("."):
        thing = vars(home).get(step) if isinstance(home, type | types.ModuleType) else None
        home = thing if isinstance(thing, type) else None
    names = (module, "__mp_main__") if module == "__main__" else (module,)
    own = isinstance(thing, type | types.FunctionType) and thing.__module__ in names
    return thing if own else None


def _imported(name: str) -> type:
    try:
        cls = import_named(name)
    except Exception as error:
        module = name.partition(":")[0]
        remedy = f"the folder or package that holds the module {module} must be on the Python path (PYTHONPATH)"
        if module == "__main__":
            remedy = "it was defined in a script or a notebook; define it in a module, which others can import"
        if "<locals>" in name:
            remedy = "it was defined inside a function; define it at the top level of a module"
        raise RecordError(
            f"the record is of the class {name!r}, which cannot be imported ({type(error).__name__}: {error}); {remedy}"
        ) from error
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise RecordError(f"the record is of the class {name!r}, which is no dataclass; expected a frozen dataclass")
    return cls


@lru_cache(maxsize=1024)
def _stand_in_class(place: str, fields: tuple[tuple[str, type], ...]) -> type:
    module, _, name = place.partition(":")
    for word in (*module.split("."), *name.split("."), *(field for field, _ in fields)):
        if not word.isidentifier() or keyword.iskeyword(word):
            raise RecordError(f"{_short(word)} in a record of the class {_short(place)} is no name that Python has")
    cls = dataclasses.make_dataclass(name.rpartition(".")[2], fields, init=False, repr=False, eq=False)
    cls.__module__, cls.__qualname__ = module, name
    return cls


def _stand_in(place: str, values: dict[str, Any]) -> Any:
    """A record that is written exactly like the one it stands in for."""
    fields = tuple((name, float if type(value) is float else object) for name, value in values.items())
    record = _stand_in_class(place, fields)()
    for name, value in values.items():
        setattr(record, name, value)
    return record


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_open(kind: Any) -> bool:
    return kind is None or kind is Any or kind is object


def _is_sequence(kind: Any) -> bool:
    return kind in _SEQUENCES or get_origin(kind) in _SEQUENCES


def _is_record_type(kind: Any) -> bool:
    return kind in _PARTS or (isinstance(kind, type) and dataclasses.is_dataclass(kind))


def _is_function_type(kind: Any) -> bool:
    callables = (collections.abc.Callable, type)
    return kind in callables or get_origin(kind) in callables


def _fits(cls: type, kind: Any) -> bool:
    """Whether a field of a type may hold records of a class."""
    for one in _alternatives(kind):
        if _is_open(one) or (one in _PARTS and callable(getattr(cls, _PARTS[one], None))):
            return True
        if one not in _PARTS and _is_record_type(one) and issubclass(cls, one):
            return True
    return False


def _expected(kind: Any, data: Any) -> str:
    """What a field of this type accepts, if not this number, text, boolean or None; empty if it does accept it."""
    wanted = []
    for one in _alternatives(kind):
        if _is_function_type(one):
            what = "" if isinstance(data, str) and ":" in data else "a class or function as module:name"
        elif _is_sequence(one) or _is_record_type(one):
            what = _described(one)
        else:
            what = expected_value(one, data)
        if not what:
            return ""
        wanted.append(what)
    return " or ".join(wanted)


def _described(kind: Any) -> str:
    words = []
    for one in _alternatives(kind):
        if one in _PARTS:
            words.append(f"a record with {_PARTS[one]}")
        elif _is_record_type(one):
            words.append(f"a record of {one.__name__}")
        else:
            words.append("a list" if _is_sequence(one) else expected_value(one, object()) or "a value")
    return " or ".join(words)


def _short(value: Any) -> str:
    """A value for a message: its repr, shortened where it is long."""
    if isinstance(value, dict | list):
        return f"a {type(value).__name__}"
    text = repr(value) if not isinstance(value, int) or abs(value) < 2**63 else "a number beyond 2⁶³"
    return text if len(text) <= 80 else f"{text[:60]}…{text[-10:]}"
