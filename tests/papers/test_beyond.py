"""Claims of the newer papers: runs of two studies in one store, and what their measures must not be fooled by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claims.synthetic import Run, sweep, tables
from hackle.claims import CLAIMS, View, judge
from hackle.claims.statistics import mean_of
from hackle.core.design import as_column
from hackle.core.regimes import Drawing, Pairs
from hackle.figures import FIGURES
from hackle.figures.words import FACTORS
from hackle.papers.locatello2019.study import locatello2019
from hackle.papers.locatello2020.settings import ONE
from hackle.papers.locatello2020.study import locatello2020
from hackle.papers.schott2022.claims import LOSS, above_loss, weakest
from hackle.papers.trauble2021.claims import ARRAY, excess
from hackle.store import Store, merge, read
from hackle.store.tables import Outcome, Tables
from made_up_outcomes import made_up_scores
from papers.world_duan import duan2020
from papers.world_labels import locatello2020_labels


def stored(folder: Path, study: str, runs: list[Any], mig: float) -> None:
    rng = np.random.default_rng(len(study))
    with Store.create_or_open(folder, study=study) as store:
        for run in runs:
            row = {**made_up_scores(0, 1)[0], "metric": "mig", "score": mig + 0.01 * rng.normal()}
            store.add(Outcome(run, "done", scores=[row]))


def test_a_claim_is_judged_on_the_merged_runs_of_two_studies(tmp_path: Path) -> None:
    """β-VAEs of the unsupervised study, which the other plans, too, and Ada-GVAE of that one: neither store decides alone."""
    options: dict[str, Any] = {"seeds": 5, "steps": 1000, "datasets": ["dsprites"]}
    stored(tmp_path / "one", "locatello2019", locatello2019(**options, methods=["beta-vae"]), 0.1)
    stored(tmp_path / "two", "locatello2020", locatello2020(**options, methods=["ada-gvae"]), 0.4)
    claims = [CLAIMS[f"locatello2020.{name}"] for name in ("ada-gvae-mig", "every-beta-mig")]
    for folder in ("one", "two"):
        assert {found.verdict for found in judge(read(tmp_path / folder), claims)} == {"undecided"}
    assert merge(tmp_path / "one", tmp_path / "two") == (30, 0, 0)
    for found in judge(read(tmp_path / "one"), claims):
        assert found.verdict == "holds"
        assert not found.evidence.borrowed
        assert found.evidence.runs == 60
        assert found.evidence.effect == pytest.approx(0.3, abs=0.03)


def test_pairs_in_which_more_factors_change_are_not_taken_for_pairs_with_one() -> None:
    """Runs with k = 4 beside those with k = 1 in one folder change nothing."""
    plain = sweep(study="locatello2019", method="beta-vae", strength=[1.0, 2.0], seed=range(4))
    one = sweep(study="locatello2020", method="ada-gvae", strength=[1.0, 2.0], pairs=as_column(ONE), seed=range(4))
    more = [{**run, "pairs": as_column(Pairs("resample", changed=4))} for run in one]
    score = lambda run, noise: {"mig": {"": 0.1, as_column(ONE): 0.5}.get(run["pairs"], 0.0)}  # noqa: E731
    claim = CLAIMS["locatello2020.every-beta-mig"]
    for runs in ([*plain, *one], [*plain, *one, *more]):
        assert claim.test(tables(runs, score)).effect == pytest.approx(0.4)


def test_runs_on_correlated_or_left_out_data_are_not_taken_for_plain_ones() -> None:
    """Claims of the first papers do not mention regimes, and mean runs without any."""
    runs = sweep(study="locatello2019", method="beta-vae", strength=[1.0, 2.0, 4.0], seed=range(3))
    odd = [{**run, "drawing": as_column(Drawing(left_out="random"))} for run in runs]
    view = View(tables([*runs, *odd], lambda run, noise: {"mig": 1.0}))
    condition = {"method": "beta-vae", "dataset": "dsprites"}
    assert len(view.of("").rows(condition)) == 9
    assert len(view.of("").rows({**condition, "drawing": Drawing(left_out="random")})) == 9


def informations(first: str, second: str) -> np.ndarray:
    """Of dSprites, in nats: a code for each factor, the first of two also with a half of the second's entropy."""
    names, sizes = zip(*FACTORS["dsprites"], strict=True)
    table = np.diag(np.log(sizes))
    table[names.index(first), names.index(second)] = 0.5 * np.log(sizes[names.index(second)])
    return table


def test_the_excess_is_that_of_the_pair_that_was_correlated() -> None:
    """A tie of other factors is in the median of all other pairs, not in the pair's own; entropies are divided out."""
    assert excess("dsprites", informations("x", "y")) == pytest.approx(0.5)
    assert excess("dsprites", informations("y", "x")) == pytest.approx(0.5)
    assert excess("dsprites", informations("shape", "orientation")) == pytest.approx(0.0)


def entangled(by: dict[str, float], seeds: int = 5) -> Tables:
    """Runs of trauble2021 on dSprites by method; `by` is each one's tie of x and y under the correlation."""
    runs = [
        run
        for method, strength, pairs in (("beta-vae", 4.0, ""), ("ada-gvae", 1.0, as_column(ONE)))
        for run in sweep(
            study="trauble2021",
            method=method,
            strength=strength,
            pairs=pairs,
            drawing=["", as_column(Drawing("x~y", 0.2))],
            seed=range(seeds),
        )
    ]

    def arrays(run: Run, noise: Any) -> dict[str, Any]:
        tie = (by[run["method"]] if run["drawing"] else 0.02) + 0.005 * abs(noise())
        return {"mutual_information": 2 * tie * informations("x", "y") + (1 - 2 * tie) * informations("x", "x")}

    return tables(runs, lambda run, noise: {"mig": 0.1}, arrays=arrays)


