"""The demo study: Wikipedia paragraphs against SmolLM2-135M's continuations of their first words, by decoder.

Both sides have ``TEXT_TOKENS`` tokens after the same ``PROMPT_TOKENS`` tokens, so neither length nor topic tells them
apart. The human text comes from an installed package (:mod:`mauve_core.demo.wikipedia`). The model's text, all
features, the text measures, the probes and other analyses are in ``data/demo``, made by :func:`build_demo`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mauve_core.analysis.precomputed import derive
from mauve_core.base.array_files import load_array
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import digest_of_file, write_array, write_atomically
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus import Corpus, corpus_from_texts
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.demo.demo_analyses import analyses, build_analysis, import_analyses
from mauve_core.demo.demo_probes import build_probes, import_probes
from mauve_core.demo.stored import CONFIG, DATA, DEMO_RUN, ENCODER, MODEL, read_manifest, stored_demo
from mauve_core.demo.wikipedia import MIN_WORDS, Excerpt, choose_excerpts, paragraphs, sample_path
from mauve_core.encoders import Encoder, feature_key
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.models import load_model
from mauve_core.experiments.robustness.table import ATTACHMENT as PROBES_ATTACHMENT
from mauve_core.experiments.sweeps import attachment_name, sweep_run
from mauve_core.experiments.text_measures.stored import ATTACHMENT as MEASURES_ATTACHMENT
from mauve_core.experiments.text_measures.stored import measure_run
from mauve_core.scoring.compare import compare
from mauve_core.store import Run, RunStore
from mauve_core.tasks.study import ADVERSARIAL, resolve_decoders

DECODERS = (
    "greedy",
    "beam:b=4",
    "ancestral",
    "temperature:t=0.7",
    "top-k:k=50",
    "nucleus:p=0.7",
    "nucleus:p=0.9",
    "nucleus:p=0.95",
    "typical:tau=0.95",
    "contrastive:alpha=0.6,k=5",
    ADVERSARIAL,
)
"""As for a study; the last one takes the perplexity of the human texts."""

ANALYSES = (PROBES_ATTACHMENT, *analyses(DEMO_RUN))
"""Names of the analyses under ``data/demo``."""

MEASURES_FILE = "measures.json"
N = 512
PROMPT_TOKENS = 35
TEXT_TOKENS = 128
NOTES = (
    f"Paragraphs of English Wikipedia against continuations of their first {PROMPT_TOKENS} tokens by "
    "SmolLM2-135M-Instruct, an instruction-tuned model of 135 million parameters."
)
"""The run's notes: what is compared, and that no base model wrote the texts."""
SEED = 2021


def build_demo(data: Path = DATA, *, device: str = "auto", progress: Progress = silent) -> Path:
    """Rebuild everything under ``data``: excerpts, model text, features, measures, analyses. Hours on two cores.

    Replaces the run stored under the demo's name. A stopped build resumes, batch by batch. Returns the manifest's
    path.
    """
    excerpts = _choose()
    human = _human(excerpts)
    prompts = Prompts(human.ids, human.prompts or ())
    settings = GenerationSettings(max_new_tokens=TEXT_TOKENS, min_new_tokens=TEXT_TOKENS, seed=SEED)
    scratch = data / ".build"
    writer = load_model(MODEL, device=device, with_head=True)
    decoders = resolve_decoders(DECODERS, human, writer, progress)
    written = generate_files(writer, prompts, decoders, scratch, settings=settings, device=device, progress=progress)
    for spec, path in written.items():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines = [json.dumps({"id": row["id"], "text": row["text"]}, ensure_ascii=False) for row in rows]
        _write(data / f"{parse_decoder(spec).slug}.jsonl", "\n".join(lines) + "\n")
    manifest = {
        "human": {
            "package": "gensim",
            "file": sample_path().name,
            "file_sha256": digest_of_file(sample_path()),
            "min_words": MIN_WORDS,
            "prompt_tokens": PROMPT_TOKENS,
            "text_tokens": TEXT_TOKENS,
            "seed": SEED,
            "digest": human.digest,
            "excerpts": [list(dataclasses.astuple(excerpt)) for excerpt in excerpts],
        },
        "generation": json.loads((scratch / "manifest.json").read_text(encoding="utf-8")),
        "encoder": ENCODER.as_dict(),
        "command": "mauve-lens demo --rebuild",
    }
    _write_manifest(data, manifest)
    manifest["features"] = _build_features(data, device, progress)
    _write_manifest(data, manifest)
    manifest["measures"] = _build_measures(data, device, progress)
    _write_manifest(data, manifest)
    return rebuild_analyses(ANALYSES, data, device=device, progress=progress)


