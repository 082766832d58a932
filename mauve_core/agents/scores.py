"""Tools on runs and their scores: list, verdict, leaderboard, test of two candidates."""

from __future__ import annotations

from typing import Literal

from mauve_core.agents.access import Access
from mauve_core.agents.answers import Ceiling, Leaderboard, MainReason, Row, RunRow, Runs, Test, Verdict
from mauve_core.agents.errors import CallError
from mauve_core.agents.paging import page
from mauve_core.agents.parts import candidate_of, named, numbers_of, rounded, score_of, settings_of
from mauve_core.agents.quoting import NOTES, cut, in_our_words, without_words
from mauve_core.analysis.closest import difference_in_words, under
from mauve_core.analysis.main_reason import Reason
from mauve_core.analysis.precomputed import run_gap_test, run_main_reason, run_preflight
from mauve_core.analysis.sentences import Name, Sentence, filled
from mauve_core.analysis.verdict import elsewhere, verdict_of
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.tables import (
    HIGHER_IS_CLOSER,
    TITLES,
    Standing,
    disagreement_sentence,
    human_vs_human_sentence,
    pairing_sentence,
    places_sentence,
    rank_label,
    spread_sentence,
    standings,
    tests_sentence,
    texts_interval,
)
from mauve_core.store import Run, RunSummary

ScoreName = Literal["mauve", "mauve_star", "frontier_integral", "mid"]

# Candidates, tags and damaged runs that a list names.
MOST_NAMES = 12


def list_runs(access: Access, search: str, limit: int, cursor: str | None) -> Runs:
    """List stored runs, the newest first."""
    found = access.list(search)
    rows, following = page(found, _run_row, limit, cursor, ("list_runs", search))
    damaged = [cut(each) for each in access.damaged()[:MOST_NAMES]]
    return Runs(runs=rows, total=len(found), damaged=damaged, next_cursor=following)


def verdict(access: Access, run_id: str) -> Verdict:
    """Say who is closest to the human texts, whether that is sure, and why others are not closer."""
    run = access.load(run_id)
    comparison, numbers = run.comparison, numbers_of(run.comparison)
    found = verdict_of(
        comparison,
        lambda name: run_gap_test(run, "pairwise", name),
        lambda name: _masked(run_main_reason(run, name)),
        run_preflight(run),
        elsewhere(run),
    )
    reason = None
    if found.reason is not None:
        about = found.reason.names[0] if found.reason.names else comparison.candidates[0].name
        reason = reason_of(run, about)
    sentences = (*found.copied[:MOST_NAMES], found.closest, found.encoders, found.format, found.reason)
    said = [each for each in sentences if each is not None]
    names = dict.fromkeys([*found.leaders[:MOST_NAMES], *(name for each in said for name in each.names)])
    return Verdict(
        run=run.id,
        closest=in_our_words(found.closest, numbers),
        other_encoders=None if found.encoders is None else in_our_words(found.encoders, numbers),
        leaders=[numbers[name] for name in found.leaders],
        closest_told_apart=len(found.leaders) == 1 < len(numbers),
        too_few_texts=None if found.few is None else in_our_words(found.few, numbers),
        copied_texts=[in_our_words(each, numbers) for each in found.copied[:MOST_NAMES]],
        formats_differ=None if found.format is None else in_our_words(found.format, numbers),
        main_reason=reason,
        candidates=[named(comparison, name) for name in names],
        settings=settings_of(comparison),
    )


def leaderboard(access: Access, run_id: str, score: ScoreName, limit: int, cursor: str | None) -> Leaderboard:
    """Rank the candidates by one score, the closest to the human texts first."""
    run = access.load(run_id)
    comparison = run.comparison
    ranked = standings(comparison, score)
    call = ("leaderboard", run.id, run.digest, score)
    rows, following = page(ranked, lambda each: _row(comparison, each, score), limit, cursor, call)
    halves = comparison.halves
    ceiling = None
    if halves is not None:
        ceiling = Ceiling(n=halves.source.n, k=halves.partitions[0].k, score=score_of(halves.scores[score]))
    return Leaderboard(
        run=run.id,
        score=TITLES[score],
        closer="higher" if HIGHER_IS_CLOSER[score] else "lower",
        rows=rows,
        total=len(ranked),
        human_vs_human=ceiling,
        reading=_leaderboard_help(comparison, score),
        settings=settings_of(comparison),
        next_cursor=following,
    )


