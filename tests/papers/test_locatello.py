"""Claims of Locatello et al. 2019 where a naive test is wrong: signs that cancel, winners that noise hides, small designs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from claims.synthetic import Run, sweep, tables
from hackle.claims import CLAIMS, Judgement, View, judge
from hackle.claims.agreement import agreement, magnitude
from hackle.claims.measures import log_difference
from hackle.claims.statistics import Units, mean_of, variance_shares
from hackle.papers.locatello2019.claims import DATASETS, DOWNSTREAM, METHODS, METRICS, TRIO
from hackle.papers.locatello2019.transfer import (
    agreement_of_datasets,
    bootstrap,
    share_of_the_best_method,
    strength_minus_method,
    swept,
)
from hackle.store.tables import Tables
from papers.world_locatello import design, draw, locatello2019

SCORES = ("reconstruction", "kl", "elbo", "gaussian_tc/sampled")


def verdict(made: Tables, name: str) -> Judgement:
    return judge(made, [CLAIMS[f"locatello2019.{name}"]])[0]


@cache
def of_noise(
    seeds: int = 6, methods: tuple[str, ...] = METHODS, strengths: int = 6, datasets: tuple[str, ...] = DATASETS[:3]
) -> Tables:
    """Scores that nothing but noise decides."""
    runs = design(seeds, methods, strengths, datasets)
    return tables(runs, lambda run, noise: {metric: 0.5 + 0.1 * noise() for metric in METRICS})


@cache
def of_opposites() -> Tables:
    """One luck rules everything, of which half of the metrics show the contrary."""

    def scores(run: Run, noise: Any) -> dict[str, Any]:
        luck = draw(run["dataset"], run["method"], run["strength"]) + 0.1 * noise()
        sides = dict(zip(METRICS, (1, 1, 1, 1, -1, -1), strict=True))
        found = {metric: side * luck + 0.05 * noise() for metric, side in sides.items()}
        return found | dict.fromkeys(DOWNSTREAM, luck) | dict.fromkeys(SCORES, luck + 2)

    return tables(design(), scores)


@pytest.mark.parametrize(
    "name", ["other-metrics-differ", "downstream-isolated", "kl-does-not-select", "tc-does-not-select"]
)
def test_opposite_correlations_do_not_cancel(name: str) -> None:
    found = verdict(of_opposites(), name)
    assert found.evidence.effect > 0.8
    assert found.verdict == "does not hold"


def test_a_score_that_points_both_ways_does_not_select() -> None:
    """On each data set it goes with all metrics, on one of two for the better and on one for the worse."""

    def scores(run: Run, noise: Any) -> dict[str, Any]:
        luck = draw(run["dataset"], run["method"], run["strength"]) + 0.1 * noise()
        side = 1 if run["dataset"] == "dsprites" else -1
        return dict.fromkeys(METRICS, luck) | {"kl": side * luck + 0.05 * noise()}

    found = verdict(tables(design(datasets=DATASETS[:2]), scores), "kl-does-not-select")
    assert found.verdict == "holds"
    assert found.evidence.low >= 0
    one = verdict(tables(design(datasets=DATASETS[:1]), scores), "kl-does-not-select")
    assert one.verdict == "undecided"
    assert "needs at least three settings on 2 data sets" in one.reason


def test_each_of_the_three_metrics_must_agree_with_each() -> None:
    """Two agree and the third has little to do with them: on average they agree by more than 0.3."""

    def scores(run: Run, noise: Any) -> dict[str, Any]:
        luck = draw(run["dataset"], run["method"], run["strength"])
        found = {"beta_vae": luck, "factor_vae": luck, "mig": 0.1 * luck + noise()}
        return {metric: value + 0.02 * noise() for metric, value in found.items()}

    made = tables(design(datasets=DATASETS), scores)
    found = verdict(made, "three-metrics-agree")
    assert found.verdict == "does not hold"
    assert found.evidence.effect < 0.2
    data = View(made).of("locatello2019")
    pairs = [(first, second) for first in TRIO for second in TRIO if first < second]
    mean = agreement(*pairs).compute(data, ({"method": METHODS, "dataset": "dsprites"},))
    assert mean is not None
    assert mean.values.mean() > 0.3


def test_correlations_combine_by_hand() -> None:
    """Of two data sets with 3 and 2 seeds each counts half."""
    runs = [
        *sweep(dataset="dsprites", method="beta-vae", strength=[1.0, 2.0, 3.0, 4.0], seed=range(3)),
        *sweep(dataset="cars3d", method="beta-vae", strength=[1.0, 2.0, 3.0, 4.0], seed=range(2)),
    ]

    def scores(run: Run, noise: Any) -> dict[str, Any]:
        side = 1 if run["dataset"] == "dsprites" else -1
        return {"mig": run["strength"], "kl": side * run["strength"], "sap": -run["strength"]}

    data = View(tables(runs, scores)).of("")
    condition = ({"method": "beta-vae", "dataset": ("dsprites", "cars3d")},)
    for of, expected in ((np.mean, -0.5), (magnitude, 0.5), (np.min, -1.0)):
        found = agreement(("mig", "kl"), ("mig", "sap"), of=of).compute(data, condition)
        assert found is not None
        assert found.values == pytest.approx([expected] * 3)
        assert found.variance > 0
    assert agreement(("mig", "kl"), datasets=3).compute(data, condition) is None


def leads_everywhere(seeds: int, by: float, rng: np.random.Generator) -> tuple[np.ndarray, list[str]]:
    """Scores of six methods with six strengths on seven data sets by six metrics, one method ahead by so many deviations."""
    names = [method for method in METHODS for _ in range(6)]
    scores = rng.normal(size=(7, 6, seeds, 36))
    scores[..., :6] += by
    return scores, names


@pytest.mark.parametrize("seeds", [10, 50])
def test_seeds_noise_does_not_hide_a_method_that_is_always_best(seeds: int) -> None:
    # Medians have √(π/2) of the means' noise: this lead is as clear by them as one of 0.5 by means.
    scores, names = leads_everywhere(seeds, 0.5 * np.sqrt(np.pi / 2), np.random.default_rng(0))
    within = [share_of_the_best_method(scores[:, :, [seed]], names) for seed in range(seeds)]
    assert np.mean(within) < 0.5
    share, error = bootstrap(lambda kept: share_of_the_best_method(scores[:, :, kept], names), seeds, (0.0, 1.0))
    assert share > 0.9
    assert share - 2 * error > 0.5


def test_a_method_that_is_always_best_refutes_that_none_dominates() -> None:
    made = tables(
        design(10), lambda run, noise: {metric: noise() + 0.8 * (run["method"] == "beta-vae") for metric in METRICS}
    )
    found = verdict(made, "no-method-dominates")
    assert found.verdict == "does not hold"
    assert found.evidence.effect > 0.9


def test_winners_that_never_change_leave_a_doubt() -> None:
    made = tables(
        design(),
        lambda run, noise: {metric: float(METHODS.index(run["method"])) + run["strength"] for metric in METRICS},
    )
    for name in ("no-method-dominates", "no-rule-for-strength", "strength-over-method", "table-1-same"):
        found = verdict(made, name).evidence
        assert found.estimate is not None
        assert found.estimate.error > 0, name
        assert min(found.p, found.against) > 0, name
    assert verdict(made, "no-method-dominates").verdict == "does not hold"


def test_methods_that_are_equally_good_share_a_win() -> None:
    names = ["a", "a", "b", "b", "c", "c"]
    scores = np.zeros((1, 4, 3, 6))
    assert share_of_the_best_method(scores, names) == pytest.approx(1 / 3)
    scores[:, 0, :, [1, 2]] = 1.0
    assert share_of_the_best_method(scores, names) == pytest.approx((1 / 2 + 3 * 1 / 3) / 4)


def test_the_share_of_a_method_that_wins_half_seldom_lies_below_or_above() -> None:
    """One method is best in half of the columns, the others share the rest: errors of either kind stay rare."""
    rng = np.random.default_rng(3)
    names = [method for method in METHODS for _ in range(6)]
    below = above = 0
    for _ in range(40):
        true = 0.5 * rng.normal(size=(42, 36))
        winner = np.where(np.arange(42) < 21, 0, 6 * (1 + np.arange(42) % 5))
        true -= true.max(axis=1, keepdims=True)
        true[np.arange(42), winner] = 1.0
        scores = true.reshape(7, 6, 1, 36) + rng.normal(size=(7, 6, 5, 36))
        share, error = bootstrap(lambda kept, made=scores: share_of_the_best_method(made[:, :, kept], names), 5, (0, 1))
        estimate = mean_of([Units(np.full(5, share), 1, floor=(5 * error) ** 2)])
        below += estimate.chance_below(0.5) <= 0.025
        above += estimate.chance_above(0.5) <= 0.025
    assert below <= 3
    assert above <= 3


def test_the_bootstrap_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(5).normal(size=12)
    mean, error = bootstrap(lambda kept: float(values[kept].mean()), 12, (-10.0, 10.0))
    assert mean == pytest.approx(values.mean(), abs=0.05)
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(12), rel=0.1)


WIDE = ("strength-over-method", "no-method-dominates", "no-rule-for-strength", "transfer-to-color")


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize(
    ("methods", "strengths"),
    [(METHODS[:1], 6), (METHODS[:2], 6), (METHODS, 1), (METHODS, 2)],
    ids=["one method", "two methods", "one strength", "two strengths"],
)
def test_designs_that_would_decide_by_themselves_are_undecided(
    name: str, methods: tuple[str, ...], strengths: int
) -> None:
    found = verdict(of_noise(6, methods, strengths), name)
    assert found.verdict == "undecided"
    assert found.evidence.estimate is None
    assert "needs at least 3 methods with 3 strengths each" in found.reason
    runs = {"strength-over-method": 36 * 7, "transfer-to-color": 36 * 2}.get(name, 36 * 7)
    assert found.evidence.runs_needed == 50 * runs
    assert f"{50 * runs:,} runs in the whole design: hackle study run locatello2019" in found.reason


@pytest.mark.parametrize("name", ["same", "other-data", "other-metric", "other-both"])
def test_table_1_takes_nearly_all_settings(name: str) -> None:
    few = verdict(of_noise(6, METHODS, 1), f"table-1-{name}")
    assert (few.verdict, few.evidence.estimate) == ("undecided", None)
    number = 6 if name in ("other-data", "other-both") else 2
    assert f"needs at least 6 methods with 5 strengths each on {number} data sets, in three seeds" in few.reason
    # Where settings are used on another data set, it matters which there are: of three it is not said.
    assert (verdict(of_noise(), f"table-1-{name}").evidence.estimate is None) == (number == 6)
    many = verdict(of_noise(6, METHODS, 6, DATASETS[:6]), f"table-1-{name}").evidence
    # Noise with 36 settings: a chosen one equals or beats a random one, itself among them, in 37 of 72 cases.
    assert many.low <= 37 / 72 <= many.high


def test_methods_with_few_strengths_are_left_out() -> None:
    names = ["a"] * 3 + ["b"] + ["c"] * 4 + ["d"] * 3
    assert swept(names) == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert swept(names, methods=4) == []
    assert swept(names, strengths=4, methods=1) == [4, 5, 6, 7]


def test_logarithms_are_compared_on_the_same_data_sets() -> None:
    """Another method that ran on one data set alone, where all total correlations are high, is not higher for that."""
    runs = [
        *sweep(method="dip-vae-i", strength=1.0, dataset=["dsprites", "cars3d"], seed=range(3)),
        *sweep(method="beta-vae", strength=1.0, dataset="cars3d", seed=range(3)),
    ]
    high = lambda run, noise: {"gaussian_tc/mean": 10.0 if run["dataset"] == "cars3d" else 0.1}  # noqa: E731
    data = View(tables(runs, high)).of("")
    sides = tuple({"method": method, "dataset": ("dsprites", "cars3d")} for method in ("dip-vae-i", "beta-vae"))
    found = log_difference("gaussian_tc/mean").compute(data, sides)
    assert found is not None
    assert found.values == pytest.approx([0, 0, 0])


def test_a_little_above_samples_is_not_much_above() -> None:
    """Means exceed samples for every model; a fifth is not "much higher"."""
    made = tables(
        design(datasets=DATASETS[:1]),
        lambda run, noise: {
            "gaussian_tc/mean": 1.2 * (level := np.exp(0.1 * noise())),
            "gaussian_tc/sampled": level * np.exp(0.01 * noise()),
        },
    )
    assert verdict(made, "means-above-samples").verdict == "does not hold"


def test_variance_of_settings_lies_between_strengths_or_between_methods() -> None:
    """The shares of the medians' variance, one data set and metric at a time, as an analysis of variance has them."""
    scores = np.random.default_rng(1).normal(size=(2, 3, 5, 6)) + np.array([0, 0, 0, 1, 1, 1])
    names = ["a"] * 3 + ["b"] * 3
    shares = [variance_shares(metric[None], names) for dataset in np.median(scores, axis=2) for metric in dataset]
    expected = np.mean([part.strength - part.method for part in shares])
    assert strength_minus_method(scores, names) == pytest.approx(expected)


