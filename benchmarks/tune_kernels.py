"""Find the fastest tiling of each convolution kernel for the layers in use: bfloat16, 64 stacked models, batch 64.

Tilings are compiled by several processes first, then timed one after another. Prints a table in the form of
`hackle.kernels.triton_convolution.TILINGS` and microseconds per model.

Run on CUDA: python benchmarks/tune_kernels.py [--out FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

MODELS, BATCH = 64, 64
LAYERS = [(64, 1, 32), (64, 3, 32), (32, 32, 32), (16, 32, 64), (8, 64, 64), (8, 64, 640)]
CHOICES = {
    "down": list(itertools.product((64, 128, 256), (4, 8), (2, 3, 4))),
    "up": list(itertools.product((64, 128, 256), (4, 8), (2, 3, 4))),
    "taps": list(itertools.product((32, 64, 128, 256), (4, 8), (2, 3, 4))),
    "down_with_taps": list(itertools.product((64, 128, 256), (4, 8), (1, 2, 3))),
    "up_to_taps": list(itertools.product((64, 128, 256), (4, 8), (1, 2, 3))),
}


def works(layer: tuple[int, int, int], models: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Each operator as training runs it: forward with bias and ReLU, and the gradients behind a ReLU."""
    from hackle.kernels import triton_convolution as kernels

    side, c, o = layer
    x, also_x = (torch.randn(models, BATCH, side, side, c, device="cuda").to(torch.bfloat16) for _ in range(2))
    y, also_y = (
        torch.randn(models, BATCH, side // 2, side // 2, o, device="cuda").to(torch.bfloat16) for _ in range(2)
    )
    weight = torch.randn(models, 4, 4, c, o, device="cuda").to(torch.bfloat16)
    of_x, of_y = torch.randn(models, c, device="cuda"), torch.randn(models, o, device="cuda")
    yield "down", lambda: (kernels.down(x, weight, of_y, 0.0), kernels.down(x, weight, slope=0.0, gate=also_y))
    if c < 16:
        # The image side: nothing goes back through it.
        yield "up", lambda: kernels.up(y, weight, of_x, 1.0)
    else:
        yield "up", lambda: (kernels.up(y, weight, of_x, 0.0), kernels.up(y, weight, slope=0.0, gate=also_x))
    yield "taps", lambda: kernels.taps(x, y)
    if c < 16:
        deeper = torch.randn(models, BATCH, side // 4, side // 4, o, device="cuda").to(torch.bfloat16)
        inner = torch.randn(models, 4, 4, o, o, device="cuda").to(torch.bfloat16)
        yield "down_with_taps", lambda: kernels.down_with_taps(x, weight, y, 0.0)
        yield "up_to_taps", lambda: kernels.up_to_taps(deeper, inner, y, 0.0, x)


def compile_some(job: tuple[tuple[int, int, int], str, tuple[int, int, int]]) -> None:
    from hackle.kernels import triton_convolution as kernels

    layer, operator, tiling = job
    kernels.TILINGS[operator, layer[1], layer[2]] = kernels.Tiling(*tiling)
    for name, work in works(layer, 1):
        if name == operator:
            try:
                work()
            except Exception as error:
                print(f"{operator} {layer} {tiling}: {type(error).__name__}", flush=True)


def microseconds(work: Callable[[], object], repeats: int = 10) -> float:
    """Per model, as a graph: launches from Python would hide how short the small layers are."""
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graph.replay()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / repeats / MODELS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--operators", default=",".join(CHOICES), help="names separated by commas")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("kernels are tuned on CUDA; there is none here")
        return
    jobs = [
        (layer, operator, tiling)
        for layer in LAYERS
        for operator in options.operators.split(",")
        if layer[1] < 16 or not operator.endswith("_taps")
        for tiling in CHOICES[operator]
    ]
    with multiprocessing.get_context("spawn").Pool(14) as pool:
        pool.map(compile_some, jobs, chunksize=6)
    from hackle.kernels import triton_convolution as kernels

    best: dict[str, tuple[float, tuple[int, int, int]]] = {}
    for layer in LAYERS:
        for operator, work in works(layer, MODELS):
            if operator not in options.operators.split(","):
                continue
            times = []
            for tiling in CHOICES[operator]:
                kernels.TILINGS[operator, layer[1], layer[2]] = kernels.Tiling(*tiling)
                try:
                    times.append((microseconds(work), tiling))
                except Exception:
                    torch.cuda.synchronize()
            times.sort()
            key = f"{operator},{layer[1]},{layer[2]}"
            best[key] = times[0]
            kernels.TILINGS[operator, layer[1], layer[2]] = kernels.Tiling(*times[0][1])
            runners = ", ".join(f"{tiling} {time:.2f}" for time, tiling in times[1:4])
            print(
                f"{layer} {operator:5s} {times[0][0]:6.2f} µs {times[0][1]}   then {runners}; worst {times[-1][0]:.2f}",
                flush=True,
            )
    found = {key: list(tiling) for key, (_, tiling) in best.items()}
    print(json.dumps(found))
    if options.out is not None:
        options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
