"""Results and trained models that come with hackle, and are read without a network.

`results/NAME` is a study's folder of Parquet tables, `trained/METHOD/DATASET` a run's folder. A folder of the user's that has
the name of such results, or of such a model, is meant before them.
"""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).parent / "results"
TRAINED = Path(__file__).parent / "trained"
CARD = "card.json"


def names_of_results() -> list[str]:
    """The names of the results that come with hackle."""
    return sorted(path.name for path in RESULTS.iterdir() if path.is_dir())


def place_of_results(folder: str | Path) -> Path:
    """The folder that is meant: one that is there, or else that of the results of this name.

    >>> place_of_results("hackle-2026").name, place_of_results("studies/mine").as_posix()
    ('hackle-2026', 'studies/mine')
    """
    path = Path(folder)
    return RESULTS / path if not path.exists() and str(folder) in names_of_results() else path


def names_of_models() -> list[str]:
    """The names of the trained models that come with hackle."""
    return sorted(path.parent.relative_to(TRAINED).as_posix() for path in TRAINED.glob(f"*/*/{CARD}"))


def place_of_run(folder: str | Path) -> Path:
    """The folder that is meant: one that is there, or else that of the model of this name.

    >>> place_of_run("beta-vae/dsprites").parts[-3:], place_of_run("runs/mine").as_posix()
    (('trained', 'beta-vae', 'dsprites'), 'runs/mine')
    """
    path = Path(folder)
    return TRAINED / path if not path.exists() and path.as_posix() in names_of_models() else path
