"""The estimators without bins from features to MAUVE, by loops over texts: written from the papers, not from ours.

Sources are JMLR 2023, algorithm 2 (components, neighbors), equations 23 to 25 (ratios of neighbors, frontier), 26 and
27 (kernel densities), 28 and 29 (classifier), 45 and 46 (Gaussians), section 7.3.3 (probabilities of two models),
equation 4 (f_l) and equation 5 (MAUVE); section 7.3.1 has the constants c. What the papers leave open is our choice and
stands in the docstrings of ``estimators.ratio_estimators``: the bandwidth, the folds and penalties, the ridge.

The frontier is a list of (l, D(Q || R), D(P || R)). Three expectations: ``union`` over both samples with weight 1/2 per
side, ``other`` as printed, ``own`` as in section 7.3.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.random import SeedSequence

WEIGHTS = [1e-6 + place * (1 - 2e-6) / 24 for place in range(25)]
CONSTANTS = {"knn": 10.0, "kde": 10.0, "classifier": 2.5, "gaussian": 1.0, "direct": 0.5}
NEIGHBORS, COMPONENTS, DRAWS, RIDGE, FOLDS = 50, 10, 10_000, 1e-6, 5

Rows = list[tuple[float, ...]]
Logs = list[float]


# From ratios to MAUVE


def f(t: float) -> float:
    """The generator of KL, example 2(a)."""
    return 1.0 if t == 0 else t * math.log(t) - t + 1


def f_mixed(t: float, weight: float) -> float:
    """f_l of equation 4, so that D_f(P || l P + (1 - l) Q) is the mean of f_l(p / q) under Q."""
    mixture = weight * t + 1 - weight
    return math.inf if math.isinf(t) else mixture * f(t / mixture)


def ratio(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf


def frontier_other(at_p: Logs, at_q: Logs) -> list[tuple[float, float, float]]:
    """Equations 24 and 25: each divergence is a mean over the sample of the side that it is from."""
    points = []
    for weight in WEIGHTS:
        of_p = math.fsum(f_mixed(ratio(log), weight) for log in at_q) / len(at_q)
        of_q = math.fsum(f_mixed(ratio(-log), 1 - weight) for log in at_p) / len(at_p)
        points.append((weight, max(0.0, of_q), max(0.0, of_p)))
    return points


def frontier_own(at_p: Logs, at_q: Logs) -> list[tuple[float, float, float]]:
    """Section 7.3.3: the mean of log p / (l p + (1 - l) q) over the texts of P, and likewise for Q."""
    points = []
    for weight in WEIGHTS:
        of_p = math.fsum(-log_sum(math.log(weight), math.log(1 - weight) - log) for log in at_p) / len(at_p)
        of_q = math.fsum(-log_sum(math.log(weight) + log, math.log(1 - weight)) for log in at_q) / len(at_q)
        points.append((weight, max(0.0, of_q), max(0.0, of_p)))
    return points


def frontier_union(at_p: Logs, at_q: Logs) -> list[tuple[float, float, float]]:
    """All texts, each with the share 1 / (2 n) or 1 / (2 m) of (P + Q) / 2, become two histograms."""
    logs = [*at_p, *at_q]
    shares = [1 / len(at_p)] * len(at_p) + [1 / len(at_q)] * len(at_q)
    p = [share * probability(log) for share, log in zip(shares, logs, strict=True)]
    q = [share * probability(-log) for share, log in zip(shares, logs, strict=True)]
    (p, of_all_p), (q, of_all_q) = ((side, math.fsum(side)) for side in (p, q))
    p, q = [value / of_all_p for value in p], [value / of_all_q for value in q]
    points = []
    for weight in WEIGHTS:
        mixture = [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
        of_q, of_p = (
            math.fsum(a * math.log(a / r) for a, r in zip(side, mixture, strict=True) if a > 0) for side in (q, p)
        )
        points.append((weight, of_q, of_p))
    return points


FRONTIERS = {"union": frontier_union, "other": frontier_other, "own": frontier_own}


def mauve(at_p: Sequence[float], at_q: Sequence[float], expectation: str, c: float) -> float:
    """Equation 5: the area under (exp(-c D(Q || R)), exp(-c D(P || R))) with (1, 0) and (0, 1), by trapezoids."""
    points = FRONTIERS[expectation](list(map(float, at_p)), list(map(float, at_q)))
    curve = [(1.0, 0.0), *((math.exp(-c * of_q), math.exp(-c * of_p)) for _, of_q, of_p in points), (0.0, 1.0)]
    area = 0.0
    for (left_x, left_y), (right_x, right_y) in pairwise(curve):
        area += (left_x - right_x) * (left_y + right_y) / 2
    return area


def probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0


def log_sum(a: float, b: float) -> float:
    top = max(a, b)
    return top if math.isinf(top) else top + math.log(math.exp(a - top) + math.exp(b - top))


# From features to ratios


def components(x_p: np.ndarray, x_q: np.ndarray) -> tuple[Rows, Rows]:
    """Algorithm 2, line 2: both sides on the first principal components of their union, whose signs are arbitrary."""
    rows = [[float(value) for value in row] for row in [*x_p, *x_q]]
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    centered = np.array([[value - mean for value, mean in zip(row, means, strict=True)] for row in rows])
    values, vectors = np.linalg.eigh(centered.T @ centered)
    first = vectors[:, np.argsort(-values)[:COMPONENTS]]
    found = [tuple(map(float, row @ first)) for row in centered]
    return found[: len(x_p)], found[len(x_p) :]


def knn(x_p: np.ndarray, x_q: np.ndarray) -> tuple[Logs, Logs]:
    """Equation 23 with 50 neighbors in the union, the text itself left out. Texts at equal distances do not occur."""
    sides = components(x_p, x_q)
    points = [*sides[0], *sides[1]]
    n, m = map(len, sides)
    logs = []
    for place, point in enumerate(points):
        others = sorted((math.dist(point, other), where) for where, other in enumerate(points) if where != place)
        of_p = sum(where < n for _, where in others[:NEIGHBORS])
        of_q = NEIGHBORS - of_p
        logs.append(-math.inf if of_p == 0 else math.inf if of_q == 0 else math.log((of_p / n) / (of_q / m)))
    return logs[:n], logs[n:]


def kde(x_p: np.ndarray, x_q: np.ndarray) -> tuple[Logs, Logs]:
    """Equations 26 and 27, each text left out of its own side's density; the bandwidth of the least log loss."""
    u_p, u_q = components(x_p, x_q)
    scott, losses = scott_bandwidth(u_p, u_q), {}
    within = {side: squares(own, own) for side, own in (("p", u_p), ("q", u_q))}
    across = squares(u_p, u_q)

    def ratios(width: float) -> tuple[Logs, Logs]:
        at_p = [
            log_density(within["p"][i], width, leave_out=i) - log_density(across[i], width) for i in range(len(u_p))
        ]
        at_q = [
            log_density([row[j] for row in across], width) - log_density(within["q"][j], width, leave_out=j)
            for j in range(len(u_q))
        ]
        return at_p, at_q

    def loss(octaves: float) -> float:
        if octaves not in losses:
            at_p, at_q = ratios(scott * 2**octaves)
            of_p = math.fsum(log_sum(0.0, -log) for log in at_p) / len(at_p)
            of_q = math.fsum(log_sum(0.0, log) for log in at_q) / len(at_q)
            losses[octaves] = (of_p + of_q) / 2
        return losses[octaves]

    coarse = min((-2 + step / 2 for step in range(11)), key=loss)
    fine = [octaves for step in range(-4, 5) if -2 <= (octaves := coarse + step / 8) <= 3]
    best = min(fine, key=loss)
    if best in (fine[0], fine[-1]):
        return ratios(scott * 2**best)
    before, least, after = (loss(best + step / 8) for step in (-1, 0, 1))
    vertex = best - (after - before) / (after - 2 * least + before) / 16
    return ratios(scott * 2**vertex)


