"""Texts that change cluster under a perturbation: exchanges between clusters, largest flows, sensitivity by cluster.

Clusters are the run's own and stay fixed. A text moves if, once perturbed, it is nearest to another centroid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.cluster_table import CONFIDENCE, wilson_interval
from mauve_core.base.words import TEXTS, Words
from mauve_core.experiments.robustness import Flow
from mauve_core.figures import draw
from mauve_core.figures.theme import ACTIVE_COLOUR, NEUTRAL_COLOUR, as_label, base_layout, translucent

# Maximum number of clusters in the matrix; the rest are counted.
SHOWN_CLUSTERS = 14

# Maximum number of flows in the chart; the rest are counted and listed in the table.
SHOWN_FLOWS = 15

# Maximum number of clusters in the sensitivity bars.
SHOWN_BARS = 60

FLOW_SCALE = ((0.0, "#dcd5f7"), (1.0, "#43309a"))
# Share of the largest count above which white has more contrast than black.
_DARK_FROM = 0.59

# Characters in a line of a cluster's name beside its row.
LABEL_WIDTH = 26

_CELL = 30
# Height of the names above the columns, which stand upright.
_COLUMN_NAMES = 190
_BAND_HEIGHT, _BAR_HEIGHT = 27, 300


@dataclass(frozen=True)
class Move:
    """Texts that moved between two different clusters; ``texts`` is at least 1."""

    source: int
    target: int
    texts: int


def moves(flow: Flow) -> list[Move]:
    """All flows between clusters, largest first, then by cluster."""
    table = flow.transitions
    np.fill_diagonal(table, 0)
    found = [Move(int(i), int(j), int(table[i, j])) for i, j in np.argwhere(table)]
    return sorted(found, key=lambda move: (-move.texts, move.source, move.target))


def moved_along(flow: Flow, source: int, target: int) -> tuple[str, ...]:
    """Ids of the texts that moved from one cluster to the other, in order."""
    indices = np.flatnonzero((flow.before == source) & (flow.after == target))
    return tuple(flow.ids[index] for index in indices)


def flows_frame(flow: Flow, words: Words = TEXTS) -> pd.DataFrame:
    """One row per flow, largest first: from, to, texts, of (texts that were in ``from``), share.

    The column of texts is called after the items: ``images``.
    """
    sizes = np.bincount(flow.before, minlength=flow.k)
    rows = [(move.source, move.target, move.texts, int(sizes[move.source])) for move in moves(flow)]
    frame = pd.DataFrame(rows, columns=["from", "to", words.items, "of"])
    return frame.assign(share=frame[words.items] / frame["of"].clip(lower=1))


def texts_frame(flow: Flow) -> pd.DataFrame:
    """One row per text: id, before, after, moved."""
    return pd.DataFrame(
        {"id": flow.ids, "before": flow.before, "after": flow.after, "moved": flow.before != flow.after}
    )


def sensitivity_frame(flow: Flow) -> pd.DataFrame:
    """One row per cluster with texts, most sensitive first: cluster, left, of, share, low, high (Wilson's)."""
    sizes = np.bincount(flow.before, minlength=flow.k)
    left = np.bincount(flow.before[flow.before != flow.after], minlength=flow.k)
    rows = []
    for cluster in np.flatnonzero(sizes):
        low, high = wilson_interval(int(left[cluster]), int(sizes[cluster]))
        share = float(flow.sensitivity[cluster])
        rows.append((int(cluster), int(left[cluster]), int(sizes[cluster]), share, low, high))
    frame = pd.DataFrame(rows, columns=["cluster", "left", "of", "share", "low", "high"])
    return frame.sort_values(["share", "of", "cluster"], ascending=[False, False, True], ignore_index=True)


def exchanging(flow: Flow, most: int = SHOWN_CLUSTERS) -> NDArray[np.int64]:
    """Clusters that texts left or entered, those with most such texts first; at most ``most``."""
    table = flow.transitions
    np.fill_diagonal(table, 0)
    traffic = table.sum(axis=0) + table.sum(axis=1)
    order = np.argsort(-traffic, kind="stable")
    found: NDArray[np.int64] = order[traffic[order] > 0][:most]
    return found


def matrix_figure(
    flow: Flow,
    clusters: Sequence[int],
    names: Sequence[str],
    chosen: tuple[int, int] | None = None,
    *,
    words: Words = TEXTS,
) -> go.Figure:
    """Texts by old cluster (row) and new cluster (column); the diagonal, texts that stayed, is gray.

    ``names`` are those of the clusters of the partition, by number, and untrusted.

    The first two values of a clicked point's ``customdata`` are the old and the new cluster.
    """
    shown = list(map(int, clusters))
    counts = flow.transitions[np.ix_(shown, shown)]
    moved = np.where(np.eye(len(shown), dtype=bool), 0, counts)
    top = int(moved.max(initial=0))
    figure = go.Figure(
        go.Heatmap(
            z=np.where(moved > 0, moved, np.nan),
            zmin=0,
            zmax=max(top, 1),
            colorscale=FLOW_SCALE,
            showscale=False,
            xgap=1,
            ygap=1,
            hoverinfo="skip",
        )
    )
    figure.add_traces([_numbers(counts, top), _cells(flow, shown, moved, names, words)])
    if chosen is not None and {*chosen} <= {*shown}:
        x, y = shown.index(chosen[1]), shown.index(chosen[0])
        line = {"color": NEUTRAL_COLOUR, "width": 4}
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line)
    axis = {
        "tickvals": list(range(len(shown))),
        "tickfont": {"size": 11},
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    figure.update_layout(
        base_layout(
            height=_CELL * max(len(shown), 4) + _COLUMN_NAMES,
            margin={"l": 8, "r": 8, "t": 8, "b": 8},
            showlegend=False,
            clickmode="event+select",
            hovermode="closest",
            xaxis={
                **axis,
                "ticktext": [as_label(labelled(names, cluster)) for cluster in shown],
                "side": "top",
                "tickangle": -90,
                "title": {"text": "to cluster"},
                "range": [-0.5, len(shown) - 0.5],
            },
            yaxis={
                **axis,
                "ticktext": [draw.wrapped(labelled(names, cluster), LABEL_WIDTH) for cluster in shown],
                "tickangle": 0,
                "title": {"text": "from cluster"},
                "range": [len(shown) - 0.5, -0.5],
            },
        )
    )
    return figure


def sankey_figure(
    shown: Sequence[Move], names: Sequence[str], chosen: tuple[int, int] | None = None, *, words: Words = TEXTS
) -> go.Figure:
    """Bands from old clusters (left) to new clusters (right); width is proportional to the number of texts.

    ``names`` are those of the clusters of the partition, by number, and untrusted.
    """
    left = list(dict.fromkeys(move.source for move in shown))
    right = list(dict.fromkeys(move.target for move in shown))
    strong, faint = translucent(ACTIVE_COLOUR, 0.4), translucent(NEUTRAL_COLOUR, 0.3)
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": [as_label(labelled(names, cluster)) for cluster in (*left, *right)],
                "color": NEUTRAL_COLOUR,
                "pad": 8,
                "thickness": 12,
                "line": {"width": 0},
                "hovertemplate": words.said("%{label}: %{value:,.0f} texts<extra></extra>"),
            },
            link={
                "source": [left.index(move.source) for move in shown],
                "target": [len(left) + right.index(move.target) for move in shown],
                "value": [move.texts for move in shown],
                "color": [strong if (move.source, move.target) == chosen else faint for move in shown],
                "hovertemplate": words.said("%{source.label} → %{target.label}: %{value:,.0f} texts<extra></extra>"),
            },
            textfont={"size": 13, "shadow": "none"},
        )
    )
    figure.update_layout(
        base_layout(height=_BAND_HEIGHT * max(len(left), len(right), 6) + 40, margin={"l": 8, "r": 8, "t": 8, "b": 12})
    )
    return figure


