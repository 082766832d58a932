"""The papers' printed figures in ``data/published``, and their correlation tables recomputed from them.

Pillutla et al., NeurIPS 2021 (table 5; supplement, tables 6 to 8) and JMLR 2023 (tables 4, 5, 13, 14), correlate text
measures with human scores (web text) and with the accuracy of a trained discriminator (news, stories). A measure T
enters as the gap |T(Q) - T(P)|, where smaller is closer; MAUVE and MAUVE* enter directly, where larger is closer. A
correlation of 1 means that the measure orders the settings as the reference does. For human scores NeurIPS 2021 prints
plain Spearman correlations, JMLR 2023 the worst case within one standard deviation (equation 30). Printed figures are
rounded: how far that can move a correlation is in ``rounding.csv``, written by ``benchmarks/published_rounding.py``.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import bundled
from mauve_core.base.formatting import significant, written
from mauve_core.base.json_codec import Joined
from mauve_core.stats.rank_correlation import WorstCase, spearman, worst_case_spearman

DATA = bundled("published")

# All figures in correlations, and the correlations themselves, have three decimals.
UNIT = 0.001

HUMAN_ROW = "human"


@dataclass(frozen=True)
class PublishedColumn:
    """A text measure as a table column; larger ``closeness`` in :func:`settings` means closer to human text."""

    name: str
    title: str
    unit: str
    # Whether closeness to human text is -|T(Q) - T(P)|, not the measure itself.
    is_gap: bool = True


@dataclass(frozen=True)
class Reference:
    """The reference that measures are compared with."""

    name: str
    title: str
    unit: str
    higher_is_closer: bool = True


@dataclass(frozen=True)
class Domain:
    """One kind of text: its table and its references."""

    name: str
    title: str
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A file of published figures."""

    title: str
    source: str


@dataclass(frozen=True)
class Paper:
    """A correlation table and its variant of MAUVE; it uses the settings that have this variant."""

    name: str
    title: str
    mauve: str


PUBLISHED_COLUMNS = {
    measure.name: measure
    for measure in (
        PublishedColumn("generation_perplexity", "Generation perplexity", "perplexity under GPT-2 large"),
        PublishedColumn("zipf", "Zipf coefficient", "slope of log rank against log frequency of words"),
        PublishedColumn("repetition", "Repetition", "share of texts that end in a repeated phrase"),
        PublishedColumn("distinct_4", "Distinct-4", "share of 4-grams that are distinct"),
        PublishedColumn("self_bleu", "Self-BLEU", "BLEU of a text against the others, 4-grams"),
        PublishedColumn("mauve", "MAUVE", "0 to 1", is_gap=False),
        PublishedColumn("mauve_star", "MAUVE*", "0 to 1, smoothed counts", is_gap=False),
    )
}

REFERENCES = {
    reference.name: reference
    for reference in (
        Reference("human_like", "Human-like", "Bradley–Terry score"),
        Reference("interesting", "Interesting", "Bradley–Terry score"),
        Reference("sensible", "Sensible", "Bradley–Terry score"),
        Reference("discriminator_accuracy", "Discriminator accuracy", "%", higher_is_closer=False),
    )
}

DOMAINS = {
    domain.name: domain
    for domain in (
        Domain("webtext", "Web text, GPT-2", "webtext_gpt2", ("human_like", "interesting", "sensible")),
        Domain("news", "News, Grover", "news_grover", ("discriminator_accuracy",)),
        Domain("stories", "Stories, GPT-2 medium", "stories_gpt2_medium", ("discriminator_accuracy",)),
    )
}

PAPERS = {
    paper.name: paper
    for paper in (
        Paper("jmlr-2023", "JMLR 2023, table 4", "mauve_star"),
        Paper("neurips-2021", "NeurIPS 2021, table 5", "mauve"),
    )
}

# Files for :func:`table`, besides ``correlations`` and ``other_correlations``; the supplement has NeurIPS tables from 6
# on.
TABLES = {
    "webtext_gpt2": Table("Web text, GPT-2 of four sizes", "JMLR 2023, tables 5, 18; NeurIPS 2021, tables 6, 13"),
    "news_grover": Table("News, Grover of three sizes", "JMLR 2023, table 13; NeurIPS 2021, table 7"),
    "stories_gpt2_medium": Table("Stories, GPT-2 medium", "JMLR 2023, table 14; NeurIPS 2021, table 8"),
    "webtext_gpt2_roberta": Table("Web text: MAUVE under two encoders", "NeurIPS 2021, table 12"),
    "webtext_gpt2_language_model": Table("Web text: language-model measures", "NeurIPS 2021, table 9"),
    "webtext_gpt2_small_beam": Table("Web text: beam search, GPT-2 small", "JMLR 2023, table 6"),
    "webtext_gpt2_large_typical": Table("Web text: locally typical sampling, GPT-2 large", "JMLR 2023, table 7"),
    "webtext_gpt2_large_contrastive": Table(
        "Web text: contrastive search and others, GPT-2 large",
        "Su, Collier: Contrastive Search Is What You Need For Neural Text Generation, result files",
    ),
    "news_discriminators": Table("News: MAUVE against discriminators", "NeurIPS 2021, table 10"),
}


