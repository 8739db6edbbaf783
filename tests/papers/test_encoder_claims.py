"""What the claims on encoders and correlated noise must not be fooled by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from hackle.claims import CLAIMS, judge
from hackle.store.tables import Tables
from papers.worlds_encoders import split_encoder, yang2020


def joined(first: Tables, second: Tables) -> Tables:
    return replace(first, scores=pd.concat([first.scores, second.scores]), runs=pd.concat([first.runs, second.runs]))


def kept(tables: Tables, rows: Any) -> Tables:
    runs = tables.runs[rows]
    return replace(tables, runs=runs, scores=tables.scores[tables.scores["run"].isin(list(runs["run"]))])


@pytest.mark.parametrize("name", ["mig-beta-vae-dsprites", "reconstruction-beta-vae-dsprites"])
def test_other_weights_in_the_folder_change_nothing(name: str) -> None:
    made = split_encoder(1)
    plain = (made.runs["method"] == "beta-vae") & (made.runs["architecture"] == "convolutional")
    # The weights' own runs belong to another study that was run first in the folder, beside many other weights.
    made.runs.loc[plain, "study"] = "locatello2019"
    others = split_encoder(-1, seed=5)
    others = kept(others, (others.runs["method"] == "beta-vae") & (others.runs["architecture"] == "convolutional"))
    others.runs[["study", "strength"]] = ["locatello2019", 16.0]
    others.runs["run"] = others.runs["run"] + "-16"
    others.scores[["run", "strength"]] = others.scores.assign(run=others.scores["run"] + "-16", strength=16.0)[
        ["run", "strength"]
    ]
    claim = CLAIMS[f"split-encoder.{name}"]
    assert claim.test(joined(made, others)).effect == claim.test(made).effect


def test_what_is_said_of_both_methods_needs_both_to_hold_and_one_to_fall() -> None:
    claim = CLAIMS["yang2020.kl-hardly-moves"]
    both, vae = yang2020(1), yang2020(1)
    vae = kept(vae, vae.runs["method"] == "vae")
    assert judge(both, [claim])[0].verdict == "holds"
    alone = judge(vae, [claim])[0]
    assert alone.verdict == "undecided"
    assert "on 1 of 2: vae on dsprites" in alone.reason
    false = yang2020(-1)
    assert judge(kept(false, false.runs["method"] == "vae"), [claim])[0].verdict == "does not hold"


def test_settings_that_another_study_trained_are_compared_too() -> None:
    made = split_encoder(1)
    made.runs.loc[made.runs["architecture"] == "convolutional", "study"] = "yang2020"
    claim = CLAIMS["split-encoder.factor-vae-score-dsprites"]
    found = claim.test(made)
    assert found.runs == 40
    assert found.borrowed
    assert found.effect == claim.test(split_encoder(1)).effect


@pytest.mark.parametrize("name", ["infogan-digits", "infogan-converges"])
def test_infogans_trained_on_the_papers_60_000_digits_are_judged_and_never_mixed_with_others(name: str) -> None:
    claim = CLAIMS[f"yang2020.{name}"]
    true, false = yang2020(1), yang2020(-1, seed=3)
    for made in (true, false):
        made.runs["dataset"] = made.runs["dataset"].astype(str)
    on_all = claim.test(false)
    true.runs.loc[true.runs["method"] == "infogan", "dataset"] = "mnist-train"
    assert judge(true, [claim])[0].verdict == "holds"
    # Beside runs of all 70,000 digits, in a world that speaks against the claim, those of the paper's digits count alone.
    false.runs["run"] = false.runs["run"] + "-all"
    assert on_all.effect != claim.test(true).effect
    assert claim.test(joined(true, false)).effect == claim.test(true).effect
    assert claim.command.startswith("hackle study run yang2020 --out DIR --seeds 10 --datasets mnist --methods infogan")
