"""A comparison's display in a notebook: leaderboard, warnings, and the divergence curves as a static drawing.

It needs no script and no network, so Jupyter, VS Code and notebook converters show it offline and before the notebook
is trusted. ``mauve_core.figure(comparison, "frontier")`` draws the interactive figure.
"""

from __future__ import annotations

import html

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import SCORE_DECIMALS, interval, printable, with_spread
from mauve_core.figures.by_name import FIGURES
from mauve_core.figures.frontier import banded_names, bands_in_words, curve_points, error_curves
from mauve_core.figures.leaderboard import leaderboard_frame, titled
from mauve_core.figures.still import frontier_svg
from mauve_core.figures.theme import short_name
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import places_sentence, rank_label, standings, texts_interval

_CELL = "padding:4px 10px;text-align:left;white-space:nowrap"


def notebook_html(comparison: Comparison) -> str:
    """The comparison as HTML in one ``div``, with all text escaped."""
    points = curve_points(error_curves(comparison, "pairwise"), comparison.config.score.scale)
    order = [standing.candidate.name for standing in standings(comparison)]
    banded = banded_names(order, order[0])
    bands = bands_in_words([_safe(short_name(name)) for name in banded], len(order))
    warnings = "".join(f"<li>{_safe(warning)}</li>" for warning in comparison.warnings)
    names = ", ".join(f"<code>{name}</code>" for name in FIGURES)
    return (
        f"<div>{_table(comparison)}<p style='max-width:60em'>{_about(comparison)}</p>"
        + (f"<p style='margin-bottom:0'><b>Warnings</b></p><ul>{warnings}</ul>" if warnings else "")
        + f"{frontier_svg(points, order, banded)}<p style='opacity:.75'>Divergence curves of the pairwise partitions. "
        f"{bands} Interactive: <code>mauve_core.figure(comparison, name)</code> with {names}.</p></div>"
    )


def _table(comparison: Comparison) -> str:
    frame = leaderboard_frame(comparison, "pairwise")
    lettered = bool(frame["letters"].any())
    heads = ["Rank", *(["Letters"] if lettered else []), "Candidate", *(titled(score) for score in SCORES), "n", "k"]
    rows = []
    for _, row in frame.iterrows():
        cells = [rank_label(int(row["rank"]), bool(row["tied"])), *([row["letters"]] if lettered else [])]
        cells.append(f"<b>{_safe(str(row['candidate']))}</b>")
        for score in SCORES:
            mean = with_spread(row[score], row[f"{score}_sd"], SCORE_DECIMALS, value_in="<b>{}</b>")
            low_high = interval(row[f"{score}_low"], row[f"{score}_high"], SCORE_DECIMALS)
            cells.append(f"{mean}<br><small>{low_high}</small>")
        cells += [f"{row['n']:,}", f"{row['k']:,}"]
        rows.append("<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th scope='col' style='{_CELL}'>{name}</th>" for name in heads)
    caption = "<caption style='text-align:left'><b>Leaderboard</b></caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _about(comparison: Comparison) -> str:
    score = comparison.config.score
    seeds = f"mean ± sd over {score.seeds} k-means seeds" if score.seeds > 1 else "one k-means seed, no spread known"
    return (
        f"Pairwise partitions; {seeds}; below it the {texts_interval(score.confidence)}. "
        f"{_safe(places_sentence(comparison))} {comparison.human.n:,} human texts; "
        f"encoder: {_safe(comparison.config.made_by)}; c = {score.scale:g}."
    )


def _safe(text: str) -> str:
    return html.escape(printable(text))