def rebuild_analyses(
    names: Sequence[str], data: Path = DATA, *, device: str = "auto", progress: Progress = silent
) -> Path:
    """Compute these of :data:`ANALYSES` under ``data`` again: for all, an hour on two cores.

    Encoded texts stay in the user's store, so that a stopped computation resumes. Returns the manifest's path.

    Raises
    ------
    InputError
        A name is not one of them.
    """
    unknown = [name for name in names if name not in ANALYSES]
    if unknown:
        raise InputError("There is no such analysis", allowed=", ".join(ANALYSES), received=", ".join(unknown))
    manifest = read_manifest(data)
    kept = {name: entry for name, entry in manifest.get("analyses", {}).items() if name not in names}
    manifest["analyses"] = kept
    _write_manifest(data, manifest)
    run = RunStore().load(prepare_demo(data, progress=progress))
    for name in names:
        if name == PROBES_ATTACHMENT:
            kept[name] = build_probes(run, data, device, progress)
            import_probes(run, data, kept[name])
        else:
            kept[name] = build_analysis(run, name, data, progress)
        manifest["analyses"] = {each: kept[each] for each in ANALYSES if each in kept}
        _write_manifest(data, manifest)
    return data / "manifest.json"


def prepare_demo(data: Path = DATA, *, progress: Progress = silent) -> str:
    """Store the demo study as a run, with measures, probes and other analyses, from committed data, in a minute.

    Returns
    -------
    str
        Id of the run. A stored run of the same texts and settings is kept.

    Raises
    ------
    StorageError
        The data are missing or do not match the installed packages.
    """
    human, candidates = demo_corpora(data)
    corpora = {HUMAN: human, **candidates}
    runs = RunStore()
    if stored_demo({name: corpus.digest for name, corpus in corpora.items()}) is not None:
        run = runs.load(DEMO_RUN)
    else:
        features = _import_features(corpora, data)
        comparison = compare(human, candidates, CONFIG, feature_store=FeatureStore(), progress=progress)
        run = runs.save(DEMO_RUN, comparison, corpora, features, replace=True)
        derive(run, progress)
    if not run.notes:
        runs.describe(run.id, notes=NOTES)
    if run.attachment(MEASURES_ATTACHMENT) is None:
        _import_measures(run, data)
    committed = dict(read_manifest(data).get("analyses", {}))  # some are missing while a build is under way
    probes = committed.pop(PROBES_ATTACHMENT, None)
    if probes is not None and run.attachment(PROBES_ATTACHMENT) is None:
        import_probes(run, data, probes)
    import_analyses(run, data, committed)
    if run.attachment(attachment_name("decoder")) is None:
        runs.attach(run.id, attachment_name("decoder"), dataclass_to_json(sweep_run(run, "decoder")))
    return run.id


def demo_corpora(data: Path = DATA) -> tuple[Corpus, dict[str, Corpus]]:
    """Return the human side and the candidates, by decoder.

    Raises
    ------
    StorageError
        The data are missing, or the human text does not match the model's texts.
    """
    manifest = read_manifest(data)
    human = _human([Excerpt(*item) for item in manifest["human"]["excerpts"]])
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


