"""The tools: runs and their scores, a candidate's clusters and texts, the curves as a drawing, and jobs.

Clusters are those that the pages show by default: of the pairwise partition under the candidate's median seed. Costs
are given only where exchanged texts rarely give as large a gap (``mauve_core.findings.clusters``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from mauve_core.agents.access import Access, CallError
from mauve_core.agents.answers import (
    NOTES,
    Ceiling,
    ClusterRow,
    Clusters,
    Figure,
    Findings,
    Job,
    Leaderboard,
    MainReason,
    PhraseRow,
    PropertyRow,
    Row,
    RunRow,
    Runs,
    Test,
    Text,
    Texts,
    Verdict,
    candidate_of,
    cut,
    in_our_words,
    named,
    numbers_of,
    page,
    rounded,
    score_of,
    settings_of,
    without_words,
)
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.analyses.encoders import elsewhere
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, PartitionKind, ScoreConfig
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import percent_with_interval, significant, with_plain_spaces
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.figures.frontier import banded_names, curve_points, error_curves, frontier_svg
from mauve_core.findings.clusters import cluster_table, costed_table, ordered
from mauve_core.findings.distinctive_words import Phrase
from mauve_core.findings.precomputed import (
    run_cluster_names,
    run_cluster_words,
    run_exchange_rate,
    run_gap_test,
    run_main_reason,
    run_preflight,
    run_properties,
    run_stability,
)
from mauve_core.findings.sentences import Name, Sentence, filled
from mauve_core.findings.verdicts import difference_in_words, under, verdict_of
from mauve_core.findings.why_cards import PropertyEffect, Reason, WhyCard, why_card, why_source
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.runs import Run, RunSummary
from mauve_core.scoring.result import Comparison, Difference, Partition
from mauve_core.scoring.tables import (
    Standing,
    disagreement_sentence,
    human_vs_human_sentence,
    pairing_sentence,
    places_sentence,
    rank_label,
    score_in_words,
    seed_in_words,
    spread_sentence,
    standings,
    tests_sentence,
    texts_interval,
)
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import property_named
from mauve_core.texts.text_files import TextFile

if TYPE_CHECKING:
    ScoreName = str
else:
    ScoreName = Literal[tuple(SCORES)]

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
        score=SCORES[score].title,
        closer="higher" if SCORES[score].higher_is_closer else "lower",
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
        score=SCORES[score].title,
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
        sentence=with_plain_spaces(without_words(reason).sentence(run.comparison.words)),
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
        notes.append(
            human_vs_human_sentence(comparison.words, comparison.halves.source.n, comparison.halves.partitions[0].k)
        )
    return [with_plain_spaces(note) for note in notes if note]


def _result(found: Difference, comparison: Comparison) -> str:
    by = f"{SCORES[found.score].title} differs by {difference_in_words(found)}"
    is_first = (found.difference > 0) == SCORES[found.score].higher_is_closer
    closer, other = map(Name, (found.first, found.second) if is_first else (found.second, found.first))
    parts = filled("{} is closer to the {reference_items} than {}: {}.", closer, other, by, words=comparison.words)
    if not found.told_apart:
        parts = filled("{} and {} are not told apart: {}.", Name(found.first), Name(found.second), by)
    said = Sentence(under(comparison.config.encoder, comparison.config.features_from, parts))
    return in_our_words(said, numbers_of(comparison))


Side = Literal["human", "candidate"]
Label = Literal["stable", "unsure", "noise"]

KIND: PartitionKind = "pairwise"
# Mixture weight of a cluster table, on which nothing here depends.
WEIGHT = 0.5

MOST_WORDS = 6
# Phrases of each side.
MOST_PHRASES = 5

# Characters of a prompt that are quoted.
PROMPT = 200


@dataclass(frozen=True)
class View:
    """One candidate's clusters as the pages show them."""

    run: Run
    candidate: str

    @cached_property
    def partition(self) -> Partition:
        return self.run.comparison.partition(KIND, self.candidate)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return run_cluster_names(self.run, KIND, self.candidate, self.partition.seed)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Counts, shares and costs of every cluster; with intervals where the gap test shows a gap."""
        if not run_gap_test(self.run, KIND, self.candidate).explains:
            return cluster_table(self.partition.counts(HUMAN), self.partition.counts(self.candidate), WEIGHT)
        rate = run_exchange_rate(self.run, KIND, self.candidate)
        return costed_table(self.run.comparison, KIND, self.candidate, self.partition.seed, WEIGHT, rate=rate)

    @cached_property
    def gap(self) -> str:
        """Whether there is a gap to explain, in a sentence."""
        found = run_gap_test(self.run, KIND, self.candidate)
        if not found.explains:
            return with_plain_spaces(found.in_words(self.run.comparison.words))
        return f"The candidate's texts differ from the human texts (p = {significant(found.p_value)})."

    def sizes(self, cluster: int) -> tuple[int, int]:
        """Numbers of human texts and of the candidate's; CallError if there is no such cluster."""
        if not 0 <= cluster < self.partition.k:
            allowed = f"0 to {self.partition.k - 1}, as clusters lists them for this candidate"
            raise CallError("The candidate has no such cluster", allowed=allowed, received=str(cluster))
        human, own = (int(self.partition.counts(source)[cluster]) for source in (HUMAN, self.candidate))
        return human, own


