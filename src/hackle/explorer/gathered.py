"""Several folders in one list: runs, folders of runs, studies and results, in any mixture.

A run's identifier is that of its own folder's catalogue, after a mark of the folder's place: a link to it holds in
whatever order the folders are given. Names begin with the folder's, so that a filter can take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hackle.explorer.catalogue import (
    Catalogue,
    CatalogueError,
    Contents,
    Served,
    identifier_of,
    root_of,
    without_places,
)


def catalogue_of(directories: Sequence[str | Path]) -> Served:
    """What one folder holds, or several together; an error names the folder in which there is nothing."""
    if not directories:
        raise CatalogueError("no folder to explore; give a run's folder, a folder of runs or a study's")
    by_root = {root_of(directory): directory for directory in directories}
    if len(by_root) == 1:
        return Catalogue(directories[0])
    return Gathered([Catalogue(directory, among=True) for directory in by_root.values()])


def _labels(roots: Sequence[Path]) -> list[str]:
    """The last parts of each folder's path, as few as tell them apart; never a whole path, which is not for visitors.

    >>> _labels([Path("/a/run"), Path("/b/run"), Path("/b/study")])
    ['a/run', 'b/run', 'b/study']
    """
    for parts in range(1, max(len(root.parts) for root in roots)):
        labels = ["/".join(root.parts[-parts:]) for root in roots]
        if len(set(labels)) == len(roots):
            return labels
    raise AssertionError("unreachable: the folders differ")


class Gathered(Served):
    """Catalogues of several folders, which answer as one."""

    def __init__(self, parts: Sequence[Catalogue]) -> None:
        labels = _labels([part.root for part in parts])
        self._parts = {identifier_of(str(part.root))[:6]: part for part in parts}
        self._labels = dict(zip(self._parts, labels, strict=True))
        self.title = " + ".join(labels)
        self.stamp, self.contents = "", parts[0].contents
        self.refresh()

    def refresh(self) -> str:
        stamp = "-".join([part.refresh() for part in self._parts.values()])
        if stamp != self.stamp:
            marked = [self._marked(mark, part) for mark, part in self._parts.items()]
            runs = [one.runs for one in marked if len(one.runs)]
            scores = [one.scores for one in marked if len(one.scores)]
            self.contents = Contents(
                pd.concat(runs, ignore_index=True) if runs else marked[0].runs,
                {name: path for one in marked for name, path in one.folders.items()},
                pd.concat(scores, ignore_index=True) if scores else marked[0].scores,
                {name: problem for one in marked for name, problem in one.problems.items()},
            )
            self.stamp = stamp
        return self.stamp

    def _marked(self, mark: str, part: Catalogue) -> Contents:
        """The contents of one folder under the identifiers and names that they have in the whole."""
        own, label = part.contents, self._labels[mark]
        names = [
            label if own.folders.get(row["id"]) == part.root else f"{label}/{row['name']}"
            for row in own.runs[["id", "name"]].to_dict("records")
        ]
        return Contents(
            own.runs.assign(id=f"{mark}." + own.runs["id"].astype(str), name=names),
            {f"{mark}.{name}": path for name, path in own.folders.items()},
            own.scores.assign(run=f"{mark}." + own.scores["run"].astype(str)),
            {f"{mark}.{name}": problem for name, problem in own.problems.items()},
        )

    def _stored(self, identifier: str) -> tuple[Path, str] | None:
        mark, _, own = identifier.partition(".")
        return self._parts[mark]._stored(own)

    def for_visitors(self, text: str) -> str:
        for part in self._parts.values():
            text = without_places(text, part.root)
        return text
