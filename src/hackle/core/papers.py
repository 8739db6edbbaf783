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
        return f"{self.authors}, {self.title}" if self.title else self.authors

    @property
    def address(self) -> str:
        """Where it can be read; empty if that is not known."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""


PAPERS: Parts[Paper] = Parts(
    "paper", ("hackle.papers.*",), lambda thing: isinstance(thing, Paper), order=lambda found: found.part.rank
)


def paper_named(name: str) -> Paper:
    """The paper of this name; what claims and figures of the user's own call theirs is cited by that name, and comes last."""
    return PAPERS[name] if name in PAPERS else Paper(name, name, "", rank=len(PAPERS))
