"""Every question the page asks gets the answer that the library itself gives."""

from __future__ import annotations

import base64
import io
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from explorer_fixtures import columns_of
from PIL import Image
from small_runs import write_curves

from hackle.datasets import load
from hackle.explorer import catalogue, create_app
from hackle.information import bin_codes, discrete_mutual_information
from hackle.pictures import Look, to_bytes
from hackle.train.model import Model


def images_of(answer: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(answer["images"]), np.uint8).reshape(answer["shape"])


@pytest.fixture(scope="module")
def model(served: Path) -> Model:
    return Model.load(served / "beta")


def test_the_list_holds_every_run_with_its_scores(client: httpx.Client) -> None:
    answer = client.get("/api/runs").json()
    columns = columns_of(answer)
    rows = dict(zip(columns["name"], zip(columns["status"], columns["mig"], strict=True), strict=True))
    assert rows == {
        "beta": ("done", 0.25),
        "plain": ("done", 0.75),
        "gan": ("done", None),
        "training": ("training", None),
        "broken": ("unreadable", None),
    }
    strength = dict(zip(columns["name"], columns["strength"], strict=True))
    assert strength["beta"] == 2
    assert strength["plain"] is None
    assert answer["protocols"] == ["locatello2019"]


def test_an_unchanged_list_travels_once(client: httpx.Client) -> None:
    first = client.get("/api/runs")
    assert client.get("/api/runs", headers={"If-None-Match": first.headers["etag"]}).status_code == 304


def test_a_run_comes_with_record_and_scores(client: httpx.Client, ids: dict[str, str]) -> None:
    run = client.get(f"/api/runs/{ids['beta']}").json()
    assert run["record"]["method"] == {"type": "BetaVAE", "beta": 2.0}
    assert [(row["metric"], row["score"], row["reference"]) for row in run["scores"]] == [
        ("mig", 0.25, 0.9),
        ("kl", 3.5, None),
    ]
    assert [row["unit"] for row in run["scores"]] == ["", "nats"]
    said = {fact["name"]: fact["text"] for fact in client.get(f"/api/runs/{ids['gan']}").json()["facts"]}
    assert said["latents"] == "2 latents and 1 class number"
    # Why there is no model to open, told without asking for it.
    assert run["problem"] == run["scores_problem"] == ""
    assert "not a run record" in client.get(f"/api/runs/{ids['broken']}").json()["problem"]
    assert "has no weights yet" in client.get(f"/api/runs/{ids['training']}").json()["problem"]


def test_a_model_whose_codes_are_not_finite_has_diverged(served: Path, tmp_path: Path, visit: Any) -> None:
    model = Model.load(served / "beta")
    weights = {name: weight * 1e30 for name, weight in model.weights().items()}
    Model(model.run, model.shape, weights).save(tmp_path / "wild")
    (tmp_path / "wild" / "scores.json").write_text("{")
    client = visit(create_app(tmp_path))
    (run,) = columns_of(client.get("/api/runs").json())["id"]
    refused = client.get(f"/api/runs/{run}/model")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("this run diverged: ")
    assert "scores.json" in client.get(f"/api/runs/{run}").json()["scores_problem"]


def test_the_model_is_described_as_the_library_sees_it(client: httpx.Client, ids: dict[str, str], model: Model) -> None:
    found = client.get(f"/api/runs/{ids['beta']}/model").json()
    look = Look.of(model, load(model.run.dataset), n=2000)
    np.testing.assert_allclose([latent["kl"] for latent in found["latents"]], look.kl, atol=1e-4)
    assert [factor["name"] for factor in found["factors"]] == ["x", "y", "side"]
    shares = np.array([latent["histogram"] for latent in found["latents"]]).sum(axis=1)
    assert ((shares > 0.9) & (shares <= 1 + 1e-3)).all()
    assert [tuple(latent["ends"]) for latent in found["latents"]] == [axis.ends for axis in look.axes]
    assert [tuple(latent["reach"]) for latent in found["latents"]] == list(look.reach)


def test_decoding_gives_the_models_images(client: httpx.Client, ids: dict[str, str], model: Model) -> None:
    z = np.random.default_rng(0).normal(size=(5, 3)).round(3)
    answer = client.post(f"/api/runs/{ids['beta']}/decode", json={"z": z.tolist()})
    assert answer.headers["x-shape"] == "5,16,16,1"
    found = np.frombuffer(answer.content, np.uint8).reshape(5, 16, 16, 1)
    np.testing.assert_array_equal(found, to_bytes(model.decode(z)))
    assert found.std() > 5


