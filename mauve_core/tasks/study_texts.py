"""Texts of a study, cut in tokens: a prompt before each human text, and the same greatest length on both sides."""

from __future__ import annotations

import dataclasses
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.texts import Corpus
from mauve_core.texts.metadata import python_values

# Field of a server's rows: ``length`` where it ended a text at the greatest number of tokens.
FINISH_REASON = "finish_reason"


def cut_texts(corpus: Corpus, tokenizer: Any, prompt_tokens: int | None, text_tokens: int) -> Corpus:
    """Cut human texts like a model's continuations: a prompt before each, and a limited number of tokens.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        Prompt and text are tokenized together, without special tokens.
    prompt_tokens : int or None
        Without prompts, this many tokens at the beginning of each text become its prompt; with prompts, must be None.
    text_tokens : int
        Longer texts are cut there.

    Returns
    -------
    Corpus
        Texts of which nothing is left are left out and counted in its notes.

    Raises
    ------
    InputError
        Both prompts and ``prompt_tokens`` are given, or neither; or no text is left.
    """
    if (corpus.prompts is None) == (prompt_tokens is None):
        raise InputError(
            "The prompts are given twice" if prompt_tokens else "The human texts have no prompts",
            allowed="a prompt field in the file, or the number of tokens at the start of each text that are its prompt",
            todo="Leave one of them out" if prompt_tokens else "Name the field, or give --prompt-tokens N",
        )
    return _cut(corpus, tokenizer, prompt_tokens, text_tokens)[0]


def cut_answers(corpus: Corpus, tokenizer: Any, name: str, text_tokens: int) -> Corpus:
    """Cut a server's continuations like the human texts; notes say how many were longer, or had to be shorter.

    Parameters
    ----------
    corpus : Corpus
        With prompts, and the field ``finish_reason``.
    tokenizer, name
        That of the human texts, and what it is called.
    text_tokens : int
        Longer texts are cut there; the server was allowed as many tokens of its own.

    Raises
    ------
    InputError
        No text is left.
    """
    cut, lengths = _cut(corpus, tokenizer, None, text_tokens)
    longer = sum(length > text_tokens for length in lengths)
    notes = [
        f"Texts were cut at {text_tokens:,} tokens of {name}, as the human texts were; {longer:,} of {len(corpus):,} "
        f"{verb(longer, 'was', 'were')} longer."
    ]
    reasons = python_values(corpus.metadata[FINISH_REASON])
    short = [n for n, reason in zip(lengths, reasons, strict=True) if reason == "length" and n < text_tokens]
    if short:
        notes.append(
            f"{len(short):,} of {len(corpus):,} texts, which the server ended at {text_tokens:,} tokens of its own, "
            f"have only {min(short):,} to {max(short):,} tokens of {name}: they are shorter than human texts may be."
        )
    return dataclasses.replace(cut, notes=(*cut.notes, *notes))


def _cut(corpus: Corpus, tokenizer: Any, prompt_tokens: int | None, text_tokens: int) -> tuple[Corpus, list[int]]:
    """Return the texts cut, and how many tokens each one had."""
    prompts = corpus.prompts or ("",) * len(corpus)
    full_texts = [prompt + text for prompt, text in zip(prompts, corpus.texts, strict=True)]
    ends = [_token_ends(tokenizer, text) for text in full_texts]
    if prompt_tokens is None:
        starts = [len(prompt) for prompt in prompts]
        rests = [[end for end in each if end > start] for start, each in zip(starts, ends, strict=True)]
    else:
        starts = [each[:prompt_tokens][-1] if each else 0 for each in ends]
        rests = [each[prompt_tokens:] for each in ends]
    stops = [max(rest[:text_tokens], default=start) for start, rest in zip(starts, rests, strict=True)]
    cut = dataclasses.replace(
        corpus,
        prompts=tuple(text[:start] for text, start in zip(full_texts, starts, strict=True)),
        texts=tuple(text[start:stop] for text, start, stop in zip(full_texts, starts, stops, strict=True)),
    )
    used = [index for index, text in enumerate(cut.texts) if text.strip()]
    return _without_rest(cut, used, prompt_tokens, text_tokens), [len(rest) for rest in rests]


def _without_rest(cut: Corpus, used: list[int], prompt_tokens: int | None, text_tokens: int) -> Corpus:
    """Return the texts at ``used``; a note counts the others, of which nothing is left."""
    if not used and prompt_tokens:
        raise InputError(f"Every text ends within its first {prompt_tokens} tokens", todo="Choose shorter prompts")
    if not used:
        raise InputError(
            f"Every text of {cut.name} is blank in its first {text_tokens} tokens", todo="Allow longer texts"
        )
    left_out = len(cut) - len(used)
    what = (
        f"nothing after {prompt_tokens} tokens of prompt" if prompt_tokens else f"only blanks in {text_tokens} tokens"
    )
    were = verb(left_out, "was", "were")
    notes = (f"{plural(left_out, 'text')} with {what} {were} left out",) if left_out else ()
    return dataclasses.replace(cut, notes=(*cut.notes, *notes)).take(used)


def _token_ends(tokenizer: Any, text: str) -> list[int]:
    """Return where each token of the text ends, in characters."""
    encoded = read_texts(tokenizer, text, add_special_tokens=False, return_offsets_mapping=True)
    return [end for _, end in encoded["offset_mapping"]]
