"""Methods: estimator, divergence, summary, smoothing, scale, expectation and correction, written as one word.

    kmeans                                          MAUVE as published
    kmeans:smoothing=good-turing,summary=mid        every part but the first may be left out
    knn:divergence=chi2                             an estimator without bins
    knn:expectation=other                           the same ratios, averaged as the papers print it
    kmeans:correction=bootstrap                     MAUVE with less bias, which is not from the papers

JMLR 2023, sections 2.3 (divergences), 3.2 (summaries), 4.1 (quantizers, smoothing), 4.2, 4.3 and appendix C
(estimators without bins).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import SCALE_BOUNDS
from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import (
    SCALES,
    LogRatios,
    ratio_atoms,
    ratio_divergence,
    ratio_integral,
    ratio_mauve,
    ratio_mid,
)
from mauve_core.stats.divergences import SMOOTHINGS, Frontier, added_count, trapezoid_area
from mauve_core.stats.f_divergences import FIVE, auc, f_divergence, frontier_integral_f, generator_of, mauve_f, mid_f
from mauve_core.stats.resampling import Corrected

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


@dataclass(frozen=True)
class Method:
    """A combination of all parts.

    Attributes
    ----------
    estimator : str
        A name of ``ESTIMATORS``.
    divergence : str
        See ``stats.f_divergences.generator_of``; "kl" for an estimator with its own distance.
    summary : str
        A name of ``SUMMARIES``; "mauve" for such an estimator.
    smoothing : str
        Histogram smoothing, see ``stats.divergences.probabilities``; "none" for estimators without bins.
    scale : float or None
        The constant c of MAUVE, or of the area under a frontier of transport costs; None takes the estimator's.
    expectation : str
        The points over which an estimator without bins averages its density ratios. "union", the default, takes both
        samples. The papers take "other", the sample of the side that a divergence is from (JMLR 2023, equations 24, 25,
        27, 29 and 46), and for probabilities of two models "own", a side's own sample (section 7.3.3).
    correction : str
        "bootstrap" takes the bootstrap's bias off the errors of the KL frontier, for estimators with bins and the
        summaries ``CORRECTED_SUMMARIES`` without smoothing; "none" by default.
    """

    estimator: str = "kmeans"
    divergence: str = "kl"
    summary: str = "mauve"
    smoothing: str = "none"
    scale: float | None = None
    expectation: str = "union"
    correction: str = "none"

    def __post_init__(self) -> None:
        _require("estimator", self.estimator, ESTIMATORS)
        _require("summary", self.summary, SUMMARIES)
        added_count(self.smoothing)
        generator = generator_of(self.divergence)
        kind, summary = ESTIMATORS[self.estimator], SUMMARIES[self.summary]
        changed = {item.name for item in fields(self)[1:] if getattr(self, item.name) != item.default}
        if kind.scale is None and changed - ({"scale"} if kind.own_scale else set()):
            refused = sorted(changed - {"scale"}) if kind.own_scale else sorted(changed)
            raise InputError(f"The method {kind.name} takes no {', '.join(refused)}", allowed=kind.name)
        if not kind.bins and "smoothing" in changed:
            raise InputError(f"The method {kind.name} has no bins to smooth", received=self.smoothing)
        self._check_expectation(kind)
        self._check_correction(kind)
        if not summary.takes_divergence and "divergence" in changed:
            raise InputError(f"The summary {summary.name} is a divergence itself", todo="Leave divergence out")
        if summary.frontier and not np.isfinite(generator.at_zero):
            raise InputError(
                f"The divergence {generator.name} has no frontier", allowed="summary=divergence", received=summary.name
            )
        takes_scale = summary.name in ("mauve", "auc")
        low, high = SCALE_BOUNDS
        if self.scale is not None and not (takes_scale and low <= self.scale <= high):
            raise InputError(
                "The scale is not usable",
                allowed=f"a number from {low:g} to {high:g}, with summary=mauve or auc",
                received=f"{self.scale!r}",
            )

    def _check_expectation(self, kind: EstimatorKind) -> None:
        _require("expectation", self.expectation, EXPECTATIONS)
        if self.expectation == "union":
            return
        if self.expectation not in kind.expectations:
            raise InputError(
                f"The method {kind.name} takes no such expectation",
                allowed=", ".join(kind.expectations) or f"{kind.name} without expectation",
                received=self.expectation,
            )
        if self.expectation == "own" and (self.divergence != "kl" or self.summary == "frontier-integral"):
            raise InputError(
                "The mean over a side's own sample does not go with these parts",
                allowed="divergence=kl, and a summary other than frontier-integral",
                received=f"divergence={self.divergence}, summary={self.summary}",
            )

    def _check_correction(self, kind: EstimatorKind) -> None:
        _require("correction", self.correction, CORRECTIONS)
        if self.correction == "none":
            return
        if not kind.bins:
            raise InputError(
                f"The method {kind.name} has no bins whose counts could be corrected", received=self.correction
            )
        if (self.divergence, self.smoothing) != ("kl", "none") or self.summary not in CORRECTED_SUMMARIES:
            raise InputError(
                "The correction does not go with these parts",
                allowed=f"divergence=kl, smoothing=none, and summary={', '.join(CORRECTED_SUMMARIES)}",
                received=f"divergence={self.divergence}, smoothing={self.smoothing}, summary={self.summary}",
            )

    @property
    def spec(self) -> str:
        """The method's written form without parts at their defaults."""
        parts = [
            f"{item.name}={value:g}" if isinstance(value, float) else f"{item.name}={value}"
            for item in fields(self)[1:]
            if (value := getattr(self, item.name)) != item.default
        ]
        return f"{self.estimator}:{','.join(parts)}" if parts else self.estimator

    @property
    def title(self) -> str:
        """The method's name in a table."""
        kind = self.estimator_kind
        if kind.scale is None:
            return kind.title + ("" if self.scale is None else f" · c = {self.scale:g}")
        parts = [kind.title]
        if self.expectation != "union":
            parts.append(EXPECTATIONS[self.expectation].lower())
        if self.smoothing != "none":
            parts.append(SMOOTHINGS.get(self.smoothing, self.smoothing))
        if self.correction != "none":
            parts.append(CORRECTIONS[self.correction].lower())
        if self.divergence != "kl":
            parts.append(generator_of(self.divergence).title)
        parts.append(SUMMARIES[self.summary].title + ("" if self.scale is None else f", c = {self.scale:g}"))
        return " · ".join(parts)

    @property
    def reason(self) -> str:
        """The papers' explanation of a different ranking, and what an expectation or a correction adds."""
        reason = self.estimator_kind.reason
        if self.correction != "none":
            return f"{reason} {CORRECTION_REASON}"
        return reason if self.expectation == "union" else f"{reason} {EXPECTATION_REASONS[self.expectation]}"

    @property
    def higher_is_closer(self) -> bool:
        """Whether a larger value means closer to the human texts."""
        kind = self.estimator_kind
        return SUMMARIES[self.summary].higher_is_closer if kind.scale is not None else kind.own_scale is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the value; estimates without bias may fall below 0."""
        if self.estimator in ("mmd", "kid", "frechet-limit"):
            return -np.inf, np.inf
        kind = self.estimator_kind
        area = kind.own_scale is not None or (kind.scale is not None and self.summary in ("mauve", "auc"))
        return 0.0, 1.0 if area else np.inf

    @property
    def estimator_kind(self) -> EstimatorKind:
        """Properties of the estimator."""
        return ESTIMATORS[self.estimator]

    def value(self, p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
        """(...) summary of (..., k) histograms; a correction needs counts (:meth:`corrected_value`)."""
        usual = self.estimator_kind.scale
        if usual is None or self.correction != "none":
            raise InputError(f"The method {self.spec} does not work on histograms")
        return SUMMARIES[self.summary].value(p, q, self.divergence, self.scale or usual)

    def corrected_value(self, found: Corrected) -> float:
        """Summary of bias-reduced errors.

        Raises
        ------
        InputError
            The method has no correction.
        """
        usual = self.estimator_kind.scale
        if self.correction == "none" or usual is None:
            raise InputError(f"The method {self.spec} takes the errors as they are", allowed="correction=bootstrap")
        if self.summary == "mauve":
            return float(trapezoid_area(*found.frontier.curve(self.scale or usual)))
        return float(found.mid if self.summary == "mid" else found.frontier_integral)

    def ratio_value(self, ratios: LogRatios) -> float:
        """Summary of density ratios by the method's expectation; may be infinite."""
        if self.expectation == "union":
            return float(self.value(*ratio_atoms(ratios)))
        scale = self.scale or self.estimator_kind.scale
        if scale is None:
            raise InputError(f"The method {self.estimator} has no ratios")
        return SUMMARIES[self.summary].of_ratios(ratios, self.divergence, scale, self.expectation)

    def area(self, frontier: Frontier) -> float:
        """Area under the exponentiated frontier of an estimator with its own frontier."""
        usual = self.estimator_kind.own_scale
        if usual is None:
            raise InputError(f"The method {self.estimator} has no frontier of its own")
        return float(trapezoid_area(*frontier.curve(self.scale or usual)))


