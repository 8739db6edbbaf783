"""The kernels of `tiles.cu`, two layers in each, beside the Triton kernels that do the same layers one by one, on CUDA.

    python benchmarks/tiles.py [--out FILE] [--variants 4x8,2x8,8x8,4x4]

For each direction and number of models: microseconds of both, in turns, as replays of a graph, weights' gradients with the sums
over parts that follow; how far both are from float64, of two models; and whether a model has the same bits alone. A variant
is the images of a part of a weight's gradient and the warps of a group in the forward kernels; each is compiled and timed.
Registers and spills come first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

BATCH, TURNS, LAUNCHES = 64, 5, 4
DEVICE = "cuda"
MODELS = (64, 24, 8, 1, 300)


class Given:
    """Layers, images, maps and gradients of some models, as training has them: maps behind a ReLU."""

    def __init__(self, few: int, models: int) -> None:
        generator = torch.Generator(DEVICE)

        def drawn(seed: int, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.bfloat16) -> Tensor:
            generator.manual_seed(seed)
            # One after another: the first models are the same whatever their number.
            each = (scale * torch.randn(*shape, device=DEVICE, generator=generator) for _ in range(models))
            return torch.stack([values.to(dtype) for values in each])

        self.fine, self.wide = drawn(1, 4, 4, few, 32, scale=0.2), drawn(2, 4, 4, 32, 32, scale=0.05)
        self.first = drawn(3, 32, scale=0.1, dtype=torch.float32)
        self.second = drawn(4, 32, scale=0.1, dtype=torch.float32)
        self.last = drawn(5, few, scale=0.1, dtype=torch.float32)
        self.images, self.image_grad = drawn(6, BATCH, 64, 64, few), drawn(7, BATCH, 64, 64, few)
        self.small, self.grad = torch.relu(drawn(8, BATCH, 16, 16, 32)), drawn(9, BATCH, 16, 16, 32)


def by_triton(given: Given) -> dict[str, Callable[[], list[Tensor]]]:
    """What a step does of these layers in each direction, one after the other. Maps are those of the last call forward."""
    from hackle.kernels import triton_convolution as one
    from hackle.kernels.triton_sums import add_all

    kept: dict[str, Tensor] = {}

    def encode() -> list[Tensor]:
        kept["between"] = one.down(given.images, given.fine, given.first, 0.0)[0]
        return [one.down(kept["between"], given.wide, given.second, 0.0)[0]]

    def encode_back() -> list[Tensor]:
        of_wide = one.taps_in_parts(kept["between"], given.grad)
        sums, of_fine = one.up_to_taps(given.grad, given.wide, kept["between"], 0.0, given.images)
        return add_all([of_fine, sums, of_wide])

    def decode() -> list[Tensor]:
        kept["big"] = one.up(given.small, given.wide, given.first, 0.0)[0]
        return [kept["big"], one.up(kept["big"], given.fine, given.last, 1.0)[0]]

    def decode_back() -> list[Tensor]:
        back, own, sums, of_fine = one.down_with_taps(given.image_grad, given.fine, kept["big"], 0.0)
        of_wide = one.taps_in_parts(back, given.small)
        of_small, small_sums = one.down(back, given.wide, slope=0.0, gate=given.small)
        assert small_sums is not None
        return [of_small, *add_all([own, of_fine, sums, of_wide, small_sums])]

    return {"encoder": encode, "encoder, back": encode_back, "decoder": decode, "decoder, back": decode_back}


def by_tiles(given: Given) -> dict[str, Callable[[], list[Tensor]]]:
    """The same, two layers in each kernel."""
    from hackle.kernels import tiles
    from hackle.kernels.triton_sums import add_all

    kept: dict[str, Tensor] = {}
    both = given.fine, given.first, given.wide

    def decode() -> list[Tensor]:
        found = tiles.up_two(given.small, given.wide, given.first, given.fine, given.last, 0.0, 1.0)
        kept["big"] = found[0]
        return list(found)

    def decode_back() -> list[Tensor]:
        of_small, *parts = tiles.up_two_back(
            given.image_grad, given.fine, kept["big"], given.wide, given.small, 0.0, 0.0
        )
        return [of_small, *add_all(parts)]

    return {
        "encoder": lambda: [tiles.down_two(given.images, *both, given.second, 0.0, 0.0)],
        "encoder, back": lambda: add_all(tiles.down_two_back(given.images, *both, given.grad, 0.0)),
        "decoder": decode,
        "decoder, back": decode_back,
    }


def captured(work: Callable[[], object]) -> torch.cuda.CUDAGraph:
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            work()
    graph.replay()
    return graph


def microseconds(graph: torch.cuda.CUDAGraph) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / LAUNCHES


def distance(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest relative error of anything that is computed."""
    pairs = zip(found, expected, strict=True)
    return max(float((a.double() - b.double()).norm() / b.double().norm()) for a, b in pairs)


