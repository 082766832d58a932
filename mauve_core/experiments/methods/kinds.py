"""Components of a method: ways from features to histograms or ratios, and from these to a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.estimators.ratios import SCALES, LogRatios, ratio_divergence, ratio_integral, ratio_mauve, ratio_mid
from mauve_core.stats.f_divergences import FIVE, auc, f_divergence, frontier_integral_f, mauve_f, mid_f

# Points over which density ratios are averaged; see ``estimators.ratios``.
EXPECTATIONS = {"union": "Both samples", "other": "Other sample", "own": "Own sample"}

# How the expectation bears on a ranking.
EXPECTATION_REASONS = {
    "union": "Means over both samples.",
    "other": "Means over the other side's sample, as the papers print it: a few large ratios can decide them.",
    "own": "Means over a side's own sample, as in the paper: a negative one counts as 0, and MAUVE is then near 1.",
}

# Corrections of the bias of counts; see ``stats.resampling``.
CORRECTIONS = {"none": "No correction", "bootstrap": "Bias-reduced"}

# Summaries of the KL frontier that a correction applies to.
CORRECTED_SUMMARIES = ("mauve", "frontier-integral", "mid")

# How the correction bears on a ranking.
CORRECTION_REASON = (
    "The bootstrap's bias is taken off the errors: an estimate for the sources themselves, which depends less on the "
    "number of texts."
)

# Log ratios, generator, scale, expectation -> number.
OfRatios = Callable[[LogRatios, str, float, str], float]


@dataclass(frozen=True)
class SummaryKind:
    """How two histograms, or ratios with an expectation over one sample, become one number.

    Attributes
    ----------
    value : callable
        p, q, generator, scale -> number.
    of_ratios : callable
        The same from log ratios and an expectation other than ``union``, which gives histograms.
    higher_is_closer : bool
        Whether a larger value means closer to the human texts.
    frontier : bool
        Whether it summarizes a frontier and needs a generator that has one.
    takes_divergence : bool
        Whether the generator can be chosen.
    """

    name: str
    title: str
    value: Callable[[ArrayLike, ArrayLike, str, float], NDArray[np.float64]]
    of_ratios: OfRatios
    higher_is_closer: bool = False
    frontier: bool = False
    takes_divergence: bool = True
    source: str = "JMLR 2023, section 3.2"


def _mauve(ratios: LogRatios, generator: str, scale: float, expectation: str) -> float:
    return ratio_mauve(ratios, generator, scale, expectation=expectation)


def _integral(ratios: LogRatios, generator: str, _: float, expectation: str) -> float:
    return ratio_integral(ratios, generator, expectation=expectation)


def _mid(ratios: LogRatios, generator: str, _: float, expectation: str) -> float:
    return ratio_mid(ratios, generator, expectation=expectation)


def _divergence(ratios: LogRatios, generator: str, _: float, expectation: str) -> float:
    return ratio_divergence(ratios, generator, expectation=expectation)


def _backward(ratios: LogRatios, generator: str, scale: float, expectation: str) -> float:
    return _divergence(LogRatios(-ratios.at_q, -ratios.at_p), generator, scale, expectation)


def _exponentiated(ratios: LogRatios, generator: str, scale: float, expectation: str) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(_divergence(ratios, generator, scale, expectation)))


def _auc(ratios: LogRatios, generator: str, scale: float, expectation: str) -> float:
    return 1 - _mauve(ratios, generator, scale, expectation)


def _fixed(name: str, title: str, of_ratios: OfRatios) -> SummaryKind:
    divergence = FIVE[name]
    source = "ICLR 2023, section 2"
    return SummaryKind(name, title, lambda p, q, *_: divergence(p, q), of_ratios, takes_divergence=False, source=source)


# Summaries of two histograms or of ratios, by name.
SUMMARIES: dict[str, SummaryKind] = {
    kind.name: kind
    for kind in (
        SummaryKind("mauve", "MAUVE", mauve_f, _mauve, higher_is_closer=True, frontier=True),
        SummaryKind(
            "frontier-integral",
            "Frontier integral",
            lambda p, q, generator, _: frontier_integral_f(p, q, generator),
            _integral,
            frontier=True,
        ),
        SummaryKind("mid", "Mid-point", lambda p, q, generator, _: mid_f(p, q, generator), _mid, frontier=True),
        SummaryKind(
            "divergence",
            "D(P, Q)",
            lambda p, q, generator, _: f_divergence(p, q, generator),
            _divergence,
            source="JMLR 2023, section 2.3",
        ),
        _fixed("forward-kl", "Forward KL", _divergence),
        _fixed("backward-kl", "Backward KL", _backward),
        _fixed("exponentiated-kl", "Exponentiated KL", _exponentiated),
        _fixed("jensen-shannon", "Jensen-Shannon", _mid),
        SummaryKind(
            "auc",
            "AUC",
            lambda p, q, _, scale: auc(p, q, scale),
            _auc,
            takes_divergence=False,
            source="ICLR 2023, section 2",
        ),
    )
}


@dataclass(frozen=True)
class EstimatorKind:
    """A way from features to a frontier.

    Attributes
    ----------
    reason : str
        The papers' explanation of a different ranking; one or two sentences.
    scale : float or None
        The papers' constant c of MAUVE; None for an estimator with its own distance and no divergence.
    bins : bool
        Whether it counts texts in bins, so that counts can be smoothed.
    own_scale : float or None
        The constant c that maps its own frontier to an area in [0, 1]; None without such a frontier.
    expectations : tuple of str
        Names of ``EXPECTATIONS`` that its ratios can be averaged over, the default and then the papers'; empty without
        a choice.
    """

    name: str
    title: str
    reason: str
    source: str
    scale: float | None = None
    bins: bool = False
    own_scale: float | None = None
    expectations: tuple[str, ...] = ()


_RATIOS = "JMLR 2023, sections 4.2 and 7.3.1"
_EITHER = ("union", "other")

# All estimators by name.
ESTIMATORS: dict[str, EstimatorKind] = {
    kind.name: kind
    for kind in (
        EstimatorKind(
            "kmeans",
            "k-means",
            "The default: cheap to compute, and robust to the number of clusters.",
            "JMLR 2023, section 4.1",
            scale=SCALES["quantised"],
            bins=True,
        ),
        EstimatorKind(
            "drmm",
            "Residual mixture",
            "A deep residual mixture; its bins are paths through three layers of ten components, and many stay empty.",
            "NeurIPS 2021, appendix C.3",
            scale=SCALES["quantised"],
            bins=True,
        ),
        EstimatorKind(
            "lattice",
            "Lattice",
            "A network spreads the features over a sphere in four dimensions, whose 744 lattice points are the bins.",
            "NeurIPS 2021, appendix C.3",
            scale=SCALES["quantised"],
            bins=True,
        ),
        EstimatorKind(
            "knn",
            "Nearest neighbors",
            "Needs few dimensions, and their number matters; in the papers it tied neighboring values of p "
            "that k-means told apart.",
            _RATIOS,
            scale=SCALES["knn"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "kde",
            "Kernel density",
            "Needs few dimensions, and the choice of their number matters.",
            _RATIOS,
            scale=SCALES["kde"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "classifier",
            "Classifier",
            "Sees what a linear classifier sees, on half of the texts; in the papers it missed an ordering of sizes "
            "and tied neighboring values of p.",
            "JMLR 2023, sections 4.3 and 7.3.1",
            scale=SCALES["classifier"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "gaussian",
            "Gaussian",
            "Compares only means and covariances, in five or ten dimensions; not robust beyond.",
            "JMLR 2023, section 7.3.1 and appendix C",
            scale=SCALES["gaussian"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "direct",
            "Model probabilities",
            "Two language models in place of the two sides, whatever the decoder; in the papers it put ancestral "
            "before nucleus sampling, against people's judgments. Sides that share nothing score about 0.78.",
            "JMLR 2023, section 7.3.3",
            scale=SCALES["direct"],
            expectations=("union", "own"),
        ),
        EstimatorKind(
            "strings",
            "String models",
            "5-gram models of the tokens themselves, on held-out texts: sees wording and repetition, where clusters of "
            "features see topic and style.",
            "ICLR 2023, sections 2, 3 and 5",
            scale=SCALES["strings"],
        ),
        EstimatorKind(
            "ngram-kernel",
            "n-gram kernel",
            "Nearest neighbors by shared n-grams; in the papers it agreed little with the default and with people.",
            "JMLR 2023, section 7.5.4",
            scale=SCALES["knn"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "subsequence-kernel",
            "Subsequence kernel",
            "Nearest neighbors by shared subsequences with gaps; slow, and in the papers it agreed little with the "
            "default and least with people.",
            "JMLR 2023, section 7.5.4",
            scale=SCALES["knn"],
            expectations=_EITHER,
        ),
        EstimatorKind(
            "transport",
            "Optimal transport",
            "Weighs how far apart texts are, whereas a divergence asks only whether they can be told apart.",
            "JMLR 2023, section 7.4.2",
        ),
        EstimatorKind(
            "frechet",
            "Fréchet distance",
            "Compares only means and covariances, and grows with fewer texts; in the papers it missed the effect of "
            "the texts' length.",
            "JMLR 2023, section 7.4.2",
        ),
        EstimatorKind(
            "frechet-limit",
            "Fréchet distance, n to infinity",
            "The Fréchet distance grows with fewer texts, by more for some models than for others; this is where it "
            "leads with ever more texts, as FID-infinity does for images.",
            "Chong and Forsyth 2020; Quenouille 1956",
        ),
        EstimatorKind(
            "quantised-transport",
            "Quantized transport",
            "Transport between cluster centers: weighs how far apart clusters are.",
            "JMLR 2023, section 7.4.2",
        ),
        EstimatorKind(
            "transport-linear",
            "Transport, linear frontier",
            "Weighs how far apart clusters are, along a path of mixtures; in the papers it put small models with "
            "nucleus sampling before large ones with ancestral sampling, against people's judgments.",
            "JMLR 2023, section 7.4.2, equation 31",
            own_scale=SCALES["quantised"],
        ),
        EstimatorKind(
            "transport-barycentric",
            "Transport, barycentric frontier",
            "Barycenters may lie anywhere between the clusters, so the area depends only on the quantized transport "
            "cost and, under one seed, ranks as it does.",
            "JMLR 2023, section 7.4.2, equation 32",
            own_scale=SCALES["quantised"],
        ),
        EstimatorKind(
            "mmd",
            "MMD",
            "A kernel two-sample statistic: sensitive to shifts of the whole cloud, hardly to rare modes.",
            "Gretton et al. 2012",
        ),
        EstimatorKind(
            "kid",
            "Kernel distance (KID)",
            "An MMD with a cubic kernel, known from images: unlike the Fréchet distance, it does not grow with fewer "
            "texts.",
            "Bińkowski et al. 2018",
        ),
    )
}
