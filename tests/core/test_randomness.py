"""Counter-based random numbers: Philox to the bit, draws of the right distribution, and nothing but the key enters."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, kstest
from torch import Tensor

from hackle.core.randomness import Stream, check_seed, philox

ONES = 0xFFFFFFFF
EMPTY_W = 0x9DA4CE0D  # CRC-32 of "/w": the name w without a purpose
# The rows "philox4x32 10" of kat_vectors in the Random123 distribution: counter, key, answer.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox_in_integers(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Salmon et al. 2011, section 3.3, in Python's unbounded integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        left, right = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(right >> 32) ^ c[1] ^ k[0], right % 2**32, (left >> 32) ^ c[3] ^ k[1], left % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return tuple(c)


def tensors(numbers: tuple[int, ...]) -> tuple[Tensor, ...]:
    return tuple(torch.tensor(number) for number in numbers)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(
    counter: tuple[int, ...], key: tuple[int, ...], answer: tuple[int, ...]
) -> None:
    assert philox_in_integers(counter, key) == answer
    assert tuple(int(word) for word in philox(tensors(counter), tensors(key))) == answer  # type: ignore[arg-type]


def test_philox_follows_the_integers_over_many_counters_and_keys() -> None:
    words = np.random.default_rng(0).integers(2**32, size=(200, 6))
    columns = torch.from_numpy(words).T
    found = torch.stack(philox(tuple(columns[:4]), tuple(columns[4:])))  # type: ignore[arg-type]
    slow = [philox_in_integers(tuple(row[:4]), tuple(row[4:])) for row in words.tolist()]
    assert found.T.tolist() == [list(row) for row in slow]


def test_words_lay_out_seed_step_name_and_position_as_key_and_counter() -> None:
    """The contract that lets other devices and kernels draw the same numbers."""
    seed, step = 0x123456789ABCDEF, 0x1_0000_0007
    tag = 0x6271D0DD  # CRC-32 of "purpose/name"
    words = Stream.of([seed], step, "purpose").words("name", 10)[0].tolist()
    key = (seed % 2**32, seed >> 32)
    slow = [philox_in_integers((block, tag, 7, 1), key) for block in range(3)]
    assert words == list(itertools.chain(*slow))[:10]


def test_a_models_draws_do_not_depend_on_its_neighbours() -> None:
    seeds = [3, 2**40 + 1, 0, 2**63 - 1]
    together = Stream.of(seeds, 5, "batch")
    for row, seed in enumerate(seeds):
        alone = Stream.of([seed], 5, "batch")
        for draw in (
            lambda s: s.words("a", 13),
            lambda s: s.uniform("a", (3, 5)),
            lambda s: s.normal("a", (7,)),
            lambda s: s.integers("a", (11,), 1000),
            lambda s: s.permutations("a", 9, 2),
        ):
            assert torch.equal(draw(together)[row], draw(alone)[0])


def test_every_part_of_the_key_changes_every_draw() -> None:
    draws = [
        Stream.of([seed], step, purpose).words(name, 1000)
        for seed, step, purpose, name in [
            (0, 0, "p", "a"),
            (1, 0, "p", "a"),
            (2**32, 0, "p", "a"),
            (0, 1, "p", "a"),
            (0, 2**32, "p", "a"),
            (0, 0, "q", "a"),
            (0, 0, "p", "b"),
        ]
    ]
    for first, second in itertools.combinations(draws, 2):
        # Independent 32-bit words agree once in 4 billion; a shared block would make four of a thousand agree.
        assert (first == second).sum() == 0


def correlation_is_small(first: Tensor, second: Tensor) -> bool:
    """Within four standard errors of zero, under independence."""
    pair = torch.stack([first.flatten(), second.flatten()]).double()
    return abs(float(torch.corrcoef(pair)[0, 1])) < 4 / math.sqrt(first.numel())


def test_draws_under_neighbouring_keys_are_uncorrelated() -> None:
    base = Stream.of([0, 1], 0, "noise")
    normal = base.normal("z", (50_000,))
    assert correlation_is_small(normal[0], normal[1])
    assert correlation_is_small(normal[0], Stream.of([0], 1, "noise").normal("z", (50_000,)))
    assert correlation_is_small(normal[0], base.normal("y", (50_000,))[0])
    assert correlation_is_small(normal[0, :-1], normal[0, 1:])
    assert correlation_is_small(normal[0, :25_000], normal[0, 25_000:])
    assert correlation_is_small(normal[0, :25_000] ** 2, normal[0, 25_000:] ** 2)


def test_first_draws_over_seeds_and_over_steps_are_uniform() -> None:
    over_seeds = Stream.of(range(20_000)).uniform("u", (1,)).flatten()
    over_steps = torch.cat([Stream.of([0], step).uniform("u", (1,)) for step in range(1_000)]).flatten()
    assert kstest(over_seeds.double(), "uniform").pvalue > 1e-3
    assert kstest(over_steps.double(), "uniform").pvalue > 1e-3


def test_uniforms_lie_on_the_grid_of_24_bits() -> None:
    drawn = Stream.of([11]).uniform("u", (100_000,))[0]
    assert drawn.dtype == torch.float32
    assert 0 <= drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    assert torch.equal(drawn.double() * 2**24, (drawn.double() * 2**24).round())
    assert kstest(drawn.double(), "uniform").pvalue > 1e-3


def test_normals_are_standard_normal_and_finite() -> None:
    drawn = Stream.of([12]).normal("z", (200_001,))[0]
    assert drawn.dtype == torch.float32
    assert torch.isfinite(drawn).all()
    assert kstest(drawn.double(), "norm").pvalue > 1e-3
    assert abs(float(drawn.double().pow(4).mean()) - 3) < 4 * math.sqrt(96 / 200_001)


def test_the_extreme_words_give_finite_normals(monkeypatch: pytest.MonkeyPatch) -> None:
    """All zeros is the farthest that a normal can be, all ones the nearest."""
    monkeypatch.setattr(Stream, "words", lambda self, name, count: torch.zeros(1, count, dtype=torch.int64))
    assert float(Stream.of([0]).normal("z", (2,))[0, 0]) == pytest.approx(math.sqrt(48 * math.log(2)), rel=1e-6)
    monkeypatch.setattr(Stream, "words", lambda self, name, count: torch.full((1, count), ONES))
    assert Stream.of([0]).normal("z", (2,)).abs().max() == 0
    assert float(Stream.of([0]).uniform("u", (1,))) == 1 - 2**-24
    assert int(Stream.of([0]).integers("i", (1,), 2**31)) == 2**31 - 1


@pytest.mark.parametrize("high", [1, 2, 7, 100])
def test_integers_are_uniform_below_high(high: int) -> None:
    drawn = Stream.of([13]).integers("i", (20_000,), high)[0]
    counts = torch.bincount(drawn, minlength=high)
    assert len(counts) == high
    assert high == 1 or chisquare(counts.numpy()).pvalue > 1e-3


def test_integers_reach_over_a_whole_large_data_set() -> None:
    drawn = Stream.of([14]).integers("i", (100_000,), 1_036_800)[0]
    assert kstest(drawn.double() / 1_036_800, "uniform").pvalue > 1e-3
    assert int(Stream.of([14]).integers("i", (100_000,), 2**31).max()) > 2**31 - 10**6


@pytest.mark.parametrize("high", [0, -1, 2**31 + 1])
def test_integers_of_no_range_are_refused(high: int) -> None:
    with pytest.raises(ValueError, match=r"expected 1 to 2³¹"):
        Stream.of([0]).integers("i", (1,), high)


def test_permutations_hold_each_row_once_and_every_order_is_equally_likely() -> None:
    drawn = Stream.of(range(4_000)).permutations("p", 4, 3)
    assert drawn.shape == (4_000, 4, 3)
    assert torch.equal(drawn.sort(dim=1).values, torch.arange(4)[None, :, None].expand_as(drawn))
    orders = drawn.permute(0, 2, 1).reshape(-1, 4).tolist()
    counts = [orders.count(list(order)) for order in itertools.permutations(range(4))]
    assert sum(counts) == 12_000
    assert chisquare(counts).pvalue > 1e-3


def test_columns_are_permuted_independently() -> None:
    first, second = Stream.of([5]).permutations("p", 5_000, 2)[0].double().T
    assert correlation_is_small(first, second)


def test_equal_keys_keep_a_permutation_a_permutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "words", lambda self, name, count: torch.full((1, count), 9))
    assert Stream.of([0]).permutations("p", 100, 1).flatten().tolist() == list(range(100))


def test_shorter_draws_are_the_beginning_of_longer_ones() -> None:
    stream = Stream.of([1, 2], 3)
    assert torch.equal(stream.words("w", 1001)[:, :10], stream.words("w", 10))
    assert torch.equal(stream.uniform("u", (7, 11)).flatten(1)[:, :10], stream.uniform("u", (10,)))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (2, 3, 4)])
@pytest.mark.parametrize("models", [0, 1, 3])
def test_shapes_are_as_asked(shape: tuple[int, ...], models: int) -> None:
    stream = Stream.of(range(models))
    for drawn in (stream.uniform("a", shape), stream.normal("a", shape), stream.integers("a", shape, 5)):
        assert drawn.shape == (models, *shape)
    assert stream.permutations("a", 0, 2).shape == (models, 0, 2)


def test_large_shapes_hold_no_repeated_block() -> None:
    blocks = Stream.of([0]).words("w", 4 * 2**19)[0].view(-1, 4)
    combined = (blocks[:, 0] << 31) ^ blocks[:, 1]
    assert len(torch.unique(combined)) == len(blocks)
    ends = Stream.of([0]).words("w", 4 * 2**19)[0, -4:].tolist()
    assert ends == list(philox_in_integers((2**19 - 1, EMPTY_W, 0, 0), (0, 0)))


def test_seeds_are_whole_numbers_below_2_to_the_63() -> None:
    assert check_seed(0) == 0
    assert check_seed(np.int64(5)) == 5
    assert check_seed(2**63 - 1) == 2**63 - 1
    for wrong in (-1, 2**63, 1.5, "7", None):
        with pytest.raises(ValueError, match="expected a whole number from 0 to 2⁶³ − 1"):
            check_seed(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="expected a whole number"):
            Stream.of([0, wrong])  # type: ignore[list-item]


def test_the_64_bits_of_a_seed_tensor_all_count() -> None:
    """`Stream` itself takes any int64, on a device where looking at it would cost a wait: bits are bits."""
    negative = Stream(torch.tensor([-1]), torch.tensor(0)).words("w", 4)[0].tolist()
    assert negative == list(philox_in_integers((0, EMPTY_W, 0, 0), (ONES, ONES)))


@pytest.mark.gpu
def test_cuda_draws_the_same_numbers() -> None:
    here, there = (Stream.of([3, 2**40], 2**33 + 5, "p", device) for device in ("cpu", "cuda"))
    assert torch.equal(here.words("w", 1001), there.words("w", 1001).cpu())
    assert torch.equal(here.uniform("u", (1001,)), there.uniform("u", (1001,)).cpu())
    assert torch.equal(here.integers("i", (1001,), 737_280), there.integers("i", (1001,), 737_280).cpu())
    for rows in (1, 64, 1024, 5000):
        assert torch.equal(here.permutations("p", rows, 10), there.permutations("p", rows, 10).cpu())
    torch.testing.assert_close(here.normal("z", (1001,)), there.normal("z", (1001,)).cpu(), rtol=1e-5, atol=1e-6)


@pytest.mark.gpu
def test_cuda_permutations_can_be_captured_in_a_graph() -> None:
    stream = Stream.of([1, 2], 0, "p", "cuda")
    stream.permutations("p", 64, 10)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = stream.permutations("p", 64, 10)
    stream.step.fill_(7)
    graph.replay()
    assert torch.equal(captured.cpu(), Stream.of([1, 2], 7, "p").permutations("p", 64, 10))
