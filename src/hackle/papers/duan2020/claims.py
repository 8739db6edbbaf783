"""Claims of Duan et al. 2020: UDR, which needs no labels, ranks models as scores that need factors do.

UDR is computed from the codes and KLs that a study keeps of every run (`hackle study select` ranks runs by it, too), among runs
that differ in their seed alone. Any study of several methods and strengths serves: the
runs are those of Locatello et al. 2019. The direction is the paper's; "correlates" means a rank correlation above 0.3, as in
the claims of that study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hackle.claims.agreement import among_runs
from hackle.claims.claim import Claim
from hackle.claims.conditions import Condition
from hackle.claims.forms import above, claims_of, runs
from hackle.claims.measures import Measure
from hackle.claims.statistics import Units
from hackle.claims.view import Data, Frame, View
from hackle.papers.locatello2019.settings import DATASETS, METHODS, STAND_IN, STRENGTHS
from hackle.selection import kl_of_runs, udr_of_runs

PAPER = "duan2020"
CORRELATED = 0.3
SCORES = ("beta_vae", "factor_vae", "mig", "dci_disentanglement")
SEEDS, SETTINGS = 3, 5
"""The fewest seeds of a setting, since a model is compared with the others of its setting, and the fewest settings."""


def with_udr(rows: Frame, view: View) -> Frame:
    """Of runs, by hash, those that are three or more of a `setting` and can be compared: with their `udr`."""
    codes, kls = view.array("codes"), kl_of_runs(view)
    rows = rows[[run in codes and run in kls for run in rows.index]]
    rows = rows[rows.groupby("setting")["seed"].transform("nunique") >= SEEDS]
    return rows.assign(udr=udr_of_runs(codes, kls, rows["setting"].to_dict())).dropna(subset=["udr"])


def _agreement(data: Data, conditions: Sequence[Condition]) -> Units | None:
    """The rank correlation of UDR with a score over all models, mean over scores.

    A seed's UDR depends on the other seeds, so that the numbers of seeds are not independent: their variance is widened.
    """
    (condition,) = conditions
    rows = with_udr(data.rows(condition, SCORES).dropna(subset=list(SCORES)), data.view)
    if rows["setting"].nunique() < SETTINGS:
        return None
    units = among_runs(rows, "udr", SCORES, SETTINGS)
    return None if units is None else replace(units, widened=units.seeds > 1)


_AGREEMENT = Measure(_agreement, SCORES, arrays=("codes",), least=f"{SETTINGS} settings with {SEEDS} seeds")
_SETS = {name: runs(METHODS, name) for name in DATASETS}
CLAIMS: tuple[Claim, ...] = (
    claims_of(PAPER, stand_ins=STAND_IN)(
        "udr-follows-supervised-scores",
        "Section 5",
        "UDR, computed without labels, correlates with BetaVAE score, FactorVAE score, MIG and DCI disentanglement.",
        "rank correlation of UDR with a score over settings, mean over scores and data sets",
        above(CORRELATED, _AGREEMENT, mean=_SETS),
        seeds=5,
        runs_per_seed=sum(map(len, STRENGTHS.values())),
        study="locatello2019",
    ),
)
