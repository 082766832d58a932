"""Scores and clusters over all texts of corpora in shards, which a run of a sample of these texts keeps.

The clusters over all texts, those that tell the sides apart most, have some texts and phrases each. They belong to the
partition of all texts; the clusters that the run itself has are those of its sample. Further texts are in the shards,
behind a work folder that is found on this machine, for a run names no file to read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analyses.comparison_task import compare_and_store
from mauve_core.analyses.encoders import written
from mauve_core.analyses.tasks import Stored, unheeded
from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError, MauveLensError, StorageError, words_of
from mauve_core.base.formatting import (
    NONE,
    SCORE_DECIMALS,
    as_percent,
    interval,
    percent_with_interval,
    plural,
    significant,
    with_plain_spaces,
)
from mauve_core.base.json_codec import Count, Within, dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.findings.clusters import ADDS, CONFIDENCE, MISSES, wilson_interval
from mauve_core.findings.distinctive_words import count_words, distinctive_of_counts
from mauve_core.findings.precomputed import run_preflight
from mauve_core.findings.sentences import Name, Sentence, filled, sentence
from mauve_core.findings.verdicts import (
    ALL_COPY,
    SCORE,
    TOO_FEW,
    Ranked,
    among_others,
    closest_of,
    mean_and_interval,
    score_in_full,
    under,
)
from mauve_core.findings.why_cards import cluster_names
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.differences import LIKE_SIZES
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.tables import overlap
from mauve_core.shards.cluster_texts import LEAST_PROPOSING, MOST_CHARACTERS, RANDOM, Chosen, KeptText, chosen_clusters
from mauve_core.shards.comparison import KeptCluster, KeptSide, kept_clusters
from mauve_core.shards.encoding import SampledText, feature_rows, sample_of
from mauve_core.shards.places import name_of
from mauve_core.shards.plan import Note, ShardedComparison, Work, notes_of, take_note
from mauve_core.shards.texts import id_of_text
from mauve_core.texts.building import corpus_from_texts
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.properties import stop_words

ATTACHMENT = "shards"

ABOUT = (
    "MAUVE and MAUVE*: mean ± standard deviation over k-means seeds. Interval: bootstrap over groups of prompts, at "
    "this number of texts and clusters. Scores at other numbers, such as those of a sample, cannot be compared "
    "with these."
)


def stored_over_shards(run: Run) -> ShardedComparison | None:
    """The scores over all texts, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    found = from_json(ShardedComparison, values)
    named = [side.name for side in found.sides]
    allowed = [HUMAN, *(candidate.name for candidate in run.comparison.candidates)]
    if named != allowed:
        raise InputError("The scores over all texts do not belong to the run", allowed=", ".join(allowed))
    return found


def sizes_over_all(found: ShardedComparison) -> str:
    """Numbers of texts of the sides: ``5,000,000``, or ``4,800,000 to 5,000,000``."""
    sizes = sorted({side.n for side in found.sides})
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


def is_sample(run: Run, found: ShardedComparison) -> bool:
    """Whether the run leaves out some of the texts."""
    shown = {source.name: source.n for source in run.comparison.sources}
    return any(side.n != shown[side.name] for side in found.sides)


def sample_sentence(run: Run, found: ShardedComparison) -> str:
    """Say that a run is a sample, and of what."""
    if not is_sample(run, found):
        return f"This run shows all {sizes_over_all(found)} texts a side."
    shown = f"{run.comparison.human.n:,}"
    return f"This run shows a sample of {shown} of {sizes_over_all(found)} texts a side. What follows is of the sample."


def missing_sentence(found: ShardedComparison) -> str:
    """Say why clusters over all texts are shown without texts or phrases; "" if they have them."""
    why = found.texts_missing
    return "" if why is None else f"Texts or phrases of the clusters over all texts are missing: {why}"