def sensitivity_figure(
    rows: pd.DataFrame, names: Sequence[str], colour: str = NEUTRAL_COLOUR, *, words: Words = TEXTS
) -> go.Figure:
    """One bar per row of ``sensitivity_frame``: the share of texts that left the cluster, with Wilson's interval.

    ``names`` are those of the clusters of the partition, by number, for the hovers; untrusted. ``colour`` is that of
    the candidate whose texts were perturbed.
    """
    share, low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("share", "low", "high"))
    above, below = np.maximum(high - share, 0), np.maximum(share - low, 0)
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(rows)),
            y=share,
            marker={"color": translucent(colour, 0.45), "line": {"width": 0}},
            error_y=draw.error_bars(above, below, color=NEUTRAL_COLOUR, thickness=1.5, width=3),
            customdata=np.column_stack([rows[["cluster", "left", "of"]].to_numpy(dtype=np.float64), low, high]),
            text=[as_label(labelled(names, cluster)) for cluster in rows["cluster"].tolist()],
            textposition="none",
            hovertemplate=(
                f"<b>%{{text}}</b><br>%{{customdata[1]:,.0f}} of %{{customdata[2]:,.0f}} {words.items} left it"
                f"<br>%{{y:.0%}}, {CONFIDENCE:.0%} interval %{{customdata[3]:.0%}} to %{{customdata[4]:.0%}}"
                "<extra></extra>"
            ),
        )
    )
    figure.update_layout(
        base_layout(
            height=_BAR_HEIGHT,
            bargap=0.25,
            showlegend=False,
            xaxis=draw.cluster_axis(rows["cluster"].to_list(), tickangle=0),
            yaxis={
                "tickformat": ".0%",
                "range": [0, 1.02],
                "title": {"text": f"share of its {words.items} that left"},
                "zeroline": False,
            },
        )
    )
    return figure


