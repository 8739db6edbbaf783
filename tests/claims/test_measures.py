"""Measures on tables small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from claims.synthetic import Run, sweep, tables
from hackle.claims.agreement import agreement, among_runs, over_models
from hackle.claims.forms import above, claims_of
from hackle.claims.measures import (
    best_difference,
    by_run,
    change_at_the_best,
    difference,
    gap,
    least_best_difference,
    least_certain,
    least_difference,
    of_score,
    relative_change,
    trend,
)
from hackle.claims.statistics import Units, mean_of
from hackle.claims.view import View
from hackle.information.ranks import rank_correlations, spearman
from hackle.metrics import consistency, informativeness
from hackle.papers.do2020.celeba_claims import alike
from hackle.papers.locatello2019.transfer import agreement_of_tuning, share_of_the_best_method, transfer

PLAIN, CORRELATED = {"method": "vae"}, {"method": "vae", "correlation": 0.9}


def test_differences_are_within_seeds_that_both_conditions_have() -> None:
    designs = [*sweep(seed=[1, 2, 3]), *sweep(seed=[2, 3, 4], correlation=0.9)]
    data = View(tables(designs, lambda run, noise: {"mig": run["seed"] ** 2 + 5 * run["correlation"]})).of("")
    found = difference("mig").compute(data, (PLAIN, CORRELATED))
    assert found is not None
    assert found.values == pytest.approx([4.5, 4.5])
    assert found.runs_per_seed == 2
    assert difference("mig", sign=-1).compute(data, (PLAIN, {"method": "beta-vae"})) is None
    change = relative_change("mig").compute(data, (PLAIN, CORRELATED))
    assert change is not None
    assert change.values.mean() == pytest.approx(4.5 / 6.5)


def test_a_trend_is_a_rank_correlation_jackknifed_over_seeds() -> None:
    designs = sweep(method="beta-vae", strength=[1.0, 2.0, 4.0, 16.0], seed=range(2))
    data = View(tables(designs, lambda run, noise: {"mig": (-1) ** run["seed"] * run["strength"] ** 3})).of("")
    found = trend("mig").compute(data, ({"method": "beta-vae"},))
    assert found is not None
    assert found.values == pytest.approx([1, -1])
    assert found.runs_per_seed == 4


def test_a_trend_ranks_the_runs_of_all_seeds_together() -> None:
    designs = sweep(method="beta-vae", strength=[1.0, 2.0, 4.0], seed=range(6))
    data = View(tables(designs, lambda run, noise: {"mig": run["strength"] + 3 * noise()})).of("")
    rows = data.rows({"method": "beta-vae"}, ["mig"])
    found = trend("mig").compute(data, ({"method": "beta-vae"},))
    assert found is not None
    without = [spearman(*rows[rows["seed"] != seed][["strength", "mig"]].to_numpy().T) for seed in range(6)]
    whole = spearman(rows["strength"], rows["mig"])
    assert found.values == pytest.approx(6 * whole - 5 * np.array(without))


@pytest.mark.parametrize("settings", [3, 4])
def test_correlations_of_few_settings_are_not_biased(settings: int) -> None:
    """Of pairs with a rank correlation of 0.5, that of three or four in a seed averages 0.38: ((k − 2) ρ + 3 τ) / (k + 1)."""
    rng, latent = np.random.default_rng(4), 2 * np.sin(np.pi * 0.5 / 6)
    pairs = rng.multivariate_normal([0, 0], [[1, latent], [latent, 1]], size=(250, 8, settings)).transpose(0, 3, 1, 2)
    found = [over_models([pair], np.array([[0, 1]])) for pair in pairs]
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)  # type: ignore[arg-type]
    within = [rank_correlations(*pair).mean() for pair in pairs]
    kendall = 2 / np.pi * np.arcsin(latent)
    assert np.mean(within) == pytest.approx(((settings - 2) * 0.5 + 3 * kendall) / (settings + 1), abs=0.02)
    assert np.mean(within) < 0.42


def test_agreement_is_over_all_models() -> None:
    designs = sweep(method=["beta-vae", "factor-vae"], strength=[1.0, 2.0], seed=range(3))
    scores = lambda run, noise: {"mig": (value := noise()), "sap": value**3, "dci": -value}  # noqa: E731
    data = View(tables(designs, scores)).of("")
    condition = ({"method": ("beta-vae", "factor-vae")},)
    for measure, expected in ((agreement(("mig", "sap")), 1), (agreement(("mig", "sap"), ("mig", "dci")), 0)):
        found = measure.compute(data, condition)
        assert found is not None
        assert found.values == pytest.approx([expected] * 3)


def test_agreement_rests_on_the_runs_that_have_both_scores() -> None:
    """Of eight seeds four have the second score, one of them of all settings but one: the others are no evidence, and
    no seeds."""
    strengths = [1.0, 2.0, 4.0, 8.0]

    def scores(run: Run, noise: Callable[[], float]) -> dict[str, float]:
        known = run["seed"] < 4 and (run["seed"], run["strength"]) != (3, 8.0)
        return {"mig": noise(), "dci": noise(), **({"sap": noise()} if known else {})}

    every = tables(sweep(method="beta-vae", seed=range(8), strength=strengths), scores)
    few = tables(sweep(method="beta-vae", seed=range(4), strength=strengths), scores)
    condition = {"method": "beta-vae"}
    for pairs, count in (((("mig", "sap"),), 15), ((("mig", "sap"), ("mig", "dci")), 32)):
        asked = claims_of("paper")("name", "", "", "", above(0.0, agreement(*pairs), condition))
        assert asked.test(every).runs == count
    asked = claims_of("paper")("name", "", "", "", above(0.0, agreement(("mig", "sap")), condition))
    assert asked.test(every).estimate == asked.test(few).estimate
    rows = View(every).of("").rows(condition, ("mig", "sap"))
    assert np.isnan(rows["sap"]).sum() == 17
    found = among_runs(rows, "mig", ["sap"], settings=4)
    assert found is not None
    assert (found.seeds, found.runs_per_seed) == (3, 4)


def test_runs_of_every_strength_count() -> None:
    designs = [*sweep(method="vae", seed=range(4)), *sweep(method="beta-vae", strength=[2.0, 4.0], seed=range(3))]
    data = View(tables(designs, lambda run, noise: {"mig": noise()})).of("")
    found = difference("mig").compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
    assert found is not None
    assert (found.seeds, found.runs_per_seed) == (3, 3)


def test_choosing_the_best_setting_seldom_finds_what_is_not_there() -> None:
    names = [f"set{number}" for number in range(80)]
    designs = [
        *sweep(dataset=names, method="beta-vae", strength=[1.0, 2.0, 3.0, 4.0, 5.0], seed=range(4)),
        *sweep(dataset=names, method="factor-vae", strength=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], seed=range(4)),
    ]
    data = View(tables(designs, lambda run, noise: {"mig": noise()})).of("")
    chances = []
    for name in names:
        sides = tuple({"method": method, "dataset": name} for method in ("beta-vae", "factor-vae"))
        found = best_difference("mig").compute(data, sides)
        assert found is not None
        chances.append(mean_of([found]).chance_above(0.0))
    assert (np.array(chances) <= 0.05).mean() <= 0.08
    assert (np.array(chances) >= 0.95).mean() <= 0.08


def test_the_change_is_at_what_the_judge_finds_best() -> None:
    designs = [
        *sweep(method="vae", seed=range(3)),
        *sweep(method="beta-vae", strength=[1.0, 2.0, 3.0], seed=range(3)),
    ]

    def scores(run: Run, noise: Callable[[], float]) -> dict[str, float]:
        if run["method"] == "vae":
            return {"mig": 0.0, "kl": 4.0}
        return {"mig": -abs(run["strength"] - 2), "kl": 4.0 + run["strength"]}

    data = View(tables(designs, scores)).of("")
    found = change_at_the_best("kl", "mig").compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
    assert found is not None
    assert found.values == pytest.approx([0.5, 0.5, 0.5])
    assert found.runs_per_seed == 4
    assert found.widened
    # Where there is nothing to choose from the seeds are independent.
    data = View(tables([run for run in designs if run.get("strength", 2.0) == 2.0], scores)).of("")
    for measure in (change_at_the_best("kl", "mig"), best_difference("kl")):
        alone = measure.compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
        assert alone is not None
        assert not alone.widened


def test_of_two_settings_that_are_nearly_as_good_the_change_is_no_more_than_that_of_either() -> None:
    """By pseudo-values of the choice it was up to n − 1 times as much: one seed turns the choice of all the others."""
    judged = {1.0: (0.50, 0.52, 0.48, 0.51, 0.49, 0.53), 2.0: (0.52, 0.49, 0.51, 0.48, 0.53, 0.50)}
    designs = [*sweep(method="vae", seed=range(6)), *sweep(method="beta-vae", strength=[1.0, 2.0], seed=range(6))]

    def scores(run: Run, noise: Callable[[], float]) -> dict[str, float]:
        if run["method"] == "vae":
            return {"mig": 0.4, "kl": 10.0}
        return {"mig": judged[run["strength"]][run["seed"]], "kl": {1.0: 11.0, 2.0: 30.0}[run["strength"]]}

    data = View(tables(designs, scores)).of("")
    found = change_at_the_best("kl", "mig").compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
    assert found is not None
    assert set(np.round(found.values, 9)) == {0.1, 2.0}
    low, high = mean_of([found]).interval()
    assert high - low > 1.0


def test_what_a_seed_says_of_a_setting_has_no_part_in_choosing_it() -> None:
    """Setting 2 is best in every seed but for the judge's word of the seed itself, which turns it to 1."""
    judged = np.eye(5)
    designs = [*sweep(method="vae", seed=range(5)), *sweep(method="beta-vae", strength=list(range(5)), seed=range(5))]

    def scores(run: Run, noise: Callable[[], float]) -> dict[str, float]:
        if run["method"] == "vae":
            return {"mig": 0.0, "kl": 1.0}
        own = judged[run["seed"], int(run["strength"])]
        return {"mig": own + 0.01 * run["strength"], "kl": 3.0 if own else 2.0}

    data = View(tables(designs, scores)).of("")
    found = change_at_the_best("kl", "mig").compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
    assert found is not None
    # Chosen by the same seeds it would be the setting that each seed itself calls best in one case of five.
    assert found.values == pytest.approx([1.0] * 5)


