"""Finding parts: methods, architectures, data sets, metrics, protocols, presets, studies, claims and figures.

A part is found in one of three places, always in the same way:

- built in: a module of hackle's own that defines it, wherever the kind says such modules lie; there is no list kept by
hand;
- offered by an installed package through Python's entry points, in the group `hackle`: the entry's value is a module whose
  parts are taken, or one part;
- in a file or module of the user's own, named `path.py:name` or `module:name`.

Naming a file or module imports it. So only names that the user gives are looked up here, not those read from a folder's
files: see `hackle.core.reading`.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from hackle.core.errors import HackleError

T = TypeVar("T")
_FEW = 40
"""The most names that a message lists."""
GROUP = "hackle"
"""The group of entry points."""
NAMED: set[str] = set()
"""The modules that the user has named in this process: folders may refer to these without being trusted."""


class PartError(HackleError):
    """A part that does not exist, or a file of one's own that cannot be used."""


@dataclass(frozen=True)
class Found(Generic[T]):
    """A part with its name and where it comes from: `hackle`, an installed package or a file."""

    name: str
    part: T
    origin: str


class Parts(Mapping[str, T]):
    """Every part of one kind by name, looked up on first use.

    kind: the word for such a part. modules: where built-in ones are defined, as dotted names in which a star matches
    any name.
    accepts: whether an object is such a part; `name_of` gives its name. adopt: turns something else, such as a
    function, into a part, given the name it was requested by; None where it cannot. order: sorts names.
    expected: what one of the user's own has to be. error: raised where there is no such part.
    """

    def __init__(
        self,
        kind: str,
        modules: Iterable[str],
        accepts: Callable[[Any], bool],
        *,
        name_of: Callable[[T], str] = lambda part: part.name,  # type: ignore[attr-defined]
        adopt: Callable[[str, Any], T | None] = lambda name, thing: None,
        order: Callable[[Found[T]], Any] | None = None,
        expected: str = "",
        error: type[HackleError] = PartError,
    ) -> None:
        self.kind, self._modules, self._accepts = kind, tuple(modules), accepts
        self._name_of, self._adopt, self._order, self._error = name_of, adopt, order, error
        self._expected = expected or f"a {kind}"
        KINDS[kind] = self

    @cached_property
    def found(self) -> dict[str, Found[T]]:
        """Built-in parts and those of installed packages, by name."""
        every = [found for module in _matching(self._modules) for found in self.of_module(module, "hackle")]
        every += [found for entry in entry_points(group=GROUP) for found in self._offered(entry)]
        if self._order is not None:
            every.sort(key=self._order)
        known: dict[str, Found[T]] = {}
        for found in every:
            if (other := known.setdefault(found.name, found)).part is not found.part:
                raise PartError(
                    f"two parts are the {self.kind} {found.name}: of {other.origin} and of {found.origin}; rename one of them"
                )
        return known

    def of_module(self, module: ModuleType, origin: str) -> list[Found[T]]:
        """The parts that a module defines: by themselves, or several in a tuple or list."""
        values: list[Any] = []
        for value in vars(module).values():
            values += value if isinstance(value, tuple | list) else [value]
        once = {id(value): value for value in values if self._accepts(value) and _is_of(value, module)}
        return [Found(self._name_of(value), value, origin) for value in once.values()]

    def _offered(self, entry: Any) -> list[Found[T]]:
        origin = entry.dist.name if entry.dist is not None else entry.value
        try:
            thing = entry.load()
        except Exception as error:
            raise PartError(
                f"the installed package {origin} offers {entry.value}, which cannot be imported ({type(error).__name__}: "
                f"{error}); repair it or remove it"
            ) from error
        if isinstance(thing, ModuleType):
            return self.of_module(thing, origin)
        return [Found(self._name_of(thing), thing, origin)] if self._accepts(thing) else []

    def __getitem__(self, name: str) -> T:
        return self.found[name].part

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def find(self, name: str) -> T:
        """The part of this name, or the one that `path.py:name` or `module:name` names."""
        if name in self.found:
            return self.found[name].part
        if not is_reference(name):
            raise self._error(
                f"no {self.kind} {name!r}; {nearest(name, self)} One of your own is named path.py:name or module:name"
            )
        try:
            thing = import_reference(name)
        except PartError as error:
            raise self._error(str(error)) from error
        part = thing if self._accepts(thing) else self._adopt(name, thing)
        if part is None:
            raise self._error(f"{name} is {_described(thing)}; expected {self._expected}")
        return part

    def in_file(self, path: str | Path) -> list[Found[T]]:
        """Every part that a file of the user's own defines."""
        found = self.of_module(import_file(Path(path)), str(path))
        if not found:
            raise PartError(f"{path} defines no {self.kind}; expected one or more at the top level of the file")
        return found

    def include(self, names: str) -> list[T]:
        """Add parts of the user's own to this process's: those of files `path.py`, all of them, or single ones, `path.py:name`,
        separated by commas. They are then found by name like all others."""
        added: list[T] = []
        for name in (word.strip() for word in names.split(",") if word.strip()):
            if is_reference(name):
                part = self.find(name)
                every = [Found(self._name_of(part), part, name.rpartition(":")[0])]
            else:
                every = self.in_file(name)
            for found in every:
                if self.found.setdefault(found.name, found).part != found.part:
                    raise PartError(f"there is a {self.kind} {found.name} already; rename the one of {name}")
                added.append(found.part)
        return added


