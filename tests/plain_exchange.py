"""A plain twin of the bootstrap by prompt: dictionaries and loops, one resample at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PlainGroups:
    """Texts of P are 0 to n - 1, those of Q follow; ``shared`` lists (prompts, of_p) with the texts of each prompt."""

    shared: list[tuple[list[list[int]], int]]
    p_alone: list[int]
    q_alone: list[int]


def plain_groups(p_prompts: Sequence[int], q_prompts: Sequence[int]) -> PlainGroups:
    """Prompts with the same numbers of texts together if there are ten or more of them, the others in pairs.

    Everything is in the order of the prompts' first texts, prompts of one kind in that of their two numbers of texts.
    """
    texts: dict[int, tuple[list[int], list[int]]] = {int(prompt): ([], []) for prompt in (*p_prompts, *q_prompts)}
    for text, prompt in enumerate(p_prompts):
        texts[int(prompt)][0].append(text)
    for text, prompt in enumerate(q_prompts, start=len(p_prompts)):
        texts[int(prompt)][1].append(text)
    kinds: dict[tuple[int, int], list[list[int]]] = {}
    for own, other in texts.values():
        kinds.setdefault((len(own), len(other)), []).append([*own, *other])
    whole = {kind for kind, prompts in kinds.items() if min(kind) > 0 and len(prompts) >= 10}
    pairs, p_alone, q_alone = [], [], []
    for own, other in texts.values():
        if (len(own), len(other)) not in whole:
            paired = min(len(own), len(other))
            pairs += [[own[i], other[i]] for i in range(paired)]
            p_alone += own[paired:]
            q_alone += other[paired:]
    shared = [(kinds[kind], kind[0]) for kind in sorted(whole)]
    return PlainGroups(shared + ([(pairs, 1)] if pairs else []), p_alone, q_alone)


def plain_resample(groups: PlainGroups, rate: float, numbers: Sequence[float]) -> tuple[list[int], list[int]]:
    """The texts that one resample has on side P and on side Q, in any order; it takes all of its random numbers.

    For each prompt to draw: which one, whether it deals its texts at random, and a lot for each text, the lowest of
    which go to P. Then for each text that stands alone, those of P first: which of its own side, which of both sides,
    and whether it comes from both.
    """
    on_p: list[int] = []
    on_q: list[int] = []
    take = iter(float(number) for number in numbers)
    for prompts, of_p in groups.shared:
        for _ in prompts:
            chosen = prompts[int(next(take) * len(prompts))]
            dealt = next(take) < rate
            lots = [next(take) for _ in chosen]
            order = sorted(range(len(chosen)), key=lots.__getitem__) if dealt else range(len(chosen))
            texts = [chosen[place] for place in order]
            on_p += texts[:of_p]
            on_q += texts[of_p:]
    both = groups.p_alone + groups.q_alone
    for own, side in ((groups.p_alone, on_p), (groups.q_alone, on_q)):
        for _ in own:
            of_own, of_both = own[int(next(take) * len(own))], both[int(next(take) * len(both))]
            side.append(of_both if next(take) < rate else of_own)
    assert next(take, None) is None, "a random number was left over"
    return on_p, on_q


def plain_resamples(
    groups: PlainGroups, rate: float, count: int, rng: np.random.Generator
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield one resample after another, each by numbers from a part of the stream that it has for itself."""
    width = sum(len(prompts) * (2 + len(prompts[0])) for prompts, _ in groups.shared)
    width += 3 * len(groups.p_alone + groups.q_alone)
    for numbers in plain_numbers(rng, count, width):
        yield plain_resample(groups, rate, numbers)


def plain_numbers(rng: np.random.Generator, count: int, width: int) -> Iterator[list[float]]:
    """Yield the numbers of one resample after another."""
    for _ in range(count):
        yield copy.deepcopy(rng).random(width).tolist()
        rng.bit_generator.advance(2**40)  # type: ignore[attr-defined]


def plain_rate(observed: float, mean_at: Callable[[float], float]) -> float:
    """Halve [0, 1] eight times; the ends if the observed value lies beyond them."""
    if observed <= mean_at(1):
        return 1.0
    if observed >= mean_at(0):
        return 0.0
    least, width = 0.0, 1.0
    for _ in range(8):
        width /= 2
        if mean_at(least + width) > observed:
            least += width
    return least + width / 2
