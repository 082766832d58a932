"""The demo study: Wikipedia paragraphs against SmolLM2-135M's continuations of their first words, by decoder.

Both sides have ``TEXT_TOKENS`` tokens after the same ``PROMPT_TOKENS`` tokens, so neither length nor topic tells them
apart. The human text comes from an installed package (:mod:`mauve_core.demo.wikipedia`). The model's text, all
features and the finished run are in ``data/demo``, made by :mod:`mauve_core.demo.demo_build`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import StorageError
from mauve_core.base.files import bundled
from mauve_core.demo.finished import FINISHED, store
from mauve_core.demo.wikipedia import Excerpt, paragraphs, sample_path
from mauve_core.texts import Corpus, corpus_from_texts

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