def test_seeds_are_means_over_the_same_settings() -> None:
    """A setting with a higher score that some seeds have does not raise their number above the others'."""
    designs = [
        *sweep(method="factor-vae", strength=[10.0, 20.0], seed=range(6)),
        *sweep(method="factor-vae", strength=50.0, seed=range(2, 6)),
        *sweep(method="factor-vae", strength=100.0, seed=5),
    ]
    data = View(tables(designs, lambda run, noise: {"mig": run["strength"]})).of("")
    found = by_run(of_score("mig")).compute(data, ({"method": "factor-vae"},))
    assert found is not None
    # Twelve runs of two settings, and as many of three: the seeds are more in the first.
    assert found.values == pytest.approx([15.0] * 6)
    assert found.runs_per_seed == 2


@pytest.mark.parametrize(
    ("having", "seeds", "settings"),
    [
        ([range(6), range(6), range(1, 6)], 5, 3),  # a setting that one seed lacks costs that seed
        ([range(6), range(6), range(3)], 6, 2),  # one that half of them lack is left out
        ([range(3), range(3), range(3, 6)], 3, 2),  # those of three seeds each, of which two are of the same
        ([range(3), range(2, 4), range(4, 6)], 3, 1),
        ([range(1), range(1), range(1), range(2)], 2, 1),  # one seed has most runs, and alone says nothing
    ],
)
def test_of_settings_that_seeds_lack_the_most_runs_are_kept(having: list[range], seeds: int, settings: int) -> None:
    designs = [each for strength, of in enumerate(having, 1) for each in sweep(strength=float(strength), seed=of)]
    data = View(tables(designs, lambda run, noise: {"mig": run["strength"]})).of("")
    found = by_run(of_score("mig")).compute(data, ({"method": "vae"},))
    assert found is not None
    assert (found.seeds, found.runs_per_seed) == (seeds, settings)