def clusters(access: Access, run_id: str, which: int | str, limit: int, cursor: str | None) -> Clusters:
    """List a candidate's clusters, the costliest first."""
    view = _view(access, run_id, which)
    run, candidate, table = view.run, view.candidate, view.table
    costed = "low" in table
    shown = ordered(table, "cost") if costed else table.sort_values("difference", key=abs, ascending=False)
    labels, notes = _stability(view)
    words = _words(view)

    def write(row: dict[str, Any]) -> ClusterRow:
        cluster = int(row["cluster"])
        return _cluster_row(row, view.names[cluster], None if labels is None else labels[cluster], words[cluster])

    rows: list[dict[str, Any]] = [{str(key): value for key, value in row.items()} for row in shown.to_dict("records")]
    found, following = page(rows, write, limit, cursor, ("clusters", run.id, run.digest, candidate))
    seed = seed_in_words(run.comparison, candidate, KIND, view.partition.seed)
    return Clusters(
        run=run.id,
        candidate=named(run.comparison, candidate),
        score=with_plain_spaces(f"{score_in_words(run.comparison, candidate)}; {seed}"),
        gap_test=view.gap,
        ordered_by="cost" if costed else "difference of shares",
        clusters=found,
        total=len(rows),
        notes=notes,
        settings=settings_of(run.comparison),
        next_cursor=following,
    )


def cluster_texts(
    access: Access,
    run_id: str,
    which: int | str,
    cluster: int,
    side: Side | Literal["both"],
    limit: int,
    cursor: str | None,
    characters: int,
    from_character: int,
) -> Texts:
    """Quote texts of a cluster, in file order; of both sides, in turn as long as there are any."""
    view = _view(access, run_id, which)
    human, own = view.sizes(cluster)
    sources: dict[Side, str] = {"human": HUMAN, "candidate": view.candidate}
    listed = [
        [(each, int(place)) for place in np.flatnonzero(view.partition.labels[source] == cluster)]
        for each, source in sources.items()
        if side in (each, "both")
    ]
    items = [item for turn in zip_longest(*listed) for item in turn if item is not None]

    def write(item: tuple[Side, int]) -> Text:
        each, place = item
        return _text(view.run.corpora[sources[each]], each, place, characters, from_character)

    call = ("texts", view.run.id, view.run.digest, view.candidate, cluster, side, characters, from_character)
    found, following = page(items, write, limit, cursor, call)
    return Texts(
        run=view.run.id,
        candidate=named(view.run.comparison, view.candidate),
        cluster=cluster,
        cluster_name=cut(view.names[cluster]),
        human_texts=human,
        candidate_texts=own,
        texts=found,
        next_cursor=following,
    )


