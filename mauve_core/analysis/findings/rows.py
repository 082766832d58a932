"""Findings as rows with plain values: in JSON and in data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from mauve_core.analysis.findings.finding import Finding
from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.base.config import FDR, HUMAN
from mauve_core.base.json_codec import Count, Share, Within
from mauve_core.runs import Run
from mauve_core.texts import Corpus

if TYPE_CHECKING:
    import pandas as pd


class FindingJson(TypedDict):
    """Something that a candidate's texts have more often than those of the reference, or less often.

    Attributes
    ----------
    candidate, reference : str
        Names of the two sources; the reference is the human side unless another was asked for.
    sentence : str
        What the candidate does, with numbers; may quote texts, which are untrusted.
    direction : {"more", "less"}
        Than the reference.
    kind : str
        What it is about, such as ``loop``, ``length`` or ``phrase``.
    share_model, share_human : float
        Shares of the tested texts of the candidate and of the reference, 0 to 1.
    tested_model, tested_human : int
        Number of these texts.
    low, high : float
        95% interval of share_model - share_human.
    mean_model, mean_human : float or None
        Means over the tested items, if the finding is about a property of items that are no texts; the kind names it.
    p_adjusted : float
        By Benjamini and Yekutieli, over all tested statements of the candidate.
    gap_share, gap_low, gap_high : float or None
        Share of the frontier integral that goes if the candidate has it as often as the reference, with its 95%
        interval; None unless there is a gap and the interval is above 0. Shares of findings overlap.
    explained_by : str
        The larger finding among whose texts little of this one is left; empty if none explains it.
    left_low, left_high : float
        95% interval of the difference that is left; 0 if nothing explains it.
    shown_by : {"model", "human"}
        The side of the texts that show it: the candidate or the reference.
    text_ids : list of str
        Ids of those texts, tested or not.
    also : list of str
        Sentences of findings that are less clear and about almost the same texts.
    agreement : float or None
        If a language model judged the texts, the share of equal answers where it was asked twice.
    kappa : float or None
        Cohen's kappa of these answers; None also if it gave one answer alone.
    """

    candidate: str
    reference: str
    sentence: str
    direction: Literal["more", "less"]
    kind: str
    share_model: Share
    share_human: Share
    tested_model: Count
    tested_human: Count
    low: Annotated[float, Within(-1, 1)]
    high: Annotated[float, Within(-1, 1)]
    mean_model: float | None
    mean_human: float | None
    p_adjusted: Share
    gap_share: float | None
    gap_low: float | None
    gap_high: float | None
    explained_by: str
    left_low: Annotated[float, Within(-1, 1)]
    left_high: Annotated[float, Within(-1, 1)]
    shown_by: Literal["model", "human"]
    text_ids: list[str]
    also: list[str]
    agreement: Share | None
    kappa: Annotated[float, Within(-1, 1)] | None


def as_row(corpora: Mapping[str, Corpus], finding: Finding) -> FindingJson:
    """A finding with plain values; ``corpora`` has both of its sources by name."""
    side = finding.reference if finding.shown_by == "human" else finding.candidate
    ids, equal, means = corpora[side].ids, finding.held_equal, finding.means
    return {
        "candidate": finding.candidate,
        "reference": finding.reference,
        "sentence": finding.sentence,
        "direction": finding.direction,
        "kind": finding.kind,
        "share_model": finding.share_model,
        "share_human": finding.share_human,
        "tested_model": finding.tested_model,
        "tested_human": finding.tested_human,
        "low": finding.low,
        "high": finding.high,
        "mean_model": None if means is None else means.model,
        "mean_human": None if means is None else means.human,
        "p_adjusted": finding.p_adjusted,
        "gap_share": None if equal is None else equal.share,
        "gap_low": None if equal is None else equal.low,
        "gap_high": None if equal is None else equal.high,
        "explained_by": finding.explained_by,
        "left_low": finding.left_low,
        "left_high": finding.left_high,
        "shown_by": finding.shown_by,
        "text_ids": [ids[index] for index in finding.texts],
        "also": [each.sentence for each in finding.also],
        "agreement": None if finding.agreement is None else finding.agreement.share,
        "kappa": None if finding.agreement is None else finding.agreement.kappa,
    }


def findings_frame(run: Run, candidate: str | None = None, *, q: float = FDR, reference: str = HUMAN) -> pd.DataFrame:
    """Return the findings about a candidate, a row for each, the largest difference first.

    Parameters
    ----------
    candidate : str, optional
        May be left out if there is only one.
    q : float in (0, 1)
        Expected share of false findings, at most.
    reference : str
        Source that takes the place of the human texts.

    Returns
    -------
    DataFrame
        The fields of :class:`FindingJson`.

    Raises
    ------
    InputError
        As ``mauve_core.analysis.findings.of_run.run_findings``; no candidate is named where there are several.
    """
    import pandas as pd

    name = run.comparison.the_candidate(candidate).name
    rows = [as_row(run.corpora, each) for each in run_findings(run, name, q, reference)]
    return pd.DataFrame(rows, columns=list(FindingJson.__annotations__))
