"""Several folders in one list: runs, folders of runs, studies and results, in any mixture.

A run's identifier is that of its own folder's catalogue, after a mark of the folder's place: a link to it holds in
whatever order the folders are given. Names begin with the folder's, so that a filter can take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hackle.explorer.catalogue import Catalogue, CatalogueError, Contents, identifier_of, without_places


def catalogue_of(directories: Sequence[str | Path]) -> Catalogue | Gathered:
    """What one folder holds, or several together; an error names the folder in which there is nothing."""
    if not directories:
        raise CatalogueError("no folder to explore; give a run's folder, a folder of runs or a study's")
    found = {catalogue.root: catalogue for catalogue in map(Catalogue, directories)}
    return Gathered(list(found.values())) if len(found) > 1 else next(iter(found.values()))


def _labels(roots: Sequence[Path]) -> list[str]:
    """The last parts of each folder's path, as few as tell them apart; never a whole path, which is not for visitors.

    >>> _labels([Path("/a/run"), Path("/b/run"), Path("/b/study")])
    ['a/run', 'b/run', 'b/study']
    """
    for parts in range(1, max(len(root.parts) for root in roots)):
        found = ["/".join(root.parts[-parts:]) for root in roots]
        if len(set(found)) == len(roots):
            return found
    raise AssertionError("unreachable: the folders differ")


class Gathered:
    """Catalogues of several folders, which answer as one."""

    def __init__(self, parts: Sequence[Catalogue]) -> None:
        labels = _labels([part.root for part in parts])
        self._parts = {identifier_of(str(part.root))[:6]: part for part in parts}
        self._labels = dict(zip(self._parts, labels, strict=True))
        self.title = " + ".join(labels)
        self.stamp, self.contents = "", parts[0].contents
        self.refresh()

    def refresh(self) -> str:
        """Read the folders that have changed; the stamp says which state was read."""
        stamp = "-".join([part.refresh() for part in self._parts.values()])
        if stamp != self.stamp:
            found = [self._marked(mark, part) for mark, part in self._parts.items()]
            runs = [one.runs for one in found if len(one.runs)]
            scores = [one.scores for one in found if len(one.scores)]
            self.contents = Contents(
                pd.concat(runs, ignore_index=True) if runs else found[0].runs,
                {name: path for one in found for name, path in one.folders.items()},
                pd.concat(scores, ignore_index=True) if scores else found[0].scores,
                {name: problem for one in found for name, problem in one.problems.items()},
            )
            self.stamp = stamp
        return self.stamp

    def _marked(self, mark: str, part: Catalogue) -> Contents:
        """The contents of one folder under the identifiers and names that they have in the whole."""
        own = part.contents
        names = [self._name(mark, row["id"], row["name"]) for row in own.runs[["id", "name"]].to_dict("records")]
        return Contents(
            own.runs.assign(id=f"{mark}." + own.runs["id"].astype(str), name=names),
            {f"{mark}.{name}": path for name, path in own.folders.items()},
            own.scores.assign(run=f"{mark}." + own.scores["run"].astype(str)),
            {f"{mark}.{name}": problem for name, problem in own.problems.items()},
        )

    def _name(self, mark: str, identifier: str, name: str) -> str:
        part, label = self._parts[mark], self._labels[mark]
        return label if part.contents.folders.get(identifier) == part.root else f"{label}/{name}"

    def _of(self, identifier: str) -> tuple[Catalogue, str]:
        """The folder that holds a run, and the run's identifier there."""
        mark, _, own = identifier.partition(".")
        if mark not in self._parts:
            raise CatalogueError(f"no run {identifier!r} is served here")
        return self._parts[mark], own

    def folder(self, identifier: str) -> Path | None:
        """The run's folder, None if only its results are kept."""
        part, own = self._of(identifier)
        return part.folder(own)

    def row(self, identifier: str) -> dict[str, Any]:
        """What is known of a run without opening it."""
        part, own = self._of(identifier)
        row = part.row(own)
        return row | {"id": identifier, "name": self._name(identifier.partition(".")[0], own, row["name"])}

    def scores(self, identifier: str) -> list[dict[str, Any]]:
        """The run's scores, a row per metric, representation and protocol."""
        part, own = self._of(identifier)
        return part.scores(own)

    def record(self, identifier: str) -> dict[str, Any]:
        """The run's record as JSON."""
        part, own = self._of(identifier)
        return part.record(own)

    def written(self, identifier: str) -> float | None:
        """When the last point of the run's curves was written, in seconds; None if no file holds them."""
        part, own = self._of(identifier)
        return part.written(own)

    def curves(self, identifier: str, after: int = -1) -> dict[str, list[Any]]:
        """Every logged term with its steps, only those after a given step."""
        part, own = self._of(identifier)
        return part.curves(own, after)

    def for_visitors(self, text: str) -> str:
        """A message without paths on this machine."""
        for part in self._parts.values():
            text = without_places(text, part.root)
        return text