KINDS: dict[str, Parts[Any]] = {}
"""The kinds of parts whose packages have been imported."""
HOMES = {
    "method": "hackle.objectives",
    "architecture": "hackle.nets",
    "data set": "hackle.datasets",
    "metric": "hackle.metrics.metric",
    "protocol": "hackle.scoring.protocol",
    "preset": "hackle.studies.presets",
    "study": "hackle.studies.study",
    "claim": "hackle.claims",
    "figure": "hackle.figures",
    "paper": "hackle.core.papers",
}
"""The module that defines each kind."""


def parts_of(kind: str) -> Parts[Any]:
    """Every part of a kind, for packages that know parts by name only: figures, say, look up the titles of methods."""
    importlib.import_module(HOMES[kind])
    return KINDS[kind]


def name_of(part: Any) -> str:
    """What a class, or an object's class, is called: the `name` that it states itself, or its name in Python."""
    return _stated(part, "name")


def title_of(part: Any) -> str:
    """What people call it: the `title` that the class itself states, or its name in Python."""
    return _stated(part, "title")


def _stated(part: Any, what: str) -> str:
    """Not inherited, since a subclass is a part of its own; and a record may have a field of that name."""
    cls = part if isinstance(part, type) else type(part)
    fields = [field.name for field in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    return cls.__name__ if what in fields else vars(cls).get(what, cls.__name__)


def _matching(patterns: Iterable[str]) -> Iterator[ModuleType]:
    """The modules of hackle whose dotted names match, in the order of their names."""
    for pattern in patterns:
        yield from _below("hackle", pattern.split(".")[1:])


def _below(package: str, pattern: list[str]) -> Iterator[ModuleType]:
    if find_spec(package) is None:
        return
    if not pattern:
        yield importlib.import_module(package)
        return
    first, *rest = pattern
    if "*" not in first:
        yield from _below(f"{package}.{first}", rest)
        return
    for module in sorted(
        pkgutil.iter_modules(importlib.import_module(package).__path__), key=lambda module: module.name
    ):
        if fnmatchcase(module.name, first) and (module.ispkg or not rest):
            yield from _below(f"{package}.{module.name}", rest)


def _is_of(value: Any, module: ModuleType) -> bool:
    """Whether a class or function is defined in a module and not imported into it; other objects pass."""
    home = getattr(value, "__module__", None) if isinstance(value, type) or inspect.isroutine(value) else None
    return home in (None, module.__name__)


def is_reference(name: str) -> bool:
    """Whether a name is `path.py:name` or `module:name`.

    >>> is_reference("my.py:strongest"), is_reference("package.module:strongest"), is_reference("mig")
    (True, True, False)
    """
    place, colon, what = name.rpartition(":")
    return bool(colon and place and what)


def absolute_reference(name: str) -> str:
    """A name that means the same in every folder, to be sent to other processes: a file's path is made absolute."""
    place, colon, what = name.rpartition(":")
    return f"{Path(place).expanduser().resolve()}{colon}{what}" if place.endswith(".py") else name


def source_file(thing: Any) -> Path | None:
    """The file of the module that defines a class or function; None for what was typed at a prompt."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(getattr(thing, "func", thing)))
    except TypeError:
        return None
    return Path(file) if file is not None and Path(file).is_file() else None


def file_hash(path: Path) -> str:
    """The first 16 hexadecimal digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def source_hash(thing: Any) -> str:
    """The `file_hash` of the file that defines a class or function, or of a module; "" without a file."""
    path = source_file(thing)
    return "" if path is None else file_hash(path)


def import_reference(name: str) -> Any:
    """What `path.py:name` or `module:name` names."""
    place, _, what = name.rpartition(":")
    if place.endswith(".py"):
        module = import_file(Path(place))
    else:
        try:
            module = importlib.import_module(place)
        except Exception as error:
            raise PartError(
                f"{name}: the module {place} cannot be imported ({type(error).__name__}: {error}); name a file as "
                "path.py:name, or put the module's folder on PYTHONPATH"
            ) from error
        NAMED.add(place)
    thing: Any = module
    for step in what.split("."):
        thing = getattr(thing, step, None)
    if thing is None:
        own = [key for key, value in vars(module).items() if not key.startswith("_") and _is_of(value, module)]
        names = [key for key in own if not isinstance(getattr(module, key), ModuleType)]
        raise PartError(f"{place} has no {what!r}; {nearest(what, names)}")
    return thing


def is_named(reference: str) -> bool:
    """Whether the user has named the file or module of a reference in this process, and it defines what is named there."""
    place, _, what = reference.rpartition(":")
    module = sys.modules.get(Path(place).stem if place.endswith(".py") else place)
    if module is None or module.__name__ not in NAMED or what not in vars(module):
        return False
    same = not place.endswith(".py") or os.path.realpath(os.path.expanduser(place)) == os.path.realpath(
        str(module.__file__)
    )
    return same and _is_of(vars(module)[what], module) and not isinstance(vars(module)[what], ModuleType)


def import_file(path: Path) -> ModuleType:
    """A file of the user's own as the module of its name, from its own folder, so that workers can import it again."""
    path = path.expanduser()
    if not path.is_file():
        raise PartError(f"there is no file {path}; expected path.py:name")
    folder = str(path.resolve().parent)
    if added := folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        raise PartError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    origin = getattr(module, "__file__", None)
    if origin is None or Path(origin).resolve() != path.resolve():
        if added:
            # It would hide that other module from whatever this process starts.
            sys.path.remove(folder)
        raise PartError(f"{path} has the name of another module, {origin or path.stem}; rename the file")
    NAMED.add(module.__name__)
    return module


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known names: the nearest ones, and all of them if they are few.

    >>> nearest("beta_vea", ["mig", "beta_vae"])
    'did you mean beta_vae? there are mig, beta_vae.'
    >>> nearest("shape", map(str, range(16_384)))[-26:]
    '37, 38, 39, … 16,344 more.'
    """
    names = list(known)
    lowered = {name.lower(): name for name in names}
    close = [lowered[near] for near in difflib.get_close_matches(word.lower(), lowered, n=2, cutoff=0.6)]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    if close and len(names) > _FEW:
        return hint.rstrip()
    shown = names if len(names) <= _FEW else [*names[:_FEW], f"… {len(names) - _FEW:,} more"]
    return f"{hint}there are {', '.join(shown)}." if names else "there are none."


def _described(thing: Any) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
