"""A method: estimator, divergence, summary, smoothing, scale, expectation and correction, written as one word.

    kmeans                                          MAUVE as published
    kmeans:smoothing=good-turing,summary=mid        every part but the first may be left out
    knn:divergence=chi2                             an estimator without bins
    knn:expectation=other                           the same ratios, averaged as the papers print it
    kmeans:correction=bootstrap                     MAUVE with less bias, which is not from the papers

JMLR 2023, sections 2.3 (divergences), 3.2 (summaries), 4.1 (quantizers, smoothing), 4.2, 4.3 and appendix C (estimators
without bins).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import SCALE_BOUNDS
from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import LogRatios, ratio_atoms
from mauve_core.experiments.methods.kinds import (
    CORRECTED_SUMMARIES,
    CORRECTION_REASON,
    CORRECTIONS,
    ESTIMATORS,
    EXPECTATION_REASONS,
    EXPECTATIONS,
    SUMMARIES,
    EstimatorKind,
)
from mauve_core.stats.divergences import SMOOTHINGS, Frontier, added_count, trapezoid_area
from mauve_core.stats.f_divergences import FIVE, generator_of
from mauve_core.stats.resampling import Corrected


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
