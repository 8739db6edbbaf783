"""The papers whose settings, claims and figures hackle knows: each folder of `hackle.papers` says which paper it is."""

from __future__ import annotations

from dataclasses import dataclass

from hackle.core.parts import Parts


@dataclass(frozen=True)
class Paper:
    """A paper: its name in hackle, its authors, year and title as cited, its number on arXiv, if it is there, and the names
    of all authors, in the paper's order, where they are known."""

    name: str
    authors: str
    title: str
    rank: int
    """Its position in lists of papers."""
    arxiv: str = ""
    names: str = ""

    @property
    def citation(self) -> str:
        return f"{self.authors}, {self.title}"

    @property
    def address(self) -> str:
        """Where it can be read; empty if that is not known."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""


PAPERS: Parts[Paper] = Parts(
    "paper", ("hackle.papers.*",), lambda thing: isinstance(thing, Paper), order=lambda found: found.part.rank
)


def citation(name: str) -> str:
    """How a paper is cited; claims and figures of the user's own are cited by the name they are given."""
    return PAPERS[name].citation if name in PAPERS else name


def author_names(name: str) -> str:
    """The names of all authors of a paper; empty where they are not known."""
    return PAPERS[name].names if name in PAPERS else ""


def address(name: str) -> str:
    """Where a paper can be read; empty for claims and figures of the user's own."""
    return PAPERS[name].address if name in PAPERS else ""


def paper_order(name: str) -> int:
    """A sort key by paper; names that belong to no paper come last."""
    return PAPERS[name].rank if name in PAPERS else len(PAPERS)