_PARTS = tuple(item.name for item in fields(Method))[1:]


def parse_method(spec: str) -> Method:
    """Read ``estimator`` or ``estimator:part=value,part=value``.

    Raises
    ------
    InputError
        An unknown name, a duplicate part, or incompatible parts.
    """
    estimator, _, settings = spec.partition(":")
    parts: dict[str, str] = {}
    for setting in filter(None, settings.split(",")):
        name, _, value = (part.strip() for part in setting.partition("="))
        if name not in _PARTS or name in parts:
            raise InputError(
                "The method cannot be read", allowed=f"each at most once: {', '.join(_PARTS)}", received=spec
            )
        parts[name] = value
    scale = parts.pop("scale", None)
    try:
        return Method(estimator.strip(), **parts, scale=None if scale is None else float(scale))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("The scale is not a number", received=spec) from error


def _require(part: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise InputError(f"No {part} of that name", allowed=", ".join(known), received=repr(name))


# Groups of methods (JMLR 2023, sections 7.3 and 7.4; ICLR 2023, section 2; bias), the default first.
PRESETS: dict[str, tuple[Method, ...]] = {
    "divergences": (
        Method(),
        Method(summary="frontier-integral"),
        Method(summary="mid"),
        Method(divergence="chi2"),
        Method(divergence="chi2", summary="mid"),
        Method(divergence="total-variation", summary="divergence"),
        Method(divergence="squared-hellinger", summary="divergence"),
    ),
    "iclr": (
        Method(),
        *(Method(summary=name, smoothing="laplace") for name in FIVE),
        *(Method("strings", summary=name) for name in FIVE),
    ),
    "smoothing": tuple(Method(smoothing=name) for name in SMOOTHINGS),
    "bias": (
        Method(),
        Method(correction="bootstrap"),
        Method(smoothing="krichevsky-trofimov"),
        Method(summary="frontier-integral"),
        Method(summary="frontier-integral", correction="bootstrap"),
    ),
    "quantisers": tuple(Method(name) for name in ("kmeans", "drmm", "lattice")),
    "estimators": (
        Method(),
        *(
            Method(name, expectation=expectation)
            for name in ("knn", "kde", "classifier", "gaussian")
            for expectation in ESTIMATORS[name].expectations
        ),
    ),
    "transport": tuple(
        Method(name)
        for name in (
            "kmeans",
            "transport-linear",
            "transport-barycentric",
            "quantised-transport",
            "frechet",
            "frechet-limit",
            "transport",
            "mmd",
            "kid",
        )
    ),
}
