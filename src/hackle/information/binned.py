"""Mutual information of codes in bins, for tables of any size: block by block, zeros of sparse codes counted, not listed.

The same numbers as `discrete_mutual_information` of `bin_codes`: edges are the same, and counts are whole numbers. All of a
code's zeros are in one bin, so that of c codes with e entries the cost is that of the entries, and of tables of c · bins ·
values counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.code_table import Block, CodeTable, partition
from hackle.core.progress import following
from hackle.information.discrete import information_of_counts, renamed
from hackle.information.entries import Device, Entries, Ranges

_CROWD = 0.95
"""If one of a code's bins holds at least this fraction of the rows, check how much information it hides."""
_HIDDEN = 0.1
"""Warn if such a bin hides more than this many nats on a factor, after subtracting the bias of counting."""

Floats = NDArray[np.float64]


class CrowdedBinWarning(UserWarning):
    """Outliers stretch the range of a code so far that one bin holds nearly all rows and hides their information."""

    code = "crowded"


def table_information(table: CodeTable, ranges: Ranges, factors: NDArray, bins: int, device: Device = None) -> Floats:
    """The mutual information in nats, (c, f), of codes in equal-width bins over their ranges and of factors (n, f).

    Warns if nearly all rows of a code share a bin, and cutting that bin further would reveal a factor.
    """
    classes, sizes = renamed(factors)
    known = torch.from_numpy(np.ascontiguousarray(classes.T)).to(device)
    # Of all codes at once: NumPy rounds edges differently if one of the codes is constant.
    edges = np.linspace(ranges.low, ranges.high, bins, endpoint=False).T
    blocks: list[Floats] = []
    crowded: list[_Crowded] = []
    for start, stop in following(partition(table), "counting"):
        cut = _Cut(Entries(table.block(start, stop), device), edges[start:stop])
        zeros = [cut.entries.zeros_by_class(of_factor, int(size)) for of_factor, size in zip(known, sizes, strict=True)]
        joints = [cut.counts(*one) for one in zip(known, zeros, strict=True)]
        blocks.append(_information(joints))
        crowded += _crowded(cut, known, zeros, joints[0].sum(dim=2), blocks[-1], start)
    _warn(crowded, bins)
    return np.concatenate(blocks)


class _Cut:
    """Columns cut at edges, (width, bins): the bin of each entry, (e,), and that of each column's zeros, (width,)."""

    def __init__(self, entries: Entries, edges: Floats) -> None:
        self.entries, self.bins = entries, edges.shape[1]
        lower = torch.from_numpy(np.ascontiguousarray(edges)).to(entries.device)
        # The last lower edge that is not above a value. A code with equal edges has fewer bins, the last of each kind.
        if entries.where is None:
            values = entries.values.view(entries.width, entries.height)
            self.index = (torch.searchsorted(lower, values, right=True) - 1).view(-1)
        else:
            self.index = torch.full(entries.values.shape, -1, dtype=torch.int64, device=entries.device)
            for edge in lower.T:
                self.index += entries.of_columns(edge) <= entries.values
        self.of_zero = ((lower <= 0).sum(dim=1) - 1).clamp(min=0)

    def counts(self, classes: Tensor, zeros: Tensor) -> Tensor:
        """How many rows are in each bin and class, (width, bins, size)."""
        entries, size = self.entries, zeros.shape[1]
        places = torch.arange(entries.width, device=entries.device)
        cells = (entries.of_columns(places * self.bins) + self.index) * size + entries.of_rows(classes)
        joint = torch.bincount(cells, minlength=entries.width * self.bins * size)
        joint = joint.view(entries.width, self.bins, size)
        joint[places, self.of_zero] += zeros
        return joint


def _information(joints: Sequence[Tensor]) -> Floats:
    """The mutual information, (width, f), from the counts of each factor; bins that a code does not use are left out."""
    used = joints[0].sum(dim=2) > 0
    order = torch.argsort(~used, dim=1, stable=True)[:, : int(used.sum(dim=1).max()), None]
    tables = (torch.take_along_dim(joint, order, dim=1) for joint in joints)
    return np.stack([information_of_counts(table.double().cpu().numpy()) for table in tables], axis=1)


class _Crowded(NamedTuple):
    """A code, the nats on a factor that its fullest bin hides, and that bin's share of the rows."""

    code: int
    hidden: float
    share: float


def _crowded(
    cut: _Cut, known: Tensor, zeros: Sequence[Tensor], filled: Tensor, seen: Floats, start: int
) -> list[_Crowded]:
    """The codes whose fullest bin, of `filled` (width, bins) rows, hides information beyond that `seen`, (width, f)."""
    entries, device = cut.entries, cut.entries.device
    inside, fullest = filled.max(dim=1)
    suspects = torch.nonzero((inside / entries.height >= _CROWD) & (inside < entries.height))[:, 0]
    if not len(suspects):
        return []
    # The rows inside the fullest bins as entries of their own: those that are listed, and zeros if they are in the bin.
    place = torch.full((entries.width,), -1, device=device)
    place[suspects] = torch.arange(len(suspects), device=device)
    kept = (entries.of_columns(place) >= 0) & (cut.index == entries.of_columns(fullest))
    rows, places = entries.of_rows(torch.arange(entries.height, device=device))[kept], entries.of_columns(place)[kept]
    listed = entries.values[kept].cpu().numpy(), (rows.cpu().numpy(), places.cpu().numpy())
    crowd = Entries(Block(*listed, entries.height, len(suspects)), device)
    zero_inside = (cut.of_zero == fullest)[suspects]
    crowd.absent = torch.where(zero_inside, entries.absent[suspects], 0)
    low, high = (ends.cpu().numpy() for ends in crowd.ranges())
    within = _Cut(crowd, np.linspace(low, np.where(high > low, high, low + 1), cut.bins, endpoint=False).T)
    counts = [
        within.counts(classes, torch.where(zero_inside[:, None], absent[suspects], 0))
        for classes, absent in zip(known, zeros, strict=True)
    ]
    rows_inside = inside[suspects].cpu().numpy()
    chance = (cut.bins - 1) * (np.array([one.shape[1] for one in zeros]) - 1) / (2 * rows_inside[:, None])
    hidden = (_information(counts) - chance - seen[suspects.cpu().numpy()]).max(axis=1)
    shares = rows_inside / entries.height
    suspected = zip(start + suspects.cpu().numpy(), hidden, shares, high > low, strict=True)
    return [
        _Crowded(int(code), nats, share) for code, nats, share, cuttable in suspected if cuttable and nats > _HIDDEN
    ]


def _warn(crowded: Sequence[_Crowded], bins: int) -> None:
    if not crowded:
        return
    first = crowded[0]
    others = f" The same holds for {len(crowded) - 1:,} other codes." if len(crowded) > 1 else ""
    warnings.warn(
        f"{100 * first.share:.1f}% of the rows of code {first.code} share one of its {bins} bins of equal width: outliers "
        f"stretch its range, and the bin hides {first.hidden:.2f} nats on a factor. Leave such rows out, or score "
        f"ranks.{others}",
        CrowdedBinWarning,
        stacklevel=4,
    )
