"""The numbers that the README quotes are those of the table that comes with hackle and of the kept benchmarks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import hackle
from hackle.core.parts import parts_of
from hackle.core.records import record_hash
from hackle.figures.words import METHODS
from hackle.objectives import OBJECTIVES
from hackle.papers.locatello2019.settings import METHODS as UNSUPERVISED
from hackle.studies import STUDIES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
KEPT = ROOT / "benchmarks" / "results"


def test_the_verdicts_are_counted_as_the_kept_ones_are() -> None:
    kept = (KEPT / "hackle-2026" / "verdicts.txt").read_text(encoding="utf-8")
    (counts,) = re.findall(r"^(\d+) hold, (\d+) do not hold, (\d+) undecided, (\d+) without runs", kept, re.MULTILINE)
    said = "the papers' {} claims as tests: {} hold, {} do not, {} cannot be decided yet"
    assert said.format(sum(map(int, counts)), *counts) in README


def test_runs_and_scores_are_those_of_the_table() -> None:
    table: Any = hackle.results("hackle-2026")
    runs, steps = table["run"].nunique(), int(table["steps"].min())
    assert f"{runs:,} runs of {steps:,} steps" in README
    mig = table[table["metric"].eq("mig") & table["representation"].eq("mean") & table["protocol"].eq("locatello2019")]
    mig = mig[mig["dataset"].eq("dsprites")]
    alone = mig[mig["drawing"].astype(str).eq("") & mig["pairs"].astype(str).isin(["", "rule resample, changed 1"])]
    means = alone.groupby(["method", "strength"], observed=True)["score"].mean()
    sweep = alone[alone["architecture"].astype(str).eq("convolutional") & alone["correlation"].eq(0.0)]
    sweep = sweep[sweep["method"].isin(UNSUPERVISED) & sweep["latents"].eq(10) & sweep["hidden"].eq(256)]
    unsupervised = sweep.groupby([sweep["method"].astype(str), sweep["strength"]])["score"].mean()
    (method, strength), best = unsupervised.idxmax(), unsupervised.max()
    assert (method, strength) == ("factor-vae", 40.0)
    assert (
        f"Ada-GVAE reaches a MIG of {means['ada-gvae'].max():.2f}, where the best of Locatello et al.'s unsupervised"
        in README
    )
    assert f"unsupervised settings, FactorVAE with γ = 40, reaches {best:.2f} (means over seeds" in README


def test_what_is_planned_and_what_is_shipped_are_told_apart() -> None:
    planned = STUDIES["hackle-2026"].runs(precision="bfloat16")
    generated = [run for run in planned if run.dataset not in ("scream-dsprites", "mnist")]
    shipped = set(hackle.results("hackle-2026")["run"])
    assert (
        f"The study `hackle-2026` plans {len(planned):,} runs, {len(generated):,} of them on data that need no download; "
        f"{len(shipped):,} runs are trained and shipped so far, {len(shipped & set(map(record_hash, planned))):,} of them in "
        "that plan."
    ) in README.replace("\n", " ")


def test_what_is_inside_is_counted() -> None:
    for kind, said in (
        ("method", "[{} methods]("),
        ("metric", "[{} metrics]("),
        ("metric", "| metrics | [{}]("),
        ("data set", "[{} data sets]("),
        ("paper", "of {} papers"),
        ("claim", "{} sentences of the papers as tests"),
        ("figure", "{} figures, from your runs"),
    ):
        assert said.format(len(parts_of(kind))) in README
    tutorials = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert len(tutorials) == 1 + 7
    assert "a first model in five minutes, and seven more" in README


def test_what_the_comparison_says_of_hackle_is_so() -> None:
    """Its first column, cell by cell; that studies resume is proven by tests of the engine, the rates by benchmarks."""
    _, _, table = README.partition("| | hackle |")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.partition("\n\n")[0].splitlines()[2:]]
    said = {row[0]: row[1] for row in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert said.pop("runs on") == f"PyTorch, Python ≥ {project['requires-python'].removeprefix('>=')}"
    assert any(one.startswith("torch>") for one in project["dependencies"])
    listed = "β-VAE, AnnealedVAE, FactorVAE, β-TCVAE, DIP-VAE-I, -II"
    assert {*listed.replace("-I, -II", "-I, DIP-VAE-II").split(", ")} <= {METHODS[name] for name in OBJECTIVES}
    assert said.pop(listed) == "all"
    learnt_from = {one.supervision for one in OBJECTIVES.values()}
    assert {"pairs", "labels"} <= learnt_from
    assert said.pop("learning from pairs, from labels") == "both"
    assert said.pop("metrics") == f"[{len(parts_of('metric'))}](docs/metrics/index.md), on anyone's codes"
    assert said.pop("hundreds of models in one computation") == "yes"
    assert said.pop("studies") == "resume after any crash"
    assert said.pop("claims as tests, figures, report, explorer") == "yes"
    assert said.pop("results and trained models") == "in the package"
    package = Path(hackle.__file__).parent
    assert len([*package.rglob("weights.safetensors")]) == len(hackle.models()) > 0
    assert said == {}


def test_the_first_screen_holds_what_a_visitor_needs() -> None:
    first, _, _ = README.partition("\n## ")
    pictures = re.findall(r'<img align="middle" src="([^"]+)" width="\d+" alt="[^"]{20,}">', first)
    assert [Path(path).suffix for path in pictures] == [".gif", ".webp"]
    assert all((ROOT / path).is_file() for path in pictures)
    needed = (
        "pip install .",
        "hackle explore",
        "make demo",
        "make test",
        "```python",
        "| measured |",
        "disentanglement_lib",
    )
    assert [one for one in needed if one not in first] == []
    assert len(first.splitlines()) <= 60
    for link in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / link).is_file(), link


def test_how_long_a_study_took_is_kept() -> None:
    kept = (KEPT / "small-fleets-h200.txt").read_text(encoding="utf-8")
    parts = re.findall(r"(\d+) (?:VAEs and FactorVAEs of 100,000 steps|β-TCVAEs) in (\d+) s", kept)
    runs, seconds = (sum(int(part[at]) for part in parts) for at in (0, 1))
    for page in (ROOT / "README.md", ROOT / "docs" / "studies.md"):
        text = page.read_text(encoding="utf-8").replace("\n", " ")
        assert f"{runs} runs of 100,000 steps took {round(seconds / 60)} minutes" in text


def test_the_rates_are_the_measured_ones() -> None:
    (rate,) = re.findall(r"\*\*([\d,]+) model-steps per second\*\*", README)
    tiled = (KEPT / "small-fleets-tiles-h200.txt").read_text(encoding="utf-8")
    assert re.search(rf"^300 β-VAEs .* after +{rate} ", tiled, re.MULTILINE)
    measured = (KEPT / "fleet-h200.txt").read_text(encoding="utf-8")
    (plain,) = re.findall(r"a plain PyTorch loop does (\d+)", README)
    assert re.search(rf"plain loop {plain}\b", measured)
