"""Bradley-Terry scores from pairwise wins by Zermelo's iteration, including tables without finite scores.

Pillutla et al., JMLR 2023, appendix E.1: P(i beats j) = 1 / (1 + exp(-(w_i - w_j) / 100)), scores of mean 0. One step
of Zermelo's iteration (Hunter 2004, "MM algorithms for generalized Bradley-Terry models") is, up to the mean,

    w_i <- w_i + 100 log(wins of i / wins that the scores expect of i),

the published update in a form that cannot overflow. It is slow for long chains of comparisons. After ``ZERMELO_STEPS``
Newton's method takes over, with steps of length log(1 + r) / r, r the largest change of a log odds; these never
overshoot (Bach 2010, "Self-concordant analysis for logistic regression").

The likelihood has a maximum exactly if each player reaches each other along wins (Ford 1957, "Solution of a ranking
problem from binary comparisons"). Otherwise the players form strongly connected components of the graph of wins, each
with its own scores, and the likelihood grows without bound as two of them move apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Score points per unit of log odds.
SCALE = 100.0

# Scores have settled when every player's expected wins match its wins to this share of its comparisons.
TOLERANCE = 1e-9

# Three times the steps for a complete table of fifty players.
ZERMELO_STEPS = 150

NEWTON_STEPS = 1000

_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class BradleyTerryFit:
    """Maximum likelihood scores; for a batch of tables every array has the batch axis first.

    Attributes
    ----------
    scores : (n,) float64 array
        In each group, the largest component has finite scores of mean 0. Relative to it, players that beat it,
        directly or through others, and never lost to it have +inf; the reverse have -inf; others have nan. If no
        component of a group holds two players, those that never lost have +inf and those that never won -inf.
    within : (n,) float64 array
        Score of mean 0 within the player's own component; 0 for a component of one.
    component : (n,) int array
        Strongly connected component of the graph of wins, numbered so that in one group no later one beat an earlier.
    group : (n,) int array
        Players linked by comparisons; scores of different groups cannot be compared.
    iterations : int
        Steps until the last table settled.
    """

    scores: _Floats
    within: _Floats
    component: NDArray[np.intp]
    group: NDArray[np.intp]
    iterations: int


def fit_bradley_terry(wins: ArrayLike, *, tolerance: float = TOLERANCE) -> BradleyTerryFit:
    """Fit one table of wins, or many tables at once.

    Parameters
    ----------
    wins : (n, n) or (B, n, n) array_like
        wins[i, j] is how often i beat j; ties count as halves. The diagonal is 0.
    tolerance : float
        See ``TOLERANCE``.

    Raises
    ------
    InputError
        The table is not square, negative or not finite, has a win over oneself, or its scores do not settle.
    """
    table = _wins(wins)
    tolerance = _checks.positive("The tolerance", tolerance)
    batch = table.reshape(-1, *table.shape[-2:])
    reach = _closure(batch > 0)
    same = reach & reach.swapaxes(1, 2)
    linked = _closure(reach | reach.swapaxes(1, 2))
    logits, iterations = _maximise(np.where(same, batch, 0.0), tolerance)
    within = SCALE * _centred(logits, same)
    fit = BradleyTerryFit(
        scores=_placed(within, batch, reach, same, linked),
        within=within,
        component=_numbered(reach, same, linked),
        group=_dense(linked.argmax(axis=2)),
        iterations=iterations,
    )
    if table.ndim == 3:
        return fit
    return BradleyTerryFit(fit.scores[0], fit.within[0], fit.component[0], fit.group[0], iterations)


def standard_errors(wins: ArrayLike, fit: BradleyTerryFit) -> _Floats:
    """(n,) standard errors of the finite scores of one table, from the Fisher information; nan for the others.

    They are those of the scores minus their mean, under the model and for independent comparisons.
    """
    table = _wins(wins)
    result = np.full(len(table), np.nan)
    for group in np.unique(fit.group):
        members = np.flatnonzero((fit.group == group) & np.isfinite(fit.scores))
        if members.size:
            inner = table[np.ix_(members, members)]
            information = _information(inner + inner.T, fit.scores[members] / SCALE)
            result[members] = SCALE * np.sqrt(np.diag(np.linalg.pinv(information, hermitian=True)))
    return result


def win_probability(score: ArrayLike, other: ArrayLike) -> _Floats:
    """P(a player with ``score`` beats one with ``other``)."""
    probability: _Floats = expit((np.asarray(score, dtype=np.float64) - np.asarray(other, dtype=np.float64)) / SCALE)
    return probability


def _wins(wins: ArrayLike) -> _Floats:
    table = _checks.numbers(wins, "The table of wins").astype(np.float64)
    if table.ndim not in (2, 3) or table.shape[-1] != table.shape[-2] or table.size == 0:
        raise InputError(
            "The table of wins is not square", allowed="shape (n, n) or (B, n, n)", received=f"shape {table.shape}"
        )
    if not np.isfinite(table).all() or (table < 0).any() or np.einsum("...ii->...i", table).any():
        raise InputError("The table of wins is not usable", allowed="finite counts, not negative, with a zero diagonal")
    return table


def _closure(edges: _Flags) -> _Flags:
    """(B, n, n) whether a path leads from i to j; every node reaches itself."""
    n = edges.shape[-1]
    reach = edges | np.eye(n, dtype=np.bool_)
    for _ in range((n - 1).bit_length()):
        steps = reach.astype(np.float32)
        reach = steps @ steps > 0
    return reach


def _maximise(wins: _Floats, tolerance: float) -> tuple[_Floats, int]:
    """(B, n) maximum likelihood log odds, each component up to a shift; wins across components are 0."""
    games = wins + wins.swapaxes(1, 2)
    won, played = wins.sum(axis=2), games.sum(axis=2)
    logits = np.zeros_like(won)
    open_tables = np.arange(len(wins))
    for step in range(ZERMELO_STEPS + NEWTON_STEPS):
        inner, current = games[open_tables], logits[open_tables]
        expected = (inner * expit(current[:, :, None] - current[:, None, :])).sum(axis=2)
        missing = won[open_tables] - expected
        unsettled = (np.abs(missing) > tolerance * played[open_tables]).any(axis=1)
        if not unsettled.any():
            return logits, step
        open_tables, inner, current = open_tables[unsettled], inner[unsettled], current[unsettled]
        if step < ZERMELO_STEPS:
            ratio = np.ones_like(current)
            np.divide(won[open_tables], expected[unsettled], out=ratio, where=expected[unsettled] > 0)
            logits[open_tables] = current + np.log(ratio)
        else:
            logits[open_tables] = current + _newton_step(inner, current, missing[unsettled])
    raise InputError(
        "The Bradley-Terry scores do not converge",
        received=f"{open_tables.size} of {len(wins)} tables not converged after {ZERMELO_STEPS + NEWTON_STEPS} steps",
        todo="Leave out sources whose comparisons are nearly all one-sided, or allow a larger tolerance",
    )


def _newton_step(games: _Floats, logits: _Floats, missing: _Floats) -> _Floats:
    information = _information(games, logits)
    # The information is singular along each component's shift; the pseudo-inverse leaves that shift unchanged.
    full = (np.linalg.pinv(information, hermitian=True) @ missing[:, :, None])[:, :, 0]
    change = np.ptp(full, axis=1, keepdims=True)
    step: _Floats = full * np.divide(np.log1p(change), change, out=np.ones_like(change), where=change > 0)
    return step


def _information(games: _Floats, logits: _Floats) -> _Floats:
    """(..., n, n) Fisher information of the log odds."""
    chance = expit(logits[..., :, None] - logits[..., None, :])
    weights = games * chance * (1 - chance)
    information: _Floats = -weights
    diagonal = np.arange(games.shape[-1])
    information[..., diagonal, diagonal] += weights.sum(axis=-1)
    return information


def _centred(values: _Floats, same: _Flags) -> _Floats:
    """Values minus the mean of their component."""
    sizes = same.sum(axis=2)
    centred: _Floats = values - (same @ values[:, :, None])[:, :, 0] / sizes
    return centred


def _placed(within: _Floats, wins: _Floats, reach: _Flags, same: _Flags, linked: _Flags) -> _Floats:
    """Each player's score relative to the largest component of its group."""
    sizes = same.sum(axis=2)
    games = (wins + wins.swapaxes(1, 2)).sum(axis=2)
    share = (same @ games[:, :, None])[:, :, 0] / (games.sum(axis=1, keepdims=True) + 1)
    weight = np.where(linked, (sizes + share)[:, None, :], -1.0)  # more players, then more comparisons
    main = weight.argmax(axis=2)[:, :, None]
    down = np.take_along_axis(reach, main, axis=2)[:, :, 0]
    up = np.take_along_axis(reach.swapaxes(1, 2), main, axis=2)[:, :, 0]
    scattered = np.take_along_axis(sizes, main[:, :, 0], axis=1) == 1
    beats, beaten = (reach & ~same).any(axis=2), (reach & ~same).any(axis=1)
    down, up = np.where(scattered, beats, down), np.where(scattered, beaten, up)
    scores = np.select([down & up & ~scattered, down & ~up, up & ~down], [within, np.inf, -np.inf], np.nan)
    return np.asarray(scores, dtype=np.float64)


def _numbered(reach: _Flags, same: _Flags, linked: _Flags) -> NDArray[np.intp]:
    """Number the components by group and, within it, from those that lead to the most players."""
    n = reach.shape[-1]
    # A component that beats another reaches everything that the other reaches, and itself.
    order = (linked.argmax(axis=2) * (n + 1) + n - reach.sum(axis=2)) * n + same.argmax(axis=2)
    return _dense(order)


def _dense(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Labels of each row as 0, 1, ... in order."""
    first = np.sort(labels, axis=1)
    rises = np.diff(first, axis=1, prepend=first[:, :1]) != 0
    ranks = np.cumsum(rises, axis=1)
    indices = (first[:, None, :] == labels[:, :, None]).argmax(axis=2)
    return np.take_along_axis(ranks, indices, axis=1)