def test_starts_by_seed_and_by_factors(client: httpx.Client, ids: dict[str, str], model: Model, squares: Any) -> None:
    place = f"/api/runs/{ids['beta']}/start"
    answer = client.post(place, json={"row": [3, 1, 1]}).json()
    expected = squares.render([[3, 1, 1]])
    np.testing.assert_array_equal(images_of(answer), expected)
    np.testing.assert_allclose(answer["means"], model.encode(expected)[0], atol=1e-4)
    several = client.post(place, json={"seed": 5, "count": 4}).json()
    np.testing.assert_array_equal(images_of(several), squares.render(np.array(several["rows"])))
    assert client.post(place, json={"seed": 5, "count": 4}).json() == several


def test_uploads_are_fitted_to_the_model(client: httpx.Client, ids: dict[str, str], model: Model, squares: Any) -> None:
    image = squares.render([[2, 2, 1]])[0, :, :, 0]
    buffer = io.BytesIO()
    Image.fromarray(image).resize((64, 64), Image.Resampling.NEAREST).convert("RGB").save(buffer, "png")
    answer = client.post(f"/api/runs/{ids['beta']}/upload", content=buffer.getvalue()).json()
    assert np.abs(images_of(answer)[0, :, :, 0].astype(int) - image).mean() < 12
    assert answer["rows"] is None


def test_what_was_captured(client: httpx.Client, ids: dict[str, str], model: Model) -> None:
    found = client.get(f"/api/runs/{ids['beta']}/captured").json()
    look = Look.of(model, load(model.run.dataset), n=2000)
    assert found["images"] == found["of_images"] == 32 == len(np.unique(look.rows, axis=0))
    expected = discrete_mutual_information(bin_codes(look.means, 20), look.rows)
    np.testing.assert_allclose(found["information"], expected, atol=1e-4)
    np.testing.assert_allclose(found["entropies"], np.log([4, 4, 2]), atol=0.01)
    assert np.array(found["misjed"]).shape == (3, 3)
    assert np.array(found["top"]).shape == (3, 3)
    assert 0 <= found["rmig"] <= 1
    importance = client.get(f"/api/runs/{ids['beta']}/importance").json()
    np.testing.assert_allclose(np.sum(importance["importance"], axis=0), 1, atol=1e-4)
    assert 0 <= importance["disentanglement"] <= 1


def test_varying_a_factor_moves_it_alone(client: httpx.Client, ids: dict[str, str], model: Model, squares: Any) -> None:
    answer = client.post(f"/api/runs/{ids['beta']}/vary", json={"row": [1, 2, 0], "factor": 1}).json()
    rows = np.array([[1, y, 0] for y in range(4)])
    np.testing.assert_array_equal(images_of(answer), squares.render(rows))
    np.testing.assert_allclose(answer["means"], model.encode(squares.render(rows))[0], atol=1e-4)


def test_curves_grow_while_a_run_trains(client: httpx.Client, ids: dict[str, str], served: Path) -> None:
    write_curves(served / "training", range(10, 60, 10))
    place = f"/api/runs/{ids['training']}/curves"
    first = client.get(place).json()
    assert first["status"] == "training"
    assert first["curves"]["step"] == [10, 20, 30, 40, 50]
    with (served / "training" / "curves.csv").open("a") as file:
        file.write("60,1,2,3,4\n70,1,")
    more = client.get(place, params={"after": 50}).json()
    assert more["curves"]["step"] == [60]
    assert more["curves"]["kl"] == [2]


def test_scores_of_a_run_in_training_are_served_where_they_were_taken(
    client: httpx.Client, ids: dict[str, str], served: Path
) -> None:
    table = served / "training" / "curves.csv"
    table.write_text("step,kl,score_mig\n10,1,\n20,2,0.25\n30,,\n")
    place = f"/api/runs/{ids['training']}/curves"
    assert client.get(place).json()["curves"] == {
        "step": [10, 20, 30],
        "kl": [1, 2, None],
        "score_mig": [None, 0.25, None],
    }
    assert client.get(place, params={"after": 20}).json()["curves"] == {"step": [30], "kl": [None], "score_mig": [None]}
    write_curves(served / "training", range(10, 60, 10))


