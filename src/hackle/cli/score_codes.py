"""The command line's `score-codes` verb, and the files that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from hackle.cli.score_options import USUAL, ScoringOptions
from hackle.cli.words import print_scores, say
from hackle.core.code_table import is_large
from hackle.core.columns import told_in_heads
from hackle.core.errors import HackleError
from hackle.core.parts import nearest

if TYPE_CHECKING:
    from pandas import DataFrame

_ENDINGS = ".npz, .npy, .csv or .parquet"
_ARRAYS = ("codes", "factors", "logvars", "factor_names", "factor_kinds")
"""What an .npz file may hold."""
_LARGE = 2**26
"""Bytes above which an .npy file of codes is mapped and read in blocks."""


def score_codes_command(
    codes: Positional[Path],
    options: ScoringOptions = USUAL,
    factors: str | None = None,
    logvars: Path | None = None,
    kinds: str = "",
    drop_missing: bool = False,
) -> None:
    """Score codes that another program has written, a row for each sample and a column for each code.

    Args:
        codes: An .npy, .csv or .parquet file of codes, an .npz file of codes, factors and perhaps logvars, factor_names and
            factor_kinds, or a sparse matrix of codes in the .npz file that scipy.sparse.save_npz writes.
        factors: A file of factors in the same order, or the names of columns of the file of codes, separated by commas.
        logvars: A file of posterior log-variances, where the codes are the posterior means.
        kinds: Kinds of factors, such as x=continuous,shape=categorical: categorical, ordinal, cyclic or continuous.
            Those not named are guessed, and the guess is printed.
        drop_missing: Leave out rows with a missing code or factor instead of refusing them.
    """
    from hackle.scoring.codes import read_table, score_codes

    options.check(options.json, options.parquet)
    tables = _tables(codes)
    means, labels, spread = tables["codes"], tables.get("factors"), tables.get("logvars")
    if factors is not None and Path(factors).is_file():
        labels = _one_table(Path(factors))
    elif factors is not None:
        if is_large(means):
            raise HackleError(
                f"{factors} is no file, and the codes of {codes} have no named columns; name a file of factors"
            )
        labels = _columns(means, factors, codes)
        means = means.drop(columns=labels.columns)
    if labels is None:
        raise HackleError(
            f"{codes} holds no factors; name a file of them with --factors, or the columns that hold them"
        )
    if logvars is not None:
        spread = _one_table(logvars)
    told = {**_told(labels), **_kinds(kinds)}
    missing: Any = "drop" if drop_missing else "refuse"
    say(read_table(means, labels, logvars=spread, kinds=told, missing=missing).said)
    given: dict[str, Any] = {"logvars": spread, "kinds": told, "missing": missing, "device": options.device}
    scores = score_codes(means, labels, **options.arguments, **given, progress=True)
    print_scores(scores, "score-codes")
    options.write(scores, options.json)


def _kinds(words: str) -> dict[str, str]:
    """Kinds by the names of factors, from `x=continuous,shape=categorical`."""
    pairs = [word.partition("=") for word in words.split(",") if word.strip()]
    if wrong := [word for word in pairs if not word[1]]:
        raise HackleError(
            f"--kinds has {wrong[0][0]!r}; expected the name of a factor and its kind, such as x=continuous"
        )
    return {name.strip(): kind.strip() for name, _, kind in pairs}


def _told(table: DataFrame) -> dict[str, str]:
    """Kinds given in the column names of a table, such as `angle:cyclic`, which are then cut to the names alone."""
    names, kinds = told_in_heads(table.columns)
    table.columns = names
    return {name: kind for name, kind in zip(names, kinds, strict=True) if kind}


def _columns(table: DataFrame, names: str, path: Path) -> DataFrame:
    """Columns of a table by their names."""
    import pandas as pd

    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in table.columns:
            raise HackleError(f"{names} is no file, and {path} has no column {name!r}; {nearest(name, table.columns)}")
    return pd.DataFrame(table[wanted])


def _one_table(path: Path) -> DataFrame:
    """The table of a file that must hold only one, in memory."""
    tables = _tables(path, large=False)
    if len(tables) > 1:
        raise HackleError(f"{path} holds {', '.join(tables)}; expected a file of one table: {_ENDINGS}")
    return next(iter(tables.values()))


def _tables(path: Path, large: bool = True) -> dict[str, Any]:
    """The tables of a file by name; a table without a name is called codes.

    large: a sparse matrix stays one, and a large array is mapped, not read.
    """
    import pandas as pd

    from hackle.datasets.csv_table import read_csv
    from hackle.datasets.damage import reading
    from hackle.datasets.npz import Npz, load_array
    from hackle.scoring.code_files import check_parquet, load_sparse, map_array

    if not path.is_file():
        raise HackleError(f"{path} is no file; expected one that ends in {_ENDINGS}")
    if large and path.suffix == ".npy" and path.stat().st_size > _LARGE:
        return {"codes": map_array(path)}
    if large and path.suffix == ".npz" and (sparse := load_sparse(path)) is not None:
        return {"codes": sparse}
    if path.suffix == ".csv":
        return {"codes": read_csv(path)}
    with reading(path, f"a table: {_ENDINGS}"):
        if path.suffix == ".parquet":
            check_parquet(path)
            return {"codes": pd.read_parquet(path)}
        if path.suffix not in (".npy", ".npz"):
            raise ValueError(f"it ends in {path.suffix or 'nothing'}")
        file = Npz(path) if path.suffix == ".npz" else None
        if file is not None and (unknown := sorted(set(file.names) - set(_ARRAYS))):
            raise HackleError(
                f"{path} holds {', '.join(unknown)}; known are {', '.join(_ARRAYS[:-1])} and {_ARRAYS[-1]}: rename these, "
                "and leave others out"
            )
        arrays = {name: file.read(name) for name in file.names} if file else {"codes": load_array(path)}
    if "codes" not in arrays:
        raise HackleError(f"{path} holds {', '.join(arrays) or 'nothing'}; expected an array called codes")
    for name, array in arrays.items():
        if array.ndim not in (1, 2):
            raise HackleError(
                f"{path} holds {name} of shape {array.shape}; expected a row for each sample, a column for each one: flatten "
                "what a sample has, numpy.reshape(…, (n, -1))"
            )
    tables = {
        key: pd.DataFrame(array).rename(columns=str) for key, array in arrays.items() if not key.startswith("factor_")
    }
    if (factors := tables.get("factors")) is not None:
        factors.columns = [f"factor_{name}" for name in factors.columns]
    for name in ("factor_names", "factor_kinds"):
        words = arrays.get(name)
        if factors is None or words is None:
            continue
        if words.shape != (factors.shape[1],):
            raise HackleError(f"{path} has {words.size} {name} for {factors.shape[1]} factors; expected one for each")
        heads = zip(factors.columns, map(str, words), strict=True)
        factors.columns = [new if name == "factor_names" else f"{head}:{new}" for head, new in heads]
    return tables