def test_a_setting_that_most_seeds_lack_is_not_the_best() -> None:
    designs = [
        *sweep(method="vae", seed=range(6)),
        *sweep(method="beta-vae", strength=[1.0, 2.0], seed=range(6)),
        *sweep(method="beta-vae", strength=3.0, seed=2),
        *sweep(method="beta-vae", strength=4.0, seed=range(3)),
    ]
    best = {1.0: 0.2, 2.0: 0.3, 3.0: 0.9, 4.0: 0.5}

    def scores(run: Run, noise: Callable[[], float]) -> dict[str, float]:
        return {"mig": 0.0 if run["method"] == "vae" else best[run["strength"]]}

    data = View(tables(designs, scores)).of("")
    found = best_difference("mig").compute(data, ({"method": "vae"}, {"method": "beta-vae"}))
    assert found is not None
    assert mean_of([found]).effect == pytest.approx(0.5)
    few = best_difference("mig").compute(data, ({"method": "vae"}, {"method": "beta-vae", "strength": 4.0}))
    assert few is not None
    assert few.values == pytest.approx([0.5] * 3)


def test_a_gap_is_between_scores_of_one_run() -> None:
    made = tables(sweep(seed=range(2)), lambda run, noise: {"gaussian_tc/mean": 5.0, "gaussian_tc/sampled": 3.0})
    found = gap("gaussian_tc/mean", "gaussian_tc/sampled").compute(View(made).of(""), (PLAIN,))
    assert found is not None
    assert found.values == pytest.approx([2, 2])


