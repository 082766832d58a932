"""Human judgments: which of two texts a rater prefers, with storage, plans, rankings and correlations.

The study of JMLR 2023, section 6.4 and appendix E: a rater reads a prompt and two continuations, A (left) and B
(right), and answers three questions with one of five options. A Bradley-Terry model turns the answers into scores.
"""

from mauve_core.base.config import QUESTIONS, TieRule
from mauve_core.judgments.correlating import Correlation, Indicator, correlations
from mauve_core.judgments.plan import Pair, PairPlan, pair_plan
from mauve_core.judgments.ranking import Player, Ranking, rank
from mauve_core.judgments.ratings import OPTIONS, PairKey, Rating, held, pair_key, text_digest, with_digests
from mauve_core.judgments.storage import Counts, Imported, RaterCounts, RatingStore
from mauve_core.judgments.tables import ratings_from_csv, ratings_from_file, ratings_from_table, ratings_to_csv

__all__ = [
    "OPTIONS",
    "QUESTIONS",
    "Correlation",
    "Counts",
    "Imported",
    "Indicator",
    "Pair",
    "PairKey",
    "PairPlan",
    "Player",
    "Ranking",
    "RaterCounts",
    "Rating",
    "RatingStore",
    "TieRule",
    "correlations",
    "held",
    "pair_key",
    "pair_plan",
    "rank",
    "ratings_from_csv",
    "ratings_from_file",
    "ratings_from_table",
    "ratings_to_csv",
    "text_digest",
    "with_digests",
]
