"""Differences between two comparisons, and whether their scores may share a leaderboard.

JMLR 2023, section 8: scores are comparable only under equal settings and equal sizes. By setting:

Counted, because the scores would measure something else
    the human texts (P itself) and their number; the candidates' number of texts (the bias of a divergence depends on
    it) and the resulting number of clusters, unless alike (``scoring.tables``); the normalization of the texts,
    even if it left the human ones as they were; the encoder, its revision, pooling, layer, precision, and whether it
    read the prompts (other features); the length at which texts are cut, if any text was cut; the variance that PCA
    keeps and the iterations of k-means (other clusters); the scaling constant; the coverage of the intervals, which
    decide ties between runs.
Not counted, because the score estimates the same quantity
    the number of k-means seeds, the base seed, restarts (one start ends as low, docs/performance.md), resamples of the
    bootstrap: all four change the spread, which is shown beside every score; the map; the device and the library
    versions, which change rounding; an encoder setting that led to identical features of the same human texts (such as
    a model folder that was moved).

Smoothing and the kind of partition are not settings of a run: pages choose them for all scores. A leaderboard over two
runs always uses pairwise partitions; a joint partition covers one run's own candidates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Candidate, Comparison
from mauve_core.scoring.tables import alike
from mauve_core.texts.normalizing_steps import titles_of_steps

# Why numbers of texts and of clusters that differ a little do not count.
CLOSE = "so close that scores move by less than a tenth of half their interval"

_ENCODER = (
    ("model", "Encoder"),
    ("revision", "Encoder revision"),
    ("pooling", "Pooling"),
    ("layer", "Layer"),
    ("dtype", "Encoder precision"),
    ("with_prompt", "Prompts encoded"),
)
_SCORE = (
    ("explained_variance", "Variance kept by PCA", True, "different clusters"),
    ("unit_rows", "Features scaled to unit length, before or after PCA", True, "different clusters"),
    ("max_iterations", "Maximum k-means iterations", True, "different clusters"),
    ("scale", "Scaling constant c", True, "MAUVE is a different function of the same errors"),
    ("confidence", "Confidence level of the intervals", True, "ties depend on the intervals"),
    ("restarts", "k-means starts per seed", False, "one start reaches an equally low objective"),
    ("seeds", "k-means seeds", False, "the spread shows how certain the mean is"),
    ("seed", "Random seed", False, "another random draw of the same quantities"),
    ("bootstrap", "Bootstrap resamples", False, "the interval is estimated more or less precisely"),
)


@dataclass(frozen=True)
class Difference:
    """One difference between two comparisons.

    Attributes
    ----------
    setting : str
        In words.
    left, right : str
        Its value in each.
    counts : bool
        Whether it makes the scores incomparable.
    reason : str
        Why it does or does not.
    """

    setting: str
    left: str
    right: str
    counts: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.left} and {self.right}"


def differences(left: Comparison, right: Comparison) -> tuple[Difference, ...]:
    """Return all differences in settings, those that count first; candidates and scores are not settings."""
    found = [
        *_of_texts(left, right),
        *_of_encoders(left, right),
        *_of_scores(left, right),
        *_of_circumstances(left, right),
    ]
    different = [item for item in found if item.left != item.right]
    return tuple(sorted(different, key=lambda item: not item.counts))


def require_comparable(left: Comparison, right: Comparison) -> None:
    """Raise an InputError that names every difference that makes the scores incomparable, if there is one."""
    counted = [item for item in differences(left, right) if item.counts]
    if counted:
        raise InputError(
            "The scores of these runs cannot be ranked together: they were made with different settings",
            allowed="equal human texts, sizes and settings",
            received="; ".join(map(str, counted)),
            todo="Compare the texts of one run again with the settings of the other",
        )


def one_leaderboard(left: Comparison, right: Comparison, titles: tuple[str, str]) -> Comparison:
    """Join the candidates of both, against the human texts that they share, for ``standings`` and the score figures.

    Parameters
    ----------
    titles : (str, str)
        Distinguish the runs; a candidate is named ``name · title``.

    Returns
    -------
    Comparison
        Without joint partitions, map, prompts, tested differences or scores like for like; human vs. human, settings,
        warnings and environment are the left run's.

    Raises
    ------
    InputError
        The scores are not comparable, see :func:`require_comparable`; or both titles are the same.
    """
    require_comparable(left, right)
    if titles[0] == titles[1]:
        raise InputError("Both runs have the same title", allowed="two different titles", received=repr(titles[0]))
    sides = zip((left, right), titles, strict=True)
    candidates = tuple(_called(item, title) for comparison, title in sides for item in comparison.candidates)
    return dataclasses.replace(
        left,
        candidates=candidates,
        joint=(),
        projection=None,
        map_fitted=None,
        prompts=None,
        differences=(),
        prompts_by=None,
        like_for_like=(),
        generations={},
        groups={},
        contents={},
    )


def _called(candidate: Candidate, title: str) -> Candidate:
    source = dataclasses.replace(candidate.source, name=f"{candidate.name} · {title}")
    return dataclasses.replace(candidate, source=source, joint_scores={})


def _of_texts(left: Comparison, right: Comparison) -> Iterator[Difference]:
    digests = (f"SHA-256 {left.human.digest[:12]}", f"SHA-256 {right.human.digest[:12]}")
    yield _difference("Human texts", digests, True, "a different P")
    yield _difference("Number of human texts", (left.human.n, right.human.n), True, "divergences depend on it")
    sizes, close = (_sizes(left), _sizes(right)), _close_in_size(left, right)
    yield _difference("Texts per candidate", sizes, not close, CLOSE if close else "divergences depend on it")
    steps = [titles_of_steps(comparison.normalization) or "none" for comparison in (left, right)]
    yield _difference("Normalization of texts", (steps[0], steps[1]), True, "other texts were encoded")
    generations = (_generations(left), _generations(right))
    yield _difference("Generations per candidate", generations, False, "a score is their mean")


def _of_encoders(left: Comparison, right: Comparison) -> Iterator[Difference]:
    first, second = left.config.encoder, right.config.encoder
    same_texts = left.human.digest == right.human.digest
    same_features = same_texts and left.human.features_key == right.human.features_key
    if first is None or second is None:
        names = (left.config.made_by, right.config.made_by)
        yield _difference("Encoder", names, True, "the features were given, and not known to be of one encoder")
    else:
        for field, title in _ENCODER:
            counts = field == "with_prompt" or not same_features
            reason = "different features" if counts else "the features are the same"
            yield _difference(title, (getattr(first, field), getattr(second, field)), counts, reason)
        yield _cut_length(left, first, right, second)
    if first == second and same_texts and not same_features:
        keys = (f"SHA-256 {left.human.features_key[:12]}", f"SHA-256 {right.human.features_key[:12]}")
        why = "the encoder of that name has different weights" if first else "different features of the same texts"
        yield _difference("Features of the human texts", keys, True, why)


def _cut_length(left: Comparison, first: EncoderConfig, right: Comparison, second: EncoderConfig) -> Difference:
    cut = any(source.cut for comparison in (left, right) for source in comparison.sources)
    why = "texts were cut at different lengths" if cut else "no text was cut in either"
    values = (f"{first.max_tokens:,} tokens", f"{second.max_tokens:,} tokens")
    return _difference("Maximum text length", values, cut, why)


def _of_scores(left: Comparison, right: Comparison) -> Iterator[Difference]:
    own_k = left.config.score.k or right.config.score.k
    close = own_k is None and _close_in_size(left, right)  # k is a tenth of the texts on both sides
    why = CLOSE if close else "finer clusters see more differences"
    yield _difference("Clusters k", (_clusters(left), _clusters(right)), not close, why)
    for field, title, counts, reason in _SCORE:
        values = (getattr(left.config.score, field), getattr(right.config.score, field))
        yield _difference(title, values, counts, reason)


def _of_circumstances(left: Comparison, right: Comparison) -> Iterator[Difference]:
    yield _difference("Map", (left.config.projection, right.config.projection), False, "for navigation only")
    devices = (left.environment.get("device"), right.environment.get("device"))
    yield _difference("Device", devices, False, "rounding")
    first, second = left.environment.get("versions", {}), right.environment.get("versions", {})
    for library in sorted({*first, *second}):
        values = (first.get(library, "not used"), second.get(library, "not used"))
        yield _difference(f"{library} version", values, False, "rounding")


def _difference(setting: str, values: tuple[object, object], counts: bool, reason: str) -> Difference:
    return Difference(setting, _formatted(values[0]), _formatted(values[1]), counts, reason)


def _close_in_size(left: Comparison, right: Comparison) -> bool:
    candidates = [candidate for comparison in (left, right) for candidate in comparison.candidates]
    ks = [candidate.partitions[0].k for candidate in candidates]
    return alike(ks, max(ks)) and alike((candidate.source.n_scored for candidate in candidates), max(ks))


def _sizes(comparison: Comparison) -> str:
    return _several(candidate.source.n_scored for candidate in comparison.candidates)


def _generations(comparison: Comparison) -> str:
    return _several(candidate.source.generations for candidate in comparison.candidates)


def _clusters(comparison: Comparison) -> str:
    return _several(candidate.partitions[0].k for candidate in comparison.candidates)


def _several(numbers: Iterable[int]) -> str:
    return ", ".join(f"{number:,}" for number in sorted(set(numbers)))


def _formatted(value: object) -> str:
    if value is None:
        return "default"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