def test_transfer_is_what_the_papers_draws_tend_to() -> None:
    """Table 1 by the procedure of the paper: 60,000 random draws."""
    rng = np.random.default_rng(1)
    quality = rng.normal(size=(3, 2, 1, 8)) + rng.normal(size=(1, 2, 1, 8))
    scores = quality + rng.normal(size=(3, 2, 6, 8))
    found = transfer(scores)
    draws = 60_000
    data, metric, seed = rng.integers(3, size=draws), rng.integers(2, size=draws), rng.integers(6, size=draws)
    chosen = scores[data, metric, seed].argmax(axis=1)
    other_seed = (seed + rng.integers(1, 6, size=draws)) % 6
    random = rng.integers(8, size=draws)
    other_data, other_metric = (data + rng.integers(1, 3, size=draws)) % 3, 1 - metric
    for name, where in (
        ("same", (data, metric)),
        ("other_data", (other_data, metric)),
        ("other_metric", (data, other_metric)),
        ("other_both", (other_data, other_metric)),
    ):
        table = scores[(*where, other_seed)]
        rows = np.arange(draws)
        expected = (table[rows, chosen] >= table[rows, random]).mean()
        assert getattr(found, name) == pytest.approx(expected, abs=0.01), name


def test_one_method_that_wins_everywhere_and_one_order_of_strengths() -> None:
    methods = ["a"] * 4 + ["b"] * 4
    scores = np.zeros((2, 3, 5, 8)) + np.arange(8.0)
    assert share_of_the_best_method(scores, methods) == 1.0
    assert agreement_of_tuning(scores, methods) == pytest.approx(1.0)
    turned = scores.copy()
    turned[0] *= -1
    assert share_of_the_best_method(turned, methods) == 0.5
    # Of the 15 pairs of columns 6 agree and 9 are opposite.
    assert agreement_of_tuning(turned, methods) == pytest.approx((6 - 9) / 15)


