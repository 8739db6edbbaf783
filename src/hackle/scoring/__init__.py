"""Scoring models, or codes computed elsewhere: a plan of images, their codes, and every metric that applies."""

from hackle.scoring.codes import score_codes
from hackle.scoring.models import quick_scores, score
from hackle.scoring.registry import METRICS, ScoreError

__all__ = ["METRICS", "ScoreError", "quick_scores", "score", "score_codes"]
