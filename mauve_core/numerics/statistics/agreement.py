"""How far two series of yes-or-no answers about the same texts agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mauve_core.base.errors import InputError


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement beyond that by chance (Cohen 1960), (o - e) / (1 - e).

    Parameters
    ----------
    first, second : (n,) arrays of bool
        n >= 1.

    Returns
    -------
    float
        In [-1, 1]: 1 if all answers are equal, 0 if as many are as by chance; nan if one answer is the only one given.

    Raises
    ------
    InputError
        The shapes differ, or there are no answers.
    """
    one, two = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if one.ndim != 1 or one.shape != two.shape or not one.size:
        received = f"shapes {one.shape} and {two.shape}"
        raise InputError("The answers do not match", allowed="two of each text, of one text or more", received=received)
    equal = float((one == two).mean())
    by_chance = float(one.mean() * two.mean() + (~one).mean() * (~two).mean())
    return float("nan") if by_chance == 1 else (equal - by_chance) / (1 - by_chance)
