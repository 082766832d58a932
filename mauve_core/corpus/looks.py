"""Tell texts from the ids, labels and dates that a guess must never take for texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

# Characters; a longer ASCII value without white space is encoded data.
LONGEST_ID = 300

# Minimum number of values to tell labels from texts by repetition, and the maximum median length of labels.
FEW, LONGEST_LABEL = 4, 40

# Minimum number of texts for the warning that a corpus repeats one text.
MANY = 10

_DATE_PART = (
    r"(?:[0-9][0-9,.:/+TZ-]*|[+-][0-9:]+|[AaPp][Mm]|UTC|GMT"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[,.]?)"
)
ID = re.compile(
    "|".join(
        (
            r"[!-~]*(?:[0-9/\\_@#=]|[A-Za-z][.:-][A-Za-z])[!-~]*",  # a word with a digit or mark: id, hash, model
            r"[A-Za-z][A-Za-z0-9+.-]*://\S+",  # an address, in any script
            r"(?:[^\n\\/.!?]*[\\/])+[^\n\\/]*\.[A-Za-z][A-Za-z0-9]{0,4}",  # a path with spaces
            rf"(?=[^0-9]*[0-9]){_DATE_PART}(?: {_DATE_PART})*",
        )
    )
)


def filled(values: Iterable[Any]) -> list[str]:
    """Return the texts that are more than white space."""
    return [value for value in values if isinstance(value, str) and value.strip()]


def hold_text(values: Sequence[Any]) -> bool:
    """Return whether every value is text or missing, and at least one is more than white space."""
    return all(value is None or isinstance(value, str) for value in values) and bool(filled(values))


def are_blank(values: Sequence[Any]) -> bool:
    """Return whether every value is text or missing, and none is more than white space."""
    return all(value is None or isinstance(value, str) for value in values) and not filled(values)


def look_like_ids(values: Iterable[Any]) -> bool:
    """Return whether most texts are ids, numbers, hashes, paths, addresses or dates."""
    texts = filled(values)
    return 2 * sum(map(_is_id, texts)) > len(texts)


def look_like_labels(values: Iterable[Any]) -> bool:
    """Return whether the texts are short and each occurs twice on average."""
    texts = filled(values)
    if len(texts) < FEW or 2 * len(set(texts)) > len(texts):
        return False
    return sorted(map(len, texts))[len(texts) // 2] <= LONGEST_LABEL


def repeat(values: Iterable[Any]) -> bool:
    """Return whether the texts are labels, or nearly all the same few of any length, such as a system prompt."""
    texts = filled(values)
    return look_like_labels(texts) or (len(texts) >= FEW and len(set(texts)) <= max(1, len(texts) // 10))


def look_like_prose(values: Iterable[Any]) -> bool:
    """Return whether texts have several words and are not ids or labels; non-ASCII texts need no spaces."""
    texts = filled(values)
    words = sum(text.isascii() and len(text.split(maxsplit=1)) == 1 for text in texts)
    return bool(texts) and 2 * words <= len(texts) and not look_like_ids(texts) and not repeat(texts)


def doubt_about(texts: Sequence[str]) -> str:
    """Return a sentence if the texts of a corpus do not look like texts; else empty."""
    if not texts:
        return ""
    if look_like_ids(texts):
        example = next(text for text in texts if _is_id(text))
        return f"Most texts look like ids, numbers or paths, such as {_shown(example)}: was the right field read?"
    text, count = Counter(texts).most_common(1)[0]
    if len(texts) >= MANY and 2 * count > len(texts):
        return f"{count:,} of {len(texts):,} texts are identical, {_shown(text)}: was the right field read?"
    return ""


def _is_id(text: str) -> bool:
    text = text.strip()
    if len(text) > LONGEST_ID:
        return text.isascii() and len(text.split(maxsplit=1)) == 1
    return ID.fullmatch(text) is not None


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…")
