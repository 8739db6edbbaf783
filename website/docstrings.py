"""Docstrings as the reference shows them: doctests become blocks of code, explanations of arguments a list.

The package's docstrings are prose in which an explanation begins with its arguments' names: "steps: number of updates."
mkdocstrings reads them from the source, without importing anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import griffe

_NAMES = r"\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*"
_EXPLAINED = re.compile(rf"(?:^|(?<=[.;)] )|(?<=\.\n))({_NAMES}):\s", re.MULTILINE)


def with_code(text: str) -> str:
    """A docstring in which doctests, up to the next empty line, are blocks of code.

    >>> with_code("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nThe end.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nThe end.'
    """
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        f"```pycon\n{paragraph}\n```" if paragraph.lstrip().startswith(">>>") else paragraph for paragraph in paragraphs
    )


def with_arguments(text: str, names: set[str]) -> str:
    """A docstring in which each explanation of arguments that the object has is an item of a list.

    >>> text = "Trains.\\n\\nout: the folder.\\nrate, steps: how fast\\nand how long. Note: slow."
    >>> print(with_arguments(text, {"out", "rate", "steps"}))
    Trains.
    <BLANKLINE>
    - `out`: the folder.
    - `rate`, `steps`: how fast
      and how long. Note: slow.
    """
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(_listed(paragraph, names) for paragraph in paragraphs)


def _listed(paragraph: str, names: set[str]) -> str:
    if paragraph.startswith((">>>", "```")):
        return paragraph
    starts = [
        found for found in _EXPLAINED.finditer(paragraph) if {name.strip("*") for name in found[1].split(", ")} <= names
    ]
    if not starts:
        return paragraph
    before = paragraph[: starts[0].start()].strip()
    ends = [*(found.start() for found in starts[1:]), len(paragraph)]
    items = []
    for found, end in zip(starts, ends, strict=True):
        quoted = ", ".join(f"`{name}`" for name in found[1].split(", "))
        text = paragraph[found.end() : end].strip().removesuffix(";")
        items.append(f"- {quoted}: " + text.replace("\n", "\n  "))
    return "\n\n".join([*([before] if before else []), "\n".join(items)])


def in_one_line(text: str) -> str:
    """A docstring whose first paragraph is one line, since that is what a page's list of names shows of it.

    >>> in_one_line("Adds two numbers\\nof any kind.\\n\\nThey may\\nbe long.")
    'Adds two numbers of any kind.\\n\\nThey may\\nbe long.'
    """
    first, gap, rest = text.partition("\n\n")
    if first.startswith(("- ", "```")):
        return text
    return first.replace("\n", " ") + gap + rest


def _field(attribute: griffe.Attribute) -> str:
    """The explanation of a record's field, `shown(default, explanation)`, whose value becomes the default."""
    call = attribute.value
    if not isinstance(call, griffe.ExprCall) or str(call.function) != "shown":
        return ""
    default, about, *_ = call.arguments
    attribute.value = default
    # Long explanations are several strings side by side.
    return " ".join("".join(ast.literal_eval(f"({about})")).split())


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for member in list(module.modules.values()):
        if isinstance(member, griffe.Module):
            yield from _modules(member)


class Docstrings(griffe.Extension):
    """Rewrites each docstring as mkdocstrings loads it."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Where a room exports a function under the name of the module that defines it, the name stands for the function, as it
        does in Python, and not for the module."""
        loader.resolve_aliases(implicit=False, external=False)
        rooms = list(_modules(pkg))
        hidden: dict[str, griffe.Object] = {}
        for room in rooms:
            for name in room.exports or ():
                member = room.members.get(str(name))
                home = room.imports.get(str(name))
                if isinstance(member, griffe.Module) and home not in (None, member.path):
                    hidden[member.path] = pkg[home.removeprefix(f"{pkg.name}.")]
        for room in rooms:
            for name in room.exports or ():
                member = room.members.get(str(name))
                path = member.target.path if isinstance(member, griffe.Alias) else member.path if member else ""
                if path in hidden:
                    room.members[str(name)] = griffe.Alias(str(name), hidden[path], parent=room)

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None and not isinstance(obj, griffe.Class):
            names = {parameter.name for parameter in obj.parameters} if isinstance(obj, griffe.Function) else set()
            obj.docstring.value = in_one_line(with_arguments(with_code(obj.docstring.value), names))

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        attributes = [member for member in cls.members.values() if isinstance(member, griffe.Attribute)]
        fields = {attribute.name: about for attribute in attributes if (about := _field(attribute))}
        listed = "\n".join(f"- `{name}`: {about}" for name, about in fields.items())
        if cls.docstring is not None:
            init = cls.members.get("__init__")
            arguments = (
                {parameter.name for parameter in init.parameters} if isinstance(init, griffe.Function) else set()
            )
            text = with_arguments(with_code(cls.docstring.value), set(cls.members) | arguments)
            cls.docstring.value = in_one_line(f"{text}\n\n{listed}" if listed else text)
