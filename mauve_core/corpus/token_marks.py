"""What a tokenizer leaves in written texts: special tokens, pieces of words, spaces that no writer sets.

The preflight counts these marks (:mod:`mauve_core.analysis.format_measures`); normalizing removes them
(:mod:`mauve_core.corpus.normalizing`).
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"<\|[a-z_]+\|>|</?s>|<(?:unk|pad|eos|bos|mask)>|\[(?:UNK|PAD|CLS|SEP|MASK)\]")
_PIECES = re.compile(r"(?<=\S)[ĠĊ]|\bĠ(?=[A-Za-z])|▁")
# What a tokenizer leaves in written words: spaces before commas and clitics, and the signs of WikiText and Penn.
_SPACED = re.compile(
    r"(?<=\w) [,.;:!?](?!\S)|(?<=\w) (?:n't|'s|'re|'ve|'ll|'d|'m)\b|@[-,.]@|``|-[LR][RSC]B-|(?<=\w) ##\w"
)

_SPECIAL_RUN = re.compile(rf"(\s?)(?:{_SPECIAL.pattern})+(\s?)")
# A hyphen, comma or point inside a word, as WikiText writes it.
_JOINT = re.compile(r" ?(?<!@)@++([-,.])@++ ?")

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def count_marks(text: str) -> int:
    """Count special tokens, pieces of words, and spaces that no writer sets."""
    pieces = 0 if text.isascii() else len(_PIECES.findall(text))
    return len(_SPECIAL.findall(text)) + len(_SPACED.findall(text)) + pieces


def without_tokens(text: str) -> str:
    """Return the text without special tokens; tokens of byte-level models become words again."""
    text = _SPECIAL.sub("", text) if "<" in text or "[" in text else text
    return text if text.isascii() else _PIECES.sub(_space_of, text)


def without_marks(text: str) -> str:
    """Return the text without marks, as a detokenizer would write it.

    One pass: what is removed may leave a new mark, as ``<un ##k>`` does.
    """
    text = _SPECIAL_RUN.sub(_between, text) if "<" in text or "[" in text else text
    text = text if text.isascii() else _PIECES.sub(_space_of, text)
    text = _JOINT.sub(r"\1", text) if "@" in text else text
    text = text.replace("``", '"').replace("''", '"') if "``" in text else text
    return _SPACED.sub(_written, text)


def _space_of(piece: re.Match[str]) -> str:
    return "\n" if piece[0] == "Ċ" else " "


def _between(run: re.Match[str]) -> str:
    """Return what stays of special tokens and the white space around them: one of the two, a space between words."""
    inside = run.start() > 0 and run.end() < len(run.string)
    return run[1] or run[2] or (" " if inside else "")


def _written(mark: re.Match[str]) -> str:
    found = mark[0]
    return _BRACKETS.get(found) or (found[3:] if found.startswith(" ##") else found[1:])
