"""What a model captured, in one sentence: which latent follows which factor, which share one, and what is lost.

All of it is said of fractions: the mutual information of a code and a factor over the factor's entropy. A code
**follows** a factor of which it has at least half and **follows it in part** if it has at least a tenth; a factor of
which no code has a tenth is **lost**, unless the fractions of all codes add up to three tenths: then it is **spread**
over those that have a hundredth. Codes **share** a factor if the second has at least half as much of it as the first. A
latent that has collapsed to the prior is **unused**. The bounds are conventions: a tenth is also the least that
`Captured.main_factor` names.

Counted from few images, codes seem to say something about factors of which they say nothing. That amount, found after
permuting the factors among the images, is subtracted. Where it is large itself, a fifth of the factor or more, and more
than what remains, nothing can be told, and the sentence says so instead of calling the factor lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLLOWED, LEAST = 0.5, 0.1
"""Fractions of a factor from which a code follows it, and follows it in part."""
SPREAD = 0.3
"""The sum of all codes' fractions from which a factor that none of them follows is not lost."""
TRACE = 0.01
"""The fraction from which a code takes part in a factor that is spread."""
AS_WELL = 0.5
"""A factor is shared with every code that has at least this fraction of what the first has of it."""
TOO_MUCH = 0.2
"""The fraction of a factor found by chance from which on it may hide what codes say."""
_MOST_NAMED = 3
"""The most latents that are named where only their number matters."""


def in_a_sentence(
    factors: Sequence[str],
    information: ArrayLike,
    entropies: ArrayLike,
    *,
    chance: ArrayLike = 0.0,
    used: ArrayLike | None = None,
    images: int | None = None,
) -> str:
    """What codes say about factors in words, from their mutual information (c, f) in nats and the factors' entropies (f,).

    chance: the information that the same codes have by chance, (c, f) or of any shape that broadcasts to it. used: which
    codes have not collapsed, (c,); all, if not given. images: the number of images that all of this was counted from,
    which is told where they are too few.

    >>> in_a_sentence(["object_hue", "scale"], [[2.0, 0.0], [0.0, 0.1]], [2.3, 2.0])
    'z0 follows object hue; scale is lost; z1 is used for none of them.'
    """
    matrix = np.asarray(information, dtype=np.float64)
    kept = np.ones(len(matrix), bool) if used is None else np.asarray(used, dtype=bool)
    if not kept.any():
        return "No latent is used: every factor is lost."
    names = [name.replace("_", " ") for name in factors]
    whole = np.maximum(np.asarray(entropies, dtype=np.float64), 1e-12)
    by_chance = np.broadcast_to(np.asarray(chance, dtype=np.float64), matrix.shape) / whole
    share = np.where(kept[:, None], np.maximum(matrix / whole - by_chance, 0.0), 0.0)
    followed, partly, shared, spread, lost, uncertain = {}, {}, [], [], [], []
    says = np.asarray((share >= LEAST).any(axis=1))
    for column, name in enumerate(names):
        own, best = share[:, column], int(share[:, column].argmax())
        if by_chance[kept, column].max() >= max(TOO_MUCH, own[best]):
            uncertain.append(name)
        elif own[best] < LEAST and own.sum() >= SPREAD:
            spread.append((name, own >= TRACE))
        elif own[best] < LEAST:
            lost.append(name)
        elif len(several := _together(own)) > 1:
            shared.append(f"{_listed([f'z{code}' for code in several])} share {name}")
        else:
            (followed if own[best] >= FOLLOWED else partly).setdefault(best, []).append(name)
    clauses = [
        *_following(followed, "follows"),
        *_following(partly, "partly follows"),
        *shared,
        *_spread(spread),
        *([f"{_listed(lost)} {'is' if len(lost) == 1 else 'are'} lost"] if lost else []),
        *_rest(np.logical_or.reduce([says, *(part for _, part in spread)]), kept, certain=not uncertain),
    ]
    if uncertain:
        count = "so few images" if images is None else f"{images:,} image{'s' * (images != 1)}"
        clauses.append(f"of {_listed(uncertain)} nothing certain can be said from {count}")
    return _capitalised("; ".join(clauses)) + "."


def _together(own: NDArray[np.float64]) -> list[int]:
    """The codes that have about as much of a factor as the best, in order of how much."""
    near = np.flatnonzero(own >= max(LEAST, AS_WELL * own.max()))
    return sorted(near.tolist(), key=lambda code: -own[code])


def _following(factors: dict[int, list[str]], verb: str) -> list[str]:
    """One clause for all codes that each follow a factor, and one for every code that mixes several."""
    single = [(code, names[0]) for code, names in factors.items() if len(names) == 1]
    first = [f"z{code} {verb} {name}" if at == 0 else f"z{code} {name}" for at, (code, name) in enumerate(single)]
    mixed = [f"z{code} {verb} {_listed(names)} at once" for code, names in factors.items() if len(names) > 1]
    return [*([_listed(first)] if first else []), *mixed]


def _spread(found: list[tuple[str, NDArray[np.bool_]]]) -> list[str]:
    """One clause for all factors of which many codes say a little each."""
    if not found:
        return []
    codes = int(np.logical_or.reduce([part for _, part in found]).sum())
    names = _listed([name for name, _ in found])
    return [f"{names} {'is' if len(found) == 1 else 'are'} spread over {codes} latents, less than a tenth in each"]


def _rest(says: NDArray[np.bool_], kept: NDArray[np.bool_], certain: bool) -> list[str]:
    """The latents that are used and say nothing of any factor, where others do, and those that are not used."""
    silent = np.flatnonzero(kept & ~says) if certain and says.any() else []
    clauses = []
    for codes, verb in ((silent, "used for none of them"), (np.flatnonzero(~kept), "unused")):
        if len(codes) > _MOST_NAMED:
            clauses.append(f"{len(codes)} of {len(kept)} latents are {verb}")
        elif len(codes):
            clauses.append(f"{_listed([f'z{code}' for code in codes])} {'is' if len(codes) == 1 else 'are'} {verb}")
    return clauses


def _listed(words: Sequence[str]) -> str:
    *head, last = words
    return f"{', '.join(head)} and {last}" if head else last


def _capitalised(text: str) -> str:
    """A sentence begins with a capital letter, but a latent keeps its own name."""
    return text if text.startswith("z") and text[1:2].isdigit() else text[:1].upper() + text[1:]
