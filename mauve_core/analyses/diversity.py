"""How different a candidate's answers are: within a prompt against across prompts, modes, and what other sides say.

    diversity_of_run(run)

Each prompt has equally many answers, dealt into groups of as many answers to different prompts. Whether two candidates
say the same is judged by their answers to one prompt against two answers of one of them. Clusters of human texts that
a candidate does not reach are counted at equal numbers of texts. All comes from the features of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.lexical_measures import ORDER, sentence_scores, word_ids
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, as_percent, interval, percent_interval, written
from mauve_core.base.json_codec import Count, Share, Within
from mauve_core.base.words import Words
from mauve_core.encoders.features import FeatureStore
from mauve_core.estimators.token_sequences import Overlap
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.result import Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats import _checks
from mauve_core.stats.diversity import (
    Gap,
    Mean,
    ModeCount,
    block_mean,
    count_modes,
    distances_within,
    gap_between_modes,
    modes_met,
    modes_per_prompt,
    unit_answers,
    vendi_score,
)
from mauve_core.texts.pairing import LEAST_PROMPTS

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Equally many answers to each of some prompts.

    Attributes
    ----------
    prompts : (g,) int64 array
        Numbers of the prompts, increasing.
    rows : (g, m) int64 array
        The answers, as positions among the candidate's texts.
    of, repeated : int
        All prompts that the candidate answers, and those of them with several answers.
    """

    prompts: Rows
    rows: Rows
    of: int
    repeated: int

    @property
    def several(self) -> bool:
        """Whether there are several answers to enough prompts."""
        return self.rows.shape[1] > 1 and len(self.rows) >= LEAST_PROMPTS


def dealt(prompts: int, answers: int) -> Rows | None:
    """Divide g times m answers into g groups of m answers to different prompts; None if there are fewer prompts.

    Returns
    -------
    (g, m) int64 array or None
        Answers by number; the j-th to prompt i has the number i m + j. The j-th of a group i answers prompt i + j.
    """
    if prompts < answers:
        return None
    columns = np.arange(answers)
    return (np.arange(prompts)[:, None] + columns) % prompts * answers + columns