def closest_over_all(found: ShardedComparison, copying: Collection[str] = (), words: Words = TEXTS) -> Sentence:
    """Say who is closest to the human texts over all texts, as a run's verdict does (``findings.verdicts``).

    Of :func:`settled` results, where there is a run; of candidates that do not copy, unless all do.
    """
    ranked = ranked_over_all(found)
    ordered = [each for each in ranked if each.name not in copying]
    if not ordered and len(ranked) > 1:
        return sentence(ALL_COPY, words=words)
    leader, *others = ordered or ranked
    if not others:
        has = filled("{} has {} over all texts.", Name(leader.name), score_in_full(leader))
        return Sentence(under(found.encoder, None, has))
    test = partial(found.difference, SCORE)
    tests = [each for other in others if (each := test(leader.name, other.name)) is not None]
    why = None
    if len(tests) == len(others):
        tied = [other for other, own in zip(others, tests, strict=True) if not own.told_apart]
    else:  # intervals decide about all of them, as the sentence says
        why = f"numbers of texts differ by more than {as_percent(LIKE_SIZES)}, so not all differences were tested"
        tied = [other for other in others if overlap(_ends(leader), _ends(other))]
    behind = [other for other in others if other not in tied]
    parts = under(found.encoder, None, closest_of(leader, tied, behind, test, why, words))
    return Sentence(among_others(parts) if copying else parts)


def settled(found: ShardedComparison, run: Run | None) -> ShardedComparison:
    """The same with the run's tests between candidates if it has all texts: they exchange texts rather than groups."""
    if run is None or is_sample(run, found):
        return found
    return dataclasses.replace(found, differences=run.comparison.differences)


def answers_over_all(found: ShardedComparison, run: Run | None) -> tuple[Sentence, ...]:
    """Say who is closest over all texts, and what speaks against it.

    ``run`` is the stored sample, if there is one: how near human texts come to other human texts is known of it alone.
    """
    words = TEXTS if run is None else run.comparison.words
    copies = [] if run is None else [row.sentence(words) for row in run_preflight(run).copying]
    copying = [name for each in copies for name in each.names]
    doubts = (*_doubts(found), *(Sentence(("In the sample, ", *each.parts)) for each in copies))
    closest = closest_over_all(settled(found, run), copying, words)
    name = next((each.name for each in ranked_over_all(found) if each.name not in copying), None)
    alike = None if name is None or run is None else run.comparison.at_size_of_halves(name)
    if name is None or run is None or alike is None or run.comparison.halves is None:
        return (*doubts, closest)
    own, human = (mean_and_interval(each.scores[SCORE]) for each in (alike, run.comparison.halves))
    where = "like for like in the sample" if is_sample(run, found) else "like for like"
    said = f"At {alike.n:,} texts a side, {where}, {{}} has a MAUVE of {own}, {words.halves} one of {human}."
    return (*doubts, closest, sentence(said, Name(name)))


def same_texts(found: ShardedComparison) -> Iterator[Sentence]:
    """Say which candidates have the texts of the human side."""
    human, *others = found.sides
    for side in others:
        if side.digest == human.digest:
            yield sentence(
                "{} has the same texts as the human side: were the same shards given twice?", Name(side.name)
            )


def _doubts(found: ShardedComparison) -> Iterator[Sentence]:
    yield from same_texts(found)
    human, *others = found.sides
    fewest = min(min(human.n, side.n) / found[side.name].k for side in others)
    if fewest < FEW_PER_CLUSTER:
        yield sentence(TOO_FEW, significant(fewest), f"{FEW_PER_CLUSTER}")
    for each in found.candidates:
        if each.no_interval:
            yield sentence("{}: no interval and no test: {}.", Name(each.name), each.no_interval)


def ranked_over_all(found: ShardedComparison) -> list[Ranked]:
    """The candidates by their MAUVE over all texts, the best first."""
    ranked = [
        Ranked(candidate.name, candidate.scores[SCORE], side.n)
        for side, candidate in zip(found.sides[1:], found.candidates, strict=True)
    ]
    return sorted(ranked, key=lambda each: each.estimate.mean, reverse=True)


