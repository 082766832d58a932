"""The published tables in ``data/published``, and the meaning of their columns.

A measure T enters as the gap |T(Q) - T(P)| between model and human text, where smaller is closer. MAUVE and MAUVE*
enter directly; larger is closer. Pillutla et al., NeurIPS 2021 (supplement, tables 6, 7, 8) and JMLR 2023 (tables 5,
13, 14).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import bundled

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
