"""Models that come with hackle: their names, what they reconstruct, what is said of them, and weights stored in bytes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks import ship
from safetensors.torch import load_file, save_file

import hackle
from hackle.cli.main import main
from hackle.core.errors import HackleError
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.explorer.catalogue import Catalogue
from hackle.nets import MLP
from hackle.objectives import BetaVAE, FactorVAE
from hackle.shipped import TRAINED, place_of_run
from hackle.shipped.models import cards
from hackle.store import Store, read
from hackle.store.run_folders import read_scores
from hackle.store.tables import Outcome
from hackle.train.model import WEIGHTS, Model
from hackle.train.record_files import ModelError
from hackle.train.start import find_start
from hackle.train.weights import in_bytes

NAMES = sorted(cards())
MOST, MOST_OF_ALL = 1_000_000, 20_000_000
"""Bytes of a model's weights and of all models."""


def test_there_are_models_and_they_are_small() -> None:
    assert {"ada-gvae/dsprites", "beta-vae/dsprites"} <= set(NAMES)
    files = [path for path in TRAINED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MOST_OF_ALL
    assert all(path.stat().st_size <= MOST for path in files)
    assert len(list(TRAINED.rglob(WEIGHTS))) == len(NAMES)


def test_the_command_line_takes_a_model_by_its_name_and_writes_beside_the_user(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(TRAINED.rglob("*"))
    main(["score", "beta-vae/dsprites", "--metrics", "kl", "--fraction", "0.01", "--no-references", "--device", "cpu"])
    assert capsys.readouterr().out.endswith("kept in beta-vae-dsprites.json\n")
    assert json.loads(Path("beta-vae-dsprites.json").read_text())[0]["metric"] == "kl"
    drawn: list[Path] = []
    monkeypatch.setattr("hackle.pictures.show", lambda model, data, folder, **_: drawn.append(folder) or [])
    main(["show", "beta-vae/dsprites"])
    assert drawn == [Path("beta-vae-dsprites")]
    monkeypatch.setattr(Model, "export", lambda model, out, part, **_: f"{part} of {model.run.method} in {out}")
    main(["export", "beta-vae/dsprites", "--out", "encoder.pt2"])
    assert capsys.readouterr().out == "encoder of BetaVAE(beta=16.0) in encoder.pt2\n"
    assert sorted(TRAINED.rglob("*")) == before


def test_a_folder_of_ones_own_is_meant_before_a_model_of_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of_run("beta-vae/dsprites") == TRAINED / "beta-vae" / "dsprites"
    Path("beta-vae/dsprites").mkdir(parents=True)
    assert place_of_run("beta-vae/dsprites") == Path("beta-vae/dsprites")


def test_each_card_says_what_the_table_says() -> None:
    tables = read("hackle-2026")
    of = tables.scores["metric"].eq("mig") & tables.scores["representation"].eq("mean")
    own: Any = tables.scores[of & tables.scores["protocol"].eq("locatello2019")]
    mig = dict(zip(own["run"].astype(str), own["score"], strict=True))
    for name, card in cards().items():
        model = hackle.load_model(name)
        assert name == f"{card['method']}/{card['dataset']}"
        assert record_hash(model.run) == card["run"]
        assert (card["mig"], card["seed"], card["steps"]) == (mig[card["run"]], model.run.seed, model.run.steps)
        others = {seed: record_hash(replace(model.run, seed=seed)) for seed in range(50)}
        seeds = {seed: mig[other] for seed, other in others.items() if other in mig}
        best = max(seeds, key=lambda seed: seeds[seed])
        assert card["seeds"] == len(seeds)
        assert card["mig_of_seeds"] == pytest.approx(np.mean(list(seeds.values())))
        if card["mig"] == seeds[best]:
            assert (
                card["chosen"] == "each has the highest MIG of the runs of hackle-2026 that differ only in their seed."
            )
        else:
            # A better seed was trained after the model was chosen, and its weights were not kept.
            assert card["chosen"].startswith(
                f"{name}, with {card['mig']:.4f}, had it when it was chosen; seed {best}, "
            )
            assert f"has {seeds[best]:.4f}, and its weights do not come with hackle" in card["chosen"]
            finished: Any = tables.runs.set_index("run")["finished"]
            assert finished[others[best]] > finished[card["run"]]


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    table = hackle.models()
    assert table["name"].tolist() == NAMES
    main(["models"])
    said = capsys.readouterr().out
    assert all(name in said for name in NAMES)
    assert "the highest MIG" in said
    main(["models", "--json"])
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == NAMES


def test_the_explorer_lists_them_by_their_names_with_their_scores() -> None:
    catalogue = Catalogue(TRAINED)
    assert sorted(catalogue.contents.runs["name"]) == NAMES
    assert set(catalogue.contents.runs["status"]) == {"done"}
    assert not catalogue.contents.problems
    for identifier, name in zip(catalogue.contents.runs["id"], catalogue.contents.runs["name"], strict=True):
        scores = {(row["metric"], row["representation"]): row["score"] for row in catalogue.scores(identifier)}
        assert scores["mig", "mean"] == pytest.approx(cards()[name]["mig"])


def knowable(dataset: str, images: Any) -> tuple[Any, float]:
    """What a code can say of images, in [0, 1], and how much of it a model may miss: a fiftieth of sprites on black, a
    twentieth of rooms, in which every pixel has one of many colours and which are 0.26 from their mean.

    The noise of noisy-dsprites is drawn anew for each pixel: the best that can be said of it is its mean, against which the
    sprites have half the contrast.
    """
    if dataset != "noisy-dsprites":
        return images / 255, 0.05 if dataset == "rooms3d" else 0.02
    return np.where((images == 255).all(-1, keepdims=True), 1.0, 0.5), 0.01


def images_of(dataset: str) -> Any:
    data = hackle.load(dataset)
    return data.render(data.factors.draw(64, np.random.default_rng(0)))


def test_a_model_reconstructs_its_data() -> None:
    for name in NAMES:
        dataset = name.partition("/")[2]
        images = images_of(dataset)
        target, most = knowable(dataset, images)
        assert np.abs(hackle.load_model(name).reconstruct(images) - target).mean() < most, name


def test_noise_is_not_held_against_a_model_but_a_missing_sprite_is() -> None:
    images = images_of("noisy-dsprites")
    target, most = knowable("noisy-dsprites", images)
    sprites = images_of("dsprites") / 255
    np.testing.assert_array_equal(target, np.broadcast_to(np.where(sprites == 1, 1.0, 0.5), target.shape))
    # The images themselves are a quarter away from the best that can be said of them, and so further than any bound.
    assert np.abs(target - images / 255).mean() > 0.2
    assert np.abs(target - 0.5).mean() > 2 * most


@pytest.mark.parametrize(
    ("words", "place"),
    [([], TRAINED), (["ada-gvae/dsprites"], TRAINED / "ada-gvae/dsprites"), (["hackle-2026"], Path("hackle-2026"))],
)
def test_explore_opens_all_models_or_one_by_its_name(
    words: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr("hackle.explorer.serve", lambda folder, **_: served.append(folder))
    main(["explore", *words])
    assert served == [place]
    assert len(Catalogue(place).contents.runs) > 0


def test_a_model_is_added_with_its_scores_and_only_the_best_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        Run(FactorVAE(discriminator_width=16), MLP((64,)), dataset="dsprites", latents=3, seed=seed)
        for seed in range(3)
    ]
    row = {"metric": "mig", "representation": "mean", "better": "higher", "protocol": "locatello2019", "seed": 0}
    with Store.create_or_open(tmp_path / "study") as store:
        for run, score in zip(runs[:2], (0.1, 0.3), strict=True):
            store.add(Outcome(run, "done", scores=[{**row, "score": score}]))
    tables = read(tmp_path / "study")
    monkeypatch.setattr(ship, "TRAINED", tmp_path / "trained")
    folders = [Model(run, (64, 64, 1)).save(tmp_path / str(run.seed)) for run in runs]
    ship.ship_model(folders[1], tables)
    assert "factor-vae/dsprites" in capsys.readouterr().out
    added = tmp_path / "trained" / "factor-vae" / "dsprites"
    assert Model.load(added).left_out == ("discriminator",)
    card = json.loads((added / "card.json").read_text())
    assert (card["mig"], card["seeds"], card["mig_of_seeds"]) == (0.3, 2, 0.2)
    assert "the highest MIG" in card["chosen"]
    # A better seed without weights, trained since, does not take its place, and the card says so.
    with Store.create_or_open(tmp_path / "study") as store:
        store.add(Outcome(runs[2], "done", scores=[{**row, "score": 0.8}]))
    later = ship.card_of(record_hash(runs[1]), read(tmp_path / "study"))
    assert (later["mig"], later["seeds"], later["mig_of_seeds"]) == (0.3, 3, pytest.approx(0.4))
    assert "with 0.3000, had it when it was chosen; seed 2, trained since, has 0.8000" in later["chosen"]
    assert read_scores(added)[0]["score"] == 0.3
    with pytest.raises(SystemExit, match=r"has a MIG of 0.100, and run .* of its setting 0.300"):
        ship.ship_model(folders[0], tables)
    with pytest.raises(SystemExit, match="is not in the table"):
        ship.ship_model(folders[2], tables)


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(
        HackleError, match=r"no model 'ada-gvea/dsprites' .* ada-gvae/dsprites.*[^.][.] `hackle models`"
    ):
        hackle.load_model("ada-gvea/dsprites")
    with pytest.raises(HackleError, match="no model"):
        hackle.load_model("../trained/ada-gvae/dsprites")


@pytest.fixture
def model() -> Model:
    run = Run(FactorVAE(discriminator_width=16), MLP((64,)), dataset="rooms3d", latents=3)
    return Model(run, (16, 16, 1))


def test_weights_in_bytes_are_within_half_a_step_of_a_row(model: Model, tmp_path: Path) -> None:
    again = Model.load(model.save(tmp_path / "compact", compact=True))
    assert again.left_out == ("discriminator",)
    own, other = model.weights(), again.weights()
    assert set(other) == {name for name in own if not name.startswith("discriminator")}
    for name, value in other.items():
        if value.dim() == 2 and value.numel() >= 4096:
            step = own[name].abs().amax(1, keepdim=True) / 127
            assert ((value - own[name]).abs() <= 0.5001 * step).all(), name
        else:
            torch.testing.assert_close(value, own[name], rtol=2**-10, atol=1e-7)
    # A model without its discriminator is saved and loaded as it is.
    assert Model.load(again.save(tmp_path / "again")).left_out == again.left_out
    images = np.random.default_rng(0).random((5, 16, 16, 1), dtype=np.float32)
    np.testing.assert_allclose(again.encode(images)[0], model.encode(images)[0], atol=0.02)


def test_rows_of_zeros_and_large_numbers_are_kept() -> None:
    kept = in_bytes({"a.weight": torch.zeros(64, 64), "a.bias": torch.tensor([1e6, 2.0])})
    assert (kept["a.weight"] == 0).all()
    assert kept["a.bias"].tolist() == [1e6, 2.0]


def test_a_file_that_leaves_out_the_encoder_or_forges_scales_is_refused(model: Model, tmp_path: Path) -> None:
    folder = model.save(tmp_path / "run", compact=True)
    weights = load_file(folder / WEIGHTS)

    def saved(tensors: dict[str, torch.Tensor], left_out: str = "discriminator") -> None:
        save_file(tensors, folder / WEIGHTS, {"left_out": left_out})

    saved({name: value for name, value in weights.items() if "encoder" not in name}, "discriminator,encoder")
    with pytest.raises(ModelError, match="leaves out the network 'encoder', which the encoder needs"):
        Model.load(folder)
    saved(weights, "")
    with pytest.raises(ModelError, match="discriminator"):
        Model.load(folder)
    scale = next(name for name in weights if name.endswith("#scale"))
    for forged in (torch.ones(2, *weights[scale].shape), torch.ones(7, 7)):
        saved({**weights, scale: forged})
        with pytest.raises(ModelError, match=r"the scales of .* have the shape"):
            Model.load(folder)
    for worthless in (weights[scale] * torch.inf, weights[scale] * torch.nan, weights[scale].to(torch.int64)):
        saved({**weights, scale: worthless})
        with pytest.raises(ModelError, match="are no finite numbers"):
            Model.load(folder)
    saved({name: value for name, value in weights.items() if name != scale})
    with pytest.raises(ModelError, match="is stored in bytes and has no scales"):
        Model.load(folder)
    name = scale.removesuffix("#scale")
    saved({**weights, name: torch.ones(3, 3, dtype=torch.int8)})
    with pytest.raises(ModelError, match=r"the shape \(3, 3\)"):
        Model.load(folder)


def test_training_starts_from_a_model_in_bytes(tmp_path: Path) -> None:
    run = Run(BetaVAE(2.0), MLP((64,)), dataset="rooms3d", latents=3)
    folder = Model(run, (16, 16, 1)).save(tmp_path / "run", compact=True)
    start = find_start(folder, run)
    assert {value.dtype for value in start.weights.values()} <= {torch.float32, torch.float16}
    assert not any("#" in name for name in start.weights)


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    shutil.copytree(TRAINED / NAMES[0], tmp_path / "run")
    path = tmp_path / "run" / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-1] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ModelError, match="checksum"):
        Model.load(tmp_path / "run")
