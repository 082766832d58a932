"""The twelve kinds of format that a preflight checks: how each is measured, and what to do about a difference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A number of each text; ``title`` continues "here is"; ``binary`` if it is yes or no."""

    name: str
    title: str
    binary: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of format: its title, what to do if sides differ in it, how it is measured, and the step of normalizing
    that takes the difference away (``mauve_core.texts.normalizing_steps.STEPS``), if there is one.
    """

    name: str
    title: str
    todo: str
    measures: tuple[Measure, ...]
    step: str | None = None


# By name, in display order.
KINDS = {
    each.name: each
    for each in (
        Kind(
            "leading_space",
            "Leading white space",
            "Strip white space on both sides and compare again.",
            (Measure("leading_space", "texts that begin with white space"),),
            "whitespace",
        ),
        Kind(
            "trailing_space",
            "Trailing white space",
            "Strip white space on both sides and compare again.",
            (Measure("trailing_space", "texts that end in white space"),),
            "whitespace",
        ),
        Kind(
            "length",
            "Length",
            "Generate texts as long as the other side's, or cut both sides to one length.",
            (Measure("words", "words", binary=False),),
            "words",
        ),
        Kind(
            "cut_off",
            "Cut off",
            "Allow more tokens, or cut both sides after their last full sentence.",
            (Measure("cut_off", "texts that do not end with sentence punctuation, a quote or a bracket"),),
        ),
        Kind(
            "line_breaks",
            "Line breaks",
            "Replace line breaks with spaces on both sides and compare again.",
            (Measure("line_breaks", "line breaks per 100 words", binary=False),),
            "line-breaks",
        ),
        Kind(
            "quotes",
            "Quotes",
            "Make all quotes and apostrophes straight on both sides and compare again.",
            (Measure("curly_quotes", "share of curly ones among quotes and apostrophes", binary=False),),
            "quotes",
        ),
        Kind(
            "casing",
            "Casing",
            "Check for lower-cased files and for texts that begin in mid-sentence; write both sides alike.",
            (
                Measure("upper_case", "share of upper-case letters", binary=False),
                Measure("lower_start", "texts that begin in lower case"),
            ),
        ),
        Kind(
            "characters",
            "Character sets",
            "Check how the files were encoded; normalize characters alike on both sides.",
            (Measure("non_ascii", "share of letters outside ASCII", binary=False),),
            "unicode",
        ),
        Kind(
            "tokens",
            "Tokenization marks",
            "Decode without special tokens and detokenize both sides.",
            (Measure("marks", "marks of a tokenizer per 100 words", binary=False),),
            "token-marks",
        ),
        Kind(
            "language",
            "Language",
            "Leave out texts in other languages, or compare languages one by one.",
            (Measure("language", "texts in the most frequent language"),),
        ),
        Kind(
            "duplicates",
            "Duplicates and empty texts",
            "Leave out repeated texts, and check the decoder: a repeated text counts each time.",
            (Measure("repeats", "texts that are empty or repeat an earlier one of their side"),),
            "duplicates",
        ),
        Kind(
            "echo",
            "Prompt echoed",
            "Strip the prompt from the beginning of the texts.",
            (Measure("echo", "texts that begin with their prompt"),),
            "echo",
        ),
    )
}
