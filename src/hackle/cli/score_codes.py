"""The command line's `score-codes` verb, and the files that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from hackle.cli.words import not_negative, print_scores, run_command, writable
from hackle.core.parts import nearest
from hackle.core.types import HackleError

if TYPE_CHECKING:
    from pandas import DataFrame

_ENDINGS = ".npz, .npy, .csv or .parquet"


def main(words: list[str]) -> None:
    run_command(score_codes_command, "score-codes", words)


def score_codes_command(
    codes: Positional[Path],
    factors: str | None = None,
    logvars: Path | None = None,
    metrics: str = "all",
    protocol: str = "locatello2019",
    seed: int = 0,
    factor_bins: int = 20,
    bootstrap: int = 0,
    references: bool = True,
    whole_mixture: bool = False,
    json: Path | None = None,
    parquet: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Score codes that another program has written, a row for each sample and a column for each code.

    Args:
        codes: An .npy, .csv or .parquet file of codes, or an .npz file of codes, factors and perhaps logvars.
        factors: A file of factors in the same order, or the names of columns of the file of codes, separated by commas.
        logvars: A file of the logarithms of the variances of posteriors whose means the codes are.
        metrics: Names separated by commas; all takes what fits and takes seconds, see `hackle score --help`. One of your
            own is path.py:function or module:function.
        protocol: locatello2019, disentanglement_lib, kim2018, do2020, yang2020, or quick for a rough look.
        seed: Seed of the draws.
        factor_bins: Real-valued factors of more values than this are cut into so many bins of equal width.
        bootstrap: Number of resamplings for 95% intervals; 0 gives none.
        references: Also show what perfect codes reach.
        whole_mixture: Sampled informations use every sample as mixture; slower.
        json: Where to write the table as JSON.
        parquet: Where to write the table as Parquet.
        overwrite: Replace files that are there already.
    """
    from hackle.scoring.codes import score_codes

    not_negative(seed=seed, bootstrap=bootstrap)
    for path in (json, parquet):
        if path is not None:
            writable(path, overwrite)
    found = _tables(codes)
    means, labels, spread = found["codes"], found.get("factors"), found.get("logvars")
    if factors is not None and Path(factors).is_file():
        labels = _one_table(Path(factors))
    elif factors is not None:
        labels = _columns(means, factors, codes)
        means = means.drop(columns=labels.columns)
    if labels is None:
        raise HackleError(
            f"{codes} holds no factors; name a file of them with --factors, or the columns that hold them"
        )
    if logvars is not None:
        spread = _one_table(logvars)
    scores = score_codes(
        means,
        labels,
        metrics,
        protocol,
        seed,
        logvars=spread,
        factor_bins=factor_bins,
        bootstrap=bootstrap,
        references=references,
        whole_mixture=whole_mixture,
        progress=True,
    )
    print_scores(scores, "score-codes")
    if json is not None:
        scores.to_json(json, orient="records", indent=2)
    if parquet is not None:
        scores.to_parquet(parquet, index=False)


def _columns(table: DataFrame, names: str, path: Path) -> DataFrame:
    """Columns of a table by their names."""
    import pandas as pd

    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in table.columns:
            raise HackleError(f"{names} is no file, and {path} has no column {name!r}; {nearest(name, table.columns)}")
    return pd.DataFrame(table[wanted])


def _one_table(path: Path) -> DataFrame:
    """The only table of a file."""
    found = _tables(path)
    if len(found) > 1:
        raise HackleError(f"{path} holds {', '.join(found)}; expected a file of one table: {_ENDINGS}")
    return next(iter(found.values()))


def _tables(path: Path) -> dict[str, DataFrame]:
    """The tables of a file by name; one that has no names is called codes."""
    import numpy as np
    import pandas as pd

    from hackle.datasets.damage import reading

    if not path.is_file():
        raise HackleError(f"{path} is no file; expected one that ends in {_ENDINGS}")
    with reading(path, f"a table: {_ENDINGS}"):
        if path.suffix == ".csv":
            return {"codes": pd.read_csv(path)}
        if path.suffix == ".parquet":
            return {"codes": pd.read_parquet(path)}
        if path.suffix not in (".npy", ".npz"):
            raise ValueError(f"it ends in {path.suffix or 'nothing'}")
        with path.open("rb") as file:
            read: Any = np.load(file, allow_pickle=False)
            arrays = {"codes": read} if isinstance(read, np.ndarray) else dict(read)
    if unknown := sorted(arrays.keys() - {"codes", "factors", "logvars", "factor_names"}):
        raise HackleError(f"{path} holds {unknown[0]}; known are codes, factors, logvars and factor_names")
    if "codes" not in arrays:
        raise HackleError(f"{path} holds {', '.join(arrays) or 'nothing'}; expected an array called codes")
    names = arrays.pop("factor_names", None)
    if names is not None and "factors" in arrays and arrays["factors"].shape[1:] != names.shape:
        raise HackleError(f"{path} has {names.size} factor_names for factors of shape {arrays['factors'].shape}")
    return {
        key: pd.DataFrame(array, columns=names if key == "factors" and names is not None else None).rename(columns=str)
        for key, array in arrays.items()
    }
