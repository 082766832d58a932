"""Apply a perturbation to the texts of a corpus, in their order.

Each text has its own random streams, from the seed, the perturbation's name and the text's id. Its result depends on
nothing else, except that ``swap-halves`` pairs texts within the collection. The selection of texts at a dose depends
only on the seed and the id: all perturbations select the same texts, a larger dose includes the texts of a smaller
one, and a text selected at both changes in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, silent
from mauve_core.base.text_lists import text_list
from mauve_core.corpus.perturbations.dropping import SECONDS
from mauve_core.corpus.perturbations.kinds import PERTURBATIONS
from mauve_core.corpus.perturbations.moving import with_parts
from mauve_core.corpus.perturbations.perturbation import Change, Part, Perturbation, require_of


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Result for n texts.

    Attributes
    ----------
    texts : tuple of str
        In input order; none consists only of white space.
    changed : (n,) bool
        Whether the text differs from the original.
    notes : tuple of str
        Number of selected texts that did not change, and why.
    """

    texts: tuple[str, ...]
    changed: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


def perturb(
    texts: Sequence[str], ids: Sequence[str], perturbation: Perturbation, *, seed: int, progress: Progress = silent
) -> Perturbed:
    """Apply a perturbation to texts.

    A text that would become empty keeps its content and is counted in the notes.

    Parameters
    ----------
    texts, ids : (n,) sequences of str
        Ids must be unique.
    seed : int
        At least 0.
    progress : callable
        Called for every text.

    Raises
    ------
    InputError
        Lengths differ, ids repeat, a pattern takes too long on a text, or the perturbation is none of texts.
    """
    require_of("texts", perturbation, PERTURBATIONS)
    texts, ids = text_list(texts, "The texts to perturb"), text_list(ids, "Their ids")
    if len(texts) != len(ids) or len(set(ids)) != len(ids):
        raise InputError(
            "Texts and ids do not match",
            allowed="one id per text, all different",
            received=f"{len(texts):,} texts and {len(set(ids)):,} different ids",
        )
    kind = perturbation.kind
    chosen = chosen_items(ids, perturbation, seed)
    after = list(texts)
    if kind.part is not None:
        chosen = _exchange(after, ids, chosen, kind.part, seed)
    elif kind.change is not None:
        stage, rows = f"Perturbing: {kind.title}", [int(i) for i in np.flatnonzero(chosen)]
        for done, i in enumerate(rows):
            progress(stage, done, len(rows))
            after[i] = _changed(kind.change, texts[i], ids[i], perturbation, seed)
        progress(stage, len(rows), len(rows))
    emptied = [i for i, text in enumerate(after) if not text.strip() and texts[i].strip()]
    for i in emptied:
        after[i] = texts[i]
    changed = np.array([new != old for new, old in zip(after, texts, strict=True)], dtype=bool)
    return Perturbed(tuple(after), changed, _notes(perturbation, chosen, changed, len(emptied)))


def chosen_items(ids: Sequence[str], perturbation: Perturbation, seed: int) -> NDArray[np.bool_]:
    """(n,) whether each item is among those that the dose selects; no item for the control."""
    return np.array([dosed(seed, i) < perturbation.dose for i in ids], dtype=bool) & (not perturbation.kind.is_control)


def dosed(seed: int, item_id: str) -> float:
    """An item's number in [0, 1); every larger dose perturbs the item."""
    return _unit(seed, "dose", item_id)


def random_stream(seed: int, perturbation: Perturbation, item: str) -> np.random.Generator:
    """The random numbers with which a perturbation changes one item, which has that id or digest."""
    return np.random.default_rng(_key(seed, perturbation.kind.name, item))


def about_unchanged(perturbation: Perturbation, chosen: int, unchanged: int) -> str:
    """Say how many selected items did not change, and why; empty if there are none."""
    if not unchanged:
        return ""
    kind = perturbation.kind
    are = verb(unchanged, "is", "are")
    return f"{unchanged:,} of {chosen:,} chosen {kind.items} {are} unchanged: {kind.items} {kind.unchanged}."


def _changed(change: Change[str], text: str, text_id: str, perturbation: Perturbation, seed: int) -> str:
    try:
        return change(text, perturbation.values, random_stream(seed, perturbation, text_id))
    except TimeoutError as error:
        raise InputError(
            f"The pattern takes more than {SECONDS:g} seconds on the text {text_id!r}",
            received=str(perturbation.values.get("pattern", "")),
            todo="Rewrite it without nested repeats",
        ) from error


def _exchange(
    texts: list[str], ids: Sequence[str], chosen: NDArray[np.bool_], part: Part, seed: int
) -> NDArray[np.bool_]:
    """Exchange parts between texts, in place; return which texts were selected.

    All texts with such a part are sorted by a hash of their ids and form rings of two. If their number is odd, the
    last three form a ring; a single text stays unchanged. In a ring, each text takes the part of the previous one. A
    ring is selected if its first text is, so rings do not depend on the dose.
    """
    spans = {i: span for i, text in enumerate(texts) if (span := part(text)) is not None}
    order = sorted(spans, key=lambda i: (_unit(seed, "ring", ids[i]), ids[i]))
    starts = list(range(0, len(order) - 1, 2)) or [0]
    took_part = chosen.copy()
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        ring = order[start:end]
        if not ring:
            continue
        took_part[ring] = chosen[ring[0]]
        if chosen[ring[0]]:
            parts = [texts[i][slice(*spans[i])] for i in ring]
            for i, moved in zip(ring, [*parts[-1:], *parts[:-1]], strict=True):
                texts[i] = with_parts(texts[i], [spans[i]], [moved])
    return took_part


def _notes(
    perturbation: Perturbation, chosen: NDArray[np.bool_], changed: NDArray[np.bool_], emptied: int
) -> tuple[str, ...]:
    among = int(chosen.sum())
    notes = [about_unchanged(perturbation, among, int((chosen & ~changed).sum()) - emptied)]
    if emptied:
        are = verb(emptied, "is", "are")
        notes.append(f"{emptied:,} of {among:,} chosen texts {are} unchanged: nothing would have been left of them.")
    return tuple(filter(None, notes))


def _unit(seed: int, purpose: str, text_id: str) -> float:
    """A number in [0, 1) with the 53 bits of a float64."""
    return (_key(seed, purpose, text_id) >> 75) / 2**53


def _key(seed: int, purpose: str, text_id: str) -> int:
    """The 128-bit key of one text's random stream."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{purpose}\x1f{text_id}".encode()).digest()[:16], "little")
