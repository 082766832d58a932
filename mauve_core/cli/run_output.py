"""The shape of a run as ``compare`` and others print it with ``--json``; imported only where a schema is asked for."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypedDict

from mauve_core.analysis.preflight import Preflight
from mauve_core.analysis.verdict import VerdictJson
from mauve_core.base.validation import Joined
from mauve_core.cli.over_all_output import OverAllJson
from mauve_core.scoring.comparison_json import ComparisonJson
from mauve_core.scoring.empty_clusters import EmptyClustersJson


class _ShownJson(TypedDict):
    """A stored run: what it says, its scores, and what was checked before they are believed.

    Attributes
    ----------
    verdict : VerdictJson
        What it says, in sentences.
    preflight : Preflight
        Formats in which candidates differ from the human texts.
    empty_clusters : list of EmptyClustersJson
        By candidate, in the order given.
    over_all_texts : OverAllJson or None
        Scores over all texts in shards, of which the run holds a sample and all other scores are; null for other runs.
    run : str
        Id of the stored run.
    """

    verdict: VerdictJson
    preflight: Preflight
    empty_clusters: list[EmptyClustersJson]
    over_all_texts: OverAllJson | None
    run: str


RunJson: TypeAlias = Annotated[dict[str, Any], Joined(ComparisonJson, _ShownJson)]
