"""Parts that several answers have in common, made from a run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mauve_core.agents.answers import CandidateName, Score, Settings
from mauve_core.agents.errors import CallError
from mauve_core.agents.quoting import NOTES, cut
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.scoring.result import Candidate, Comparison, Estimate
from mauve_core.scoring.tables import interval_of, mean_and_spread
from mauve_core.store import Run
from mauve_core.texts.normalizing_steps import titles_of_steps

MOST_WARNINGS = 3

RunId = Annotated[str, Field(description="Id of a run, from list_runs.")]
Which = Annotated[int | str, Field(description="A candidate: its number in the leaderboard, or its exact name.")]


def numbers_of(comparison: Comparison) -> dict[str, int]:
    """Each candidate's number, from 1, in the order of the run: the same in every answer."""
    return {each.name: place + 1 for place, each in enumerate(comparison.candidates)}


def named(comparison: Comparison, name: str) -> CandidateName:
    return CandidateName(number=numbers_of(comparison)[name], name=cut(name))


def candidate_of(run: Run, which: int | str) -> Candidate:
    """The candidate of that exact name or number; CallError if there is none."""
    candidates = run.comparison.candidates
    found = [each for each in candidates if each.name == which]
    if not found and str(which).isascii() and str(which).isdigit() and 1 <= int(str(which)[:9]) <= len(candidates):
        found = [candidates[int(which) - 1]]
    if not found:
        raise CallError(
            "The run has no such candidate",
            allowed=f"a name from its leaderboard, or a number from 1 to {len(candidates)}",
            received=repr(which),
        )
    return found[0]


def score_of(estimate: Estimate) -> Score:
    """A score with both its spreads, in the leaderboard's digits and as numbers."""
    return Score(
        written=with_plain_spaces(f"{mean_and_spread(estimate)} ({interval_of(estimate)})"),
        mean=rounded(estimate.mean),
        sd_seeds=None if estimate.sd is None else rounded(estimate.sd),
        sd_generations=None if estimate.generations_sd is None else rounded(estimate.generations_sd),
        low=rounded(estimate.low),
        high=rounded(estimate.high),
    )


def settings_of(comparison: Comparison) -> Settings:
    """What the scores of a run depend on, and its warnings."""
    config, score, warnings = comparison.config, comparison.config.score, comparison.warnings
    return Settings(
        human_texts=comparison.human.n,
        encoder=None if config.encoder is None and config.features_from is None else cut(config.made_by),
        seeds=score.seeds,
        bootstrap=score.bootstrap,
        confidence=score.confidence,
        scale=score.scale,
        normalized=[titles_of_steps([step]) for step in comparison.normalization],
        warnings=[cut(each, NOTES) for each in warnings[:MOST_WARNINGS]],
        more_warnings=max(len(warnings) - MOST_WARNINGS, 0),
    )


def rounded(value: float) -> float:
    """Six significant digits: more than any spread leaves, and short to read."""
    return float(f"{value:.6g}")
