"""A study: one model continues the prompts of human texts under several decoders, each compared with the humans.

As published (NeurIPS 2021, appendix C.1; JMLR 2023, section 6.1), the prompt is the beginning of a human text, the
human side is its real continuation, and both continuations have the same maximum number of tokens. Generated texts are
kept below ``<home>/studies/<id>``, so that a stopped study resumes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import home
from mauve_core.base.progress import Progress, silent
from mauve_core.base.server_names import names_server
from mauve_core.base.validation import NotBlank, Within
from mauve_core.corpus import Corpus
from mauve_core.corpus.generations import GENERATION
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.decoding.generate import written_once
from mauve_core.encoders.likelihood import negative_log_likelihoods
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.store import Run, run_id
from mauve_core.tasks.amounts import Amount, settings_in_words
from mauve_core.tasks.base import NewRunTask, Stored, unheeded
from mauve_core.tasks.comparison import TextFile, compare_and_store

ADVERSARIAL = "adversarial"
"""In a study, this decoder without a perplexity takes that of the human side."""


@dataclass(frozen=True)
class StudyTask(NewRunTask):
    """One model, one file of human texts, any number of decoders.

    Attributes
    ----------
    human : TextFile
        Human texts with their prompts. With ``prompt_tokens``, prompts are cut off the texts and no field is guessed.
    model : str
        The causal model that writes: catalog name, hub id, local folder or GGUF file.
    decoders : tuple of str
        As for :func:`mauve_core.decoding.parse_decoder`; ``adversarial`` alone takes the human perplexity.
    settings : GenerationSettings
        ``max_new_tokens`` also limits the human texts.
    prompt_tokens : int or None
        Length of the prompt if the file has none.
    config : CompareConfig
        Settings of the comparison.
    measures : bool
        Also measure the texts, with the model that wrote them.
    device : str
    """

    kind: ClassVar[str] = "study"
    kept: ClassVar[str] = "texts already written, encoded or scored"

    human: TextFile
    model: NotBlank
    decoders: tuple[str, ...]
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    prompt_tokens: Annotated[int, Within(1)] | None = None
    config: CompareConfig = field(default_factory=CompareConfig)
    measures: bool = True
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if names_server(self.model):  # not repeated, because it may hold a secret
            raise InputError(
                "A study cuts human texts by the tokens of the model that writes, which a server does not show",
                allowed="a causal model: catalog name, hub id, folder or GGUF file",
                todo="Write the texts with mauve-lens generate, then compare them",
            )
        specs = [spec if spec == ADVERSARIAL else parse_decoder(spec).spec for spec in self.decoders]
        if not specs or len(set(specs)) < len(specs):
            received = ", ".join(self.decoders)
            raise InputError("The decoders cannot be used", allowed="one or more, no duplicates", received=received)
        if self.config.encoder is None:
            raise InputError("A study needs an encoder", todo="Name one: its texts have no features yet")

    @property
    def folder(self) -> Path:
        """Folder of the generated texts; equal settings give the same folder."""
        inputs = {name: value for name, value in self.to_json().items() if name not in ("config", "measures", "device")}
        digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
        return home().absolute() / "studies" / f"{run_id(self.name)}-{digest[:12]}"

    def amount(self, texts: int) -> Amount | None:
        """Return how much work it is to write that many texts; None if an earlier job has written some of them."""
        if self.absolute().folder.exists():
            return None
        names = sorted({parse_decoder(spec).kind.name if spec != ADVERSARIAL else spec for spec in self.decoders})
        like = self.model, *names, settings_in_words(self.config), f"measured: {self.measures}"
        tokens = self.settings.max_new_tokens
        return Amount(like, texts * tokens, f"{texts:,} texts of {tokens:,} tokens", "all")

    def make(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> Run:
        """Generate, compare and measure.

        Raises
        ------
        InputError, StorageError, CancelledError
            Finished work stays and is not repeated.
        """
        loaded = load_model(self.model, device=self.device, with_head=True, progress=progress)
        file = self.human
        if self.prompt_tokens is not None and file.prompt_field is None:  # what was asked for, rather than a guess
            file = dataclasses.replace(file, prompt_field="")
        human = cut_texts(file.read(HUMAN), loaded, self.prompt_tokens, self.settings.max_new_tokens)
        prompts = Prompts(human.ids, human.prompts or ())
        decoders = resolve_decoders(self.decoders, human, loaded, progress)
        written = generate_files(
            loaded, prompts, decoders, self.folder, settings=self.settings, device=self.device, progress=progress
        )
        repeats = self.settings.repeats
        notes = tuple(f"{note}." for note in loaded.writing_notes)
        corpora = {HUMAN: human} | {spec: _candidate(spec, path, repeats, notes) for spec, path in written.items()}
        run = compare_and_store(
            self.name, corpora, self.config, device=self.device, job=job, progress=progress, stored=stored
        )
        if self.measures:
            from mauve_core.experiments.text_measures.stored import measure_run

            measure_run(run, model=self.model, device=self.device, progress=progress)
        return run


def cut_texts(corpus: Corpus, loaded: LoadedModel, prompt_tokens: int | None, text_tokens: int) -> Corpus:
    """Cut human texts like a model's continuations: a prompt before each, and a limited number of tokens.

    Parameters
    ----------
    prompt_tokens : int or None
        Without prompts, this many tokens at the beginning of each text become its prompt; with prompts, must be None.
    text_tokens : int
        Longer texts are cut there.

    Returns
    -------
    Corpus
        Texts that end before their prompt does are left out and counted in its notes.

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
    ends = [_ends(loaded, corpus, index, prompt_tokens, text_tokens) for index in range(len(corpus))]
    full_texts = [(corpus.prompts[i] if corpus.prompts else "") + text for i, text in enumerate(corpus.texts)]
    used = [i for i, (start, end) in enumerate(ends) if full_texts[i][start:end].strip()]
    if not used:
        raise InputError(f"Every text ends within its first {prompt_tokens} tokens", todo="Choose shorter prompts")
    notes = corpus.notes
    if len(used) < len(corpus):
        notes += (
            f"{len(corpus) - len(used)} texts that end within their prompt of {prompt_tokens} tokens were left out",
        )
    cut = dataclasses.replace(
        corpus,
        prompts=tuple(text[:start] for text, (start, _) in zip(full_texts, ends, strict=True)),
        texts=tuple(text[start:end] for text, (start, end) in zip(full_texts, ends, strict=True)),
        notes=notes,
    )
    return cut.take(used)


