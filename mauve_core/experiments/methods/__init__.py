"""Compare estimators, divergences and summaries on one run.

methods_run(run, PRESETS["estimators"])
"""

from mauve_core.base.config import ABOUT_CORRECTIONS, ABOUT_EXPECTATIONS
from mauve_core.experiments.methods.direct import Models
from mauve_core.experiments.methods.evaluation import methods_run
from mauve_core.experiments.methods.kinds import (
    CORRECTIONS,
    ESTIMATORS,
    EXPECTATIONS,
    SUMMARIES,
)
from mauve_core.experiments.methods.method import PRESETS, Method, parse_method
from mauve_core.experiments.methods.ranks import MethodStanding, disagreements, method_standings, score_of
from mauve_core.experiments.methods.table import Disagreement, MethodResult, MethodScore, MethodTable, stored_methods

__all__ = [
    "ABOUT_CORRECTIONS",
    "ABOUT_EXPECTATIONS",
    "CORRECTIONS",
    "ESTIMATORS",
    "EXPECTATIONS",
    "PRESETS",
    "SUMMARIES",
    "Disagreement",
    "Method",
    "MethodResult",
    "MethodScore",
    "MethodStanding",
    "MethodTable",
    "Models",
    "disagreements",
    "method_standings",
    "methods_run",
    "parse_method",
    "score_of",
    "stored_methods",
]