def test_one_wild_seed_does_not_hide_what_transfers() -> None:
    """Settings are ranked by medians over seeds, as in the paper: one seed that went wrong in all of them does not matter."""
    rng = np.random.default_rng(0)
    scores = np.broadcast_to(rng.normal(size=(1, 6, 1, 36)), (2, 6, 7, 36)) + 0.01 * rng.normal(size=(2, 6, 7, 36))
    scores[:, :, 0] += 30 * rng.normal(size=(2, 6, 36))
    assert agreement_of_datasets(scores, []) > 0.95


def test_less_capacity_is_more_regularisation() -> None:
    """AnnealedVAE holds the KL at its capacity: a total correlation that rises with it falls with regularisation."""
    made = tables(
        design(methods=("annealed-vae",), datasets=("dsprites",)),
        lambda run, noise: {"gaussian_tc/sampled": run["strength"] * np.exp(0.1 * noise())},
    )
    found = verdict(made, "annealed-tc-of-samples-falls")
    assert found.evidence.effect > 0.9
    assert CLAIMS["locatello2019.annealed-tc-of-samples-falls"].region.contains(found.evidence.low, found.evidence.high)


def test_data_sets_with_few_seeds_count_like_those_with_many() -> None:
    """DIP-VAE-I is lower by 1 on a data set with ten seeds and by 3 on one with four: by 2 in the mean, where a mean over all
    seeds would be 1.4, and of both data sets the verdict says that they are two of seven."""
    runs = [
        *sweep(study="locatello2019", method=list(METHODS), strength=1.0, dataset="dsprites", seed=range(10)),
        *sweep(study="locatello2019", method=list(METHODS), strength=1.0, dataset="color-dsprites", seed=range(4)),
    ]

    def scores(run: Run, noise: Any) -> dict[str, Any]:
        above = 0.0 if run["method"] == "dip-vae-i" else {"dsprites": 1.0, "color-dsprites": 3.0}[run["dataset"]]
        total = float(np.exp(above + 0.1 * noise()))
        return {"gaussian_tc/mean": total, "gaussian_tc/sampled": total}

    found = verdict(tables(runs, scores), "dip-vae-i-exception")
    assert found.evidence.effect == pytest.approx(2.0, abs=0.2)
    assert found.evidence.runs == len(runs)
    assert found.share == "10 of 35"
    assert "on 10 of 35: beta-vae on color-dsprites and dsprites, " in found.reason
    same = tables([run for run in runs if run["seed"] < 4], scores)
    values = [effect for effect, _ in verdict(same, "dip-vae-i-exception").evidence.strata.values()]
    assert values == pytest.approx([2.0] * 5, abs=0.3)


