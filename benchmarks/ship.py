"""Put results and trained models into the package: what `hackle.results("hackle-2026")` and `hackle.load_model` read.

    python -m benchmarks.ship results STUDY …      # add the runs of studies' folders to the table; with none, only what follows
    python -m benchmarks.ship models RUN …         # add or replace models, given by their run folders
    python -m benchmarks.ship chance               # score noise for docs/which-metric.md, a minute; then write the results

A model must be a run of the table, and is refused unless it has the highest MIG among the runs that differ only in their seed;
then it takes the place of the method's model on that data set. The limits are 25 MB for all results, 1 MB for a model and
20 MB for all models. With the results, benchmarks/results/hackle-2026 is written anew: `verdicts.txt`, what `hackle claims`
prints, and `scores.md`, the means of every setting; so are docs/replication.md, docs/which-metric.md, the README's counts, what
tutorials print of the table, and the cards of the models, whose settings may have more seeds. Tests compare all of them with
the table.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
from website.heat_map import heat_map

from benchmarks.outputs import write_outputs
from benchmarks.replication import replication_page
from benchmarks.which_metric import PICTURE, agreement_matrix, chance_levels, metrics_of_the_page, which_metric_page
from hackle.claims import Judgement, judge
from hackle.cli.claims import print_verdicts
from hackle.core.design import CONFIGURATION, design_of, heading
from hackle.core.files import human_size
from hackle.core.records import record_hash
from hackle.figures import words
from hackle.shipped import CARD, RESULTS, TRAINED
from hackle.store import export, read
from hackle.store.records import setting_numbers
from hackle.store.run_folders import SCORES
from hackle.store.tables import Tables
from hackle.studies import STUDIES
from hackle.train.model import WEIGHTS, Model

NAME = "hackle-2026"
README = Path(__file__).parents[1] / "README.md"
KEPT = Path(__file__).parent / "results" / NAME
DOCS = Path(__file__).parents[1] / "docs"
MOST_RESULTS, MOST_MODEL, MOST_MODELS = 25_000_000, 1_000_000, 20_000_000
METRIC, PROTOCOL = "mig", "locatello2019"
TUTORIALS = ("verdict", "weak-supervision")
"""Those that print what the table says."""


def ship_results(folders: list[Path]) -> None:
    """Put the runs of studies' folders into the table, in addition to what it has."""
    table = RESULTS / NAME
    if folders:
        write_table(table, folders)
    tables = read(table)
    KEPT.mkdir(exist_ok=True)
    judged = judge(tables)
    verdicts = verdict_text(judged)
    (KEPT / "verdicts.txt").write_text(verdicts, encoding="utf-8")
    (KEPT / "scores.md").write_text(score_text(tables), encoding="utf-8")
    (DOCS / "replication.md").write_text(replication_page(tables, judged), encoding="utf-8")
    (DOCS / "which-metric.md").write_text(which_metric_page(tables, chance_kept()), encoding="utf-8")
    (DOCS / PICTURE).write_text(heat_map(agreement_matrix(tables), "rank correlations of metrics"), encoding="utf-8")
    README.write_text(counted(README.read_text(encoding="utf-8"), tables, verdicts), encoding="utf-8")
    for name in TUTORIALS:
        write_outputs(DOCS / "tutorials" / f"{name}.md")
    for path in sorted(TRAINED.glob(f"*/*/{CARD}")):
        card = json.loads(path.read_text(encoding="utf-8"))
        write_card(path, {**card_of(card["run"], tables), "size": card["size"]})


def chance_kept() -> dict[str, float]:
    """What noise scores, as `ship_chance` last wrote it."""
    return json.loads((KEPT / "chance.json").read_text(encoding="utf-8"))


