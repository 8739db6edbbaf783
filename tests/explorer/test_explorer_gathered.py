"""Several folders in one list, results and models that come with hackle among them; runs of a study by what was trained."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from hackle.cli.main import main
from hackle.explorer import create_app
from hackle.explorer.catalogue import CatalogueError
from hackle.explorer.gathered import catalogue_of
from hackle.shipped import TRAINED, place_of_results
from hackle.shipped.models import cards
from hackle.store import Store, read
from made_up_outcomes import made_up


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of which only scores and curves were kept."""
    place = tmp_path_factory.mktemp("gathered") / "study"
    with Store.create_or_open(place) as store:
        for seed in range(2):
            store.add(made_up(seed))
    return place


def test_folders_of_every_kind_answer_as_one(study: Path, served: Path, tmp_path: Path) -> None:
    shutil.copytree(served / "plain", tmp_path / "beta")
    alone = [catalogue_of([place]) for place in (study, served / "beta", tmp_path / "beta")]
    both = catalogue_of([study, served / "beta", tmp_path / "beta", study])
    assert len(both.contents.runs) == sum(len(one.contents.runs) for one in alone) == 4
    assert len(both.contents.scores) == sum(len(one.contents.scores) for one in alone)
    # Two folders of one name are told apart by the folder above, and no path of this machine is shown.
    names = sorted(both.contents.runs["name"])
    assert names[-1] == f"{tmp_path.name}/beta" or names[0] == f"{tmp_path.name}/beta"
    assert not any(name.startswith("/") for name in names)
    identifiers = list(both.contents.runs["id"])
    assert len(set(identifiers)) == 4
    for identifier in identifiers:
        row = both.row(identifier)
        assert (row["id"], row["name"] in names) == (identifier, True)
        assert both.record(identifier)["dataset"] == row["dataset"]
        assert both.scores(identifier)
        assert len(both.curves(identifier, after=50)["step"]) > 0
        assert (both.folder(identifier) is None) == (row["status"] == "scores only")
        assert (both.written(identifier) is None) == (row["status"] == "scores only")
    # A link holds in whatever order the folders are given.
    assert set(catalogue_of([tmp_path / "beta", served / "beta", study]).contents.runs["id"]) == set(identifiers)
    assert both.for_visitors(f"{study}/x and {served}/beta/y") == "x and y"
    for unknown in ("ffffff.0", identifiers[0].partition(".")[2], f"{identifiers[0]}0"):
        with pytest.raises(CatalogueError, match="no run"):
            both.row(unknown)


def test_the_list_of_several_follows_each(
    study: Path, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackle.explorer.catalogue.PATIENCE", -1.0)
    both = catalogue_of([study, shutil.copytree(served / "beta", tmp_path / "runs" / "one").parent])
    before = both.refresh()
    shutil.copytree(served / "plain", tmp_path / "runs" / "two")
    assert both.refresh() != before
    assert len(both.contents.runs) == 4


def test_the_folder_that_holds_nothing_is_named(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SystemExit):
        main(["explore", str(study), str(empty), "hackle-2026", "--no-browser"])
    assert f"{empty} holds no run" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        main(["explore", "hackle-2026", "hackle-2062", "--no-browser"])
    assert "there is no folder hackle-2062" in " ".join(capsys.readouterr().err.split())


def test_the_command_takes_several_and_names_among_them(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("hackle.explorer.serve", lambda *folders, **_: asked.append(folders))
    main(["explore", str(study), "ada-gvae/dsprites", "hackle-2026"])
    assert asked == [(study, TRAINED / "ada-gvae/dsprites", Path("hackle-2026"))]


def test_runs_of_a_study_are_called_by_what_was_trained(elsewhere: Page, study: Path, served: Path, visit: Any) -> None:
    """A run's own name comes first where it has one; a hash stands beneath what people would call it."""
    elsewhere.goto(str(visit(create_app(study, served / "beta")).base_url))
    rows = elsewhere.locator("table.runs tbody th[scope=row]")
    expect(rows).to_have_count(3)
    links = elsewhere.locator("table.runs tbody th[scope=row] a").all_inner_texts()
    assert sorted(links) == ["beta", "β-VAE, β = 4, seed 0", "β-VAE, β = 4, seed 1"]
    hashes = elsewhere.locator("table.runs tbody th[scope=row] small").all_inner_texts()
    assert len(hashes) == 2
    assert all(text.startswith("study/") for text in hashes)
    elsewhere.get_by_label("Compare β-VAE, β = 4, seed 0").check()
    elsewhere.get_by_label("Compare β-VAE, β = 4, seed 1").check()
    elsewhere.get_by_role("link", name="Compare 2 runs").click()
    heads = elsewhere.locator(".columns.heads h2")
    expect(heads.nth(1)).to_contain_text(f"β-VAE, β = 4, seed 1{hashes[1]}"[:20])
    assert {text for text in hashes if any(text in head for head in heads.all_inner_texts())} == set(hashes)
    elsewhere.locator(".columns.heads h2 a").first.click()
    expect(elsewhere.locator("#place .here")).to_have_text("β-VAE, β = 4, seed 0")


def test_results_by_name_are_listed_plotted_and_filtered(elsewhere: Page, visit: Any) -> None:
    elsewhere.goto(str(visit(create_app("hackle-2026")).base_url))
    elsewhere.wait_for_selector(".runs tbody tr[data-id]")
    every = len(read(place_of_results("hackle-2026")).runs)
    expect(elsewhere.locator(".count")).to_have_text(f"{every:,} runs")
    elsewhere.get_by_label("Filter runs").fill("MIG > 0.3, method is FactorVAE")
    expect(elsewhere.locator(".filter-words .condition")).to_have_count(2)
    expect(elsewhere.locator(".count")).to_contain_text(f" of {every:,}")
    few = int(elsewhere.locator(".count").inner_text().split()[0].replace(",", ""))
    assert 0 < few < every
    elsewhere.get_by_role("tab", name="Scatter").click()
    expect(elsewhere.locator(".said")).to_contain_text(f"{few:,} runs")
    elsewhere.get_by_role("tab", name="Table").click()
    elsewhere.locator("table.runs tbody a").first.click()
    expect(elsewhere.locator(".note")).to_contain_text("were not kept")
    expect(elsewhere.locator(".note code").first).to_contain_text("hackle train factor-vae")
    expect(elsewhere.locator("#place .here")).to_contain_text("FactorVAE, γ = ")
    assert elsewhere.locator(".scores tbody tr").count() > 5


def test_the_models_that_come_with_hackle(elsewhere: Page, visit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr("hackle.explorer.serve", lambda *folders, **_: asked.append(folders))
    main(["explore"])
    elsewhere.goto(str(visit(create_app(*asked[0])).base_url))
    # The first paint draws what fits the window, the next one the rows beyond it.
    expect(elsewhere.locator("table.runs tbody th[scope=row] a")).to_have_count(len(cards()))
    elsewhere.get_by_role("link", name="ada-gvae/dsprites").click()
    elsewhere.wait_for_selector(".tool[data-drawn]")
    expect(elsewhere.locator("h1")).to_contain_text("Ada-GVAE")