def test_candidates(access: Access, run_id: str, first: int | str, second: int | str, score: ScoreName) -> Test:
    """Test which of two candidates is closer to the human texts."""
    run = access.load(run_id)
    one, other = candidate_of(run, first), candidate_of(run, second)
    if one is other:
        raise CallError("A candidate cannot be tested against itself", allowed="two different candidates")
    found = next(
        each.seen_from(one.name)
        for each in run.comparison.differences
        if each.score == score and {each.first, each.second} == {one.name, other.name}
    )
    notes = (
        tests_sentence([found], run.comparison.words),
        disagreement_sentence([found]),
        pairing_sentence(run.comparison),
        f"Interval of the difference: {run.comparison.config.score.confidence:.0%}, by the same jackknife.",
    )
    return Test(
        run=run.id,
        score=TITLES[score],
        first=named(run.comparison, one.name),
        second=named(run.comparison, other.name),
        result=_result(found, run.comparison),
        told_apart=found.told_apart,
        difference=rounded(found.difference),
        low=rounded(found.low),
        high=rounded(found.high),
        p_value=rounded(found.p_value),
        p_adjusted=rounded(found.p_adjusted),
        paired=found.paired,
        n=found.n,
        scores=[score_of(each.scores[score]) for each in (one, other)],
        reading=[with_plain_spaces(note) for note in notes if note],
        settings=settings_of(run.comparison),
    )


def reason_of(run: Run, candidate: str) -> MainReason | None:
    """A candidate's main reason, its words apart from the sentence."""
    reason = run_main_reason(run, candidate)
    if reason is None:
        return None
    return MainReason(
        candidate=numbers_of(run.comparison)[candidate],
        sentence=with_plain_spaces(without_words(reason).sentence),
        words=[cut(word) for word in reason.words],
        cluster=reason.cluster,
        cost=with_plain_spaces(reason.cost),
    )


def _masked(reason: Reason | None) -> Reason | None:
    return None if reason is None else without_words(reason)


def _run_row(summary: RunSummary) -> RunRow:
    return RunRow(
        run=summary.id,
        name=cut(summary.name),
        created=cut(summary.created),
        human_texts=summary.n,
        encoder=None if summary.encoder is None and summary.features_from is None else cut(summary.made_by),
        candidates=[cut(name) for name in summary.candidates[:MOST_NAMES]],
        more_candidates=max(len(summary.candidates) - MOST_NAMES, 0),
        tags=[cut(tag) for tag in summary.tags[:MOST_NAMES]],
        notes=cut(summary.notes, NOTES),
    )


def _row(comparison: Comparison, standing: Standing, score: str) -> Row:
    candidate = standing.candidate
    alike = comparison.at_size_of_halves(candidate.name)
    return Row(
        number=numbers_of(comparison)[candidate.name],
        name=cut(candidate.name),
        rank=rank_label(standing.rank, standing.tied),
        letters=standing.letters,
        n=candidate.source.n_scored,
        generations=candidate.source.generations,
        k=candidate.partitions[0].k,
        score=score_of(candidate.scores[score]),
        like_for_like=None if alike is None else score_of(alike.scores[score]),
    )


def _leaderboard_help(comparison: Comparison, score: str) -> list[str]:
    notes = [
        f"Each score: {spread_sentence(comparison)}; in parentheses, "
        f"the {texts_interval(comparison.config.score.confidence)}.",
        places_sentence(comparison, score),
        pairing_sentence(comparison),
    ]
    if comparison.halves is not None:
        notes.append(human_vs_human_sentence(comparison.halves.source.n, comparison.halves.partitions[0].k))
    return [with_plain_spaces(note) for note in notes if note]


def _result(found: Difference, comparison: Comparison) -> str:
    by = f"{TITLES[found.score]} differs by {difference_in_words(found)}"
    is_first = (found.difference > 0) == HIGHER_IS_CLOSER[found.score]
    closer, other = map(Name, (found.first, found.second) if is_first else (found.second, found.first))
    parts = filled("{} is closer to the human texts than {}: {}.", closer, other, by)
    if not found.told_apart:
        parts = filled("{} and {} are not told apart: {}.", Name(found.first), Name(found.second), by)
    said = Sentence(under(comparison.config.encoder, comparison.config.features_from, parts))
    return in_our_words(said.said_of(comparison.words), numbers_of(comparison))
