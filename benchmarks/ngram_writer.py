"""Texts by an n-gram model: words of training texts, and texts drawn from a Kneser-Ney model of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.estimators.string_models import KneserNey

Words = list[str]

_WORD = re.compile(r"\s?\w+|\s?[^\w\s]")


def words_of(text: str) -> Words:
    """Words and punctuation marks, each with a space before it if there is one, so that joined words are the text."""
    return _WORD.findall(text)


def text_of(words: Sequence[str]) -> str:
    return "".join(words).strip()


class Writer:
    """An n-gram model that writes.

    Parameters
    ----------
    texts : sequence of lists of str
        What it is trained on. It knows no other words.
    order : int
        Words of the longest n-grams.
    """

    def __init__(self, texts: Sequence[Words], order: int) -> None:
        self._words = [*dict.fromkeys(word for text in texts for word in text)]
        self._known = {word: number for number, word in enumerate(self._words)}
        self._model = KneserNey.fit([self._numbers(text) for text in texts], len(self._words), order)

    @property
    def distinct_words(self) -> int:
        """Different words of the training texts, whether a space is before them or not."""
        return len({word.strip() for word in self._words})

    def write(
        self, openings: Sequence[Words], lengths: Sequence[int], rng: np.random.Generator, *, likelier_of: int = 1
    ) -> list[Words]:
        """Continue each opening, which may be empty, by a number of words; texts do not end before.

        Parameters
        ----------
        openings : n sequences of str
        lengths : n ints
        rng : Generator
        likelier_of : int
            Words that are drawn at a time, of which the likeliest is written.
        """
        left = np.asarray(lengths)
        order = np.argsort(-left, kind="stable")
        context = np.stack([self._context(openings[index]) for index in order])
        columns: list[NDArray[np.int64]] = []
        while (n := int((left > len(columns)).sum())) > 0:
            drawn = self._next(context[:n], rng, likelier_of)
            columns.append(drawn)
            context = np.column_stack([context[:n], drawn])[:, 1:]
        texts: list[Words] = [[] for _ in order]
        for column in columns:
            for index, number in zip(order, column.tolist(), strict=False):
                texts[index].append(self._words[number])
        return texts

    def _numbers(self, words: Words) -> NDArray[np.int64]:
        return np.array([self._known.get(word, -1) for word in words], dtype=np.int64)

    def _context(self, opening: Words) -> NDArray[np.int64]:
        size, start = self._model.order - 1, self._model.vocabulary + 1
        padded = np.concatenate([np.full(size, -1), [start], self._numbers(opening)])
        return padded[len(padded) - size :]

    def _next(self, context: NDArray[np.int64], rng: np.random.Generator, of: int) -> NDArray[np.int64]:
        """The next words; contexts that got the end of the text are drawn again."""
        words = np.full(len(context), self._model.vocabulary)
        while (ended := np.flatnonzero(words == self._model.vocabulary)).size:
            drawn, logs = (
                each.reshape(-1, of) for each in self._model.draw(np.repeat(context[ended], of, axis=0), rng)
            )
            logs[drawn == self._model.vocabulary] = -np.inf
            words[ended] = drawn[np.arange(ended.size), logs.argmax(axis=1)]
        return words