def answers_of(prompts: NDArray[np.integer], seed: SeedSequence) -> Answers:
    """Take equally many answers to each prompt of a candidate.

    Their number is the median over the prompts that have several answers (the lower one), or 1 if there are fewer than
    ``LEAST_PROMPTS`` of these. Prompts with fewer answers are left out; of more, some are drawn at random.

    Parameters
    ----------
    prompts : (n,) int array
        The prompt of each text.
    seed : SeedSequence
    """
    codes, sizes = np.unique(prompts, return_counts=True)
    several = np.sort(sizes[sizes > 1])
    m = int(several[(several.size - 1) // 2]) if several.size >= LEAST_PROMPTS else 1
    order = np.lexsort((np.random.default_rng(seed).random(len(prompts)), prompts))
    starts = np.cumsum(sizes) - sizes
    rows = order[starts[sizes >= m][:, None] + np.arange(m)]
    return Answers(codes[sizes >= m].astype(np.int64), rows.astype(np.int64), codes.size, several.size)


# Prompts whose self-BLEU is computed, at most.
SELF_BLEU_PROMPTS = 500

# Draws of one answer to each prompt, at most.
DRAWS = 10


CosineDistance = Annotated[float, Within(0, 2)]


@dataclass(frozen=True)
class Contrast:
    """A measure of m answers, as a mean over groups of them with its 95% interval over prompts.

    Attributes
    ----------
    within : Mean
        Of answers to one prompt.
    between : Mean or None
        Of answers to m different prompts; None if there are fewer prompts.
    """

    within: Mean
    between: Mean | None


@dataclass(frozen=True)
class Diversity:
    """Variety of a candidate's answers.

    Attributes
    ----------
    prompts, of_prompts, answers : int
        Prompts that are measured, all that the candidate answers, and answers to each that are measured.
    modes : ModeCount or None
        None if modes are not separate in the features.
    different : ModeCount
        The same with answers of one mode only if their texts are equal; needs no features.
    distance : Contrast
        Mean cosine distance of two answers.
    vendi : Contrast
        Vendi score of the answers.
    clusters : Contrast or None
        Joint clusters that the answers reach; None without joint clusters.
    self_bleu : Contrast
        Self-BLEU of the answers, 0 to 1.
    vendi_over_prompts, vendi_low, vendi_high : float
        Vendi score of one answer to each prompt: mean, smallest and largest of at most ``DRAWS`` draws.
    """

    prompts: int
    of_prompts: int
    answers: int
    modes: ModeCount | None
    different: ModeCount
    distance: Contrast
    vendi: Contrast
    clusters: Contrast | None
    self_bleu: Contrast
    vendi_over_prompts: float
    vendi_low: float
    vendi_high: float


def diversity_of(
    answers: Answers,
    x: NDArray[np.float64],
    texts: Sequence[str],
    labels: NDArray[np.integer] | None,
    gap: Gap | None,
    seed: SeedSequence,
) -> Diversity:
    """Measure the variety of a candidate's answers.

    Parameters
    ----------
    answers : Answers
        Several to each prompt.
    x : (g, m, d) array
        Unit rows of ``answers.rows``.
    texts : sequence of str
        All n texts of the candidate.
    labels : (n,) int array or None
        Their joint clusters.
    gap : Gap or None
        What separates modes.
    seed : SeedSequence
        Of the intervals.
    """
    g, m = answers.rows.shape
    within, between = np.arange(g * m).reshape(g, m), dealt(g, m)
    flat, rows = x.reshape(g * m, -1), answers.rows.ravel()
    number = {text: index for index, text in enumerate(texts)}
    words = _Words([texts[row] for row in rows.tolist()])
    for_modes, *for_contrasts = _checks.seed_sequence(seed).spawn(5)

    def vendi(groups: Rows) -> NDArray[np.float64]:
        return np.array([vendi_score(flat[group]) for group in groups])

    def contrast(measure: Callable[[Rows], NDArray[np.generic]], seed: SeedSequence) -> Contrast:
        """A group of answers to different prompts shares prompts with its m - 1 neighbors on either side."""
        here = block_mean(measure(within), 1, seed)
        return Contrast(here, None if between is None else block_mean(measure(between), m, seed))

    over_prompts = vendi(within.T[:DRAWS])
    return Diversity(
        prompts=g,
        of_prompts=answers.of,
        answers=m,
        modes=modes_per_prompt(x, gap, for_modes),
        different=count_modes(np.array([number[texts[row]] for row in rows.tolist()]).reshape(g, m), for_modes),
        distance=contrast(lambda groups: distance_by_group(flat[groups]), for_contrasts[0]),
        vendi=contrast(vendi, for_contrasts[1]),
        clusters=None if labels is None else contrast(lambda groups: modes_met(labels[rows[groups]]), for_contrasts[2]),
        self_bleu=contrast(words.self_bleu, for_contrasts[3]),
        vendi_over_prompts=float(over_prompts.mean()),
        vendi_low=float(over_prompts.min()),
        vendi_high=float(over_prompts.max()),
    )


def distance_by_group(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(g,) mean cosine distances of two of the m unit rows of each group; NaN for single rows."""
    m = x.shape[1]
    if m < 2:
        return np.full(len(x), np.nan)
    sums = x.sum(axis=1)
    similarity = (np.einsum("gd,gd->g", sums, sums) - m) / (m * (m - 1))
    found: NDArray[np.float64] = np.clip(1 - similarity, 0, 2)
    return found


class _Words:
    """Words of texts, for self-BLEU of groups of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        words, self._lengths = word_ids(tuple(texts))
        self._words = np.split(words, np.cumsum(self._lengths)[:-1])

    def self_bleu(self, groups: Rows) -> NDArray[np.float64]:
        """Of each group of texts, the mean of each text against the others; of ``SELF_BLEU_PROMPTS`` groups at most."""
        found = []
        for group in groups[:SELF_BLEU_PROMPTS].tolist():
            overlap = Overlap(np.concatenate([self._words[text] for text in group]), self._lengths[group], ORDER)
            found.append(sentence_scores(overlap, np.arange(len(group))).mean())
        return np.array(found).clip(0, 1)  # sums of logarithms may round beyond 1


RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Agreement:
    """Two candidates' answers to the same prompts; distances are cosine distances.

    Attributes
    ----------
    first, second : str
        The candidates.
    prompts : int
        Prompts that both answer.
    distance : float
        Mean distance of an answer of one to an answer of the other, to one prompt.
    own_of : str
        The candidate whose own answers to one prompt differ more; the only one that has several, if one has not.
    own : float
        Mean distance of two answers of that candidate, to one prompt.
    others : float
        The same of answers of the two to different prompts.
    apart : float
        ``distance`` - ``own``: 0 if answers of the two are as close as two answers of that candidate.
    low, high : float
        95% interval of ``apart``, from resampled prompts.
    one_mode, own_one_mode : float or None
        Shares of the pairs behind ``distance`` and ``own`` that are of one mode; None if modes are not separate.
    """

    first: str
    second: str
    prompts: Count
    distance: CosineDistance
    own_of: str
    own: CosineDistance
    others: CosineDistance
    apart: float
    low: float
    high: float
    one_mode: Share | None
    own_one_mode: Share | None


def agreement_of(
    names: tuple[str, str],
    answers: tuple[Answers, Answers],
    x: tuple[NDArray[np.float64], NDArray[np.float64]],
    gap: Gap | None,
    seed: SeedSequence,
) -> Agreement | None:
    """Compare two candidates; None if neither has several answers, or they share fewer than ``LEAST_PROMPTS`` prompts.

    Parameters
    ----------
    names : pair of str
    answers : pair of Answers
    x : pair of (g, m, d) arrays
        Unit rows of each one's answers.
    gap : Gap or None
        What separates modes.
    seed : SeedSequence
        Of the resampled prompts.
    """
    shared, *places = np.intersect1d(answers[0].prompts, answers[1].prompts, return_indices=True)
    several = [index for index in (0, 1) if x[index].shape[1] > 1]
    if len(shared) < LEAST_PROMPTS or not several:
        return None
    first, second = (own[place] for own, place in zip(x, places, strict=True))
    one, other = first.mean(axis=1), second.mean(axis=1)
    same = np.einsum("gd,gd->g", one, other)
    own = np.stack([distance_by_group(each) for each in (first, second)])
    varied = max(several, key=lambda index: float(own[index].mean()))
    apart = 1 - same - own[varied]
    g = len(shared)
    weights = np.random.default_rng(seed).multinomial(g, np.full(g, 1 / g), size=RESAMPLES) / g
    tails = (1 - CONFIDENCE) / 2
    low, high = np.quantile(weights @ apart, [tails, 1 - tails])
    others = 1 - (one.sum(axis=0) @ other.sum(axis=0) - same.sum()) / (g * (g - 1))
    return Agreement(
        *names,
        prompts=g,
        distance=_clipped(1 - same.mean()),
        own_of=names[varied],
        own=_clipped(own[varied].mean()),
        others=_clipped(others),
        apart=float(apart.mean()),
        low=float(low),
        high=float(high),
        one_mode=None if gap is None else _one_mode(first, second, gap),
        own_one_mode=None if gap is None else _own_one_mode((first, second)[varied], gap),
    )


def _clipped(distance: float) -> float:
    """A cosine distance without the rounding that takes it out of its range."""
    return float(np.clip(distance, 0, 2))


def _one_mode(first: NDArray[np.float64], second: NDArray[np.float64], gap: Gap) -> float:
    """Share of the pairs of one answer of each, to one prompt, no farther apart than the threshold."""
    products = first @ second.transpose(0, 2, 1)
    return float((np.sqrt(np.clip(2 - 2 * products, 0, None)) <= gap.threshold).mean())


def _own_one_mode(x: NDArray[np.float64], gap: Gap) -> float:
    g, m, _ = x.shape
    near = int((distances_within(x) <= gap.threshold).sum()) - g * m
    return float(near / (g * m * (m - 1)))


REACH_DRAWS = 100


@dataclass(frozen=True)
class MissedClusters:
    """Human clusters that a candidate does not reach.

    Each draw takes n human texts, n others of them, and n of the candidate's, one to a prompt.

    Attributes
    ----------
    seed : int
        Index of the k-means seed of the joint clusters.
    n : int
        Texts of a draw, of each kind: half of the human texts, or as many as the candidate has prompts.
    share : Mean
        Of the clusters that the human texts of a draw reach, those that the candidate's do not; mean over draws, and
        the range of 95% of them.
    human_share : Mean
        The same of the other human texts: what chance alone misses.
    never : tuple of int
        Clusters with human texts that the candidate reached in no draw, those with most human texts first.
    """

    seed: int
    n: int
    share: Mean
    human_share: Mean
    never: tuple[int, ...]


def missed_clusters(partition: Partition, name: str, answers: Answers, seed: SeedSequence) -> MissedClusters | None:
    """Compare which clusters human texts and a candidate's reach; None for fewer than two human texts.

    Parameters
    ----------
    partition : Partition
        A joint one.
    name : str
        The candidate.
    answers : Answers
        Its own.
    seed : SeedSequence
    """
    human, own, k = partition.labels[HUMAN], partition.labels[name], partition.k
    rng = np.random.default_rng(seed)
    g, m = answers.rows.shape
    n = min(len(human) // 2, g)
    if n < 1:
        return None
    ever, shares = np.zeros(k, dtype=np.bool_), []
    for _ in range(REACH_DRAWS):
        order = rng.permutation(human)
        drawn = own[answers.rows[rng.permutation(g)[:n], rng.integers(m, size=n)]]
        reached, others, by_candidate = (_reached(each, k) for each in (order[:n], order[n : 2 * n], drawn))
        shares.append([(reached & ~each).sum() / reached.sum() for each in (by_candidate, others)])
        ever |= by_candidate
    counts = np.bincount(human, minlength=k)
    never = np.flatnonzero((counts > 0) & ~ever)
    ends = np.quantile(shares, [0.025, 0.975], axis=0)
    share, human_share = (Mean(*map(float, each)) for each in zip(np.mean(shares, axis=0), *ends, strict=True))
    ordered = never[np.argsort(-counts[never], kind="stable")]
    return MissedClusters(partition.seed, n, share, human_share, tuple(ordered.tolist()))


def _reached(labels: NDArray[np.integer], k: int) -> NDArray[np.bool_]:
    return np.bincount(labels, minlength=k) > 0


SEVERAL = (
    f"several answers to each of {LEAST_PROMPTS} prompts or more, such as mauve-lens study or generate makes with "
    "--repeats 8"
)


@dataclass(frozen=True)
class RunDiversity:
    """Diversity of a run's candidates.

    Attributes
    ----------
    gap : Gap or None
        What separates the modes of all candidates' answers; None if they are not separate.
    candidates : mapping of str to Diversity
        Those with several answers to a prompt.
    single : tuple of str
        Candidates with one answer to a prompt, of which nothing is measured.
    missed : mapping of str to MissedClusters
        Human clusters that the candidates do not reach; empty without joint clusters.
    pairs : tuple of Agreement
        Every two candidates of which at least one has several answers.
    """

    gap: Gap | None
    candidates: Mapping[str, Diversity]
    single: tuple[str, ...]
    missed: Mapping[str, MissedClusters]
    pairs: tuple[Agreement, ...]


@dataclass(frozen=True)
class NeverReached:
    """A cluster with human texts that the candidate reaches in no draw.

    Attributes
    ----------
    cluster : int
        Its number in the joint partition.
    name : str
        May quote texts, which are untrusted.
    human_texts : int
        Human texts in it.
    """

    cluster: Count
    name: str
    human_texts: Count


def never_reached(run: Run, missed: MissedClusters) -> list[NeverReached]:
    """The clusters that a candidate reaches in no draw, those with most human texts first."""
    partition = run.comparison.joint[missed.seed]
    names = run_cluster_names(run, "joint", run.comparison.candidates[0].name, missed.seed)
    counts = partition.counts(HUMAN)
    return [NeverReached(number, names[number], int(counts[number])) for number in missed.never]


def several_answers(run: Run) -> bool:
    """Whether a candidate has several answers to enough prompts, so that diversity can be measured."""
    prompts = run.comparison.prompts
    if prompts is None:
        return False
    counts = (np.unique(prompts[each.name], return_counts=True)[1] for each in run.comparison.candidates)
    return any((each > 1).sum() >= LEAST_PROMPTS for each in counts)


def diversity_of_run(run: Run, candidate: str | None = None, feature_store: FeatureStore | None = None) -> RunDiversity:
    """Measure how different the answers of a run's candidates are.

    Every number is the same whether one candidate is asked for or all: modes are separated by all answers of the run.

    Parameters
    ----------
    candidate : str, optional
        The only one to measure, also in pairs; by default, all.
    feature_store : FeatureStore, optional
        As in :func:`mauve_core.runs.features.stored_features`.

    Raises
    ------
    InputError
        The candidate is unknown; it, or every candidate, has one answer to a prompt; or features are not found.
    StorageError
        Texts are damaged.
    """
    comparison = run.comparison
    names = [each.name for each in comparison.candidates]
    chosen = names if candidate is None else [comparison.candidate(candidate).name]  # raises InputError if unknown
    if comparison.prompts is None:
        raise InputError(
            f"No prompt of run {run.id} has several answers",
            allowed=SEVERAL,
            todo="Name the field of the prompts with --prompt-field when you compare",
        )
    for_candidates, for_pairs, for_gap = stream(comparison.config.score.seed, "diversity").spawn(3)
    seeds = for_candidates.spawn(3)
    answers = {name: answers_of(comparison.prompts[name], seeds[0]) for name in names}
    measured = [name for name in chosen if answers[name].several]
    if not measured:
        whose = "the candidates" if candidate is None else repr(candidate)
        raise InputError(
            f"Run {run.id} has too few prompts with several answers of {whose}: diversity is that of answers to one "
            "prompt",
            allowed=SEVERAL,
            received=_most(answers, chosen),
            todo="Compare texts with several answers to a prompt, in one file and with equal prompts",
        )
    x = _unit_rows(run, answers, stored_features(run, feature_store))
    gap = gap_between_modes([x[name] for name in names if answers[name].several], for_gap)
    partition = _joint(run)
    diversity, missed = {}, {}
    for name in measured:
        labels = None if partition is None else partition.labels[name]
        diversity[name] = diversity_of(answers[name], x[name], run.corpora[name].texts, labels, gap, seeds[1])
        found = None if partition is None else missed_clusters(partition, name, answers[name], seeds[2])
        if found is not None:
            missed[name] = found
    pairs = [
        agreement_of((one, other), (answers[one], answers[other]), (x[one], x[other]), gap, for_pairs)
        for one, other in combinations(names, 2)
        if one in chosen or other in chosen
    ]
    return RunDiversity(
        gap,
        diversity,
        tuple(name for name in chosen if name not in diversity),
        missed,
        tuple(each for each in pairs if each is not None),
    )


def _unit_rows(
    run: Run, answers: Mapping[str, Answers], features: Mapping[str, NDArray[np.floating]]
) -> dict[str, NDArray[np.float64]]:
    """(g, m, d) unit rows of the answers; equal texts of one prompt have equal ones, whatever batches they were in."""
    first: dict[tuple[int, str], tuple[str, int]] = {}
    found: dict[str, NDArray[np.float64]] = {}
    for name, own in answers.items():
        x, texts = unit_answers(np.asarray(features[name])[own.rows]), run.corpora[name].texts
        for index, (prompt, rows) in enumerate(zip(own.prompts.tolist(), own.rows.tolist(), strict=True)):
            for place, row in enumerate(rows):
                where = first.setdefault((prompt, texts[row]), (name, index * len(rows) + place))
                if where != (name, index * len(rows) + place):
                    source = x if where[0] == name else found[where[0]]
                    x[index, place] = source.reshape(-1, source.shape[2])[where[1]]
        found[name] = x
    return found


def _most(answers: Mapping[str, Answers], names: Sequence[str]) -> str:
    """The prompts with several answers, of the candidate with most of them."""
    name = max(names, key=lambda each: answers[each].repeated)
    return f"{answers[name].repeated:,} of {answers[name].of:,} prompts, of {name!r}"


def _joint(run: Run) -> Partition | None:
    """The joint clusters that pages show, the same for all candidates."""
    comparison = run.comparison
    return comparison.partition("joint", comparison.candidates[0].name) if comparison.joint else None


# Decimals of cosine distances.
DISTANCE_DECIMALS = 3

# Clusters that are named in a sentence.
NAMED = 5

MEASURED_COLUMNS = ("", "to one prompt", "to different prompts")

AGREEMENT_COLUMNS = ("", "distance", "of one", "difference", "as close?", "other prompts", "one mode")

ABOUT_AGREEMENT = (
    "Mean cosine distance of an answer of one candidate to one of the other, to one prompt, and of two answers of the "
    "candidate with the more varied ones; their difference with its 95% interval over prompts. Last: the "
    "shares of both kinds of pairs that are of one mode."
)

NO_GAP = (
    "Modes are not separate at this encoder: the distances between answers to one prompt run from small to large "
    "without a gap, or all are of one kind. Compare the distances and Vendi scores instead."
)


def sentence(name: str, found: Diversity, gap: Gap | None) -> str:
    """How many different answers a candidate gives to a prompt."""
    count, m = found.modes, found.answers
    if count is None:
        said = _gives(found.different, m, ", word for word")
        return f"{name} {said}. Modes are not separate at this encoder, so they are not counted."
    if found.distance.within.value < 1e-9:
        return f"{name} gives one answer to each prompt: all {m} are identical to the encoder."
    kind = "within prompts" if gap is None else gap.kind
    if kind == "between prompts":
        near = f"all {m} are close to each other, compared with answers to different prompts"
        return f"{name} {_gives(count, m, ', as far as the encoder tells')}: {near}."
    return f"{name} {_gives(count, m, ', word for word' if kind == 'identical answers' else '')}."


def gap_sentence(gap: Gap | None) -> str:
    """What separates modes."""
    if gap is None:
        return NO_GAP
    if gap.kind == "identical answers":
        return (
            "Only identical answers are of one mode: no others to one prompt are close to each other at this encoder, "
            "whether they say the same in other words or not."
        )
    where = {
        "within prompts": "the distances between answers to one prompt have a gap there",
        "between prompts": "half the median between answers to different prompts, which few answers to one prompt "
        "exceed; their distances have no gap among themselves, so that more modes may be hidden",
    }[gap.kind]
    return f"Two answers are of one mode at a cosine distance of {threshold(gap):.2g} or less: {where}."


def threshold(gap: Gap) -> float:
    """The threshold as a cosine distance."""
    return gap.threshold**2 / 2


def modes_with_interval(count: ModeCount) -> str:
    """Such as ``4.9 (4.6 to 5.2)``."""
    decimals = 1 if count.high - count.low >= 0.1 or math.isinf(count.high) else 2
    return f"{written(count.modes, decimals)} ({interval(count.low, count.high, decimals)})"


def measured_sentence(found: Diversity) -> str:
    """What was measured."""
    prompts = f"{found.prompts:,} prompts"
    if found.prompts < found.of_prompts:
        prompts = f"{found.prompts:,} of {found.of_prompts:,} prompts; the others have fewer"
    over = f"{written(found.vendi_over_prompts, 1)} ({interval(found.vendi_low, found.vendi_high, 1)})"
    return (
        f"{found.answers:,} answers to each of {prompts}. Vendi score of one answer to each of these prompts, with the "
        f"range over draws: {over}."
    )


def agreement_in_words(found: Agreement, quote: Callable[[str], str]) -> str:
    """How close answers of two candidates are: ``as two of NAME``, ``closer ...`` or ``farther than two of NAME``."""
    than = "farther than" if found.low > 0 else "closer than" if found.high < 0 else "as"
    return f"{than} two of {quote(found.own_of)}"


def missed_sentence(missed: MissedClusters, words: Words) -> str:
    """How many clusters of P a candidate does not reach, against chance."""
    n = f"{missed.n:,}"
    return (
        f"Of the clusters that {n} {words.reference_items} reach, its texts ({n}, one to a prompt) miss "
        f"{_percent(missed.share)}; {n} other {words.reference_items} miss {_percent(missed.human_share)}."
    )


def measured_rows(found: Diversity) -> list[tuple[str, str, str]]:
    """Each measure, with its values for answers to one prompt and to different ones and their intervals."""
    m = found.answers
    measures = (
        ("mean cosine distance", found.distance, DISTANCE_DECIMALS),
        (f"Vendi score of {m} answers", found.vendi, 2),
        (f"clusters that {m} answers reach", found.clusters, 2),
        (f"self-BLEU of {m} answers", found.self_bleu, DISTANCE_DECIMALS),
    )
    return [
        (title, _mean(each.within, decimals), NONE if each.between is None else _mean(each.between, decimals))
        for title, each, decimals in measures
        if each is not None
    ]


def agreement_cells(found: Agreement, quote: Callable[[str], str]) -> tuple[str, ...]:
    """The cells of :data:`AGREEMENT_COLUMNS`."""
    numbers = (written(value, DISTANCE_DECIMALS) for value in (found.distance, found.own))
    apart = written(found.apart, DISTANCE_DECIMALS, signed=True)
    ends = interval(found.low, found.high, DISTANCE_DECIMALS, signed=True)
    modes = NONE
    if found.one_mode is not None and found.own_one_mode is not None:
        modes = f"{as_percent(found.one_mode)}, {as_percent(found.own_one_mode)}"
    said, others = agreement_in_words(found, quote), written(found.others, DISTANCE_DECIMALS)
    return f"{quote(found.first)}, {quote(found.second)}", *numbers, f"{apart} ({ends})", said, others, modes


def _mean(mean: Mean, decimals: int) -> str:
    return f"{written(mean.value, decimals)} ({interval(mean.low, mean.high, decimals)})"


def _percent(share: Mean) -> str:
    return f"{as_percent(share.value)} ({percent_interval(share.low, share.high)} over draws)"


def never_sentence(never: Sequence[NeverReached], quote: Callable[[str], str], words: Words) -> str:
    """Which clusters a candidate never reaches."""
    named = "; ".join(f"{quote(each.name)} ({each.human_texts:,} {words.reference_items})" for each in never[:NAMED])
    more = f"; and {len(never) - NAMED:,} more" if len(never) > NAMED else ""
    return f"Never reached: {named}{more}."


def _gives(count: ModeCount, m: int, how: str) -> str:
    """What a candidate gives; ``how`` says in which sense answers differ."""
    if math.isinf(count.modes):
        return f"gives no prompt the same answer twice{how}: all {m} differ, too many to be counted"
    if count.high == 1:
        return f"gives one answer to each prompt{how}"
    number = modes_with_interval(count)
    return f"gives {number} different answers to a prompt{how}, of which {m} show {written(count.met, 1)}"