def test_a_gan_has_classes_and_noise(client: httpx.Client, ids: dict[str, str], served: Path) -> None:
    found = client.get(f"/api/runs/{ids['gan']}/model").json()
    assert [latent["prior"] for latent in found["latents"]] == ["uniform", "uniform", "categorical"]
    assert found["latents"][2]["classes"] == 3
    assert len(found["latents"][2]["histogram"]) == 3
    assert found["noise"] == 5
    z = [0.5, -0.5, 2, *[0.1] * 5]
    answer = client.post(f"/api/runs/{ids['gan']}/decode", json={"z": [z]})
    expected = to_bytes(Model.load(served / "gan").decode([z]))
    np.testing.assert_array_equal(np.frombuffer(answer.content, np.uint8), expected.ravel())
    assert client.get(f"/api/runs/{ids['gan']}/captured").json()["misjed"][2] == [None, None, None]


def test_exports(client: httpx.Client, ids: dict[str, str]) -> None:
    place = f"/api/runs/{ids['beta']}/export"
    z = np.random.default_rng(0).normal(size=(12, 3)).tolist()
    png = client.post(place, json={"format": "png", "z": z, "rows": 3, "columns": 4})
    with Image.open(io.BytesIO(png.content)) as picture:
        assert picture.format == "PNG"
        assert picture.size[0] > picture.size[1] >= 192
    gif = client.post(place, json={"format": "gif", "z": z, "rows": 1, "columns": 2})
    with Image.open(io.BytesIO(gif.content)) as picture:
        assert picture.n_frames == 6  # type: ignore[attr-defined]
    page = client.post(place, json={"format": "html", "z": z[:2]})
    assert "attachment" in page.headers["content-disposition"]
    assert "http" not in page.text
    assert page.text.count("data:image/png") == 2 * (3 + 1)


def test_thumbnails_are_small(client: httpx.Client, ids: dict[str, str]) -> None:
    for name in ("beta", "gan"):
        with Image.open(io.BytesIO(client.get(f"/api/runs/{ids[name]}/thumbnail.png").content)) as picture:
            assert picture.size == (3 * 4 * 16 + 2 * 6, 16)


def test_a_model_without_its_data_can_still_be_decoded(tmp_path: Path, served: Path, visit: Any) -> None:
    model = Model.load(served / "beta")
    Model(replace(model.run, dataset="./gone.npz"), model.shape, model.weights()).save(tmp_path / "run")
    client = visit(create_app(tmp_path / "run"))
    (identifier,) = columns_of(client.get("/api/runs").json())["id"]
    found = client.get(f"/api/runs/{identifier}/model").json()
    assert "gone.npz" in found["problem"]
    assert client.post(f"/api/runs/{identifier}/decode", json={"z": [[0, 0, 0]]}).status_code == 200
    assert client.get(f"/api/runs/{identifier}/thumbnail.png").status_code == 200
    refused = client.post(f"/api/runs/{identifier}/start", json={"seed": 0})
    assert refused.status_code == 409
    assert "gone.npz" in refused.json()["detail"]
    html = client.post(f"/api/runs/{identifier}/export", json={"format": "html", "z": [[0, 0, 0]]})
    assert html.status_code == 200


def test_the_page_and_its_modules_are_served(client: httpx.Client) -> None:
    page = client.get("/")
    assert "<title>hackle explorer</title>" in page.text
    assert client.get("/js/main.js").headers["content-type"].startswith("text/javascript")
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_a_folder_that_is_gone_is_said_so(
    served: Path, tmp_path: Path, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "runs"
    shutil.copytree(served / "beta", place / "beta")
    client = visit(create_app(place))
    place.rename(tmp_path / "away")
    # As if enough time had gone by to look at the folder again.
    monkeypatch.setattr(catalogue, "PATIENCE", -1.0)
    answer = client.get("/api/runs")
    assert answer.status_code == 404
    assert "cannot be read any more" in answer.json()["detail"]
    (tmp_path / "away").rename(place)
    assert client.get("/api/runs").json()["count"] == 1


def test_a_run_that_was_trained_again_has_another_thumbnail(served: Path, tmp_path: Path, visit: Any) -> None:
    shutil.copytree(served / "beta", tmp_path / "runs" / "beta")
    client = visit(create_app(tmp_path / "runs"))
    place = f"/api/runs/{columns_of(client.get('/api/runs').json())['id'][0]}/thumbnail.png"
    first = client.get(place)
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get(place, headers=known).status_code == 304
    shutil.copy(served / "plain" / "weights.safetensors", tmp_path / "runs" / "beta")
    again = client.get(place, headers=known)
    assert again.status_code == 200
    assert again.content != first.content