def findings(access: Access, run_id: str, which: int | str, cluster: int | None) -> Findings:
    """Say what distinguishes the candidate's texts from the human ones, and both sides' texts in one cluster.

    Without a number, the cluster is that of the main reason, else the costliest.
    """
    view = _view(access, run_id, which)
    run, candidate = view.run, view.candidate
    reason = reason_of(run, candidate)
    if cluster is None:
        cluster = int(view.table["cost"].to_numpy().argmax()) if reason is None else reason.cluster
    human, own = view.sizes(cluster)
    corpora = run.corpora[HUMAN], run.corpora[candidate]
    properties = run_properties(run, HUMAN), run_properties(run, candidate)
    card = why_card(why_source(view.partition, *corpora, candidate, properties=properties), cluster, top=MOST_PHRASES)
    alone = human == 0 or own == 0
    notes = ["The cluster has texts of one side only, so its sides cannot be compared"] if alone else []
    return Findings(
        run=run.id,
        candidate=named(run.comparison, candidate),
        gap_test=view.gap,
        main_reason=reason,
        cluster=cluster,
        cluster_name=cut(view.names[cluster]),
        human_texts=human,
        candidate_texts=own,
        properties=[row for row in map(_property_row, card.sides) if row is not None],
        phrases=_phrases(card),
        notes=notes,
    )


def _view(access: Access, run_id: str, which: int | str) -> View:
    run = access.load(run_id)
    return View(run, candidate_of(run, which).name)


def _cluster_row(row: dict[str, Any], name: str, label: Label | None, words: Sequence[str]) -> ClusterRow:
    costed = "low" in row
    cost = percent_with_interval(row["cost_share"], row["low"], row["high"]) if costed else None
    return ClusterRow(
        cluster=int(row["cluster"]),
        name=cut(name),
        cost=None if cost is None else with_plain_spaces(cost),
        cost_share=rounded(row["cost_share"]) if costed else None,
        low=rounded(row["low"]) if costed else None,
        high=rounded(row["high"]) if costed else None,
        direction=row["direction"],
        human_texts=int(row["human"]),
        candidate_texts=int(row["model"]),
        stability=label,
        words=[cut(word) for word in words],
    )


def _stability(view: View) -> tuple[list[Label] | None, list[str]]:
    """Each cluster's label, and notes; None where it could not be determined."""
    try:
        found = run_stability(view.run, KIND, view.candidate, view.partition.seed)
    except MauveLensError as error:
        return None, [cut(f"Stability could not be determined: {error}", NOTES)]
    return found.label.tolist(), [cut(note, NOTES) for note in found.notes]


def _words(view: View) -> list[list[str]]:
    """The distinctive words of each cluster; none where the texts have no countable words."""
    try:
        found = run_cluster_words(view.run, KIND, view.candidate, view.partition.seed)
    except MauveLensError:
        return [[] for _ in range(view.partition.k)]
    return [[each.word for each in words[:MOST_WORDS]] for words in found]


def _text(corpus: Corpus, side: Side, place: int, characters: int, from_character: int) -> Text:
    text = corpus.texts[place]
    return Text(
        id=cut(corpus.ids[place]),
        side=side,
        text=text[from_character : from_character + characters],
        from_character=from_character,
        characters=len(text),
        prompt=None if corpus.prompts is None else cut(corpus.prompts[place], PROMPT),
    )


def _property_row(found: PropertyEffect) -> PropertyRow | None:
    if found.effect is None:
        return None
    return PropertyRow(
        property=property_named(found.name).title,
        description=property_named(found.name).description,
        human_mean=rounded(found.effect.first),
        candidate_mean=rounded(found.effect.second),
        auc=rounded(found.effect.auc),
        low=rounded(found.effect.low),
        high=rounded(found.effect.high),
        separates=found.separates,
    )


