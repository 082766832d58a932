"""Copied texts: whether a candidate repeats the human texts, or other texts that it may have seen, word for word.

**Rule.** Words are runs of letters, marks and digits without case; a letter of a script without spaces is a word. A
text is copied if more than ``COPIED`` of its distinct ``WORDS``-grams are in the human texts, whichever; or in the
texts given as seen. Human texts are held against the other human texts, so phrases that all use count on both sides.
N-grams of a text's own prompt do not count in it, and texts without others are left out and counted. A candidate is
flagged if the interval of the difference between the two shares of copied texts lies above ``LEAST``.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, TO, UNBROKEN, as_percent, written
from mauve_core.base.json_codec import Count, Share
from mauve_core.base.words import Words
from mauve_core.estimators.token_sequences import Sequences, Windows, longest_run, shared_ngrams, windows
from mauve_core.findings.sentences import Name, Sentence, sentence
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.stats.resampling import difference_of_means
from mauve_core.stats.scores import score_counts
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.normalizing import without_tokens
from mauve_core.texts.pairing import prompts_of, units_among

# Words of an n-gram.
WORDS = 8

# Share of a text's n-grams above which it is copied.
COPIED = 0.2

# Difference of shares above which the interval of a flagged candidate lies.
LEAST = 0.05

# Metadata field: share of a text's n-grams in the texts given as seen; 0 for a text without n-grams.
SEEN = "share_in_seen_file"

TITLE = "Copied texts"

TODO = "Compare again without them, and check whether the candidate was trained on the {reference_items}."

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = regex.compile(
    rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}&&\p{{L}}]]+|[{_UNSPACED}&&\p{{L}}]\p{{M}}*", regex.VERSION1
)
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_INVISIBLE = regex.compile(r"\p{Cf}+")


@dataclass(frozen=True)
class CopiedTexts:
    """Copied texts of a candidate and of the human side.

    Attributes
    ----------
    candidate : str
        Its name.
    human_n, candidate_n : int
        Texts that have n-grams.
    human_short, candidate_short : int
        The others.
    human_copied, candidate_copied : int
        Copied texts.
    seen_copied : int or None
        Those of the candidate that are in the texts given as seen; None if none were given.
    difference, low, high : float or None
        Candidate's share of copied texts less the human one, with its 95% interval; None with too few texts.
    flagged : bool
        Whether the interval lies above 0.05.
    longest : int
        Words of the longest run that the candidate shares with a human text; 0 below 8.
    longest_ids : (str, str) or None
        Ids of these texts, the candidate's first.
    mauve_without : float or None
        MAUVE of the candidate without its copied texts on the run's clusters; None if it is not flagged, or too few
        texts are left.
    left : int
        Texts of that score, of all generations.
    """

    candidate: str
    human_n: Count
    candidate_n: Count
    human_short: Count
    candidate_short: Count
    human_copied: Count
    candidate_copied: Count
    seen_copied: Count | None
    difference: float | None
    low: float | None
    high: float | None
    flagged: bool
    longest: Count
    longest_ids: tuple[str, str] | None
    mauve_without: Share | None
    left: Count

    def cells(self, words: Words) -> tuple[str, ...]:
        """Cells of a row of a preflight, unescaped."""
        ends = (self.difference, self.low, self.high)
        value, low, high = (NONE if each is None else written((1 + each) / 2, SCORE_DECIMALS) for each in ends)
        human = _count(self.human_copied, self.human_n)
        return (
            f"{TITLE}: over {COPIED:.0%} of their runs of {WORDS} words are in other "
            f"{words.reference_items}{self._or_seen}",
            self.candidate,
            human,
            _count(self.candidate_copied, self.candidate_n),
            value if self.low is None else f"{value} ({low}{TO}{high})",
            words.fill(TODO),
        )

    def line(self, words: Words) -> str:
        """Describe the row in a line, unescaped."""
        title, candidate, human, own, _, todo = self.cells(words)
        run = ""
        if self.longest_ids is not None:
            own_id, human_id = self.longest_ids
            run = f" Longest run: {self.longest:,} words of its text {own_id}, in {words.reference} text {human_id}."
        short = self.human_short + self.candidate_short
        left_out = f" Left out: {words.count(short)} with under {WORDS} words of their own." if short else ""
        return f"{title}: {words.reference} {human}, {candidate} {own}.{run}{left_out} {todo}"

    def sentence(self, words: Words) -> Sentence:
        """Say that the candidate copies, and its score without that."""
        every = self.candidate_copied == self.candidate_n
        of = f"all {self.candidate_n:,}" if every else f"{self.candidate_copied:,} of {self.candidate_n:,}"
        score = ""
        if self.mauve_without is not None:
            score = f"; without them its MAUVE is {written(self.mauve_without, SCORE_DECIMALS)} ({self.left:,} texts)"
        elif self.left:
            score = "; too few are left to score without them"
        template = "{} copies {} texts from the {reference} file{}{}."
        return sentence(template, Name(self.candidate), of, self._or_seen, score, words=words)

    @property
    def _or_seen(self) -> str:
        return "" if self.seen_copied is None else " or the seen one"


def copied_texts(
    corpora: Mapping[str, Corpus],
    prompts: Mapping[str, Sequence[str]],
    comparison: Comparison | None = None,
) -> tuple[CopiedTexts, ...]:
    """A row for each candidate, for texts of a language.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, including ``human``.
    prompts : mapping of str to sequence of str
        Prompt of each text, blank where there is none.
    comparison : Comparison, optional
        Of these texts, for scores without copied ones.
    """
    reader = WordReader()
    human, human_windows = corpora[HUMAN], reader.windows(corpora[HUMAN].texts, prompts[HUMAN])
    human_share = shared_ngrams(human_windows, None)
    found = []
    for name, corpus in corpora.items():
        if name == HUMAN:
            continue
        own = reader.windows(corpus.texts, prompts[name])
        share, run = shared_ngrams(own, human_windows), longest_run(own, human_windows)
        counted = [np.isfinite(each) for each in (share, human_share)]
        seen = _seen(corpus)
        copied = [(share > COPIED) | (seen > COPIED), (human_share > COPIED) | (_seen(human) > COPIED)]
        codes = units_among({HUMAN: human, name: corpus})
        values, grouped = (
            [each[kept] for each, kept in zip(both, counted, strict=True)]
            for both in (copied, (codes[name], codes[HUMAN]))
        )
        difference = difference_of_means(values[0], values[1], grouped[0], grouped[1])
        flagged = difference is not None and difference[1] > LEAST
        score, left = without(comparison, name, ~copied[0]) if comparison is not None and flagged else (None, 0)
        value, low, high = (None, None, None) if difference is None else difference
        found.append(
            CopiedTexts(
                candidate=name,
                human_n=int(counted[1].sum()),
                candidate_n=int(counted[0].sum()),
                human_short=int((~counted[1]).sum()),
                candidate_short=int((~counted[0]).sum()),
                human_copied=int((copied[1] & counted[1]).sum()),
                candidate_copied=int((copied[0] & counted[0]).sum()),
                seen_copied=int((seen > COPIED).sum()) if _has_seen(corpus) else None,
                difference=value,
                low=low,
                high=high,
                flagged=flagged,
                longest=0 if run is None else run.length,
                longest_ids=None if run is None else (corpus.ids[run.own], human.ids[run.other]),
                mauve_without=score,
                left=left,
            )
        )
    return tuple(found)


def copied_flags(
    texts: Sequence[str], others: Sequence[str] | None, prompts: Sequence[str] | None
) -> NDArray[np.float64]:
    """(n,) 1 for a copied text, 0 for another, nan for one without n-grams; None holds texts against one another."""
    reader = WordReader()
    share = shared_ngrams(reader.windows(texts, prompts), None if others is None else reader.windows(others))
    return np.where(np.isfinite(share), share > COPIED, np.nan)


def with_seen(corpora: Mapping[str, Corpus], seen: Sequence[str]) -> dict[str, Corpus]:
    """The same texts with the share of each one's n-grams that some text of ``seen`` has, as metadata ``SEEN``."""
    if not all(kind_of(corpus.kind).has_words for corpus in corpora.values()):
        return dict(corpora)
    reader, prompts = WordReader(), prompts_of(corpora)
    others, found = reader.windows(seen), {}
    for name, corpus in corpora.items():
        share = shared_ngrams(reader.windows(corpus.texts, prompts[name]), others)
        found[name] = replace(corpus, metadata=corpus.metadata.assign(**{SEEN: np.nan_to_num(share)}))
    return found