def test_likeness_is_the_consistency_of_the_metrics() -> None:
    rng = np.random.default_rng(2)
    means = rng.normal(size=(300, 4))
    other = np.column_stack([-means[:, 2], means[:, 0] + 0.5 * rng.normal(size=300), rng.normal(size=300)])
    logvars = [np.full(part.shape, -3.0) for part in (means, other)]
    logvars[0][:, 3] = 0.0
    models = [(part, informativeness(part, noise)) for part, noise in zip((means, other), logvars, strict=True)]
    expected = consistency((means, logvars[0]), (other, logvars[1])).score
    assert alike(*models) == pytest.approx(expected)
    assert alike(models[0], models[0]) == pytest.approx(1.0)


def test_the_least_difference_is_at_the_weight_where_the_first_is_nearest() -> None:
    """By β the second is ahead by 0.1, 0.3 and 0.2; at β = 9 there is no second."""
    ahead = {1.0: 0.1, 2.0: 0.3, 4.0: 0.2}
    designs = [
        *sweep(method="beta-vae", strength=[*ahead, 9.0], seed=range(4)),
        *sweep(method="factor-vae", strength=list(ahead), seed=range(1, 4)),
    ]
    score = lambda run, noise: {"mig": run["seed"] + (run["method"] == "factor-vae") * ahead.get(run["strength"], 0)}  # noqa: E731
    data = View(tables(designs, score)).of("")
    found = least_difference("mig").compute(data, ({"method": "beta-vae"}, {"method": "factor-vae"}))
    assert found is not None
    assert found.values == pytest.approx([0.1] * 3)
    assert (found.runs_per_seed, found.widened) == (6, False)
    behind = least_difference("mig").compute(data, ({"method": "factor-vae"}, {"method": "beta-vae"}))
    assert behind is not None
    assert behind.values == pytest.approx([-0.3] * 3)
    assert behind.widened
    assert least_difference("mig").compute(data, ({"method": "beta-vae"}, {"method": "vae"})) is None


def test_ahead_at_every_weight_is_not_found_where_at_one_it_is_by_luck() -> None:
    """At one weight nothing differs, but the spread is large; at the others the second is surely ahead by 0.2. In every sixth
    of such studies the least mean is one of these 0.2, which must not decide."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(1000):
        values = 0.2 + 0.01 * rng.normal(size=(5, 3))
        values[:, 1] = 0.5 * rng.normal(size=5)
        wrong += mean_of([Units(least_certain(values), 6)]).chance_above(0) < 0.05
    assert wrong / 1000 == pytest.approx(0.05, abs=0.02)


def test_the_nearest_rival_decides_and_may_be_of_another_study() -> None:
    """Ahead of one rival by 0.3, of the other, whose runs another study has, by 0.1, each at its best weight."""
    designs = [
        *sweep(study="one", method="beta-vae", strength=[1.0, 2.0], seed=range(4)),
        *sweep(study="two", method="factor-vae", strength=[1.0, 2.0], seed=range(4)),
        *sweep(study="one", method="beta-tcvae", strength=[1.0, 2.0], seed=range(4)),
    ]
    best = {"beta-vae": 0.2, "factor-vae": 0.4, "beta-tcvae": 0.5}
    data = View(tables(designs, lambda run, noise: {"mig": best[run["method"]] - 0.1 * (run["strength"] == 1)})).of(
        "one"
    )
    rivals = {"method": ("beta-vae", "factor-vae", "dip-vae-i")}
    found = least_best_difference("mig").compute(data, (rivals, {"method": "beta-tcvae"}))
    assert found is not None
    assert found.values == pytest.approx([0.1] * 4)
    assert found.runs_per_seed == 6
    one = best_difference("mig").compute(data, ({"method": "beta-vae"}, {"method": "beta-tcvae"}))
    assert one is not None
    assert one.values == pytest.approx([0.3] * 4)