def _ends(candidate: Ranked) -> tuple[float, float]:
    return candidate.estimate.low, candidate.estimate.high


def over_all_rows(found: ShardedComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells of the scores over all texts, the best candidate first."""
    columns = ("Candidate", "Texts", "MAUVE", "Interval", "MAUVE*", "k")
    rows: list[tuple[str, ...]] = []
    sides = {side.name: side for side in found.sides}
    for each in ranked_over_all(found):
        side, candidate = sides[each.name], found[each.name]
        mauve, star = candidate.scores["mauve"], candidate.scores["mauve_star"]
        rows.append(
            (
                candidate.name,
                f"{side.n:,}",
                f"{mauve}",
                with_plain_spaces(interval(mauve.low, mauve.high, SCORE_DECIMALS)),
                f"{star}",
                f"{candidate.k:,}",
            )
        )
    return columns, rows


CLUSTERS_ATTACHMENT = "shards-clusters"

# Random texts of a cluster and side that a run keeps, of those that propose phrases.
MOST_READ = 20

MOST_PHRASES = 5


@dataclass(frozen=True)
class CountedPhrase:
    """A phrase that one side of a cluster uses more often than the other.

    Attributes
    ----------
    text : str
    human, model : int
        Texts of either side that have it, of all texts of the cluster.
    """

    text: str
    human: Count
    model: Count


@dataclass(frozen=True)
class SideOverAll:
    """One side of a cluster.

    Attributes
    ----------
    n : int
        Texts of the side in the cluster, of all shards.
    effect : float
        How many times as large the variance of its share is as if texts of one prompt were not alike.
    sampled : int
        Random texts that proposed phrases.
    nearest, random : tuple of KeptText
        The nearest to the cluster's center first, and the first of the random ones.
    phrases : tuple of CountedPhrase
        The most distinctive first.
    """

    n: Count
    effect: Annotated[float, Within(1)]
    sampled: Annotated[int, Within(0, RANDOM)]
    nearest: tuple[KeptText, ...]
    random: tuple[KeptText, ...]
    phrases: tuple[CountedPhrase, ...]


@dataclass(frozen=True)
class ClusterOverAll:
    """One cluster of all texts: its number, words that distinguish it from the others here, and both sides."""

    number: Count
    name: str
    human: SideOverAll
    model: SideOverAll


@dataclass(frozen=True)
class CandidateOverAll:
    """The clusters of one candidate's partition that have the largest terms of the frontier integral.

    Attributes
    ----------
    name : str
    seed : int
        Index of the k-means seed under which MAUVE is the candidate's median.
    clusters : tuple of ClusterOverAll
        The largest term first.
    """

    name: str
    seed: Count
    clusters: tuple[ClusterOverAll, ...]


@dataclass(frozen=True)
class ClustersOverAll:
    """The clusters of every candidate, in their order."""

    candidates: tuple[CandidateOverAll, ...]

    def __getitem__(self, name: str) -> CandidateOverAll:
        return {candidate.name: candidate for candidate in self.candidates}[name]

    def digest(self) -> str:
        """SHA-256 of all of it: equal on every engine."""
        return hashlib.sha256(json.dumps(dataclass_to_json(self), sort_keys=True).encode()).hexdigest()


def clusters_over_all(work: Work) -> ClustersOverAll:
    """Name the clusters of all candidates, and find their phrases; call it after ``compare_shards``."""
    return ClustersOverAll(tuple(_of_candidate(work, name) for name in work.plan.candidates))


def _of_candidate(work: Work, candidate: str) -> CandidateOverAll:
    seed, clusters = kept_clusters(work, candidate)
    found = tuple(
        ClusterOverAll(cluster.number, name, *_sides(cluster))
        for cluster, name in zip(clusters, _names(clusters), strict=True)
    )
    return CandidateOverAll(candidate, seed, found)


def _names(clusters: Sequence[KeptCluster]) -> tuple[str, ...]:
    """Words of each cluster's random texts that the others' have less often; its number where shards hold features."""
    texts = [
        (place, text.text)
        for place, cluster in enumerate(clusters)
        for text in (*cluster.human.random, *cluster.model.random)
    ]
    if not texts:
        return tuple(f"cluster {cluster.number}" for cluster in clusters)
    labels = np.array([place for place, _ in texts], dtype=np.int32)
    return cluster_names(count_words([text for _, text in texts]), {}, labels, len(clusters))


def _sides(cluster: KeptCluster) -> tuple[SideOverAll, SideOverAll]:
    sides, (phrases, texts) = (cluster.human, cluster.model), cluster.phrases
    chosen: tuple[list[int], list[int]] = [], []
    if all(side.n for side in sides):
        chosen = distinctive_of_counts(
            phrases,
            texts,
            (cluster.human.n, cluster.model.n),
            effects=(cluster.human.effect, cluster.model.effect),
            top=MOST_PHRASES,
            stop_words=stop_words(),
        )
    human, model = (
        _side(side, tuple(CountedPhrase(phrases[at], *texts[:, at].tolist()) for at in own))
        for side, own in zip(sides, chosen, strict=True)
    )
    return human, model


def _side(side: KeptSide, phrases: tuple[CountedPhrase, ...]) -> SideOverAll:
    return SideOverAll(side.n, side.effect, len(side.random), side.nearest, side.random[:MOST_READ], phrases)


def stored_clusters_over_all(run: Run) -> ClustersOverAll | None:
    """The clusters over all texts, or None; StorageError or InputError if damaged."""
    values = run.attachment(CLUSTERS_ATTACHMENT)
    if values is None:
        return None
    found, of = from_json(ClustersOverAll, values), stored_over_shards(run)
    if of is None:
        raise InputError("There are clusters over all texts, and no scores", allowed="both or neither")
    names = [candidate.name for candidate in of.candidates]
    if [candidate.name for candidate in found.candidates] != names:
        raise InputError("The clusters over all texts do not belong to the run", allowed=", ".join(names))
    for each, size in zip(found.candidates, (side.n for side in of.sides[1:]), strict=True):
        for cluster in each.clusters:
            _require_shares(cluster, of.sides[0].n, size)
    return found


def _require_shares(cluster: ClusterOverAll, human: int, model: int) -> None:
    """Raise InputError unless no part is larger than its whole, and none with a phrase is of no texts."""
    phrases = (*cluster.human.phrases, *cluster.model.phrases)
    for side, of, counts in (
        (cluster.human, human, [phrase.human for phrase in phrases]),
        (cluster.model, model, [phrase.model for phrase in phrases]),
    ):
        if side.n > of or max(counts, default=0) > side.n or (counts and not side.n):
            raise InputError(
                f"The counts of cluster {cluster.number} over all texts do not fit together",
                allowed=f"at most {of:,} texts of the side, and no more with a phrase than in the cluster",
                received=f"{side.n:,}, and {max(counts, default=0):,} with a phrase",
            )


ABOUT_CLUSTERS = (
    "Clusters of all texts with the largest parts of the frontier integral, under the k-means seed whose MAUVE is the "
    f"median. {CONFIDENCE:.0%} intervals of shares by Wilson, as wide as the likeness of texts of one prompt makes "
    "them, for all clusters of both sides at once, clusters held fixed. Names are words of up to "
    f"{RANDOM} random texts of each side of a cluster."
)

ABOUT_PHRASES = (
    f"Phrases of at least {LEAST_PROPOSING} prompts in the first {MOST_CHARACTERS:,} characters of up to {RANDOM} "
    "random texts of a side, which it uses more often than the other. Shares are of all its texts in the cluster. "
    f"{CONFIDENCE:.0%} intervals are for one phrase at a time, and as wide as the likeness of texts of one prompt "
    "makes them for the cluster's share."
)


def share_table(found: ShardedComparison, candidate: CandidateOverAll) -> pd.DataFrame:
    """One row per cluster, in their order.

    Returns
    -------
    DataFrame
        cluster, name, human, model (counts), p, q (shares), p_low, p_high, q_low, q_high (intervals that hold for all
        clusters of the partition at once), direction (``ADDS``, ``MISSES``).
    """
    sizes = {side.name: side.n for side in found.sides}
    confidence = 1 - (1 - CONFIDENCE) / (2 * found[candidate.name].k)
    columns: dict[str, object] = {
        "cluster": np.array([each.number for each in candidate.clusters], dtype=np.int64),
        "name": [each.name for each in candidate.clusters],
    }
    for share, name, n in (("p", "human", found.sides[0].n), ("q", "model", sizes[candidate.name])):
        sides: list[SideOverAll] = [getattr(each, name) for each in candidate.clusters]
        counts = np.array([side.n for side in sides], dtype=np.int64)
        effects = np.array([side.effect for side in sides], dtype=np.float64)
        low, high = wilson_interval(counts / effects, n / effects, confidence)
        columns |= {name: counts, share: counts / n, f"{share}_low": low, f"{share}_high": high}
    table = pd.DataFrame(columns)
    return table.assign(direction=np.where(table["q"] > table["p"], ADDS, MISSES))


def share_label(row: pd.Series, share: str) -> str:
    """A cluster's share of one side, ``p`` or ``q``, with its interval."""
    return percent_with_interval(row[share], row[f"{share}_low"], row[f"{share}_high"])


def cluster_sentence(
    table: pd.DataFrame, candidate: str, said: Callable[[str], str] = str, words: Words = TEXTS
) -> str:
    """Say which clusters the candidate over- and under-produces most; "" without clusters.

    ``candidate`` is written as it is; ``said`` writes the names of clusters, which are untrusted.
    """
    parts: list[str] = []
    for direction, verb in ((ADDS, "over-produces"), (MISSES, "under-produces")):
        rows = table[table["direction"] == direction]
        if rows.empty:
            continue
        row = rows.iloc[0]
        own, human = share_label(row, "q"), share_label(row, "p")
        shares = f"{own} of its {words.items} against {human} of the {words.reference_items}"
        if row["p_low"] <= row["q_high"] and row["q_low"] <= row["p_high"]:
            shares += " (these intervals overlap)"
        parts.append(f"{'it' if parts else candidate} {verb} “{said(row['name'])}” most: {shares}")
    return f"{'; '.join(parts)}." if parts else ""


def cluster_rows(
    found: ShardedComparison, candidate: CandidateOverAll, most: int, phrases: int | None = None
) -> list[tuple[str, ...]]:
    """Cells of the first clusters: name, number, both shares, both sides' first phrases, all untrusted."""
    table = share_table(found, candidate).head(most)
    rows = [row for _, row in table.iterrows()]
    return [
        (
            cluster.name,
            f"{cluster.number}",
            *(with_plain_spaces(share_label(row, share)) for share in ("p", "q")),
            *(phrases_in_words(side, phrases) for side in (cluster.human, cluster.model)),
        )
        for row, cluster in zip(rows, candidate.clusters, strict=False)
    ]


def columns_of(candidate: str) -> tuple[str, ...]:
    """Titles of the cells of :func:`cluster_rows`."""
    return "Cluster", "No.", "Human", candidate, "Human phrases", f"Phrases of {candidate}"


def phrases_in_words(side: SideOverAll, most: int | None = None) -> str:
    """The first phrases of a side of a cluster; None means all."""
    return ", ".join(each.text for each in side.phrases[:most]) or NONE


def phrase_shares(cluster: ClusterOverAll, side: SideOverAll) -> list[tuple[str, str, str]]:
    """The phrases of a side, untrusted, with the shares of its own texts and of the other side's that have them."""
    if not side.phrases:
        return []
    sides = [(name, getattr(cluster, name)) for name in ("human", "model")]
    cells = []
    for name, each in sorted(sides, key=lambda pair: pair[1] is not side):
        counts = np.array([getattr(phrase, name) for phrase in side.phrases], dtype=np.float64)
        ends = zip(counts / each.n, *wilson_interval(counts / each.effect, each.n / each.effect), strict=True)
        cells.append([percent_with_interval(*end) for end in ends])
    return list(zip([phrase.text for phrase in side.phrases], *cells, strict=True))


def cluster_of(candidate: CandidateOverAll, number: int | None) -> ClusterOverAll | None:
    """The cluster of that number; the first for None or another number, None without clusters."""
    by_number = {each.number: each for each in candidate.clusters}
    return by_number.get(-1 if number is None else number, next(iter(candidate.clusters), None))


_ELSEWHERE = (
    "More texts cannot be read, because this machine has no work folder of the comparison: open the run where it was "
    "stored, or repeat the command of the comparison here."
)


def may_have_more(side: SideOverAll) -> bool:
    """Whether there are random texts of a side that its run does not keep."""
    # Where fewer than RANDOM were drawn, these are all there are: equal texts without ids are drawn once.
    return len(side.random) < (side.sampled if side.sampled < RANDOM else side.n)


def find_work(found: ShardedComparison, own: CandidateOverAll) -> Work | str:
    """The comparison from which further texts of a candidate's clusters can be read, or a sentence that says why none.

    Parameters
    ----------
    found : ShardedComparison
        Scores over all texts, as a run keeps them.
    own : CandidateOverAll
        The clusters that the run shows.

    Raises
    ------
    StorageError
        The note that says where the work folder is cannot be read.
    """
    folders = dict.fromkeys(note.folder for note in notes_of(found))
    tried = [_opened(folder, found, own) for folder in folders]
    return next((each for each in tried if isinstance(each, Work)), tried[0] if tried else _ELSEWHERE)


def _opened(folder: Path, found: ShardedComparison, own: CandidateOverAll) -> Work | str:
    try:
        if not (folder / "plan.json").is_file():
            return (
                f"More texts cannot be read, because the work folder {folder} is gone. Repeat the command of the "
                "comparison to make it again."
            )
        work = Work.open(folder)
        same = _is_of(work, found) and chosen_clusters(work, own.name) == _shown(found, own)
    except (MauveLensError, OSError) as error:
        return f"More texts cannot be read: {words_of(error)}"
    return work if same else f"More texts cannot be read, because {folder} is the work folder of another comparison."


def _is_of(work: Work, found: ShardedComparison) -> bool:
    sides = tuple(side.name for side in found.sides)
    return work.plan.sources == sides and work.plan.score.seed == found.score.seed


def _shown(found: ShardedComparison, own: CandidateOverAll) -> Chosen:
    clusters = tuple((cluster.number, cluster.human.n, cluster.model.n) for cluster in own.clusters)
    return Chosen(own.seed, found[own.name].k, clusters)


def store_sample(
    name: str,
    work: Work,
    found: ShardedComparison,
    clusters: ClustersOverAll,
    *,
    projection: bool = True,
    progress: Progress = silent,
    stored: Stored = unheeded,
) -> Run:
    """Compare a sample of every side with features from the work folder, and store it with what is known of all texts:
    scores, and the clusters that tell the sides apart most. Where the work folder is, is noted beside all runs.

    Parameters
    ----------
    name : str
        Name of the run.
    work : Work
        Where ``found`` was computed; of texts.
    found : ShardedComparison
    clusters : ClustersOverAll
        Of ``work``.
    projection : bool
        Whether the run gets a map.
    progress, stored : see :meth:`mauve_core.analyses.tasks.Task.perform`

    Returns
    -------
    Run
        Of at most ``Plan.run_texts`` texts a side. Its scores are those of the sample.

    Raises
    ------
    InputError
        The shards hold features, so there are no texts.
    StorageError
        The disk refuses.
    """
    encoder = work.plan.encoder
    if encoder is None:
        raise InputError("Shards of features have no texts to show", todo="Read the scores: shard-merge --json")
    # In the order of the shards, so that a run of all texts has the scores over all texts.
    samples = {
        source: sorted(sample_of(work, source, work.plan.run_texts), key=lambda text: (text.shard, text.row))
        for source in work.plan.sources
    }
    corpora = {source: _corpus(source, texts, _origin(work.plan.sides[source])) for source, texts in samples.items()}
    features = {source: _features(work, source, texts) for source, texts in samples.items()}
    origin = f"{written(encoder)}, from shards"
    config = CompareConfig(encoder=None, score=work.plan.score, projection=projection, features_from=origin)

    def attach(run: Run) -> None:
        RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(found))
        RunStore().attach(run.id, CLUSTERS_ATTACHMENT, dataclass_to_json(clusters))
        take_note(work, found, run.id)
        stored(run)

    return compare_and_store(name, corpora, config, features=features, progress=progress, stored=attach)