def without(comparison: Comparison, name: str, kept: NDArray[np.bool_]) -> tuple[float | None, int]:
    """MAUVE of the texts that are kept of a candidate, on its clusters, and their number.

    The mean over seeds and generations; None if a generation is left with so few that histograms are mostly noise.
    """
    candidate, score = comparison.candidate(name), comparison.config.score
    parts = candidate.partitions
    rows = [own[kept[own]] for own in comparison.generation_rows(name)]
    if min(map(len, rows)) < FEW_PER_CLUSTER * parts[0].k:
        return None, int(kept.sum())
    p = np.stack([part.counts(HUMAN) for part in parts])
    q = [np.stack([part.with_texts(name, own).counts(name) for part in parts]) for own in rows]
    scores = [score_counts(p, own, scale=score.scale)["mauve"] for own in q]
    return min(float(np.mean(scores)), 1.0), int(kept.sum())


class WordReader:
    """Words of texts as numbers, equal for equal words of all texts that one reader reads."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)

    def windows(self, texts: Sequence[str], prompts: Sequence[str] | None = None) -> Windows:
        """The n-grams of texts, without those of each one's prompt."""
        found = windows(self._words(texts), WORDS)
        return found if prompts is None else found.without(windows(self._words(prompts), WORDS))

    def _words(self, texts: Sequence[str]) -> Sequences:
        rows = [np.array([self._numbers[word] for word in words_of_text(text)], np.int64) for text in texts]
        lengths = np.array([row.size for row in rows], np.int64)
        return Sequences(np.concatenate([np.empty(0, np.int64), *rows]), lengths)


def words_of_text(text: str) -> list[str]:
    """The words of a text as the rule reads them; equivalent and invisible characters make no difference."""
    text = without_tokens(text)
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return list(_WORD.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()))


def _has_seen(corpus: Corpus) -> bool:
    return SEEN in corpus.metadata and corpus.metadata[SEEN].dtype.kind == "f"  # a file may have such a field, too


def _seen(corpus: Corpus) -> NDArray[np.float64]:
    return corpus.metadata[SEEN].to_numpy() if _has_seen(corpus) else np.zeros(len(corpus))


def _count(number: int, n: int) -> str:
    share = f" ({as_percent(number / n)})" if n else ""
    return f"{number:,} of {n:,}{share}".replace(" ", UNBROKEN)
