"""The papers' studies against what the papers say, and what the options change."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackle.core.errors import HackleError
from hackle.core.method import strength_of
from hackle.core.records import record_hash
from hackle.core.regimes import Drawing, Pairs
from hackle.core.scored import Scored
from hackle.core.types import Run
from hackle.datasets import DATASETS
from hackle.nets import Adversarial, Convolutional, Sharing, Split
from hackle.objectives import (
    DIPVAEI,
    DIPVAEII,
    VAE,
    AdaGVAE,
    AdaMLVAE,
    AdversarialAutoencoder,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    FactorVAEPrior,
    InfoGAN,
    InformationDropout,
    InfoWGANGP,
    S2BetaVAE,
)
from hackle.papers.do2020.study import do2020, do2020_appendix
from hackle.papers.hackle_2026.study import hackle_2026
from hackle.papers.hsu2023.study import hsu2023
from hackle.papers.kim2018.study import (
    POINTS,
    initialisation,
    kim2018,
    kim2018_discriminators,
    kim2018_infogan,
    kim2018_marginals,
    kim2018_mnist,
    kim2018_objectives,
    kim2018_sensitivity,
    kim2018_training,
)
from hackle.papers.locatello2019.settings import STRENGTHS
from hackle.papers.locatello2019.study import locatello2019, locatello2019_table_4b
from hackle.papers.locatello2020.study import locatello2020, locatello2020_k
from hackle.papers.locatello2020_labels.study import locatello2020_labels
from hackle.papers.schott2022.study import schott2022
from hackle.papers.split_encoder.study import split_encoder
from hackle.papers.trauble2021.study import trauble2021
from hackle.papers.yang2020.study import yang2020
from hackle.scoring.protocol import PROTOCOLS, protocol
from hackle.scoring.registry import choose_metrics
from hackle.studies import STUDIES, StudyError, available
from hackle.studies.own import find_study, runs_of
from hackle.studies.presets import preset
from hackle.train.grouping import group


def count(runs: list[Run], *fields: str) -> Counter[Any]:
    return Counter(tuple(getattr(run, field) for field in fields) for run in runs)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_keeps_to_its_options(name: str) -> None:
    study = STUDIES[name]
    runs = study.runs(seeds=2, steps=1000, precision="bfloat16")
    assert {run.steps for run in runs} == {1000}
    assert set(count(runs, "seed")) == {(0,), (1,)}
    assert len({record_hash(run) for run in runs}) == len(runs)
    for run in runs:
        expected = "float32" if isinstance(run.architecture, Adversarial) else "bfloat16"
        assert run.precision == expected
    one = runs[0].dataset
    assert {run.dataset for run in study.runs(seeds=1, datasets=[one])} == {one}
    assert {run.dataset for run in study.runs(seeds=1, datasets=["rooms3d"])} == {"rooms3d"}
    assert all(protocol(known) for known in study.protocols)
    assert all(choose_metrics(study.metrics, protocol(known)) for known in study.protocols)
    with pytest.raises(StudyError, match="no method 'gan'"):
        study.runs(methods=["gan"])
    with pytest.raises(StudyError, match="seeds is 0"):
        study.runs(seeds=0)
    with pytest.raises(StudyError, match="steps is 0"):
        study.runs(steps=0)


def test_locatello2019_is_table_3() -> None:
    runs = locatello2019()
    assert len(runs) == 7 * 6 * 6 * 50 == 12_600
    # On each data set one fleet for the five methods that differ in the loss alone, and one for FactorVAE.
    assert len(group(locatello2019(seeds=2))) == 14
    assert set(count(runs, "dataset").values()) == {1800}
    methods = Counter(type(run.method) for run in runs)
    assert methods == dict.fromkeys((BetaVAE, AnnealedVAE, FactorVAE, DIPVAEI, DIPVAEII, BetaTCVAE), 2100)
    assert {run.method.beta for run in runs if isinstance(run.method, BetaVAE)} == {1, 2, 4, 6, 8, 16}
    assert {run.method.beta for run in runs if isinstance(run.method, BetaTCVAE)} == {1, 2, 4, 6, 8, 10}
    assert all(run.method.diagonal == 10 * run.method.off_diagonal for run in runs if type(run.method) is DIPVAEI)
    for run in runs[::97]:
        assert (run.steps, run.batch_size, run.latents, run.architecture) == (300_000, 64, 10, Convolutional())
        names = {
            "FactorVAE": "factor-vae",
            "BetaVAE": "beta-vae",
            "AnnealedVAE": "annealed-vae",
            "DIPVAEI": "dip-vae-i",
        }
        names |= {"DIPVAEII": "dip-vae-ii", "BetaTCVAE": "beta-tcvae"}
        name = names[type(run.method).__name__]
        assert run.method == preset("locatello2019", name, run.dataset, strength_of(run.method)).method
        assert strength_of(run.method) in STRENGTHS[name]


def test_annealing_keeps_its_part_of_a_shorter_training() -> None:
    (run, *_) = locatello2019(seeds=1, steps=3000, methods=["annealed-vae"], datasets=["dsprites"])
    assert isinstance(run.method, AnnealedVAE)
    assert run.method.iteration_threshold == 1000
    (run, *_) = locatello2019(seeds=1, steps=1, methods=["annealed-vae"], datasets=["dsprites"])
    assert isinstance(run.method, AnnealedVAE)
    assert run.method.iteration_threshold == 1


def test_kim2018_is_section_6() -> None:
    runs = kim2018()
    by = Counter((run.dataset, type(run.method)) for run in runs)
    grid = 11 * 6 * 2 * 2 + 11
    expected = {
        ("dsprites", BetaVAE): 70,
        ("dsprites", FactorVAE): 70,
        ("dsprites", FactorVAEPrior): 70,
        ("dsprites", AdversarialAutoencoder): 70,
        ("dsprites", InfoWGANGP): 10 * grid,
        ("shapes3d", BetaVAE): 70,
        ("shapes3d", FactorVAE): 60,
    }
    assert by == expected
    betas = {(run.dataset, run.method.beta) for run in runs if isinstance(run.method, BetaVAE)}
    assert {("dsprites", beta) for beta in (1, 4, 5, 9, 16)} <= betas
    assert {("shapes3d", beta) for beta in (1, 24, 32)} <= betas
    gammas = {(run.dataset, run.method.gamma) for run in runs if type(run.method) is FactorVAE}
    assert {("dsprites", 35), ("dsprites", 40), ("shapes3d", 6), ("shapes3d", 7), ("shapes3d", 36)} <= gammas
    assert {(run.latents, run.steps) for run in runs if run.dataset == "shapes3d"} == {(6, 500_000)}
    grids = [run for run in runs if isinstance(run.method, InfoWGANGP)]
    small = [run for run in grids if run.architecture == Adversarial()]
    assert {run.method.noise for run in small if isinstance(run.method, InfoWGANGP)} == {5, 10, 20, 40, 80, 160}
    assert {run.optimiser.learning_rate for run in small} == {1e-3, 1e-4}
    assert {
        run.method.discriminator_optimiser.learning_rate for run in small if isinstance(run.method, InfoWGANGP)
    } == {
        1e-4,
        1e-5,
    }
    assert {run.latents for run in grids} == {4}
    assert len([run for run in grids if run.architecture != Adversarial()]) == 110
    # The grid over noise variables is six groups, each a fleet of everything else.
    assert len(group(small[::10])) == 6


def test_locatello2020_is_ada_gvae_over_beta_beside_the_unsupervised_study() -> None:
    runs = locatello2020()
    assert len(runs) == 5 * 3 * 6 * 5
    paired = [run for run in runs if run.pairs != Pairs()]
    assert {type(run.method) for run in paired} == {AdaGVAE, AdaMLVAE}
    assert {run.pairs for run in paired} == {Pairs("resample", changed=1)}
    assert {strength_of(run.method) for run in paired} == {1, 2, 4, 6, 8, 16}
    # What it has in common with the unsupervised study is the same to the record, so that stores can be merged.
    known = {record_hash(run) for run in locatello2019(seeds=5, methods=["beta-vae"])}
    plain = [
        run for run in runs if isinstance(run.method, BetaVAE) and run.dataset != "mpi3d-real" and run not in paired
    ]
    assert {record_hash(run) for run in plain} <= known
    others = locatello2020(seeds=1, datasets=["dsprites"], methods=["factor-vae", "dip-vae-i"])
    assert {record_hash(run) for run in others} <= {record_hash(run) for run in locatello2019(seeds=1)}
    assert len(group(locatello2020(datasets=["dsprites"], methods=["ada-gvae"]))) == 1


def test_locatello2020_k_changes_more_factors_of_a_pair() -> None:
    runs = locatello2020_k(seeds=1, datasets=["dsprites", "cars3d"])
    changed = {name: [run.pairs.changed for run in runs if run.dataset == name] for name in ("dsprites", "cars3d")}
    assert changed == {"dsprites": [1, 2, 4, 0], "cars3d": [1, 2, 0]}
    assert record_hash(runs[0]) in {record_hash(run) for run in locatello2020(seeds=1)}


def test_the_labelled_runs_have_a_hundred_labels_or_a_thousand() -> None:
    runs = locatello2020_labels(datasets=["dsprites"])
    assert len(runs) == 5 * (6 * 2 * 2 + 6)
    assert Counter(run.labels.images for run in runs) == {100: 60, 1000: 60, 0: 30}
    weights = {run.method.gamma_sup for run in runs if isinstance(run.method, S2BetaVAE)}
    assert weights == {1, 16}
    # Weights stack: the labelled runs are a group for each number of labels.
    assert len(group(runs)) == 3


def test_hsu2023_has_two_latents_for_each_factor() -> None:
    runs = hsu2023(seeds=1, datasets=["dsprites", "shapes3d", "mpi3d-real"])
    assert {(run.dataset, run.latents) for run in runs} == {("dsprites", 10), ("shapes3d", 12), ("mpi3d-real", 14)}
    assert len(hsu2023()) == 3 * 5 * (1 + 1 + 6)
    assert len(hsu2023(datasets=["dsprites"], methods=["qlae"])) == 5
    beside = {record_hash(run) for run in hsu2023(datasets=["dsprites"], methods=["beta-vae"])}
    assert beside == {record_hash(run) for run in locatello2019(seeds=5, datasets=["dsprites"], methods=["beta-vae"])}


def test_trauble2021_correlates_two_factors_and_schott2022_leaves_combinations_out() -> None:
    runs = trauble2021(datasets=["dsprites"])
    assert len(runs) == 5 * (4 + 2)
    assert Counter((type(run.method), run.drawing) for run in runs) == {
        **{(BetaVAE, Drawing("x~y", sigma)): 5 for sigma in (0.2, 0.4, 0.7)},
        **{(kind, Drawing()): 5 for kind in (BetaVAE, AdaGVAE)},
        (AdaGVAE, Drawing("x~y", 0.2)): 5,
    }
    # Widths of the correlation stack: with and without it are a group of each method.
    assert len(group(runs)) == 4
    (pair,) = {run.drawing.correlated for run in trauble2021(seeds=1, datasets=["rooms3d"])} - {""}
    assert pair == "scale~orientation"
    runs = schott2022(datasets=["dsprites"])
    rules = ("random", "composition", "interpolation", "extrapolation")
    assert Counter(run.drawing.left_out for run in runs) == dict.fromkeys(rules, 10)
    assert {(type(run.method), strength_of(run.method)) for run in runs} == {(BetaVAE, 4), (AdaGVAE, 1)}


def test_rooms3d_takes_the_place_of_shapes3d() -> None:
    runs = kim2018(datasets=["rooms3d"], seeds=1)
    assert {type(run.method) for run in runs} == {BetaVAE, FactorVAE}
    assert {run.latents for run in runs} == {6}


@pytest.mark.parametrize("dataset", ["faces3d", "chairs3d", "celeba"])
def test_kim2018_on_data_without_factors_is_appendix_a(dataset: str) -> None:
    runs = kim2018(datasets=[dataset], seeds=5)
    assert {type(run.method) for run in runs} == {BetaVAE, FactorVAE}
    assert dataset not in {run.dataset for run in kim2018(seeds=1)}
    for run in runs:
        assert (run.architecture, run.latents, run.steps) == (Convolutional(256), 10, 1_000_000)
        if isinstance(run.method, FactorVAE):
            rate = 1e-4 if dataset == "faces3d" else 1e-5
            assert run.method.discriminator_optimiser.learning_rate == rate


def test_kim2018_sensitivity_scores_one_model_in_many_ways() -> None:
    (run,) = kim2018_sensitivity()
    assert run.method == BetaVAE(4.0)
    protocols = [protocol(name) for name in STUDIES["kim2018-sensitivity"].protocols]
    assert len(protocols) == len({found.name for found in protocols}) == 320
    assert {found.seed for found in protocols} == set(range(10))
    assert {found.metrics for found in protocols} == {("beta_vae",), ("factor_vae",)}
    pairs = PROTOCOLS["kim2018-pairs-50-iterations-3000"]
    assert (pairs.sizes.pairs, pairs.beta_vae_iterations, pairs.sizes.test_pair_groups) == (50, 3000, 800)
    votes = PROTOCOLS["kim2018-points-100-votes-800"]
    assert (votes.sizes.group_size, votes.sizes.groups) == (100, 800)


def test_do2020_is_section_4_and_a_5() -> None:
    runs = do2020()
    sprites = [run for run in runs if run.dataset == "dsprites"]
    gammas = Counter(run.method.gamma for run in sprites if type(run.method) is FactorVAE)
    assert gammas == dict.fromkeys((10, 20, 50, 100), 4)
    betas = Counter((run.method.beta, run.latents) for run in sprites if isinstance(run.method, BetaVAE))
    assert betas == dict.fromkeys([(1, 10), (4, 10), (10, 10), (20, 10), (50, 10), (10, 5), (10, 15), (10, 20)], 4)
    (encoder,) = {run.method for run in sprites if isinstance(run.method, AdversarialAutoencoder)}
    assert (encoder.gamma, encoder.deterministic) == (50.0, True)
    faces = [run for run in runs if run.dataset == "celeba"]
    assert {strength_of(run.method) for run in faces} == {50.0}
    assert {run.latents for run in faces} == {65}
    assert len(runs) == 4 * (4 + 5 + 3 + 1) + 4 * 3
    protocols = STUDIES["do2020"].protocols
    assert {protocol(name).posterior_bins for name in protocols if "bins" in name} >= {50, 100, 200}
    assert {protocol(name).sizes.train for name in protocols if "samples" in name} == set(range(10_000, 60_000, 10_000))


def test_yang2020_is_section_5() -> None:
    runs = yang2020()
    encoders = [run for run in runs if not isinstance(run.method, InfoGAN)]
    assert set(count(encoders, "dataset", "latents", "correlation").values()) == {3 * 10}
    assert set(count(encoders, "latents", "correlation")) == {(10, 0.0), (10, 0.9), (20, 0.0), (20, 0.9)}
    assert {run.method for run in encoders} == {VAE(), FactorVAE(35.0), BetaTCVAE(6.0, density="factorised")}
    assert {run.dataset for run in encoders} == {"dsprites", "smallnorb", "cars3d"}
    gans = [run for run in runs if isinstance(run.method, InfoGAN)]
    assert count(gans, "dataset", "correlation", "latents") == {("mnist", 0.0, 2): 10, ("mnist", 0.9, 2): 10}
    assert {strength_of(run.method) for run in gans} == {0.1}
    assert not yang2020(methods=["infogan"], datasets=["dsprites"])


def test_split_encoder_is_section_5() -> None:
    runs = split_encoder()
    assert set(count(runs, "dataset", "method", "architecture", "correlation").values()) == {10}
    variants = {(Convolutional(), 0.0), (Convolutional(), 0.9), (Sharing(), 0.0), (Split(), 0.0)}
    assert set(count(runs, "architecture", "correlation")) == variants
    assert {run.method for run in runs} == {VAE(), FactorVAE(35.0), BetaVAE(4.0)}
    assert len(runs) == 2 * 3 * 4 * 10


def test_data_sets_that_are_not_here_are_left_out_with_a_line(tmp_path: Path) -> None:
    found = available(locatello2019(seeds=1), tmp_path)
    assert {run.dataset for run in found.runs} == {"dsprites", "color-dsprites", "noisy-dsprites"}
    assert len(found.lines) == 4
    assert "shapes3d is not here: 36 runs are left out. `hackle data fetch shapes3d`" in "\n".join(found.lines)
    assert "--offline replaces it by rooms3d" in "\n".join(found.lines)


def test_offline_stand_ins_keep_the_settings_and_count_once(tmp_path: Path) -> None:
    found = available(kim2018(seeds=1, methods=["factor-vae"]), tmp_path, offline=True)
    rooms = [run for run in found.runs if run.dataset == "rooms3d"]
    assert rooms == kim2018(seeds=1, methods=["factor-vae"], datasets=["rooms3d"])
    assert found.lines == ["shapes3d is not here: rooms3d stands in for it in 6 runs"]
    found = available(locatello2019(seeds=1), tmp_path, offline=True)
    assert {run.dataset for run in found.runs} == {"dsprites", "color-dsprites", "noisy-dsprites", "rooms3d"}
    assert len(found.runs) == len({record_hash(run) for run in found.runs}) == 4 * 36
    assert found.lines[-1].startswith("108 runs are the same as others")
    found = available(yang2020(seeds=1, methods=["infogan"]), tmp_path, offline=True)
    assert (found.runs, len(found.lines)) == ([], 1)


def test_a_data_set_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HackleError, match="did you mean rooms3d"):
        available(locatello2019(seeds=1, datasets=["rooms3"]), tmp_path)
    (tmp_path / "mine.npz").touch()
    runs = locatello2019(seeds=1, datasets=[str(tmp_path / "mine.npz")])
    assert available(runs, tmp_path).runs == runs
    runs = locatello2019(seeds=1, datasets=[f"{tmp_path / 'mine.npz'}+resize=64"])
    assert available(runs, tmp_path).runs == runs
    (line,) = available(locatello2019(seeds=1, datasets=["shapes3d+resize=32"]), tmp_path).lines
    assert "`hackle data fetch shapes3d`" in line


def test_stand_ins_are_made_by_hackle(tmp_path: Path) -> None:
    names = {source.stand_in for source in DATASETS.values()} - {""}
    assert names == {"rooms3d", "noisy-dsprites"}
    runs = [run for name in names for run in locatello2019(seeds=1, datasets=[name])]
    assert available(runs, tmp_path).runs == runs


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a study adds its folder to the path; not for other tests."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def write_study(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.py"
    path.write_text(text)
    return str(path)


def test_a_study_of_ones_own_is_a_function_in_a_file(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        "warm_and_cold",
        "from hackle.studies.presets import default_run\n"
        "from dataclasses import replace\n"
        "def study(seeds=2):\n"
        "    return [replace(default_run('vae', 'dsprites'), seed=seed) for seed in range(seeds)]\n"
        "def empty():\n"
        "    return []\n"
        "def wrong():\n"
        "    return 'runs'\n",
    )
    assert len(runs_of(path, find_study(path), {"seeds": None, "precision": "bfloat16"})) == 2
    assert len(runs_of(path, find_study(f"{path}:study"), {"seeds": 5})) == 5
    with pytest.raises(StudyError, match="takes no steps; it takes seeds"):
        runs_of(path, find_study(path), {"steps": 3})
    with pytest.raises(StudyError, match="no runs with these options"):
        runs_of(path, find_study(f"{path}:empty"), {})
    with pytest.raises(StudyError, match="returned str; expected a list of Run"):
        runs_of(path, find_study(f"{path}:wrong"), {})
    with pytest.raises(StudyError, match=r"has no 'stuy'; did you mean study\? there are .*study, empty, wrong"):
        find_study(f"{path}:stuy")


def test_an_error_in_ones_own_function_names_its_line(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        "halves",
        "from fractions import Fraction\n"
        "from hackle.studies.presets import default_run\n"
        "def half(of):\n"
        "    return Fraction(1, of)\n"
        "def broken(seeds=0):\n"
        "    return [half(seeds)]\n"
        "def misspelt():\n"
        "    return [default_run('vea', 'dsprites')]\n",
    )
    # The error is raised within a module of Python's own, which the message does not name.
    with pytest.raises(
        StudyError, match=r"halves.py:broken failed at line 4: ZeroDivisionError: Fraction\(1, 0\)"
    ) as failed:
        runs_of(f"{path}:broken", find_study(f"{path}:broken"), {})
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    # What hackle itself explains stays as it is.
    with pytest.raises(HackleError, match="vea") as refused:
        runs_of(f"{path}:misspelt", find_study(f"{path}:misspelt"), {})
    assert not isinstance(refused.value, StudyError)


def test_studies_that_cannot_be_found_or_loaded(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError,
        match=r"no study 'locatelo2019'; did you mean locatello2019 or locatello2020\? there are .*path.py:name",
    ):
        find_study("locatelo2019")
    with pytest.raises(StudyError, match="there is no file"):
        find_study(f"{tmp_path}/nothing.py:study")
    with pytest.raises(StudyError, match="cannot be loaded: ZeroDivisionError"):
        find_study(write_study(tmp_path, "divided_by_zero", "1 / 0\n"))
    with pytest.raises(StudyError, match=r"name of another module.*rename"):
        find_study(write_study(tmp_path, "json", "def study(): ...\n"))


def test_points_of_the_training_are_part_of_the_record_and_change_nothing_else() -> None:
    runs = kim2018_training(seeds=1)
    assert {run.scored for run in runs} == {POINTS}
    names = ["beta-vae", "factor-vae", "factor-vae-prior", "adversarial-autoencoder"]
    plain = kim2018(seeds=1, datasets=["dsprites"], methods=names)
    assert set(map(record_hash, kim2018_training(seeds=1, points=0))) == set(map(record_hash, plain))
    assert {run.scored for run in kim2018_training(seeds=1, points=3)} == {replace(POINTS, points=3)}
    assert {run.scored for run in locatello2019(seeds=1, points=2)} == {Scored(points=2)}


def methods(runs: list[Run]) -> list[Any]:
    return [run.method for run in runs]


def test_figure_40s_strengths() -> None:
    runs = methods(kim2018_marginals(seeds=1))
    assert [one.beta for one in runs if isinstance(one, BetaVAE)] == [1, 4, 16, 64]
    assert [one.gamma for one in runs if isinstance(one, FactorVAE)] == [10, 20, 40, 80]


def test_the_gans_of_section_6_and_appendix_h() -> None:
    shapes = kim2018_infogan(seeds=1)
    assert Counter(one.stops_early for one in methods(shapes) if isinstance(one, InfoGAN)) == {False: 11, True: 11}
    five = [run for run in shapes if isinstance(run.method, InfoWGANGP)]
    assert {(run.latents, run.method.categories) for run in five} == {(5, ())}  # type: ignore[attr-defined]
    digits = kim2018_mnist(seeds=1)
    assert {(run.dataset, run.steps) for run in digits} == {("mnist", 50_000)}
    stopped = [run for run in digits if isinstance(run.method, InfoGAN) and run.method.stops_early]
    found = [(run.latents, run.method.categories) for run in stopped]  # type: ignore[attr-defined]
    assert found == [(2, (10,)), (3, (10,)), (2, (2,)), (2, (20,))]
    to_the_end = [one for one in methods(digits) if isinstance(one, InfoGAN) and not one.stops_early]
    assert [one.discriminator_optimiser.learning_rate for one in to_the_end] == [1e-4, 1e-5]
    assert len(kim2018_mnist()) == 35
    trained = yang2020(seeds=1, datasets=["mnist-train"], methods=["infogan"])
    assert {(run.dataset, run.latents, run.steps) for run in trained} == {("mnist-train", 2, 50_000)}


def test_discriminators_of_appendix_a_and_of_table_4b() -> None:
    sizes = {(one.discriminator_layers, one.discriminator_width) for one in methods(kim2018_discriminators(seeds=1))}
    assert sizes == {(layers, width) for layers in (1, 2, 4, 6) for width in (100, 300, 1000)}
    assert {one.gamma for one in methods(kim2018_discriminators(seeds=1))} == {35}
    usual = {one.gamma: one for one in methods(locatello2019(seeds=1, datasets=["dsprites"], methods=["factor-vae"]))}
    for one in methods(locatello2019_table_4b(seeds=1)):
        assert one == replace(usual[one.gamma], discriminator_layers=1)
    assert len(locatello2019_table_4b()) == 60


def test_objectives_of_appendices_d_and_f() -> None:
    runs = methods(kim2018_objectives(seeds=1))
    of_batches = Counter(one.estimator for one in runs if isinstance(one, BetaTCVAE))
    assert of_batches == {"leave-one-out": 7, "minibatch-weighted": 7}
    dropped = [one for one in runs if isinstance(one, InformationDropout)]
    assert [(one.beta, one.gamma) for one in dropped] == [(1, g) for g in (0, 10, 20, 30, 35, 40, 50, 100)]


def test_the_appendices_of_do2020() -> None:
    runs = do2020_appendix(seeds=1)
    assert [run.method.beta for run in runs if run.dataset == "dsprites"] == [30]  # type: ignore[attr-defined]
    faces = [run for run in runs if run.dataset == "celeba"]
    sparse = [run.latents for run in faces if isinstance(run.method, AdversarialAutoencoder)]
    assert sparse == [65, 100, 200]
    factors = [(run.method.gamma, run.latents) for run in faces if isinstance(run.method, FactorVAE)]
    assert factors == [(50, 3), (10, 3), (10, 65), (50, 65), (50, 100), (50, 200)]


def test_initial_weights_are_all_that_differ() -> None:
    runs: list[Any] = initialisation(seeds=1)
    glorot, torch = runs[:3], runs[3:]
    assert [run.architecture.initialisation for run in runs] == ["glorot"] * 3 + ["torch"] * 3
    assert [replace(run, architecture=glorot[0].architecture) for run in torch] == glorot
    assert set(map(record_hash, glorot)) <= set(map(record_hash, kim2018(seeds=1)))


def test_hackle_2026_is_the_union_of_its_parts() -> None:
    runs = hackle_2026()
    hashes = set(map(record_hash, runs))
    assert len(hashes) == len(runs) == 2_300
    parts = (
        locatello2019(seeds=10, steps=100_000, datasets=["dsprites"]),
        locatello2019(seeds=5, steps=100_000, datasets=["scream-dsprites", "rooms3d"]),
        split_encoder(seeds=10, steps=100_000, datasets=["dsprites"]),
        kim2018_training(seeds=10, steps=100_000),
        yang2020(seeds=10, datasets=["mnist"]),
        schott2022(seeds=5, steps=100_000, datasets=["dsprites"]),
    )
    for part in parts:
        assert {record_hash(run) for run in part} <= hashes
    longer: list[Any] = [run for run in runs if run.steps == 300_000]
    assert Counter((type(run.method), strength_of(run.method)) for run in longer) == {
        (FactorVAE, 40): 10,
        (BetaVAE, 4): 10,
    }
    gans: list[Any] = [run for run in runs if isinstance(run.method, InfoWGANGP) and run.dataset == "dsprites"]
    assert Counter((run.method.noise, run.method.information) for run in gans) == dict.fromkeys(
        [(noise, step / 10) for noise in (5, 128) for step in range(11)], 10
    )
    assert {run.scored for run in hackle_2026(seeds=1, points=0)} == {Scored()}
