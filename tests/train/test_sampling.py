"""What a fleet hands to a loss: images, their partners and labels."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.factors import Factor, FactorGrid, scored_factors
from hackle.core.randomness import Stream
from hackle.core.regimes import Drawing, Labels, Pairs, labelled_images, row_weights, training_rows
from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.nets import Convolutional
from hackle.objectives import AdaGVAE, BetaVAE
from hackle.objectives.vae import autoencoder_phase, evidence
from hackle.train import Stopped, fit, sampling
from hackle.train.fleet import Fleet
from hackle.train.grouping import group
from hackle.train.held_out import Remaining
from hackle.train.model import Model
from hackle.train.sampling import Sampler, check_data
from train.test_fleet import assert_same_weights, small_run, trained
from train.test_train import assert_equal_weights, quiet, stop_after

SPRITES = FactorGrid([Factor(name, size) for name, size in zip("abcde", (3, 6, 40, 32, 32), strict=True)])
"""The sizes of dSprites."""


def numbered(index: Tensor, stream: Stream) -> Tensor:
    """Images whose pixels spell their flat index."""
    return torch.stack([(index >> shift & 255).to(torch.uint8) for shift in (0, 8, 16)], dim=-1)[..., None, None]


def number(images: Tensor) -> np.ndarray:
    return sum((images[..., place, 0, 0].to(torch.int64) << 8 * place for place in range(3)), torch.tensor(0)).numpy()


def run_with(**fields: Any) -> Run:
    return Run(BetaVAE(), Convolutional(hidden=8, channels=(3, 4)), **{"batch_size": 64, "latents": 3, **fields})


def drawn(runs: Sequence[Run], grid: FactorGrid, step: int = 0) -> dict[str, Tensor]:
    sampler = Sampler(runs, numbered, grid, torch.device("cpu"))
    stream = Stream.of([run.seed for run in runs], step, "0/train")
    return sampler.batch(stream, runs[0].method.phases(runs[0])[0])


def differing(seen: dict[str, Tensor], grid: FactorGrid) -> tuple[np.ndarray, np.ndarray]:
    """Which scored factors differ in each pair, and which were allowed to."""
    first, second = (grid.rows(number(seen[name]).reshape(-1)) for name in ("images", "partners"))
    columns = list(scored_factors(grid))
    return (first != second)[:, columns], seen["changed"].reshape(-1, len(columns)).numpy()


@pytest.mark.parametrize(
    ("pairs", "mean", "none", "one"),
    [
        (Pairs("lib"), 1.5444, 0.0748, 0.5823),
        (Pairs("resample"), 2.2063, 0.0321, 0.2820),
        (Pairs("differ"), 2.5, 0.0, 0.25),
        (Pairs("resample", changed=1), 0.8825, 0.1175, 0.8825),
    ],
)
def test_pairs_change_as_many_factors_as_their_rule_says(pairs: Pairs, mean: float, none: float, one: float) -> None:
    differ, allowed = differing(drawn([run_with(pairs=pairs, batch_size=50_000)], SPRITES), SPRITES)
    counts = differ.sum(axis=1)
    assert not (differ & ~allowed).any()
    found = [counts.mean(), (counts == 0).mean(), (counts == 1).mean()]
    np.testing.assert_allclose(found, [mean, none, one], atol=0.01)


# A grid with holes, two of whose rows have no other image in any line of the grid, and with images that are told apart by
# a factor that is not observed.
_ROWS = [
    [a, b, c, i] for a in range(2) for b in range(3) for c in range(3) for i in range(2) if (a * 5 + b * 3 + c + i) % 4
]
HOLES = FactorGrid(
    [Factor("a", 2, "categorical"), Factor("b", 3), Factor("c", 3), Factor("i", 2, observed=False)], present=_ROWS
)
WHOLE = FactorGrid([Factor("a", 2, "categorical"), Factor("b", 3), Factor("c", 4)])
LAWS = {
    "holes": (HOLES, Drawing()),
    "holes, correlated": (HOLES, Drawing("b~c", 0.3)),
    "correlated": (WHOLE, Drawing("b~c", 0.25)),
    "confounded": (WHOLE, Drawing("c~*", 0.5)),
    "left out": (WHOLE, Drawing(left_out="b=1 & c>1 | a=0 & b=2 & c<2")),
    "correlated, left out": (WHOLE, Drawing("a~-c", 0.4, "b=1 & c>0")),
}


def pair_law(grid: FactorGrid, drawing: Drawing, pairs: Pairs) -> dict[tuple[int, int, tuple[bool, ...]], float]:
    """The probability of each first image, second image and set of factors, by enumeration of all of them."""
    weights, rows = row_weights(grid, drawing), grid.rows(np.arange(len(grid)))
    columns = list(scored_factors(grid))
    values, f = rows[:, columns], len(columns)
    sizes = [pairs.changed] if pairs.changed else list(range(1, f))
    law: dict[tuple[bool, ...], float] = {}
    for size in sizes:
        for redrawn, share in [(1, 0.5), (size, 0.5)] if pairs.rule == "lib" else [(size, 1.0)]:
            sets = list(combinations(range(f), redrawn))
            for each in sets:
                key = tuple(place in each for place in range(f))
                law[key] = law.get(key, 0.0) + share / len(sets) / len(sizes)
    firsts: dict[int, list[tuple[int, tuple[bool, ...], float]]] = {}
    for first in np.flatnonzero(weights):
        found, mass = [], 0.0
        for chosen, probability in law.items():
            mask = np.array(chosen)
            fits = (values[:, ~mask] == values[first, ~mask]).all(axis=1)
            if pairs.rule == "differ":
                fits &= (values[:, mask] != values[first, mask]).all(axis=1)
            partners = np.where(fits, weights, 0.0)
            if partners.sum():
                mass += probability
                found += [
                    (second, chosen, probability * partners[second] / partners.sum())
                    for second in np.flatnonzero(partners)
                ]
        if found:
            firsts[int(first)] = [(int(second), chosen, share / mass) for second, chosen, share in found]
    total = sum(weights[first] for first in firsts)
    return {
        (first, second, chosen): weights[first] / total * share
        for first, found in firsts.items()
        for second, chosen, share in found
    }


def assert_drawn(counts: Counter[Any], law: dict[Any, float]) -> None:
    """Counts within six standard deviations of what the law expects, and none where it forbids."""
    n = sum(counts.values())
    assert sum(law.values()) == pytest.approx(1)
    assert not set(counts) - {key for key, share in law.items() if share > 0}
    for key, share in law.items():
        assert abs(counts[key] - n * share) <= 6 * np.sqrt(n * share) + 3, key


def drawn_pairs(run: Run, grid: FactorGrid) -> Counter[Any]:
    seen = drawn([run], grid)
    sets = [tuple(map(bool, row)) for row in seen["changed"][0].tolist()]
    return Counter(zip(number(seen["images"])[0].tolist(), number(seen["partners"])[0].tolist(), sets, strict=True))


@pytest.mark.parametrize(
    "pairs", [Pairs("resample"), Pairs("resample", 2), Pairs("differ"), Pairs("differ", 1), Pairs("lib", 2)]
)
@pytest.mark.parametrize("listed", [False, True], ids=["cube", "listed"])
@pytest.mark.parametrize("law", ["holes, correlated", "confounded", "left out", "correlated, left out"])
def test_pairs_follow_their_law_under_weights_and_with_holes(
    law: str, listed: bool, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, drawing = LAWS[law]
    monkeypatch.setattr(sampling, "MOST_CELLS", 0 if listed else 2**26)
    run = run_with(pairs=pairs, drawing=drawing, batch_size=8_000)
    assert_drawn(drawn_pairs(run, grid), pair_law(grid, drawing, pairs))


def laplace_law(grid: FactorGrid, drawing: Drawing, rate: float) -> dict[tuple[int, int], float]:
    """The law of pairs whose ordered factors move in turn, by enumeration; images of one combination share its mass."""
    weights, rows = row_weights(grid, drawing), grid.rows(np.arange(len(grid)))
    columns = list(scored_factors(grid))
    moving = [place for place, column in enumerate(columns) if grid.kinds[column] != "categorical"]
    mass: dict[tuple[int, ...], float] = {}
    for row, weight in zip(map(tuple, rows[:, columns]), weights, strict=True):
        mass[row] = mass.get(row, 0.0) + weight

    def moves(row: tuple[int, ...], place: int, elsewhere: bool = False) -> dict[tuple[int, ...], float]:
        size = grid.sizes[columns[place]]
        found = {}
        for value in range(size):
            there = (*row[:place], value, *row[place + 1 :])
            if mass.get(there) and not (elsewhere and value == row[place]):
                found[there] = math.exp(-abs(value - row[place]) * rate / math.log(size)) * mass[there]
        total = sum(found.values())
        return {there: share / total for there, share in found.items()}

    law: dict[tuple[int, int], float] = {}
    able = {row for row in mass if mass[row] and any(moves(row, place, True) for place in moving)}
    total = sum(mass[row] for row in able)
    for row in able:
        now = {row: 1.0}
        for place in moving:
            after: dict[tuple[int, ...], float] = {}
            for here, share in now.items():
                for there, part in moves(here, place).items():
                    after[there] = after.get(there, 0.0) + share * part
            now = after
        still = now.pop(row)
        ways = [found for place in moving if (found := moves(row, place, True))]
        for found in ways:
            for there, part in found.items():
                now[there] = now.get(there, 0.0) + still / len(ways) * part
        for there, share in now.items():
            for first in np.flatnonzero((rows[:, columns] == row).all(axis=1)):
                for second in np.flatnonzero((rows[:, columns] == there).all(axis=1)):
                    if weights[first] and weights[second]:
                        law[int(first), int(second)] = weights[first] / total * share * weights[second] / mass[there]
    return law


@pytest.mark.parametrize("law", ["whole", *LAWS])
def test_laplace_pairs_move_every_ordered_factor_by_its_law(law: str) -> None:
    grid, drawing = LAWS.get(law, (WHOLE, Drawing()))
    seen = drawn([run_with(pairs=Pairs("laplace", rate=1.5), drawing=drawing, batch_size=8_000)], grid)
    first, second = number(seen["images"])[0], number(seen["partners"])[0]
    assert_drawn(Counter(zip(first.tolist(), second.tolist(), strict=True)), laplace_law(grid, drawing, 1.5))
    differ, changed = differing(seen, grid)
    np.testing.assert_array_equal(differ, changed)
    assert not changed[:, 0].any(), "a categorical factor stays"
    assert changed.any(axis=1).all()


def test_a_drawn_rate_of_laplace_lies_from_one_to_ten() -> None:
    """Of one factor of K values the first move is to another value with probability 1 − 1/Σ exp(−|w − v| rate/ln K)."""
    grid = FactorGrid([Factor("x", 40), Factor("y", 40)])

    def distance(rate: float) -> float:
        seen = drawn([run_with(pairs=Pairs("laplace", rate=rate), batch_size=4_000)], grid)
        first, second = (grid.rows(number(seen[name])[0]) for name in ("images", "partners"))
        return float(np.abs(first - second).mean())

    assert distance(10.0) < distance(-1.0) < distance(1.0)


@pytest.mark.parametrize("law", LAWS)
def test_images_are_drawn_by_their_weights(law: str) -> None:
    grid, drawing = LAWS[law]
    seen = drawn([run_with(drawing=drawing, batch_size=8_000)], grid)
    weights = row_weights(grid, drawing)
    assert_drawn(Counter(number(seen["images"])[0].tolist()), dict(enumerate(weights.tolist())))


REGIMES: dict[str, tuple[FactorGrid, dict[str, Any]]] = {
    "correlated": (WHOLE, {"drawing": Drawing("b~c", 0.2)}),
    "left out": (WHOLE, {"drawing": Drawing(left_out="random")}),
    "pairs": (WHOLE, {"pairs": Pairs("lib")}),
    "differ, correlated": (WHOLE, {"drawing": Drawing("a~*", 0.2), "pairs": Pairs("differ")}),
    "laplace": (WHOLE, {"pairs": Pairs("laplace", rate=2.0)}),
    "laplace, correlated": (WHOLE, {"drawing": Drawing("b~c"), "pairs": Pairs("laplace", rate=-1.0)}),
    "holes": (HOLES, {"pairs": Pairs("resample", 2), "drawing": Drawing("b~c", 0.2)}),
    "labels": (HOLES, {"labels": Labels(10, "noisy", noise=0.5)}),
    "all": (
        WHOLE,
        {"drawing": Drawing("b~c", 0.2, "element"), "pairs": Pairs("differ", 1), "labels": Labels(4), "held_out": 5},
    ),
}


@pytest.mark.parametrize("listed", [False, True], ids=["cube", "listed"])
@pytest.mark.parametrize("regime", REGIMES)
def test_draws_are_the_same_alone_and_in_any_stack(regime: str, listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, fields = REGIMES[regime]
    if listed and fields.get("pairs", Pairs()).rule == "laplace":
        return
    monkeypatch.setattr(sampling, "MOST_CELLS", 0 if listed else 2**26)
    runs = [run_with(**fields, seed=seed) for seed in range(3)]
    # What stacks: each run its own strength, rate and noise.
    if runs[0].drawing.correlated:
        runs = [replace(run, drawing=replace(run.drawing, sigma=0.1 + 0.2 * run.seed)) for run in runs]
    if runs[0].pairs.rate == 2.0:
        runs = [replace(run, pairs=replace(run.pairs, rate=1.0 + run.seed)) for run in runs]
    if runs[0].labels.kind == "noisy":
        runs = [replace(run, labels=replace(run.labels, noise=0.4 * run.seed)) for run in runs]
    assert len(group(runs)) == 1
    for step in (0, 7):
        together = drawn(runs, grid, step)
        for place, run in enumerate(runs):
            alone = drawn([run], grid, step)
            assert alone.keys() == together.keys()
            for name, value in alone.items():
                assert torch.equal(value[0], together[name][place]), name
        assert not torch.equal(together["images"][0], together["images"][1])


def test_neither_images_nor_partners_nor_labels_are_held_out() -> None:
    grid, fields = REGIMES["all"]
    run = run_with(**fields, seed=3, batch_size=4_000)
    sampler = Sampler([run], numbered, grid, torch.device("cpu"))
    assert isinstance(sampler.images, Remaining)
    held = set(number(sampler.images.held_images(0, 5, Stream.of([0])))[0].tolist())
    seen = drawn([run], grid)
    trained = set(np.flatnonzero(training_rows(grid, "element")).tolist()) - held
    assert len(held) == 5
    assert set(number(seen["images"])[0].tolist()) <= trained
    assert set(number(seen["partners"])[0].tolist()) <= trained
    assert set(number(seen["labelled"])[0].tolist()) <= trained
    assert sampler.data_size == len(trained)


def test_random_images_have_noise_of_their_own_in_partners_and_the_same_whenever_labelled() -> None:
    def noisy(index: Tensor, stream: Stream) -> Tensor:
        return index + 1000 * stream.integers("noise", (index.shape[1],), 1000)

    run = run_with(pairs=Pairs("resample", 1), labels=Labels(5))
    sampler = Sampler([run], noisy, WHOLE, torch.device("cpu"))
    phase = run.method.phases(run)[0]
    seen = [sampler.batch(Stream.of([0], step, "0/train"), phase) for step in range(5)]
    assert (seen[0]["images"] // 1000 != seen[0]["partners"] // 1000).float().mean() > 0.9
    assert len({int(one) for step in seen for one in step["labelled"].reshape(-1)}) == 5
    bare = sampler.batch(Stream.of([0], 0, "0/train"), replace(phase, needs_supervision=False))
    assert bare.keys() == {"images"}
    assert torch.equal(bare["images"], seen[0]["images"])


def test_labels_are_those_of_the_images_and_of_the_first_nine_tenths() -> None:
    run = run_with(labels=Labels(11, seed=4), batch_size=500)
    seen = drawn([run, replace(run, seed=1)], WHOLE)
    known = labelled_images(WHOLE, run.labels)
    index = number(seen["labelled"])
    assert set(index.reshape(-1).tolist()) == set(known.index[:10].tolist())
    np.testing.assert_array_equal(WHOLE.rows(index.reshape(-1)), seen["labels"].reshape(-1, 3).numpy())
    assert not np.array_equal(index[0], index[1])


@pytest.mark.parametrize(
    ("grid", "fields", "words"),
    [
        (
            WHOLE,
            {"pairs": Pairs("resample", 4)},
            "pairs.changed is 4, but this data set has 3 factors that vary: a, b, c",
        ),
        (FactorGrid([Factor("a", 3)]), {"pairs": Pairs("differ")}, "set pairs.changed to 1"),
        (
            FactorGrid([Factor("a", 3, "categorical")]),
            {"pairs": Pairs("laplace")},
            "all factors here are categorical: a",
        ),
        (FactorGrid([Factor("i", 3, observed=False)]), {"pairs": Pairs("resample")}, "none that are observed and vary"),
        (FactorGrid([Factor("i", 3, observed=False)]), {"labels": Labels(2)}, "give its images labels"),
        (
            FactorGrid([Factor("i", 3, observed=False)]),
            {"drawing": Drawing("x~y")},
            "drawing.correlated is 'x~y', which names factors, and this data set has none that are observed and vary",
        ),
        (
            WHOLE,
            {"labels": Labels(25)},
            "labels.images is 25, but training has 24 images to draw them from; expected at most so many: --labels.images 24",
        ),
        (WHOLE, {"labels": Labels(25), "drawing": Drawing(left_out="a=1")}, "training has 12 images"),
        (WHOLE, {"labels": Labels(9, "partial", factors=4)}, "labels.factors is 4, but this data set has 3 factors"),
        (WHOLE, {"drawing": Drawing("a~d")}, "drawing.correlated is 'a~d': no factor 'd'; this grid has a, b, c"),
        (HOLES, {"drawing": Drawing("a~i")}, "i is not observed or has one value only; expected among a, b, c"),
        (WHOLE, {"drawing": Drawing("a~a")}, "pairs a factor with itself; expected two of a, b, c"),
        (WHOLE, {"drawing": Drawing("a~b,b~a")}, "which has a~b twice; leave out one of them"),
        (WHOLE, {"drawing": Drawing("a,b")}, "'a' is no pair; expected two factors as x~y"),
        (WHOLE, {"drawing": Drawing(left_out="a>=0")}, "leaves out every image, so that none is left to train on"),
        (
            WHOLE,
            {"drawing": Drawing(left_out="c<=2 | c=3 & b>0 | a=0 & b=0"), "pairs": Pairs("resample", 1)},
            "no pair can be drawn",
        ),
        (
            FactorGrid([Factor("a", 3), Factor("b", 3)], present=[[0, 0], [1, 1]]),
            {"pairs": Pairs("differ", 1)},
            "no pair can",
        ),
        (
            WHOLE,
            {"held_out": 20, "labels": Labels(5)},
            "held_out is 20, but the data set has 19 images without the 5 labelled ones",
        ),
    ],
)
def test_what_a_data_set_cannot_serve_is_named_before_training(
    grid: FactorGrid, fields: dict[str, Any], words: str
) -> None:
    run = run_with(**fields)
    for refuse in (check_data, lambda run, grid: Sampler([run], numbered, grid, torch.device("cpu"))):
        with pytest.raises(HackleError, match=re.escape(words)):
            refuse(run, grid)


def test_every_image_may_have_a_label() -> None:
    run = run_with(labels=Labels(24))
    check_data(run, WHOLE)
    assert Sampler([run], numbered, WHOLE, torch.device("cpu")).data_size == 24


@pytest.mark.parametrize(
    ("rule", "alike"), [("resample", ", and in 5.% of them nothing did"), ("differ", ""), ("lib", ", and in 5.*")]
)
def test_factors_that_no_pair_changes_are_named_before_training(rule: Any, alike: str) -> None:
    numbers = tuple(np.linspace(0, 1, 40) ** 2)
    present = [[place % 2, place] for place in range(40)]
    grid = FactorGrid([Factor("kind", 2), Factor("x", 40, "continuous", values=numbers)], present)
    words = f"trial kind never changed{alike}, since no two images .*; give x few values"
    with pytest.warns(UserWarning, match=words):
        check_data(run_with(pairs=Pairs(rule, 1)), grid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_data(run_with(pairs=Pairs("resample", 2)), grid)
        check_data(run_with(pairs=Pairs("laplace")), HOLES)


def test_pairs_of_many_factors_are_refused_where_there_are_too_many_sets() -> None:
    rows = np.random.default_rng(0).integers(2, size=(300, 40))
    grid = FactorGrid([Factor(f"f{place}", 2) for place in range(40)], present=np.unique(rows, axis=0))
    with pytest.raises(HackleError, match=r"sets of the 40 factors.*set pairs.changed to 1"):
        check_data(run_with(pairs=Pairs("resample")), grid)
    with pytest.raises(HackleError, match="choose resample or differ"):
        check_data(run_with(pairs=Pairs("laplace")), grid)


def test_pairs_of_forty_attributes_are_listed() -> None:
    rng = np.random.default_rng(1)
    rows = np.repeat(rng.integers(2, size=(50, 40)), 2, axis=0)
    rows[1::2, 7] ^= 1
    grid = FactorGrid([Factor(f"f{place}", 2) for place in range(40)], present=np.unique(rows, axis=0))
    differ, allowed = differing(drawn([run_with(pairs=Pairs("differ", 1))], grid), grid)
    np.testing.assert_array_equal(differ, allowed)
    assert differ[:, 7].all()
    assert differ.sum() == 64


def test_a_fleet_of_images_without_known_factors_has_no_regime() -> None:
    with pytest.raises(HackleError, match=r"pairs.rule is 'resample', and the factors .* are not known"):
        Sampler([run_with(pairs=Pairs("resample"))], numbered, 8, torch.device("cpu"))


@dataclass(frozen=True)
class Sees(BetaVAE):
    """A method that logs what it was given."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_loss, run),)


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    found = evidence(nets, step, run)
    assert step.partners is not None
    assert step.changed is not None
    assert step.labels is not None
    assert step.labelled is not None
    assert step.label_sizes == (2, 2, 3)
    terms = {
        "partners": step.partners.double().mean(),
        "changed": step.changed.double().sum(1).mean(),
        "labels": step.labels.double().mean(),
        "labelled": step.labelled.double().mean(),
    }
    return Losses(found.reconstruction, terms)