def renamed(made: Tables, own: str, other: str) -> Tables:
    """The same tables with one data set called like another."""

    def called(frame: Any) -> Any:
        return frame.assign(dataset=frame["dataset"].astype(str).replace(own, other))

    return replace(made, runs=called(made.runs), scores=called(made.scores))


def test_rooms_stand_in_for_3d_shapes_and_the_verdict_says_so() -> None:
    """Where there are no runs of 3D Shapes: the same numbers then come out, and every claim that read them says so."""
    claims = [claim for claim in CLAIMS.values() if claim.paper == "locatello2019"]
    made = locatello2019(1, seeds=3, datasets=("dsprites", "cars3d", "shapes3d"))
    own, instead = (judge(one, claims) for one in (made, renamed(made, "shapes3d", "rooms3d")))
    assert not any(found.evidence.instead for found in own)
    told = {found.claim.name for found in instead if found.evidence.instead}
    assert {found.evidence.instead for found in instead if found.claim.name in told} == {"rooms3d in place of shapes3d"}
    for before, after in zip(own, instead, strict=True):
        assert after.verdict == before.verdict
        assert after.evidence.estimate == before.evidence.estimate
        names = {name.replace("shapes3d", "rooms3d") for name in before.evidence.strata}
        assert set(after.evidence.strata) == names
        read = "rooms3d" in " ".join([*names, *(word for words in after.evidence.datasets.values() for word in words)])
        assert (after.claim.name in told) == read
    assert {"no-transfer-elsewhere", "no-transfer-between-others", "other-metrics-differ", "kl-does-not-select"} <= told
    assert "transfer-to-color" not in told
    found = {one.claim.name: one for one in instead}["other-metrics-differ"]
    assert "where no run has what it is about, it is judged by rooms3d in place of shapes3d" in found.reason
    assert found.reason.count("on 3 of 7: dsprites, cars3d, rooms3d") == 1
    assert "rooms3d" not in found.claim.command


def test_rooms_and_3d_shapes_are_never_mixed() -> None:
    made = locatello2019(1, seeds=3, datasets=("dsprites", "shapes3d", "rooms3d"))
    alone = locatello2019(1, seeds=3, datasets=("dsprites", "shapes3d"))
    for name in ("other-metrics-differ", "kl-does-not-select", "no-transfer-elsewhere"):
        both, one = verdict(made, name).evidence, verdict(alone, name).evidence
        assert both.instead == ""
        assert (both.runs, both.strata.keys()) == (one.runs, one.strata.keys())
    assert CLAIMS["locatello2019.other-metrics-differ"].missing(renamed(alone, "shapes3d", "rooms3d")) == tuple(
        word for word in CLAIMS["locatello2019.other-metrics-differ"].missing(alone) if "shapes3d" not in word
    )