def _numbers(counts: NDArray[np.int64], top: int) -> go.Scatter:
    """Counts in the cells; gray for texts that stayed, none where nothing moved."""
    rows, columns = np.nonzero(counts)
    values = counts[rows, columns]
    stayed = rows == columns
    dark = values > _DARK_FROM * top
    return go.Scatter(
        x=columns,
        y=rows,
        mode="text",
        text=[f"{count:,}" for count in values],
        textfont={
            "color": [
                NEUTRAL_COLOUR if s else "#ffffff" if d else "#1c1c1c" for s, d in zip(stayed, dark, strict=True)
            ],
            "size": 12,
        },
        hoverinfo="skip",
    )


def _cells(
    flow: Flow, shown: Sequence[int], moved: NDArray[np.int64], names: Sequence[str], words: Words
) -> go.Scatter:
    """A transparent square over each flow for hovers and clicks, which a heat map cannot handle."""
    rows, columns = np.nonzero(moved)
    ends = np.array(shown, dtype=np.int64)
    sizes = np.bincount(flow.before, minlength=flow.k)
    data = np.column_stack([ends[rows], ends[columns], moved[rows, columns], sizes[ends[rows]]])
    return go.Scatter(
        x=columns,
        y=rows,
        mode="markers",
        marker={"symbol": "square", "size": _CELL - 2, "color": "rgba(0,0,0,0)"},
        customdata=data,
        text=[
            f"<b>From {as_label(labelled(names, source))}<br>to {as_label(labelled(names, target))}</b>"
            for source, target in data[:, :2].tolist()
        ],
        hovertemplate="%{text}<br>%{customdata[2]:,.0f} of the first one's "
        f"%{{customdata[3]:,.0f}} {words.items}<extra></extra>",
        **draw.UNFADED,
    )