@dataclass(frozen=True)
class Logs(BetaVAE):
    """A method that logs the mean of all that it is given."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_means, run),)


def _means(nets: Nets, step: Step, run: Any) -> Losses:
    given = {name: getattr(step, name) for name in ("images", "partners", "changed", "labelled", "labels")}
    terms = {name: value.double().mean() for name, value in given.items() if value is not None}
    return Losses(evidence(nets, step, run).reconstruction, terms)


def test_a_loss_sees_partners_and_labels_the_same_alone_and_in_a_stack() -> None:
    grid = FactorGrid([Factor("a", 2), Factor("b", 2), Factor("c", 3), Factor("instance", 2, observed=False)])
    run = run_with(pairs=Pairs("differ", changed=2), labels=Labels(10), batch_size=8)
    runs = [replace(run, method=Sees(beta=seed + 1.0), seed=seed) for seed in range(3)]
    pixels = torch.arange(24, dtype=torch.uint8)[:, None, None, None].expand(24, 16, 16, 1)

    def terms(members: list[Run]) -> list[dict[str, Any]]:
        fleet = Fleet(members, lambda index, stream: pixels[index], grid, (16, 16, 1))
        for _ in range(3):
            fleet.step()
        return fleet.averages()

    together = terms(runs)
    assert [each["changed"] for each in together] == [2.0] * 3
    assert together == [terms([each])[0] for each in runs]
    assert len({each["partners"] for each in together}) == 3


EVERYTHING: dict[str, Any] = {
    "drawing": Drawing("x~y", 0.3, "side=1 & x=3"),
    "pairs": Pairs("resample", 1),
    "labels": Labels(6, "noisy"),
    "held_out": 4,
}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_with_every_regime_is_resumed_lengthened_and_begun_from_with_the_same_bits(
    precision: Any, tmp_path: Path, squares: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(AdaGVAE(4.0), steps=12, precision=precision, **EVERYTHING)
    quiet(run, tmp_path / "whole", squares, log_every=4)
    with monkeypatch.context() as patched:
        stop_after(patched, 7)
        with pytest.raises(Stopped):
            quiet(run, tmp_path / "resumed", squares, log_every=4)
    quiet(run, tmp_path / "resumed", squares, log_every=4, resume=True)
    quiet(replace(run, steps=5), tmp_path / "lengthened", squares, log_every=4)
    quiet(run, tmp_path / "lengthened", squares, log_every=4)
    for folder in ("resumed", "lengthened"):
        assert_equal_weights(tmp_path / "whole", tmp_path / folder)
    assert Model.load(tmp_path / "whole").run == run
    begun = fit(replace(run, seed=1), dataset=squares, start=tmp_path / "whole", progress=False)
    assert begun.run.start_from


def test_runs_that_stack_train_to_the_weights_that_each_has_alone(squares: Any) -> None:
    runs = [small_run(AdaGVAE(1.0 + seed), seed=seed, steps=4, **EVERYTHING) for seed in range(2)]
    runs = [replace(run, drawing=replace(run.drawing, sigma=0.1 + run.seed)) for run in runs]
    together = trained(runs, squares, steps=4)
    for row, run in enumerate(runs):
        assert_same_weights(trained([run], squares, steps=4), 0, together, row)


def test_bad_input_is_named_before_a_folder_is_claimed(tmp_path: Path, squares: Any) -> None:
    with pytest.raises(HackleError, match=r"pairs.changed is 4, but this data set has 3 factors"):
        quiet(small_run(AdaGVAE(), pairs=Pairs("resample", 4)), tmp_path / "run", squares)
    assert not (tmp_path / "run").exists()


@pytest.mark.gpu
@pytest.mark.parametrize("regime", REGIMES)
def test_draws_on_cuda_are_those_on_the_cpu(regime: str) -> None:
    grid, fields = REGIMES[regime]
    runs = [run_with(**fields, seed=seed) for seed in range(3)]
    here = drawn(runs, grid, 5)
    sampler = Sampler(runs, numbered, grid, torch.device("cuda"))
    there = sampler.batch(Stream.of([0, 1, 2], 5, "0/train", "cuda"), runs[0].method.phases(runs[0])[0])
    for name, value in here.items():
        assert torch.equal(value, there[name].cpu()), name


@pytest.mark.gpu
@pytest.mark.parametrize("fields", [*(fields for _, fields in REGIMES.values()), {}])
def test_a_captured_step_draws_afresh_as_the_steps_as_written_do(fields: dict[str, Any]) -> None:
    """The terms of ten steps, of which all but three are replays of a graph, are those of the CPU."""
    pixels = torch.arange(len(WHOLE), dtype=torch.uint8)[:, None, None, None].expand(-1, 16, 16, 1).contiguous()
    runs = [replace(run_with(**fields, batch_size=8), method=Logs(), seed=seed) for seed in range(2)]

    def terms(device: str) -> list[dict[str, Any]]:
        there = pixels.to(device)
        fleet = Fleet(runs, lambda index, stream: there[index], WHOLE, (16, 16, 1), device)
        for _ in range(10):
            fleet.step()
        return fleet.averages()

    for cpu, cuda in zip(terms("cpu"), terms("cuda"), strict=True):
        assert cuda == pytest.approx(cpu, rel=1e-6)


@pytest.mark.parametrize("needed", ["pairs", "labels"])
def test_a_method_without_what_it_learns_from_is_refused(needed: str) -> None:
    method = type("Needy", (Sees,), {"supervision": needed})
    with pytest.raises(RunError, match=f"Needy learns from .*; set {needed}, such as"):
        Run(method(), Convolutional())
    Run(method(), Convolutional(), **{needed: {"pairs": Pairs("resample"), "labels": Labels(100)}[needed]})


def test_labelled_images_beyond_memory_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    grid, asked = FactorGrid([Factor("a", 10), Factor("b", 1_000)]), []

    def images(index: Tensor, stream: Stream) -> Tensor:
        asked.append(index.numel())
        return numbered(index, stream)

    monkeypatch.setattr(sampling, "available_memory", lambda: 16_000)
    with pytest.raises(
        HackleError, match="the 8,100 labelled images that train takes 49 kB of memory, and 16 kB are free"
    ):
        Sampler([run_with(labels=Labels(9_000))], images, grid, torch.device("cpu"))
    assert asked == [1]
