"""What is logged of a stored run, the same for every tracker.

Names of metrics, settings and tables are stable. Those of one candidate begin with its key: its name, with ``_`` for
all but letters, digits, ``_``, ``-`` and ``.``, because trackers refuse other characters; the setting ``KEY/name`` has
the name itself. A score is never logged without its spread: ``KEY/mauve`` comes with ``KEY/mauve_low`` and
``KEY/mauve_high``, the bootstrap interval over texts, ``KEY/mauve_sd``, the standard deviation over k-means seeds if
there are several, and ``KEY/mauve_generations_sd``, that over generations if there are several. Scores are the
published ones, from pairwise partitions; the table of scores has the joint ones, too.

Texts may be private. Neither they, nor their words, nor the report, which quotes them, are logged unless asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mauve_core.analysis import frames
from mauve_core.base.config import HUMAN, SCORES
from mauve_core.figures.by_name import figure
from mauve_core.reporting.html_report import html_report
from mauve_core.scoring.result import Candidate, Comparison, Source
from mauve_core.store import Run

if TYPE_CHECKING:
    import pandas as pd

# Figures that are logged, by their names in ``mauve_core.figures.by_name``; they hold no texts.
FIGURES = ("leaderboard", "frontier")

# Hexadecimal digits of a run's digest in its key.
_DIGEST = 12

# Most characters of a candidate's key.
_MOST_OF_NAME = 100

_OTHERS = re.compile(r"[^\w.-]+")

Setting = str | int | float | bool


@dataclass(frozen=True)
class Tracked:
    """A stored run as trackers take it.

    Attributes
    ----------
    key : str
        The run's id and the beginning of its digest: the same run has the same key everywhere, and another comparison
        stored under the same id has another one.
    name : str
        The run's name, for people.
    settings : mapping of str to str, int, float or bool
        What decides the scores, and what was compared; without what the run does not tell.
    metrics : mapping of str to float
    tables : mapping of str to DataFrame
        Scores, tests of pairs, and each candidate's clusters.
    figures : mapping of str to plotly.graph_objects.Figure
    texts : mapping of str to DataFrame
        For each candidate, its texts and the human ones with their clusters (``texts_KEY``), and the names of the
        clusters (``cluster_names_KEY``); empty unless asked for.
    report : bytes or None
        The report as HTML, which quotes texts; None unless asked for.
    """

    key: str
    name: str
    settings: Mapping[str, Setting]
    metrics: Mapping[str, float]
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Any]
    texts: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    report: bytes | None = None


def tracked(run: Run, *, texts: bool = False) -> Tracked:
    """Gather what is logged of a run; ``texts`` adds texts, the clusters' names, which are words of them, and the
    report.
    """
    keys = candidate_keys(run.comparison)
    return Tracked(
        key=f"{run.id}-{run.digest[:_DIGEST]}",
        name=run.name,
        settings=_settings(run, keys),
        metrics=_metrics(run.comparison, keys),
        tables=_tables(run, keys),
        figures={name: figure(run.comparison, name) for name in FIGURES},
        texts=_texts(run, keys) if texts else {},
        report=html_report(run) if texts else None,
    )


def candidate_keys(comparison: Comparison) -> dict[str, str]:
    """Return, by candidate, what the names of its metrics begin with; ``-2``, ``-3`` ... keep alike ones apart."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for candidate in comparison.candidates:
        plain = _OTHERS.sub("_", candidate.name)[:_MOST_OF_NAME].strip("._-") or "candidate"
        found[candidate.name] = _free(plain, taken)
        taken.add(found[candidate.name].casefold())
    return found


def _free(plain: str, taken: Iterable[str]) -> str:
    key, number = plain, 1
    while key.casefold() in taken:  # two files whose names differ in case alone would be one on some disks
        number += 1
        key = f"{plain}-{number}"
    return key


def numbers_of(candidate: Candidate) -> dict[str, float]:
    """Return every score with its interval and spreads, by the names that trackers get."""
    found: dict[str, float] = {}
    for score in SCORES:
        estimate = candidate.scores[score]
        spreads = {"sd": estimate.sd, "generations_sd": estimate.generations_sd}
        found |= {score: estimate.mean, f"{score}_low": estimate.low, f"{score}_high": estimate.high}
        found |= {f"{score}_{spread}": value for spread, value in spreads.items() if value is not None}
    return found


def _metrics(comparison: Comparison, keys: Mapping[str, str]) -> dict[str, float]:
    return {
        f"{keys[candidate.name]}/{name}": value
        for candidate in comparison.candidates
        for name, value in numbers_of(candidate).items()
    }


def _settings(run: Run, keys: Mapping[str, str]) -> dict[str, Setting]:
    comparison = run.comparison
    config, score = comparison.config, comparison.config.score
    found: dict[str, Setting | None] = {
        "run_id": run.id,
        "run_digest": run.digest,
        "created": run.created,
        "mauve_lens_version": dict(comparison.environment.get("versions") or {}).get("mauve-lens"),
        "features_from": config.features_from,
        "normalization": ", ".join(comparison.normalization) or "none",
        **{name: value for name, value in score.as_dict().items() if name != "k"},
        "k": "a tenth of the smaller side" if score.k is None else score.k,
        "smoothing": "none",
        "mauve_star_smoothing": "krichevsky-trofimov",
        "candidates": len(comparison.candidates),
        **_of_encoder(comparison),
        **_of_side(HUMAN, comparison.human),
    }
    for candidate in comparison.candidates:
        found |= _of_candidate(keys[candidate.name], candidate)
    return {name: value for name, value in found.items() if value is not None}


def _of_encoder(comparison: Comparison) -> dict[str, Setting | None]:
    encoder = comparison.config.encoder
    if encoder is None:
        unknown = comparison.config.features_from is None
        return {"encoder": "none, features were given" if unknown else comparison.config.made_by}
    own = encoder.as_dict()
    model = own.pop("model")
    return {
        "encoder": model,
        "encoder_settings_sha256": encoder.digest(),
        **{f"encoder_{k}": v for k, v in own.items()},
    }


def _of_candidate(key: str, candidate: Candidate) -> dict[str, Setting | None]:
    return {**_of_side(key, candidate.source), f"{key}/name": candidate.name, f"{key}/k": candidate.partitions[0].k}


def _of_side(key: str, source: Source) -> dict[str, Setting | None]:
    """Texts and features by their digests; the file without the folders of the machine that read it."""
    return {
        f"{key}/n": source.n,
        f"{key}/generations": source.generations,
        f"{key}/file": source.file_name,
        f"{key}/texts_sha256": source.digest,
        f"{key}/features_key": source.features_key,
    }


def _tables(run: Run, keys: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    found = {"scores": run.scores().assign(key=lambda table: [keys[name] for name in table["candidate"]])}
    if len(keys) > 1:
        found["pairs"] = run.pairs()
    for name, key in keys.items():
        found[f"clusters_{key}"] = run.clusters(name).drop(columns="name")
    return found


def _texts(run: Run, keys: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    found = {}
    for name, key in keys.items():
        found[f"texts_{key}"] = frames.storable(run.texts(name))
        found[f"cluster_names_{key}"] = run.clusters(name)[["cluster", "name"]]
    return found