def exact(given: Given) -> dict[str, list[Tensor]]:
    """By the layers' own operators in float64, PyTorch's, each model for itself; maps rounded where they are kept."""
    from hackle.kernels.convolution import _down_one, _taps_one, _up_one

    def each(operator: Any, *stacked: Tensor) -> Tensor:
        return torch.stack([operator(*(one.double() for one in parts)) for parts in zip(*stacked, strict=True)])

    def plus(values: Tensor, bias: Tensor) -> Tensor:
        return values + bias.double()[:, None, None, None]

    def rounded(values: Tensor) -> Tensor:
        return values.to(torch.bfloat16)

    between = rounded(torch.relu(plus(each(_down_one, given.images, given.fine), given.first)))
    big = rounded(torch.relu(plus(each(_up_one, given.small, given.wide), given.first)))
    through = each(_up_one, given.grad, given.wide) * (between > 0)
    back = each(_down_one, given.image_grad, given.fine) * (big > 0)
    of_small = each(_down_one, back, given.wide) * (given.small > 0)
    axes = (1, 2, 3)
    return {
        "encoder": [torch.relu(plus(each(_down_one, between, given.wide), given.second))],
        "encoder, back": [each(_taps_one, given.images, through), through.sum(axes), each(_taps_one, between, given.grad)],
        "decoder": [big, plus(each(_up_one, big, given.fine), given.last)],
        "decoder, back": [
            of_small,
            given.image_grad.double().sum(axes),
            each(_taps_one, given.image_grad, big),
            back.sum(axes),
            each(_taps_one, back, given.small),
            of_small.sum(axes),
        ],
    }  # fmt: skip


def errors(few: int) -> list[str]:
    given, alone = Given(few, 2), Given(few, 1)
    expected, lines = exact(given), []
    ways = {"Triton": by_triton(given), "tiles": by_tiles(given)}
    singles = by_tiles(alone)
    for name, wanted in expected.items():
        found = {way: works[name]() for way, works in ways.items()}
        same = all(torch.equal(a[0], b[0]) for a, b in zip(found["tiles"], singles[name](), strict=True))
        far = ", ".join(f"{way} {distance(values, wanted):.1e}" for way, values in found.items())
        lines.append(
            f"{few} channels, {name:14} from float64: {far}; alone {'the same bits' if same else 'OTHER BITS'}"
        )
    return lines


def times(few: int, models: int, variants: list[str]) -> list[str]:
    from hackle.kernels import tiles

    given, lines = Given(few, models), []
    ways = {"Triton": by_triton(given), **{variant: by_tiles(given) for variant in variants}}
    graphs: dict[tuple[str, str], torch.cuda.CUDAGraph] = {}
    for way, works in ways.items():
        if way != "Triton":
            tiles.IMAGES, tiles.FORWARD_WARPS = map(int, way.split("x"))
        for name, work in works.items():
            graphs[name, way] = captured(work)
    for name in by_triton(given):
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(TURNS):
            for way, spent in taken.items():
                spent.append(microseconds(graphs[name, way]))
        cells = "   ".join(f"{way} {statistics.median(spent):7.1f}" for way, spent in taken.items())
        lines.append(f"{few} channels, {models:3} models, {name:14} {cells}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--variants", default="4x8", help="images and warps, such as 4x8, separated by commas")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("these kernels run on CUDA; there is none here")
        return
    from hackle.kernels import cuda, tiles

    said: list[str] = []

    def say(*lines: str) -> None:
        said.extend(lines)
        print(*lines, sep="\n", flush=True)
        if options.out is not None:
            options.out.write_text("\n".join(said) + "\n")

    from hackle.core.triton_shim import triton

    name = torch.cuda.get_device_name()
    say(f"{name}, torch {torch.__version__}, triton {triton.__version__}; {time.strftime('%Y-%m-%d')}")
    variants = options.variants.split(",")
    for few in (1, 3):
        defines = {"FEW": few, "IMAGES": tiles.IMAGES, "FORWARD_WARPS": tiles.FORWARD_WARPS, "RELU": 1}
        text = cuda.resources(tiles._SOURCE.read_text(), defines, cuda.architecture(None))
        say(
            *(
                f"{few} channels: {line.split(':', 1)[-1].strip()}"
                for line in text.splitlines()
                if "spill" in line or "Used" in line or "entry" in line
            )
        )
        say(*errors(few))
    for few in (1, 3):
        for models in MODELS:
            say(*times(few, models, variants))
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
