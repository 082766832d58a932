"""How different a candidate's answers are: within a prompt against across prompts, modes, and what other sides say.

diversity_of_run(run)
"""

from mauve_core.experiments.diversity.agreement import Agreement
from mauve_core.experiments.diversity.answers import Answers
from mauve_core.experiments.diversity.human_clusters import MissedClusters
from mauve_core.experiments.diversity.measures import Contrast, Diversity
from mauve_core.experiments.diversity.of_run import (
    NeverReached,
    RunDiversity,
    diversity_of_run,
    never_reached,
    several_answers,
)

__all__ = [
    "Agreement",
    "Answers",
    "Contrast",
    "Diversity",
    "MissedClusters",
    "NeverReached",
    "RunDiversity",
    "diversity_of_run",
    "never_reached",
    "several_answers",
]
