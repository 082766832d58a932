"""A rater's judgment of a pair of texts: the questions, the options, and one answer as a record.

JMLR 2023, section 6.4 and appendix E.3. Option A stands for the text on the left, B for the one on the right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus

# The answers, from left to right.
OPTIONS = ("definitely A", "slightly A", "tie", "slightly B", "definitely B")

# Hexadecimal digits of SHA-256 that identify a text: 64 bits; a million texts collide once in 40 million cases.
DIGEST_LENGTH = 16

# Identity of a pair for a rater: the prompt's id, and the two (source, digest of its text) in any order.
PairKey = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Rating:
    """One answer of one rater to one question on one pair.

    Attributes
    ----------
    rater : str
        The rater's chosen name.
    prompt_id : str
        Id of the prompt that both texts continue.
    left, right : str
        Sources of the texts shown as A and as B.
    question : str
        A name of ``QUESTIONS``; ratings read from a table may have others.
    option : str
        One of ``OPTIONS``.
    created : str
        ISO 8601, UTC; empty if unknown.
    seconds : float or None
        From showing the pair to its answers, for all questions together; None if unknown.
    left_digest, right_digest : str
        :func:`text_digest` of the texts; empty if unknown.
    """

    rater: str
    prompt_id: str
    left: str
    right: str
    question: str
    option: str
    created: str
    seconds: float | None
    left_digest: str
    right_digest: str

    def __post_init__(self) -> None:
        if self.option not in OPTIONS:
            raise InputError("A rating has an unknown option", allowed=", ".join(OPTIONS), received=repr(self.option))
        if self.left == self.right:
            raise InputError("A rating compares a source with itself", allowed="two sources", received=repr(self.left))
        if self.seconds is not None and not 0 <= self.seconds < math.inf:
            raise InputError("A rating's seconds cannot be used", allowed="0 or more", received=repr(self.seconds))

    @property
    def key(self) -> PairKey:
        """Key of the rated pair, whichever side its texts were on."""
        return pair_key(self.prompt_id, (self.left, self.left_digest), (self.right, self.right_digest))

    @property
    def mirrored(self) -> Rating:
        """The same answer with the sides swapped."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            left_digest=self.right_digest,
            right_digest=self.left_digest,
            option=OPTIONS[-1 - OPTIONS.index(self.option)],
        )


def text_digest(text: str) -> str:
    """The first 16 hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def pair_key(prompt_id: str, one: tuple[str, str], other: tuple[str, str]) -> PairKey:
    """Key of a pair from its two (source, digest) in any order."""
    return prompt_id, frozenset((one, other))


def held(ratings: Iterable[Rating], corpora: Mapping[str, Corpus]) -> tuple[tuple[Rating, ...], int]:
    """The ratings whose two texts are among the corpora's, and the number of the others.

    A rating of a text that was replaced says nothing about the current texts. Rankings omit it; it is never deleted.
    """
    digests = {name: {text_digest(text) for text in corpus.texts} for name, corpus in corpora.items()}
    all_ratings = tuple(ratings)
    present = tuple(
        rating
        for rating in all_ratings
        if rating.left_digest in digests.get(rating.left, ()) and rating.right_digest in digests.get(rating.right, ())
    )
    return present, len(all_ratings) - len(present)


def with_digests(ratings: Iterable[Rating], corpora: Mapping[str, Corpus]) -> tuple[Rating, ...]:
    """Imported ratings, with each missing digest taken from the source's text whose id is the prompt's.

    Tables have no blanks around names. A source or an id of the corpora that has some is named as the corpora do.

    Raises
    ------
    InputError
        A rating without digests names a source or a prompt that the corpora do not have.
    """
    sources, ids = padded(corpora), padded(entry for corpus in corpora.values() for entry in corpus.ids)
    if sources or ids:
        ratings = [_renamed(rating, sources, ids) for rating in ratings]
    texts = {name: dict(zip(corpus.ids, corpus.texts, strict=True)) for name, corpus in corpora.items()}

    def digest(stored: str, source: str, prompt_id: str) -> str:
        if stored:
            return stored
        if prompt_id not in texts.get(source, ()):
            raise InputError(
                f"A rating names neither the digest of its text nor the id of a text of {source!r}",
                allowed=f"sources {', '.join(texts)}; ids of their texts as prompt_id",
                received=f"prompt_id {prompt_id!r}",
            )
        return text_digest(texts[source][prompt_id])

    return tuple(
        replace(
            rating,
            left_digest=digest(rating.left_digest, rating.left, rating.prompt_id),
            right_digest=digest(rating.right_digest, rating.right, rating.prompt_id),
        )
        for rating in ratings
    )


def padded(names: Iterable[str]) -> dict[str, str]:
    """The names with blanks around them, by what they are without; those alone that no other name equals then."""
    names = set(names)
    return {name.strip(): name for name in sorted(names) if name.strip() not in names}


def _renamed(rating: Rating, sources: Mapping[str, str], ids: Mapping[str, str]) -> Rating:
    left, right = (sources.get(name, name) for name in (rating.left, rating.right))
    return replace(rating, left=left, right=right, prompt_id=ids.get(rating.prompt_id, rating.prompt_id))