def _choose() -> list[Excerpt]:
    tokenizer = load_model(MODEL, device="cpu").tokenizer
    return choose_excerpts(
        paragraphs(),
        lambda text: tokenizer(text, return_offsets_mapping=True)["offset_mapping"],
        n=N,
        prompt_tokens=PROMPT_TOKENS,
        text_tokens=TEXT_TOKENS,
        seed=SEED,
    )


def _human(excerpts: list[Excerpt]) -> Corpus:
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


def _build_features(data: Path, device: str, progress: Progress) -> dict[str, Any]:
    """Encode all sides, write each side's array beside its token counts, and return the manifest entry."""
    human, candidates = demo_corpora(data)
    encoder = Encoder(ENCODER, device=device)
    entries = {}
    for name, corpus in {HUMAN: human, **candidates}.items():
        encoded = encoder.encode(list(corpus.texts), store=FeatureStore(), progress=progress)
        if encoded.cut.any():
            raise StorageError(f"The encoder cut {int(encoded.cut.sum())} texts of {name}", todo="Raise its max_tokens")
        stem = f"features/{name if name == HUMAN else parse_decoder(name).slug}"
        entries[name] = {"file": f"{stem}.npy", "lengths": f"{stem}-lengths.npy", "key": encoded.key}
        entries[name]["device"] = encoded.device
        write_array(data / entries[name]["file"], encoded.array)
        write_array(data / entries[name]["lengths"], encoded.lengths)
    return entries


def _import_features(corpora: dict[str, Corpus], data: Path) -> dict[str, Any]:
    """Put the committed features into the user's store, under the key that encoding the texts would give."""
    entries = read_manifest(data).get("features", {})
    arrays = {}
    for name, corpus in corpora.items():
        key = feature_key(list(corpus.texts), ENCODER)
        if entries.get(name, {}).get("key") != key:
            raise StorageError(
                f"The committed features of {name!r} were not made from these texts with the installed model",
                todo="Install requirements-weights.txt, or rebuild the demo: mauve-lens demo --rebuild",
            )
        entry = entries[name]
        try:
            array, lengths = load_array(data / entry["file"]), load_array(data / entry["lengths"])
        except (OSError, ValueError) as error:
            raise StorageError(f"The committed features of {name!r} cannot be read: {error}") from error
        meta = {"config": ENCODER.as_dict(), "device": entry["device"], "limit": ENCODER.max_tokens}
        uncut = np.zeros(len(array), dtype=np.bool_)
        arrays[name] = FeatureStore().put(key, array, lengths, uncut, {**meta, "notes": [], "pooling": "last"}).array
    return arrays


def _build_measures(data: Path, device: str, progress: Progress) -> dict[str, Any]:
    """Measure all sides with the model that wrote them, and return the manifest entry on the texts measured."""
    run = RunStore().load(prepare_demo(data, progress=progress))
    measured = measure_run(run, model=MODEL, device=device, progress=progress)
    _write(data / MEASURES_FILE, json.dumps(dataclass_to_json(measured), indent=1, ensure_ascii=False) + "\n")
    sources = {source.name: source.digest for source in run.comparison.sources}
    return {"file": MEASURES_FILE, "sources": sources}


def _import_measures(run: Run, data: Path) -> None:
    """Put the committed measures beside the run; StorageError if they belong to other texts."""
    entry = read_manifest(data).get("measures")
    if entry is None:  # a build that is under way
        return
    if entry["sources"] != {source.name: source.digest for source in run.comparison.sources}:
        raise StorageError(
            "The committed measures were not made from the committed texts",
            todo="Rebuild the demo: mauve-lens demo --rebuild",
        )
    RunStore().attach(run.id, MEASURES_ATTACHMENT, json.loads((data / entry["file"]).read_text(encoding="utf-8")))


def _write(path: Path, text: str) -> None:
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _write_manifest(data: Path, manifest: dict[str, Any]) -> None:
    _write(data / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