def table(name: str) -> pd.DataFrame:
    """A published table by file name; its first column is ``setting`` (size and decoding, or "human").

    StorageError if the file is missing or damaged.
    """
    return _read(DATA / f"{name}.csv").copy()


def settings(paper: str, domain: str, measure: str, reference: str) -> pd.DataFrame:
    """The settings (a model with a decoder) behind one published correlation.

    Returns
    -------
    DataFrame
        setting, value and value_sd (of the measure), human (T of human text, NaN for MAUVE), closeness (-|T(Q) -
        T(P)|, or MAUVE; larger is closer), reference and reference_sd; an sd is NaN if not printed.

    Raises
    ------
    InputError
        A name is not a key of ``PAPERS``, ``DOMAINS``, ``PUBLISHED_COLUMNS``, or not a reference of the domain.
    StorageError
        The table is missing or damaged.
    """
    return _settings(paper, domain, measure, reference).copy()


def closeness_in_units(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Closeness of rows of :func:`settings`, in units of the last printed digit, so that equal gaps are equal.

    0.967 - 0.952 and 0.952 - 0.937 differ in binary.
    """
    values = np.rint(frame["value"].to_numpy(dtype=np.float64) / UNIT)
    human = np.rint(frame["human"].to_numpy(dtype=np.float64) / UNIT)
    return np.where(np.isnan(human), values, -np.abs(values - human))


@functools.cache
def _settings(paper: str, domain: str, measure: str, reference: str) -> pd.DataFrame:
    for name, known in ((paper, PAPERS), (domain, DOMAINS), (measure, PUBLISHED_COLUMNS)):
        if name not in known:
            raise InputError("No such published figures", allowed=", ".join(known), received=repr(name))
    if reference not in DOMAINS[domain].references:
        allowed = ", ".join(DOMAINS[domain].references)
        raise InputError(f"The domain {domain} has no such reference", allowed=allowed, received=repr(reference))
    frame = table(DOMAINS[domain].table)
    is_human = frame["setting"] == HUMAN_ROW
    rows = frame[~is_human & frame[[PAPERS[paper].mauve, measure, reference]].notna().all(axis=1)]
    human = float(frame.loc[is_human, measure].iloc[0]) if PUBLISHED_COLUMNS[measure].is_gap else float("nan")
    found = pd.DataFrame(
        {
            "setting": rows["setting"],
            "value": rows[measure],
            "value_sd": rows.get(f"{measure}_sd", np.nan),
            "human": human,
            "reference": rows[reference],
            "reference_sd": rows.get(f"{reference}_sd", np.nan),
        }
    ).reset_index(drop=True)
    found.insert(4, "closeness", closeness_in_units(found) * UNIT)
    return found


@functools.cache
def _read(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"Cannot read the published figures in {path}: {words_of(error)}", todo="Restore the file"
        ) from error
    parts = [frame[part].fillna("") for part in ("size", "decoding") if part in frame]
    if parts:
        frame.insert(0, "setting", functools.reduce(lambda left, right: (left + " " + right).str.strip(), parts))
    return frame


# Maximum distance of a number from its printed form, plus a margin for binary fractions.
TOLERANCE = UNIT / 2 + 1e-9

Statistic = Literal["plain", "worst-case"]
Outcome = Literal["reproduced", "rounding", "undecided", "different"]

OUTCOMES: dict[Outcome, str] = {
    "reproduced": "reproduced",
    "rounding": "explained by rounding",
    "undecided": "not excluded by rounding",
    "different": "not reproduced",
}


@dataclass(frozen=True)
class Agreement:
    """One published correlation and its recomputed value.

    Attributes
    ----------
    paper, domain, reference, measure : str
        Keys of ``PAPERS``, ``DOMAINS``, ``REFERENCES``, ``PUBLISHED_COLUMNS``.
    statistic : {"plain", "worst-case"}
        Which one the paper prints.
    n : int
        Number of settings.
    plain : float
        Spearman correlation; equal figures share their mean rank.
    worst : WorstCase or None
        Within one standard deviation; None if the tables lack deviations, as for news.
    published : float
        Three decimals.
    low, high : float
        Limits of the statistic over all distinct figures that round to the printed ones. Both limits of a plain
        correlation are attained, and the lower limit of a worst case.
    outcome : {"reproduced", "rounding", "undecided", "different"}
        "rounding": some figures that round to the printed ones give the published number. "undecided": it lies within
        the limits, but no such figures were found. "different": it lies outside, or no order of the figures gives it.
    joint : bool
        Whether one set of figures (the printed ones or others that round to them) gives every published number of the
        measure over these settings.
    """

    paper: str
    domain: str
    reference: str
    measure: str
    statistic: Statistic
    n: int
    plain: float
    worst: WorstCase | None
    published: float
    low: float
    high: float
    outcome: Outcome
    joint: bool = False

    @property
    def ours(self) -> float:
        """The recomputed value of the published statistic."""
        return self.worst.value if self.statistic == "worst-case" and self.worst is not None else self.plain

    @property
    def difference(self) -> float:
        """Recomputed minus published value."""
        return self.ours - self.published


@dataclass(frozen=True)
class ColumnAgreement:
    """A published plain correlation between two columns of one table, including human text if it has both.

    Attributes
    ----------
    paper, table, first, second : str
        Names of the paper, the table and the two columns.
    n : int
        Number of settings.
    ours : float
        The recomputed Spearman correlation; equal figures share their mean rank.
    published : float
        Three decimals.
    low, high : float
        Limits over all distinct figures that round to the printed ones; both are attained.
    outcome : {"reproduced", "rounding", "undecided", "different"}
        As for :class:`Agreement`.
    """

    paper: str
    table: str
    first: str
    second: str
    n: int
    ours: float
    published: float
    low: float
    high: float
    outcome: Outcome

    @property
    def difference(self) -> float:
        """Recomputed minus published value."""
        return self.ours - self.published


@functools.cache
def agreements() -> tuple[Agreement, ...]:
    """All numbers of the two correlation tables, recomputed, in table order.

    StorageError if a table is missing or damaged.
    """
    found = []
    for row in _rows("correlations"):
        names = row.paper, row.domain, row.reference, row.measure
        frame = settings(row.paper, row.domain, row.measure, row.reference)
        sign = 1 if REFERENCES[row.reference].higher_is_closer else -1
        values, reference = closeness_in_units(frame), sign * frame["reference"].to_numpy(dtype=np.float64)
        sd = np.rint(frame["value_sd"].to_numpy(dtype=np.float64) / UNIT)
        worst = None if np.isnan(sd).any() else worst_case_spearman(values, sd, reference)
        low, high, outcome, joint = _rounding()[names]
        n, plain, published = len(frame), spearman(values, reference), float(row.spearman)
        found.append(Agreement(*names, row.statistic, n, plain, worst, published, low, high, outcome, joint))
    return tuple(found)


@functools.cache
def column_agreements() -> tuple[ColumnAgreement, ...]:
    """The published correlations between human scores, and between MAUVE under two encoders, recomputed; raises as
    :func:`agreements` does."""
    found = []
    for row in _rows("other_correlations"):
        first, second = table(row.table)[[row.first, row.second]].dropna().to_numpy(dtype=np.float64).T
        names = row.paper, row.table, row.first, row.second
        low, high, outcome, _ = _rounding()[names]
        ours, published = spearman(first, second), float(row.spearman)
        found.append(ColumnAgreement(*names, len(first), ours, published, low, high, outcome))
    return tuple(found)


def _rounding() -> dict[tuple[str, str, str, str], tuple[float, float, Outcome, bool]]:
    """Limits, outcome and joint of every published number."""
    return {
        (row.paper, row.table, row.first, row.second): (float(row.low), float(row.high), row.outcome, bool(row.joint))
        for row in _rows("rounding")
    }


def _rows(name: str) -> list[Any]:
    return list(table(name).itertuples())


def notes() -> tuple[str, ...]:
    """Sentences on numbers that do not reproduce, and the reasons that the tables reveal."""
    return (*_joint_notes(), *_swapped_notes(), *_news_notes())


def answer(paper: str) -> str:
    """In words: which of the paper's measures agrees best with its references, and how many numbers are reproduced."""
    rows = [row for row in agreements() if row.paper == paper]
    by_reference: dict[tuple[str, str], list[Agreement]] = {}
    for row in rows:
        by_reference.setdefault((row.domain, row.reference), []).append(row)
    first = {pair: _highest(group) for pair, group in by_reference.items()}
    wins = Counter(measure for measures in first.values() for measure in measures)
    best, won = wins.most_common(1)[0]
    tied = sum(best in measures and len(measures) > 1 for measures in first.values())
    ties = f", {tied} of them tied" if tied else ""
    n = " or ".join(map(str, sorted({row.n for row in rows})))
    outcomes = Counter(row.outcome for row in rows)
    counted = ", ".join(f"{outcomes[key]} {title}" for key, title in OUTCOMES.items() if outcomes[key])
    return (
        f"{PUBLISHED_COLUMNS[best].title} has the highest correlation with {won} of {len(by_reference)} references"
        f"{ties}, each over {n} settings. Of the {len(rows)} published correlations: {counted}."
    )


def _highest(rows: Iterable[Agreement]) -> list[str]:
    """The measures with the highest recomputed value; several if they tie."""
    values = {row.measure: row.ours for row in rows}
    most = max(values.values())
    return [measure for measure, value in values.items() if value > most - TOLERANCE]


class _RecomputedJson(TypedDict):
    """A published correlation of a measure with a reference, and ours.

    Attributes
    ----------
    ours : float
        The recomputed value of the published statistic.
    difference : float
        Recomputed minus published value.
    """

    ours: float
    difference: float


class _ColumnJson(TypedDict):
    """A published plain correlation between two columns of one table, and ours.

    Attributes
    ----------
    difference : float
        Recomputed minus published value.
    """

    difference: float


class PublishedJson(TypedDict):
    """The papers' correlation tables, recomputed from their printed figures.

    Attributes
    ----------
    answers : mapping of str to str
        In a sentence, by paper.
    correlations : list
        With human ratings and other references.
    columns : list
        Between columns of one table.
    notes : list of str
        How the numbers were recomputed.
    """

    answers: Mapping[str, str]
    correlations: list[Annotated[dict[str, Any], Joined(Agreement, _RecomputedJson)]]
    columns: list[Annotated[dict[str, Any], Joined(ColumnAgreement, _ColumnJson)]]
    notes: list[str]


def as_dict() -> dict[str, Any]:
    """All results as JSON values: the entries of :class:`PublishedJson`."""
    return {
        "answers": {paper: answer(paper) for paper in PAPERS},
        "correlations": [
            {**dataclasses.asdict(row), "ours": row.ours, "difference": row.difference} for row in agreements()
        ],
        "columns": [{**dataclasses.asdict(row), "difference": row.difference} for row in column_agreements()],
        "notes": list(notes()),
    }


def least_settings(correlation: float, p_value: float) -> int:
    """The minimum number of settings for a two-sided p-value of a Spearman correlation below ``p_value`` (t test).

    InputError if the correlation or the p-value is not inside (0, 1).
    """
    if not (0 < correlation < 1 and 0 < p_value < 1):
        raise InputError(
            "The number of settings cannot be determined", allowed="a correlation and a p-value between 0 and 1"
        )
    n = 3
    while 2 * student.sf(correlation * np.sqrt((n - 2) / (1 - correlation**2)), n - 2) >= p_value:
        n += 1
    return n


def _joint_notes() -> Iterable[str]:
    """One sentence on measures whose numbers one set of figures explains by rounding."""
    rows = [row for row in agreements() if row.outcome == "rounding" and row.joint]
    names = dict.fromkeys(f"{PUBLISHED_COLUMNS[row.measure].title} ({DOMAINS[row.domain].title})" for row in rows)
    if names:
        yield (
            f"Our numbers differ from the published ones only by rounding for {'; '.join(names)}: each has figures "
            "that round to the printed ones and give all published numbers at once."
        )


def _swapped_notes() -> Iterable[str]:
    """Whether the human scores' correlations match the published ones for other pairs."""
    rows = [row for row in column_agreements() if row.first in REFERENCES and row.second in REFERENCES]
    same = np.allclose(sorted(row.ours for row in rows), sorted(row.published for row in rows), rtol=0, atol=TOLERANCE)
    moved = [row for row in rows if row.outcome == "different"]
    if same and moved:
        pairs = "; ".join(
            f"{REFERENCES[row.first].title} and {REFERENCES[row.second].title} {written(row.ours, 3)}, "
            f"published {written(row.published, 3)}"
            for row in moved
        )
        yield (
            f"Of the {len(rows)} correlations between human scores, {len(moved)} appear in each other's places: "
            f"{pairs}. Rounding cannot explain this."
        )


def _news_notes() -> Iterable[str]:
    """State that the published correlations for news need more settings than are printed."""
    rows = [row for row in agreements() if row.domain == "news"]
    beside = table("news_discriminators")
    smallest, p_value = float(beside["spearman"].min()), float(beside["p_below"].max())
    needed, n = least_settings(smallest, p_value), rows[0].n
    different = sum(row.outcome == "different" for row in rows)
    if different and needed > n:
        yield (
            f"News: {different} of {len(rows)} published numbers do not follow from the {n} printed settings. "
            f"The paper's supplement (table 10) gives p < {significant(p_value)} for the correlation of MAUVE with "
            f"every discriminator, the smallest being {smallest}; this requires at least {needed} settings, so the "
            "published row seems to be based on settings that are not printed."
        )
