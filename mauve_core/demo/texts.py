"""The demo study: Wikipedia paragraphs against SmolLM2-135M's continuations of their first words, by decoder.

Both sides have ``TEXT_TOKENS`` tokens after the same ``PROMPT_TOKENS`` tokens, so neither length nor topic separates
them. The human text comes from the Wikipedia sample in gensim's test data (about 100 articles of English Wikipedia, CC
BY-SA). It is read from the installed package and never copied into this project, which keeps only positions: the
paragraph, and the ends of its prompt and its text. The model's text, all features and the finished run are in
``data/demo``, made by :mod:`mauve_core.demo.make_texts`.
"""

from __future__ import annotations

import bz2
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.extras import MissingPackageError
from mauve_core.base.files import bundled
from mauve_core.demo.finished import FINISHED, store
from mauve_core.texts import Corpus, corpus_from_texts

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


DEMO_RUN = "demo"
DATA = bundled("demo")


def prepare_demo(data: Path = DATA) -> str:
    """Store the finished run of the demo study with its human texts, in seconds, and return its id.

    A stored run of the same texts, settings and scores is kept.

    Raises
    ------
    MissingPackageError
        The package with the human texts is not installed.
    StorageError
        The data are missing or do not match the installed packages.
    """
    return store(data / FINISHED, lambda: demo_sides(data), todo="mauve-lens demo --rebuild-analyses").id


def demo_sides(data: Path = DATA) -> tuple[dict[str, Corpus], dict[str, NDArray[Any]]]:
    """Return the corpora and the features of all sides by name, ``human`` first; errors as :func:`demo_corpora`."""
    human, candidates = demo_corpora(data)
    files = {name: data / entry["file"] for name, entry in read_manifest(data)["features"].items()}
    try:
        features = {name: load_array(file) for name, file in files.items()}
    except (OSError, ValueError) as error:
        raise StorageError(
            f"The committed features cannot be read: {error}", todo="Install MAUVE Lens again"
        ) from error
    return {HUMAN: human, **candidates}, features


def demo_corpora(data: Path = DATA) -> tuple[Corpus, dict[str, Corpus]]:
    """Return the human side and the candidates, by decoder.

    Raises
    ------
    MissingPackageError
        The package with the human texts is not installed.
    StorageError
        The data are missing, or the human text does not match the model's texts.
    """
    manifest = read_manifest(data)
    human = human_corpus([Excerpt(*item) for item in manifest["human"]["excerpts"]])
    if human.digest != manifest["human"]["digest"]:
        raise StorageError(
            "The human text in the installed gensim differs from that of the demo",
            todo="Install gensim==4.4.0, or rebuild the demo: mauve-lens demo --rebuild",
        )
    prompts = dict(zip(human.ids, human.prompts or (), strict=True))
    titles = dict(zip(human.ids, human.metadata["title"], strict=True))
    candidates = {}
    for spec, file in manifest["generation"]["decoders"].items():
        rows = [json.loads(line) for line in (data / file).read_text(encoding="utf-8").splitlines()]
        ids = [row["id"] for row in rows]
        candidates[spec] = corpus_from_texts(
            [row["text"] for row in rows],
            name=spec,
            ids=ids,
            prompts=[prompts[i] for i in ids],
            metadata={"title": [titles[i] for i in ids]},
            origin=f"data/demo/{file}",
        )
    return human, candidates


def human_corpus(excerpts: list[Excerpt]) -> Corpus:
    """Return excerpts of the installed sample with what precedes each as its prompt; errors as :func:`demo_corpora`."""
    by_id = {paragraph.id: paragraph for paragraph in paragraphs()}
    missing = [excerpt.id for excerpt in excerpts if excerpt.id not in by_id]
    if missing:
        raise StorageError(
            f"The installed Wikipedia sample lacks {len(missing)} paragraphs of the demo", todo="Install gensim==4.4.0"
        )
    chosen = [(by_id[excerpt.id], excerpt) for excerpt in excerpts]
    return corpus_from_texts(
        [paragraph.text[excerpt.prompt_end : excerpt.text_end] for paragraph, excerpt in chosen],
        name=HUMAN,
        ids=[paragraph.id for paragraph, _ in chosen],
        prompts=[paragraph.text[: excerpt.prompt_end] for paragraph, excerpt in chosen],
        metadata={"title": [paragraph.title for paragraph, _ in chosen]},
        origin=f"gensim:{sample_path().name}",
    )


def read_manifest(data: Path = DATA) -> dict[str, Any]:
    """Read the manifest, which says what the demo was made of; StorageError if there is none."""
    path = data / "manifest.json"
    if not path.exists():
        raise StorageError(f"No demo study under {data}", todo="Create it: mauve-lens demo --rebuild (takes hours)")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest
