"""Human text from an installed package: paragraphs of the Wikipedia sample in gensim's test data.

The sample (about 100 articles of English Wikipedia, CC BY-SA) is read from the package at run time and never copied
into this project, which keeps only positions: the paragraph, and the ends of its prompt and its text.
"""

from __future__ import annotations

import bz2
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mauve_core.base.errors import InputError
from mauve_core.base.extras import MissingPackageError

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
MIN_WORDS = 80
_MARKUP = re.compile(r"'{2,}")
_NOT_PROSE = re.compile(r"^[*#:;|={}!]|[{}|]|\[\[|\]\]")


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of running text.

    Attributes
    ----------
    id : str
        Wikipedia page id and number of the paragraph on the page, as ``12-3``.
    title : str
        Title of the article.
    text : str
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Excerpt:
    """A prompt and the text that follows it, as character positions in a paragraph."""

    id: str
    prompt_end: int
    text_end: int


def sample_path() -> Path:
    """Return the path of the installed gensim's Wikipedia sample; MissingPackageError if it is missing."""
    spec = importlib.util.find_spec("gensim")
    path = Path(spec.submodule_search_locations[0]) / SAMPLE if spec and spec.submodule_search_locations else None
    if path is None or not path.exists():
        raise MissingPackageError(
            "The demo study's human texts come with the package gensim, which is not installed",
            allowed="Python 3.11 to 3.13: on 3.14, gensim has no wheel",
            received=f"Python {sys.version_info.major}.{sys.version_info.minor}",
            todo="Install MAUVE Lens under one of these; without the demo, everything works as it is",
        )
    return path


def paragraphs(min_words: int = MIN_WORDS) -> list[Paragraph]:
    """Return paragraphs of at least ``min_words`` words as plain text: no headings, lists, tables or markup."""
    path = sample_path()
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    found = []
    with bz2.open(path) as stream:
        for title, markup, page in extract_pages(stream, ("0",)):
            for number, line in enumerate(filter_wiki(markup).split("\n")):
                text = _MARKUP.sub("", line).replace("\N{NO-BREAK SPACE}", " ").strip()
                if len(text.split()) >= min_words and not _NOT_PROSE.search(text):
                    found.append(Paragraph(f"{page}-{number}", title, text))
    return found


def choose_excerpts(
    candidates: Sequence[Paragraph],
    offsets: Callable[[str], Sequence[tuple[int, int]]],
    *,
    n: int,
    prompt_tokens: int,
    text_tokens: int,
    seed: int,
) -> list[Excerpt]:
    """Draw n paragraphs of at least ``prompt_tokens + text_tokens`` tokens, and find the ends of prompt and text.

    Parameters
    ----------
    candidates : sequence of Paragraph
    offsets : callable
        Returns the (start, end) character positions of each token of a text.
    n, prompt_tokens, text_tokens, seed : int

    Raises
    ------
    InputError
        Fewer than n paragraphs are long enough.
    """
    excerpts = []
    for paragraph in candidates:
        spans = offsets(paragraph.text)
        if len(spans) >= prompt_tokens + text_tokens:
            ends = spans[prompt_tokens - 1][1], spans[prompt_tokens + text_tokens - 1][1]
            excerpts.append(Excerpt(paragraph.id, *ends))
    if len(excerpts) < n:
        raise InputError("Too few paragraphs are long enough", allowed=f"at most {len(excerpts)}", received=str(n))
    drawn = np.random.default_rng(seed).choice(len(excerpts), size=n, replace=False)
    return [excerpts[i] for i in sorted(drawn)]
