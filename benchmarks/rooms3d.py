"""Images per second that rooms3d renders: on CUDA where there is a device, else on one and two CPU threads.

Run: python benchmarks/rooms3d.py
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.datasets.rooms3d import Rooms3D, load

REPEATS = 30
WARM_UPS = 5


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cuda_seconds(work: Callable[[], object]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000


def images_per_second(images: Images, models: int, batch: int, device: str) -> float:
    """The median over repeats, each of another random batch drawn beforehand."""
    stream = Stream.of(list(range(models)), purpose="benchmark", device=device)
    index = stream.integers("index", (WARM_UPS + REPEATS, batch), Rooms3D.factors.size).transpose(0, 1)
    seconds = cuda_seconds if device == "cuda" else cpu_seconds
    times = [seconds(lambda part=part: images(part, stream)) for part in index.contiguous()]
    return models * batch / statistics.median(times[WARM_UPS:])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cast_seconds = cpu_seconds(lambda: load(Path(folder)))
        dataset = load(Path(folder))
    result: dict[str, object] = {"benchmark": "rooms3d", "torch": torch.__version__, "cast_seconds": cast_seconds}
    if torch.cuda.is_available():
        result["device"] = torch.cuda.get_device_name()
        images = dataset.images_on("cuda")
        for models in (1, 64, 256):
            result[f"{models}x64"] = images_per_second(images, models, 64, "cuda")
    else:
        images = dataset.images_on("cpu")
        for threads in (1, 2):
            torch.set_num_threads(threads)
            result[f"{threads} threads"] = images_per_second(images, 4, 64, "cpu")
    for name, value in result.items():
        print(f"{name:>12}  {value:,.2f}" if isinstance(value, float) else f"{name:>12}  {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
