"""Vendi score: the effective number of different points of a sample.

Friedman and Dieng, *The Vendi Score: A Diversity Evaluation Metric for Machine Learning*, TMLR 2023, definition 3.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def vendi_score(x: ArrayLike) -> float:
    """Exponential of the Shannon entropy of the eigenvalues of K / n, where K holds the cosine similarities.

    The n x n matrix K / n = U U^T, with U the rows of ``x`` at unit length over sqrt(n), has the same eigenvalues
    above 0 as the d x d matrix U^T U; the smaller one is decomposed.

    Parameters
    ----------
    x : (n, d) array
        No row is all 0.

    Returns
    -------
    float
        In [1, min(n, d)]: 1 if all rows point the same way, n if every two are orthogonal.

    Raises
    ------
    InputError
        The array is no table of finite numbers, or a row is all 0.
    """
    rows = _checks.features(x).astype(np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError("A row of the features is all 0, so it has no direction", todo="Leave the row out")
    rows /= largest  # the squares of tiny numbers would vanish
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * np.sqrt(len(rows))
    matrix = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    shares = np.linalg.eigvalsh(matrix).clip(0)
    shares = shares[shares > 0]
    entropy = -(shares * np.log(shares)).sum()
    return float(np.exp(np.clip(entropy, 0, np.log(min(len(rows), rows.shape[1])))))