def resolve_decoders(
    specs: Sequence[str], human: Corpus, loaded: LoadedModel, progress: Progress = silent
) -> list[str]:
    """Return the specs, with the human texts' perplexity under the model for ``adversarial``, to four digits."""
    if ADVERSARIAL not in specs:
        return list(specs)
    losses = negative_log_likelihoods(loaded, human.texts, human.prompts, progress=progress)
    perplexity = float(np.exp(np.concatenate(losses).mean()))
    return [f"{ADVERSARIAL}:ppl={perplexity:.4g}" if spec == ADVERSARIAL else spec for spec in specs]


def _ends(
    loaded: LoadedModel, corpus: Corpus, index: int, prompt_tokens: int | None, text_tokens: int
) -> tuple[int, int]:
    """Return the ends of prompt and text, as character positions in prompt and text together."""
    prompt = corpus.prompts[index] if corpus.prompts else ""
    encoded = read_texts(
        loaded.tokenizer, prompt + corpus.texts[index], add_special_tokens=False, return_offsets_mapping=True
    )
    ends = [end for _, end in encoded["offset_mapping"]]
    if prompt_tokens is None:
        start, rest = len(prompt), [end for end in ends if end > len(prompt)]
    else:
        start, rest = ends[min(prompt_tokens, len(ends)) - 1], ends[prompt_tokens:]
    return start, max(rest[:text_tokens], default=start)


def _candidate(spec: str, path: Path, repeats: int, notes: tuple[str, ...]) -> Corpus:
    """Return the texts generated under one decoder, with ``notes``; empty texts are left out and named."""
    numbered = (GENERATION,) if repeats > 1 else ()
    corpus = TextFile(str(path), "text", "prompt", "id", ("decoder", "seed", *numbered)).read(spec)
    why = written_once([spec]) if repeats > 1 else ""
    notes = (*corpus.notes, *notes, *([f"{why}."] if why else []))
    return dataclasses.replace(corpus, notes=notes)
