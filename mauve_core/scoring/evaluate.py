"""``evaluate.load("mauve")`` of Hugging Face's evaluate, without its hub: only the import of a script changes::

    from mauve_core.scoring import evaluate

    mauve = evaluate.load("mauve")
    out = mauve.compute(predictions=predictions, references=references)

As there, P is ``predictions`` and Q is ``references``, the reverse of the rest of this package, so ``p_hist`` is that
of the predictions. MAUVE is the same either way, but for the partition that k-means finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.scoring.compute_mauve import MauveResult, compute_mauve


class Mauve:
    """The metric; it has no state."""

    def compute(
        self, *, predictions: Sequence[str], references: Sequence[str], verbose: bool = True, **options: Any
    ) -> MauveResult:
        """Return the scores of two lists of texts.

        Parameters
        ----------
        predictions, references : sequences of str
            Generated texts, and those of people.
        verbose : bool
            Report the encoder's progress on standard error.
        **options
            Any other argument of :func:`compute_mauve`; it raises and warns as that does.
        """
        return compute_mauve(p_text=predictions, q_text=references, verbose=verbose, **options)


def load(name: str) -> Mauve:
    """Return the metric ``mauve``; InputError for any other."""
    if name != "mauve":
        raise InputError(f"No metric is named {name!r} here", allowed="mauve", todo="Load others from evaluate itself")
    return Mauve()