def _phrases(card: WhyCard) -> list[PhraseRow]:
    sides: tuple[tuple[Side, tuple[Phrase, ...]], ...] = (
        ("human", card.human_phrases),
        ("candidate", card.model_phrases),
    )
    return [
        PhraseRow(
            phrase=cut(each.text),
            side=side,
            texts=each.texts,
            other_texts=each.other_texts,
            log_odds=rounded(each.log_odds),
            low=rounded(each.low),
            high=rounded(each.high),
        )
        for side, phrases in sides
        for each in phrases
    ]


# As many as the drawing names; about half a kilobyte each.
MOST_CURVES = 22

# Points of a curve: as many as the grid of published scores has.
POINTS = 25


def figure(access: Access, run_id: str) -> tuple[Figure, str]:
    """Draw the curves of all candidates, in the colors of the app; return facts on the drawing, and it as SVG."""
    run = access.load(run_id)
    comparison = run.comparison
    order = [each.candidate.name for each in standings(comparison)]
    if len(order) > MOST_CURVES:
        allowed = f"runs of up to {MOST_CURVES} candidates"
        todo = "The leaderboard has all of them, and the app shows their curves"
        raise CallError(
            "The run has too many curves for a drawing", allowed=allowed, received=str(len(order)), todo=todo
        )
    points = curve_points(error_curves(comparison, "pairwise"), comparison.config.score.scale)
    thinned = pd.concat([_thinned(part) for _, part in points.groupby("candidate", sort=False)], ignore_index=True)
    banded = banded_names(order, order[0])
    bands = "all curves" if len(banded) == len(order) else "the first one on the leaderboard alone"
    svg = frontier_svg(thinned, order, banded)
    facts = Figure(
        run=run.id,
        title="Divergence curves of the pairwise partitions",
        caption=[
            f"A curve nearer to the corner (1, 1) is closer to the human texts; drawn through {POINTS} points, "
            "means over the k-means seeds.",
            f"A band spans the lowest to the highest k-means seed; it is shown for {bands}.",
            "A drawing ranks nothing: the tests of the leaderboard do.",
        ],
        candidates=[named(comparison, name) for name in order],
        uri=f"mauve-lens://runs/{run.id}/divergence-curves.svg",
        svg_bytes=len(svg.encode()),
        settings=settings_of(comparison),
    )
    return facts, svg


def _thinned(points: pd.DataFrame) -> pd.DataFrame:
    """At most ``POINTS`` rows of one curve, the ends among them."""
    kept = np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int))
    return points.iloc[kept]


class CandidateFile(BaseModel):
    """A candidate to compare."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(description="As the leaderboard will show it.")]
    file: Annotated[str, Field(description="In the folder that the server was started with.")]


def start_comparison(
    access: Access, name: str, human: str, candidates: Sequence[CandidateFile], encoder: str, seeds: int, seed: int
) -> Job:
    """Start a comparison as a job, unless one with the same work waits or runs.

    Only encoders that come with the program are taken: an agent makes it fetch nothing.
    """
    access.require_change()
    if encoder not in PACKAGED:
        raise CallError("That encoder cannot be used here", allowed=", ".join(PACKAGED), received=repr(encoder))
    names = [each.name for each in candidates]
    if len(set(names)) < len(names):
        raise CallError("Two candidates have the same name", allowed="a different name for each")
    files = {each.name: TextFile(access.file(each.file)) for each in candidates}
    config = CompareConfig(encoder=EncoderConfig(model=encoder), score=ScoreConfig(seeds=seeds, seed=seed))
    return _job(queue.start(ComparisonTask(name, TextFile(access.file(human)), files, config)))


def job(access: Access, job_id: str) -> Job:
    """Say how far a job is."""
    access.require_jobs()
    if job_id not in {each.id for each in queue.list()}:
        raise CallError("No job has that id", allowed="job, as start_comparison gave it", received=repr(job_id))
    return _job(queue.status(job_id))


def _job(state: JobState) -> Job:
    return Job(
        job=state.id,
        kind=cut(state.kind),
        name=cut(state.name),
        status=state.status,
        stage=cut(state.stage),
        done=state.done,
        total=state.total,
        seconds_left=None if state.seconds_left is None else rounded(state.seconds_left),
        message=cut(state.message, NOTES),
        run=state.run,
    )
