"""Makes names and messages from files safe in Markdown."""

from __future__ import annotations

import re
import unicodedata

_MINUS = re.compile(r"(?<![\w.)])-(?=[\d.])")
_STEERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ISOLATED, _END = "\u2068", "\u2069"
_ACTIVE = re.compile(r"([!-/:-@\[-`{-~])")
_JOINER = "\u2060"
# Addresses, names of icons and arrows, up to where they can be taken apart: Streamlit looks for them only after the
# escapes are gone, and would make links, pictures and other characters of them.
_TAKEN_LATER = re.compile(
    r"""https?:(?=//) | www(?=\.) | (?<=[-.\w+])@(?=[-\w]+(?:\.[-\w]+)*\.[-\w]*[^\W\d_])
    | :(?=[\w+-]+:) | (?<!\S)[<>~-](?=(?:->|>|-|=)(?!\S))""",
    re.IGNORECASE | re.VERBOSE,
)


def with_minus(text: str) -> str:
    """``text`` with real minus signs on negative numbers; hyphens and ranges stay."""
    return _MINUS.sub("−", text)


def escaped(text: str) -> str:
    """``text`` on one line, with every character that has a meaning in Markdown escaped.

    What would still be taken for an address, an icon or an arrow gets a character in it that is not seen. Text with
    right-to-left letters is isolated so that it reorders nothing around it; direction controls are removed.
    """
    line = " ".join(_STEERING.sub("", text).split())
    plain = _ACTIVE.sub(r"\\\1", _TAKEN_LATER.sub(rf"\g<0>{_JOINER}", line))
    return f"{_ISOLATED}{plain}{_END}" if _turns(plain) else plain


def swatch(colour: str) -> str:
    """A patch of a figure's color, in Markdown, before words that say what it stands for; a screen reader skips it."""
    return f':color[\u2002]{{background="{colour}"}}'


def _turns(text: str) -> bool:
    return not text.isascii() and any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
