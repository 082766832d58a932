"""Pages of the app that print MAUVE of a candidate, and what their link says."""

from __future__ import annotations

from collections.abc import Mapping

from mauve_core.figures import methods, probes

NAME = "shifted"
LOOKED_INSIDE = ("clusters", "gap", "map")

SAME: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("compare", {}),
    ("decoders", {"section": "measures", "measured": "table"}),
    ("decoders", {"section": "sweeps", "axis": "k", "swept": "table"}),
    ("methods", {}),
    ("runs", {"shelf": "pair", "left": "synthetic", "right": "again"}),
    *((page, {}) for page in LOOKED_INSIDE),
    *((page, {"cluster": "1"}) for page in LOOKED_INSIDE),
    ("gap", {"below": "what-if", "chosen": "1"}),
    ("gap", {"below": "few"}),
    ("clusters", {"partition": "joint"}),
    ("gap", {"partition": "joint", "seed": "1", "below": "what-if", "chosen": "1"}),
    ("map", {"scale": "2", "smoothing": "laplace"}),
)
"""Pages, by folder, that print the leaderboard's mean and spread of a candidate, and what their link says."""

OF_SAMPLING = "Pairwise partition, the candidate's median seed"
"""The reason in a folded part of Methods."""

REASONS: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("decoders", {"section": "sweeps", "axis": "k"}, "Only at the run's own value and number of seeds is it the"),
    ("methods", {}, methods.ABOUT_LEADERBOARD),
    ("methods", {}, OF_SAMPLING),
    ("probes", {}, probes.ABOUT_LEADERBOARD),
    ("probes", {"part": "flow"}, "joint partition under the first k-means seed, in which this experiment was run"),
    ("clusters", {"partition": "joint"}, "in the joint partition; these clusters: seed"),
    ("gap", {"scale": "2"}, "at c = 2; these clusters: seed"),
    ("map", {"smoothing": "laplace"}, "with Laplace smoothing; these clusters: seed"),
)
"""Pages with other numbers, and the words that say why."""

NO_SCORE = {"findings", "judge", "published", "new_run", "texts"}
"""Pages that print no score of a run's candidates."""