def scott_bandwidth(u_p: Rows, u_q: Rows) -> float:
    d, total = len(u_p[0]), 0.0
    for side in (u_p, u_q):
        means = [math.fsum(column) / len(side) for column in zip(*side, strict=True)]
        total += math.fsum(math.dist(row, means) ** 2 for row in side)
    return math.sqrt(total / ((len(u_p) + len(u_q)) * d)) * min(len(u_p), len(u_q)) ** (-1 / (d + 4))


def squares(points: Rows, sample: Rows) -> list[list[float]]:
    return [[math.dist(point, other) ** 2 for other in sample] for point in points]


def log_density(distances: list[float], width: float, *, leave_out: int | None = None) -> float:
    """Log of the mean of Gaussian kernels, without the factor that both sides share."""
    exponents = [-square / (2 * width**2) for place, square in enumerate(distances) if place != leave_out]
    top = max(exponents)
    return top + math.log(math.fsum(math.exp(value - top) for value in exponents) / len(exponents))


def gaussian(x_p: np.ndarray, x_q: np.ndarray, seed: SeedSequence, like: np.ndarray) -> tuple[Logs, Logs]:
    """Equations 45 and 46 with 10,000 draws from each side.

    ``like`` is one text's coordinates with the signs that the draws are for: those of components are arbitrary.
    """
    sides = [np.array(side) for side in components(x_p, x_q)]
    signs = np.sign(like) * np.sign(sides[0][0])
    sides = [side * signs for side in sides]
    union = [*sides[0], *sides[1]]
    center = sum(union) / len(union)
    added = RIDGE * float(sum(((row - center) ** 2).mean() for row in union)) / len(union)
    fits = []
    for side in sides:
        mean = sum(side) / len(side)
        covariance = sum(np.outer(row - mean, row - mean) for row in side) / (len(side) - 1)
        fits.append((mean, covariance + added * np.eye(len(mean))))
    found = []
    for (mean, covariance), stream in zip(fits, fresh(seed).spawn(2), strict=True):
        lower = np.linalg.cholesky(covariance)
        normals = np.random.default_rng(stream).standard_normal((DRAWS, len(mean)))
        draws = [mean + lower @ row for row in normals]
        logs = [gaussian_log_densities(draws, *fit) for fit in fits]
        found.append([p - q for p, q in zip(*logs, strict=True)])
    return found[0], found[1]


