"""The number of runs in a fleet: what fits in the free memory, and no more than is worthwhile."""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from typing import TypeVar

import torch

from hackle.core.allocator import available_memory
from hackle.core.types import Dataset, Images, Run
from hackle.train.fleet import Fleet, build_networks

T = TypeVar("T")

LARGEST_ON_CUDA = 300
"""Throughput per model hardly grows beyond a few dozen models, and checkpoints grow with every one."""
LARGEST_ON_CPU = 8
_MARGIN = 0.8
"""The part of the free memory that a fleet may take; the rest is for scoring and for what was not measured."""
_PROBES = 4, 12
"""Sizes of the two fleets from which memory is measured. Groups no larger than the second are simply tried."""


def choose_fleet_size(runs: Sequence[Run], data: Dataset, device: torch.device, share: float = 1.0) -> int:
    """The size of the fleets into which these runs, which stack, are cut. share: of a CUDA device's free
    memory."""
    if len(runs) <= (_PROBES[1] if device.type == "cuda" else 1):
        return len(runs)
    if device.type == "cuda":
        images = data.images_on(device)
        fixed, each = _measure(runs, images, data, device)
        room, largest = torch.cuda.mem_get_info(device)[0] * _MARGIN * share - fixed, LARGEST_ON_CUDA
    else:
        each, room, largest = _estimate(runs[0], data.shape), available_memory() * _MARGIN, LARGEST_ON_CPU
    return max(1, min(len(runs), largest, int(room / each)))


def cut(runs: Sequence[T], size: int) -> list[list[T]]:
    """As few parts as the size allows, nearly equal, in order.

    >>> cut([1, 2, 3, 4, 5, 6, 7], 3)
    [[1, 2, 3], [4, 5], [6, 7]]
    """
    parts = math.ceil(len(runs) / size)
    few, more = divmod(len(runs), parts)
    lengths = [few + (part < more) for part in range(parts)]
    starts = [sum(lengths[:part]) for part in range(parts)]
    return [list(runs[start : start + length]) for start, length in zip(starts, lengths, strict=True)]


def spread(runs: Sequence[T], count: int) -> list[T]:
    """So many runs at equal distances, at most all: of a group of several methods, some of each.

    >>> spread([1, 2, 3, 4, 5, 6], 3)
    [1, 3, 5]
    """
    count = min(count, len(runs))
    return [runs[number * len(runs) // count] for number in range(count)]


def _measure(runs: Sequence[Run], images: Images, data: Dataset, device: torch.device) -> tuple[float, float]:
    """Bytes that a fleet takes whatever its size, and bytes per model: a line through two short measurements."""
    peaks = []
    for size in _PROBES:
        release_memory(device)
        before = torch.cuda.memory_reserved(device), torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        fleet = Fleet(spread(runs, size), images, data.factors, data.shape, device)
        for _ in range(5):
            fleet.step()
        torch.cuda.synchronize(device)
        reserved, allocated = torch.cuda.max_memory_reserved(device), torch.cuda.max_memory_allocated(device)
        peaks.append((reserved - before[0], allocated - before[1]))
        del fleet
    release_memory(device)
    small, large = _PROBES
    # Memory is reserved in large blocks, and two fleets of small models may reserve the same number of them.
    each = max(1.0, *((after - first) / (large - small) for first, after in zip(*peaks, strict=True)))
    return max(0.0, peaks[0][0] - small * each), each


def _estimate(run: Run, shape: tuple[int, int, int]) -> float:
    """Bytes per model on a CPU: weights, gradient and moments, and a generous estimate of a batch's activations."""
    networks = build_networks(run, shape).values()
    parameters = sum(value.numel() for network in networks for value in network.parameters())
    height, width, channels = shape
    return 4.0 * (6 * parameters + 4 * run.batch_size * height * width * (channels + 32))


def release_memory(device: torch.device) -> None:
    """Free memory that no tensor uses any more."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()
