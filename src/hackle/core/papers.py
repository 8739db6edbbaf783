"""The papers whose settings, claims and figures hackle knows: each folder of `hackle.papers` says which paper it is."""

from __future__ import annotations

from dataclasses import dataclass

from hackle.core.parts import Parts


@dataclass(frozen=True)
class Paper:
    """How a paper is known: its name here, and its authors, year and title as they are cited."""

    name: str
    authors: str
    title: str
    rank: int
    """Its place among the papers where they are listed."""

    @property
    def citation(self) -> str:
        return f"{self.authors}, {self.title}" if self.authors else self.title


PAPERS: Parts[Paper] = Parts(
    "paper", ("hackle.papers.*",), lambda thing: isinstance(thing, Paper), order=lambda found: found.part.rank
)


def citation(name: str) -> str:
    """How a paper is cited; whoever makes claims and figures of their own goes by the name they give."""
    return PAPERS[name].citation if name in PAPERS else name


def paper_order(name: str) -> int:
    """Sorts by paper; names that are no paper's come last."""
    return PAPERS[name].rank if name in PAPERS else len(PAPERS)