def gaussian_log_densities(points: list[np.ndarray], mean: np.ndarray, covariance: np.ndarray) -> Logs:
    inverse, logarithm = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
    return [float(-((point - mean) @ inverse @ (point - mean)) / 2 - logarithm / 2) for point in points]


def classifier(x_p: np.ndarray, x_q: np.ndarray, seed: SeedSequence) -> tuple[Logs, Logs]:
    """Equation 28 on the half that logistic regression was not trained on; five folds choose the penalty."""
    halves = []
    for side, stream in zip((x_p, x_q), fresh(seed).spawn(2), strict=True):
        order = np.random.default_rng(stream).permutation(len(side))
        halves.append((side[order[: len(side) // 2]], side[sorted(order[len(side) // 2 :])]))
    learned = np.array([*halves[0][0], *halves[1][0]], dtype=np.float64)
    labels = [1.0] * len(halves[0][0]) + [0.0] * len(halves[1][0])
    folds = [place % FOLDS for half in halves for place in range(len(half[0]))]
    center = learned.mean(axis=0)
    deviation = math.sqrt(float(((learned - center) ** 2).mean()))
    rows = (learned - center) / deviation
    best, least = 0.0, math.inf
    for strength in (10.0**power for power in range(-6, 4)):
        losses = [held_out_loss(rows, labels, folds, fold, strength) for fold in range(FOLDS)]
        if sum(losses) / FOLDS < least:
            best, least = strength, sum(losses) / FOLDS
    slope, intercept = logistic_regression(rows, np.array(labels), best)
    n, m = len(halves[0][0]), len(halves[1][0])
    at_p, at_q = (
        [float((row - center) / deviation @ slope + intercept) + math.log(m / n) for row in half[1].astype(np.float64)]
        for half in halves
    )
    return at_p, at_q


def held_out_loss(rows: np.ndarray, labels: list[float], folds: list[int], fold: int, strength: float) -> float:
    inside = [place for place, own in enumerate(folds) if own != fold]
    outside = [place for place, own in enumerate(folds) if own == fold]
    slope, intercept = logistic_regression(rows[inside], np.array([labels[place] for place in inside]), strength)
    losses = []
    for place in outside:
        odds = float(rows[place] @ slope + intercept)
        losses.append(log_sum(0.0, -odds if labels[place] else odds))
    return math.fsum(losses) / len(losses)


def logistic_regression(rows: np.ndarray, labels: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    """Least sum of the log loss times ``strength`` plus half the squared slope, by Newton's method."""
    design = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.append(np.ones(rows.shape[1]), 0.0)
    found = np.zeros(design.shape[1])

    def objective(at: np.ndarray) -> float:
        signed = np.where(labels == 1, 1.0, -1.0) * (design @ at)
        return float(strength * np.logaddexp(0.0, -signed).sum() + (penalty * at**2).sum() / 2)

    for _ in range(100):
        likely = 1 / (1 + np.exp(-(design @ found)))
        gradient = strength * design.T @ (likely - labels) + penalty * found
        hessian = strength * (design.T * (likely * (1 - likely))) @ design + np.diag(penalty)
        step, share = np.linalg.solve(hessian, gradient), 1.0
        while objective(found - share * step) > objective(found) and share > 1e-8:
            share /= 2
        found = found - share * step
        if np.abs(share * step).max() < 1e-11:
            break
    return found[:-1], float(found[-1])


def direct(
    log_p_at_p: Sequence[float], log_q_at_p: Sequence[float], log_p_at_q: Sequence[float], log_q_at_q: Sequence[float]
) -> tuple[Logs, Logs]:
    """Section 7.3.3: probabilities of two models in place of both distributions."""
    at_p = [p - q for p, q in zip(log_p_at_p, log_q_at_p, strict=True)]
    return at_p, [p - q for p, q in zip(log_p_at_q, log_q_at_q, strict=True)]


def fresh(seed: SeedSequence) -> SeedSequence:
    """The sequence as it was before anything was spawned from it."""
    return SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