def ship_chance() -> None:
    """Score noise, which takes a minute."""
    found = {name: round(value, 4) for name, value in chance_levels(metrics_of_the_page()).items()}
    (KEPT / "chance.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def counted(readme: str, tables: Tables, verdicts: str) -> str:
    """The README with the number of the table's runs that did not fail, how many of them are planned, and the counts at the
    end of what `hackle claims` prints."""
    counts = re.search(r"^(\d+) hold, (\d+) do not hold, (\d+) undecided, (\d+) without runs", verdicts, re.MULTILINE)
    assert counts is not None
    runs = set(tables.runs.query("status == 'done'")["run"])
    planned = {record_hash(run) for run in STUDIES[NAME].runs(precision="bfloat16")}
    hold, do_not, undecided, _ = counts.groups()
    for pattern, said in (
        (r"\*\*[\d,]+ runs of 100,000 steps", f"**{len(runs):,} runs of 100,000 steps"),
        (r"the papers' \d+ claims", f"the papers' {sum(map(int, counts.groups()))} claims"),
        (r"\d+ hold, \d+ do not, \d+ cannot be", f"{hold} hold, {do_not} do not, {undecided} cannot be"),
        (r"[\d,]+ runs are trained", f"{len(runs):,} runs are trained"),
        (r"far, [\d,]+ of them in that plan", f"far, {len(runs & planned):,} of them in that plan"),
    ):
        readme, found = re.subn(pattern, said, readme)
        assert found == 1, pattern
    return readme


def write_table(table: Path, folders: list[Path]) -> None:
    """Write the table with the runs that it has and those of studies' folders, and say what it takes."""
    with tempfile.TemporaryDirectory() as place:
        sources = [table, *folders] if any(table.glob("*.parquet")) else folders
        # Runs that stand as failed may have been trained again.
        written = export(sources, place, thin=True, replace_failed=True)
        size = sum(path.stat().st_size for path in written)
        if size > MOST_RESULTS:
            raise SystemExit(f"the table would take {human_size(size)}; at most {human_size(MOST_RESULTS)} are shipped")
        table.mkdir(parents=True, exist_ok=True)
        for path in written:
            shutil.copyfile(path, table / path.name)
            print(f"{path.name:16} {path.stat().st_size:>11,} bytes")
    runs = len(read(table).runs)
    print(
        f"{runs:,} runs, {size:,} bytes, {size / runs:,.0f} for a run: 2,000 would take {2000 * size / runs / 1e6:.1f} MB"
    )


def verdict_text(judged: Sequence[Judgement]) -> str:
    """What `hackle claims` prints, without the spaces at the ends of lines."""
    said = io.StringIO()
    with redirect_stdout(said):
        print_verdicts(judged)
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())