def stored_before(
    name: str, work: Work, found: ShardedComparison, clusters: ClustersOverAll, *, projection: bool
) -> Run | None:
    """The run that an earlier call of :func:`store_sample` has stored of the same, if it is still there."""
    notes = tuple[Note, ...]()
    with suppress(StorageError):  # damaged notes, which the next run replaces
        notes = notes_of(found)
    for note in notes:
        if note.folder != work.folder:
            continue
        with suppress(MauveLensError):  # a run that was deleted, or is damaged
            run = RunStore().load(note.run)
            kept, of = stored_clusters_over_all(run), stored_over_shards(run)
            same = kept is not None and of is not None and kept.digest() == clusters.digest()
            settings = (run.name, run.comparison.config.projection, of and (of.digest(), of.texts_missing))
            if same and settings == (name, projection, (found.digest(), found.texts_missing)):
                return run
    return None


def _origin(shards: Sequence[str]) -> str:
    """Where a sample is from: the number of shards, and the name of the first one's folder."""
    return f"a sample of {plural(len(shards), 'shard')} in {PurePosixPath(name_of(shards[0])).parent.name}"


def _corpus(source: str, texts: Sequence[SampledText], origin: str) -> Corpus:
    prompts = [text.prompt for text in texts]
    corpus = corpus_from_texts(
        [text.text for text in texts],
        name=source,
        ids=_distinct([text.id for text in texts]),
        prompts=None if None in prompts else prompts,
        origin=origin,
    )
    return replace(corpus, numbered=all(text.id == id_of_text(text.text) for text in texts))


def _distinct(ids: Sequence[str]) -> list[str]:
    """Number ids that repeat: equal texts without an id of their own have equal ones."""
    seen: dict[str, int] = {}
    found = []
    for identifier in ids:
        seen[identifier] = seen.get(identifier, 0) + 1
        found.append(identifier if seen[identifier] == 1 else f"{identifier}-{seen[identifier]}")
    return found


def _features(work: Work, source: str, texts: Sequence[SampledText]) -> NDArray[np.float32]:
    """(n, d) features of the texts, from the shards that hold them."""
    shards = np.array([text.shard for text in texts])
    rows = np.array([text.row for text in texts])
    parts: dict[int, NDArray[np.float32]] = {}
    for index in np.unique(shards).tolist():
        with feature_rows(work, source, index) as table:
            parts[index] = table.take(rows[shards == index])
    found = np.empty((len(texts), next(iter(parts.values())).shape[1]), dtype=np.float32)
    for index, part in parts.items():
        found[shards == index] = part
    return found
