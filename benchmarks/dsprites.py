"""What dSprites costs: regenerating and loading it, and images per second of it and its three variants.

On CUDA where there is a device (alone and with the draw of the indices, launched one by one and replayed as a graph), else
on one and two CPU threads. A painting of random pixels stands in for The Scream, which costs the same.

Run: python benchmarks/dsprites.py
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.datasets import dsprites, dsprites_variants

LOADERS = {source.name: source.load for source in (dsprites.SOURCE, *dsprites_variants.SOURCES)}
REPEATS = 30
WARM_UPS = 5
CALLS = 10
"""Calls between two CUDA events, so that the events' own cost does not count."""


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cuda_seconds(work: Callable[[], object]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000 / CALLS


def median_seconds(seconds: Callable[[Callable[[], object]], float], work: Callable[[], object]) -> float:
    return statistics.median([seconds(work) for _ in range(WARM_UPS + REPEATS)][WARM_UPS:])


def graphed(work: Callable[[], object]) -> Callable[[], object]:
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def measure_set(root: Path) -> dict[str, float]:
    """Seconds to regenerate and to load, MiB resident, and the two counts that tell whether the set is right."""
    store = dsprites.SpriteStore(root / "dsprites")
    generated = cpu_seconds(lambda: store.whole)
    words = store.whole.numpy()
    white, distinct = int(np.bitwise_count(words).sum(dtype=np.int64)), len(np.unique(words.view("V512")))
    del store, words
    before = resident_mib()
    store = dsprites.SpriteStore(root / "dsprites")
    loaded = cpu_seconds(lambda: store.whole)
    return {
        "regenerate and keep, seconds": generated,
        "load, seconds": loaded,
        "resident, MiB": resident_mib() - before,
        "white pixels": white,
        "distinct images": distinct,
    }


def drawing(images: Images, models: int, batch: int, device: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Draws images for given indices, and draws indices and their images."""
    stream = Stream.of(list(range(models)), step=1, purpose="benchmark", device=device)
    given = stream.integers("given", (batch,), dsprites.FACTORS.size)

    def both() -> object:
        return images(stream.integers("index", (batch,), dsprites.FACTORS.size), stream)

    return lambda: images(given, stream), both


def measure_cpu(root: Path) -> dict[str, float]:
    rates = {}
    for name, load in LOADERS.items():
        images = load(root).images_on("cpu")
        for threads in (1, 2):
            torch.set_num_threads(threads)
            _, both = drawing(images, 1, 64, "cpu")
            rates[f"{name}, batches of 64, threads {threads}"] = 64 / median_seconds(cpu_seconds, both)
    return rates


def measure_cuda(root: Path) -> dict[str, float]:
    rates = {}
    for name, load in LOADERS.items():
        images = load(root).images_on("cuda")
        for models in (1, 64, 256):
            alone, both = drawing(images, models, 64, "cuda")
            for title, work in {
                "images": alone,
                "images, graph": graphed(alone),
                "index and images": both,
                "index and images, graph": graphed(both),
            }.items():
                rates[f"{name}, {models}×64, {title}"] = models * 64 / median_seconds(cuda_seconds, work)
        del images
    return rates


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "scream-dsprites").mkdir()
        pixels = np.random.default_rng(0).integers(0, 256, (600, 476, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / "scream-dsprites" / "scream.jpg")
        facts = measure_set(root)
        cuda = torch.cuda.is_available()
        rates = measure_cuda(root) if cuda else measure_cpu(root)
    device = torch.cuda.get_device_name() if cuda else "cpu"
    print(f"dSprites on {device}, PyTorch {torch.__version__}")
    for title, value in facts.items():
        print(f"{title:<60}{value:>20,.2f}")
    print(f"{'images per second':<60}{'':>20}{'of plain':>14}")
    for title, rate in rates.items():
        plain = rates["dsprites" + title[title.index(",") :]]
        print(f"{title:<60}{rate:>20,.0f}{rate / plain:>14.0%}")
    print(json.dumps({"benchmark": "dsprites", "device": device, "torch": torch.__version__, **facts, **rates}))


if __name__ == "__main__":
    main()
