"""Choosing among a study's runs, without labels and with a few: which criterion finds good models, and what it costs."""

from hackle.selection.choice import Choice, choose
from hackle.selection.criteria import LABEL_METRICS, kl_of_runs, label_scores, stored_scores, udr_of_runs
from hackle.selection.table import SELECTION_COLUMNS, Selection, select

__all__ = [
    "LABEL_METRICS",
    "SELECTION_COLUMNS",
    "Choice",
    "Selection",
    "choose",
    "kl_of_runs",
    "label_scores",
    "select",
    "stored_scores",
    "udr_of_runs",
]