def score_text(tables: Tables) -> str:
    """A row for each setting and protocol: the mean of its runs' scores, and for the first two their standard deviation."""
    of = {"MIG": "mig", "DCI": "dci_disentanglement", "FactorVAE": "factor_vae", "SAP": "sap"}
    of |= {"error (nats)": "reconstruction", "KL (nats)": "kl"}
    chosen: Any = tables.scores[tables.scores["representation"].ne("sampled")]
    scores = chosen.pivot_table("score", ["run", "protocol"], "metric", observed=True)
    # Each run under one protocol, and that not a variant of another.
    under = {
        run: min(names, key=lambda name: (name != PROTOCOL, "-" in name, name))
        for run, names in chosen.groupby("run", observed=True)["protocol"].unique().items()
    }
    runs: Any = tables.runs.set_index("run").assign(protocol=lambda every: every.index.map(under).fillna("none"))
    shown = [name for name in CONFIGURATION if runs[name].astype(str).nunique() > 1 and name != "strength"]
    lines = [
        f"| {' | '.join([*map(heading, shown), 'weight', 'steps', 'protocol', 'runs', 'failed', *of])} |",
        "|---" * (len(shown) + 5 + len(of)) + "|",
    ]
    for _, group in runs.groupby([*CONFIGURATION, "steps", "protocol"], dropna=False, observed=True, sort=True):
        first = group.iloc[0]
        own = scores.reindex(zip(group.index, group["protocol"], strict=True))
        weight = (
            "" if first["strength"] != first["strength"] else f"{words.symbol(first['method'])} = {first['strength']:g}"
        )
        cells = [str(first[name]) for name in shown]
        cells += [weight, f"{first['steps']:,}", first["protocol"], str(len(group))]
        cells.append(str(int((group["status"] == "failed").sum()) or ""))
        for place, metric in enumerate(of.values()):
            values = own[metric].dropna() if metric in own else own.iloc[:, 0][:0]
            digits = 1 if values.mean() > 2 else 3
            spread = f" ± {values.std():.{digits}f}" if place < 2 and len(values) > 1 else ""
            cells.append(f"{values.mean():.{digits}f}{spread}" if len(values) else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def ship_model(folder: Path, tables: Tables) -> None:
    """Put a run's model into the package, with its card."""
    model = Model.load(folder)
    design = design_of(model.run)
    name = f"{design['method']}/{design['dataset']}"
    run = record_hash(model.run)
    card = card_of(run, tables)
    best, highest = best_of(run, tables)
    if best != run:
        raise SystemExit(f"run {run} has a MIG of {card['mig']:.3f}, and run {best} of its setting {highest:.3f}")
    target = TRAINED / name
    shutil.rmtree(target, ignore_errors=True)
    model.save(target, compact=True)
    card["size"] = (target / WEIGHTS).stat().st_size
    write_card(target / CARD, card)
    (target / SCORES).write_text(json.dumps(scores_of(run, tables), indent=1) + "\n", encoding="utf-8")
    whole = sum(path.stat().st_size for path in TRAINED.rglob("*") if path.is_file())
    if card["size"] > MOST_MODEL or whole > MOST_MODELS:
        shutil.rmtree(target)
        raise SystemExit(
            f"{name} takes {human_size(card['size'])}, all models {human_size(whole)}: too much; it was taken out"
        )
    print(f"{name}: {human_size(card['size'])}, {card['mig']:.3f} in MIG; all models {human_size(whole)}")


def write_card(path: Path, card: dict[str, Any]) -> None:
    path.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def scores_of_seeds(run: str, tables: Tables) -> Any:
    """MIG of the runs that differ from this one in their seed alone, and of this one, by their hashes."""
    if run not in set(tables.runs["run"]):
        raise SystemExit(f"run {run} is not in the table {NAME}; add its study's results first")
    number = dict(zip(tables.runs["run"], setting_numbers(tables.runs), strict=True))
    of = tables.scores["metric"].eq(METRIC) & tables.scores["representation"].eq("mean")
    own: Any = tables.scores[of & tables.scores["protocol"].eq(PROTOCOL)]
    score: Any = pd.Series(own["score"].to_numpy(float), own["run"].astype(str))
    return score[[other for other in score.index if number[other] == number[run]]].dropna()


def best_of(run: str, tables: Tables) -> tuple[str, float]:
    """The run of the highest MIG of those that differ from this one in their seed alone, and its MIG."""
    seeds = scores_of_seeds(run, tables)
    return str(seeds.idxmax()), float(seeds.max())


def card_of(run: str, tables: Tables) -> dict[str, Any]:
    """What `hackle models` says of a run: its setting, its MIG, and that of all runs that differ only in their seed.

    Seeds that were trained after a model was chosen may be better; where their weights are not there, the card says so.
    """
    seeds = scores_of_seeds(run, tables)
    best, highest = best_of(run, tables)
    runs: Any = tables.runs.set_index("run")
    row = runs.loc[run]
    chosen = f"each has the highest MIG of the runs of {NAME} that differ only in their seed."
    if best != run:
        chosen = (
            f"{row['method']}/{row['dataset']}, with {seeds[run]:.4f}, had it when it was chosen; seed "
            f"{runs.loc[best, 'seed']}, trained since, has {highest:.4f}, and its weights do not come with hackle."
        )
    return {
        "run": run,
        "method": str(row["method"]),
        "weight": ""
        if row["strength"] != row["strength"]
        else f"{words.symbol(str(row['method']))} = {row['strength']:g}",
        "dataset": str(row["dataset"]),
        "steps": int(row["steps"]),
        "seed": int(row["seed"]),
        "mig": float(seeds[run]),
        "seeds": len(seeds),
        "mig_of_seeds": float(seeds.mean()),
        "chosen": chosen,
    }


def scores_of(run: str, tables: Tables) -> list[dict[str, Any]]:
    """The run's scores as `hackle score` writes them."""
    own: Any = tables.scores[tables.scores["run"] == run]
    names = ("metric", "representation", "score", "reference", "low", "high", "better", "protocol", "seconds", "note")
    rows = own[[*names, "scoring_seed"]].rename(columns={"scoring_seed": "seed"}).to_dict("records")
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def main(arguments: list[str]) -> None:
    what, folders = arguments[:1], [Path(word) for word in arguments[1:]]
    if what == ["results"]:
        ship_results(folders)
    elif what == ["chance"] and not folders:
        ship_chance()
    elif what == ["models"] and folders:
        tables = read(RESULTS / NAME)
        for folder in folders:
            ship_model(folder, tables)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