def test_tables_of_other_factors_and_of_no_numbers_are_left_out() -> None:
    """In the claim as in the figure, which draws the other runs."""
    made = entangled({"beta-vae": 0.2, "ada-gvae": 0.04})
    known: Any = made.array("mutual_information")
    for place, run in enumerate(list(known)[:2]):
        known[run] = known[run][:, :3] if place else np.full_like(known[run], np.nan)
    found = CLAIMS["trauble2021.correlated-factors-entangled"].test(made)
    assert found.strata["dsprites"][1] == 3
    assert FIGURES["trauble2021-section-4"](made).runs == len(known) - 2


def test_most_of_the_entanglement_means_more_than_half() -> None:
    claim = CLAIMS["trauble2021.weak-supervision-resolves"]
    for left, verdict in ((0.04, "holds"), (0.16, "does not hold")):
        found = judge(entangled({"beta-vae": 0.2, "ada-gvae": left}), [claim])[0]
        assert found.verdict == verdict, found.reason
        assert found.evidence.effect == pytest.approx(1 - left / 0.2, abs=0.05)


def test_entanglement_that_the_beta_vae_does_not_have_is_not_taken_away() -> None:
    """Its other factors are tied instead, so that its excess is negative; Ada-GVAE ties the pair. No share is lost."""
    made = entangled({"beta-vae": 0.2, "ada-gvae": 0.2})
    others = np.diag(np.log([size for _, size in FACTORS["dsprites"]])) * 0.1
    others[0, :4] = 0.5 * np.log([size for _, size in FACTORS["dsprites"]])[:4]
    assert excess("dsprites", others) == pytest.approx(-0.5)
    methods = dict(zip(made.runs["run"], made.runs["method"], strict=True))
    arrays = {run: others if methods[run] == "beta-vae" else own for run, own in made.array(ARRAY).items()}
    found = judge(replace(made, array=lambda name: arrays), [CLAIMS["trauble2021.weak-supervision-resolves"]])[0]
    assert found.verdict != "holds"
    assert "entangles the pair more than the others" in " ".join(found.evidence.missing)


def test_no_extrapolation_is_decided_by_the_method_whose_failure_is_least_certain() -> None:
    rule = as_column(Drawing(left_out="extrapolation"))
    runs = [
        *sweep(study="schott2022", method="beta-vae", strength=4.0, drawing=rule, seed=range(5)),
        *sweep(study="schott2022", method="ada-gvae", strength=1.0, pairs=as_column(ONE), drawing=rule, seed=range(5)),
    ]
    claim = CLAIMS["schott2022.no-extrapolation"]
    for ada, verdict in ((0.4, "holds"), (0.0, "does not hold")):
        losses = {"beta-vae": 0.6, "ada-gvae": ada}
        made = tables(runs, lambda run, noise, by=losses: {"generalisation_loss": by[run["method"]] + 0.01 * noise()})
        found = judge(made, [claim])[0]
        assert found.verdict == verdict, found.reason
        assert found.evidence.effect == pytest.approx(ada, abs=0.02)
        alone = replace(made, runs=made.runs[made.runs["method"] == "beta-vae"])
        assert claim.test(alone).estimate is None


def test_that_all_fail_is_seldom_found_where_one_method_loses_only_as_much_as_is_allowed() -> None:
    """It varies from seed to seed, and the other surely fails; the least mean would find it in a tenth of the studies."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(1000):
        losses = [0.3 + 0.01 * rng.normal(size=5), LOSS + 0.3 * rng.normal(size=5)]
        wrong += mean_of([weakest(losses, above_loss)]).chance_above(LOSS) < 0.05
    assert wrong / 1000 == pytest.approx(0.05, abs=0.02)


def test_random_gaps_cost_nothing_only_if_they_cost_no_method_anything() -> None:
    rule = as_column(Drawing(left_out="random"))
    runs = [
        *sweep(study="schott2022", method="beta-vae", strength=4.0, drawing=rule, seed=range(5)),
        *sweep(study="schott2022", method="ada-gvae", strength=1.0, pairs=as_column(ONE), drawing=rule, seed=range(5)),
    ]
    claim = CLAIMS["schott2022.random-combinations"]
    for ada, verdict in ((0.0, "holds"), (0.3, "does not hold"), (-0.3, "does not hold")):
        losses = {"beta-vae": 0.0, "ada-gvae": ada}
        made = tables(runs, lambda run, noise, by=losses: {"generalisation_loss": by[run["method"]] + 0.005 * noise()})
        assert judge(made, [claim])[0].verdict == verdict


@pytest.mark.parametrize(
    ("world", "name", "array"),
    [
        (duan2020, "duan2020.udr-follows-supervised-scores", "kl"),
        (locatello2020_labels, "locatello2020-labels.hundred-labels-choose", "codes"),
    ],
)
def test_a_setting_whose_runs_cannot_be_compared_is_left_out(world: Any, name: str, array: str) -> None:
    """No seed of one γ has KLs of its latents, or codes that are numbers: the others are judged without it."""
    made = world(1, seeds=3)
    odd = set(made.runs["run"][(made.runs["method"] == "factor-vae") & (made.runs["strength"] == 20.0)])
    kept = {each: {**made.array(each)} for each in ("codes", "kl")}
    for run in odd & kept[array].keys():
        kept[array][run] = np.ones(1) if array == "kl" else np.full_like(kept[array][run], np.nan)
    left = replace(made, array=kept.__getitem__)
    without = replace(made, runs=made.runs[~made.runs["run"].isin(odd)])
    assert CLAIMS[name].test(left).effect == pytest.approx(CLAIMS[name].test(without).effect)
