"""A study: one model continues the prompts of human texts under several decoders, each compared with the humans.

As published (NeurIPS 2021, appendix C.1; JMLR 2023, section 6.1), the prompt is the beginning of a human text, the
human side is its real continuation, and both continuations have the same maximum number of tokens. Generated texts are
kept below ``<home>/studies/<id>``, so that a stopped study resumes. A model behind a server does not show its tokens:
then a tokenizer on this machine cuts the texts of both sides, and what needs likelihoods under the model is left out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from mauve_core.analyses.comparison_task import compare_and_store
from mauve_core.analyses.tasks import Amount, NewRunTask, Stored, settings_in_words, unheeded
from mauve_core.base.config import HUMAN, CompareConfig, names_server, parse_server_name
from mauve_core.base.errors import InputError
from mauve_core.base.files import home
from mauve_core.base.formatting import plural, verb
from mauve_core.base.json_codec import NotBlank, Within
from mauve_core.base.progress import Progress, Told, silent
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.decoding.engines import DECODERS_OF_SERVERS, ServerOptions, notes_on_file, require_expressible
from mauve_core.decoding.files import written_once
from mauve_core.encoders.likelihood import negative_log_likelihoods
from mauve_core.encoders.models import LoadedModel, load_model, load_tokenizer
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.runs import Run, run_id
from mauve_core.texts import Corpus
from mauve_core.texts.generations import GENERATION
from mauve_core.texts.metadata import python_values
from mauve_core.texts.text_files import TextFile

# In a study, this decoder without a perplexity takes that of the human side.
ADVERSARIAL = "adversarial"

# Receives a sentence on the requests that a server will get, before the first one.
Tell = Callable[[str], None]


@dataclass(frozen=True)
class StudyTask(NewRunTask):
    """One model, one file of human texts, any number of decoders.

    Attributes
    ----------
    human : TextFile
        Human texts with their prompts. With ``prompt_tokens``, prompts are cut off the texts and no field is guessed.
    model : str
        The causal model that writes: catalog name, hub id, local folder or GGUF file; or one behind a server,
        ``openai:URL#model`` or ``openai-chat:URL#model``.
    decoders : tuple of str
        As for :func:`mauve_core.decoding.parse_decoder`; ``adversarial`` alone takes the human perplexity.
    settings : GenerationSettings
        ``max_new_tokens`` also limits the human texts.
    prompt_tokens : int or None
        Length of the prompt if the file has none.
    config : CompareConfig
        Settings of the comparison.
    measures : bool
        Also measure the texts, with the model that wrote them; without those measures that need it, if it is behind a
        server.
    skip_unencodable : bool
        Leave out texts that the encoder refuses, and count them.
    device : str
    tokenizer : str or None
        Whose tokens prompts and texts are counted in: catalog name, hub id, folder or GGUF file. Needed for a model
        behind a server; another one has its own, and this must be None.
    server : ServerOptions or None
        How a server is asked; None for a model on this machine.
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
    skip_unencodable: bool = False
    device: NotBlank = "auto"
    tokenizer: NotBlank | None = None
    server: ServerOptions | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        specs = [spec if spec == ADVERSARIAL else parse_decoder(spec).spec for spec in self.decoders]
        if not specs or len(set(specs)) < len(specs):
            received = ", ".join(self.decoders)
            raise InputError("The decoders cannot be used", allowed="one or more, no duplicates", received=received)
        if self.config.encoder is None:
            raise InputError("A study needs an encoder", todo="Name one: its texts have no features yet")
        if self.is_served:
            self._require_askable()
        elif self.tokenizer is not None or self.server is not None:
            what = "A tokenizer of its own is" if self.tokenizer is not None else "Settings of a server are"
            raise InputError(
                f"{what} only for a study of a model behind a server",
                received=f"the model {self.model}, whose own tokens count",
                todo="Leave the tokenizer and the settings out",
            )

    @property
    def is_served(self) -> bool:
        """Whether the model is behind a server."""
        return names_server(self.model)

    @property
    def folder(self) -> Path:
        """Folder of the generated texts; settings that give equal texts give the same folder."""
        other = ("config", "measures", "skip_unencodable", "device", "server")
        inputs = {name: value for name, value in self.to_json().items() if name not in other}
        if self.server is not None and self.server.sampling_fields:
            inputs["sampling_fields"] = True
        digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
        return home().absolute() / "studies" / f"{run_id(self.name)}-{digest[:12]}"

    def amount(self, texts: int) -> Amount | None:
        """Return how much work it is to write that many texts; None if an earlier job has written some of them."""
        if self.absolute().folder.exists():
            return None
        names = sorted({parse_decoder(spec).kind.name if spec != ADVERSARIAL else spec for spec in self.decoders})
        like = self.model, *names, settings_in_words(self.config), f"measured: {self.measures}"
        if self.is_served:
            like += (f"{(self.server or ServerOptions()).max_parallel} requests at a time",)
        tokens = self.settings.max_new_tokens
        return Amount(like, texts * tokens, f"{texts:,} texts of {tokens:,} tokens", "all")

    def make(
        self,
        progress: Progress = silent,
        job: str | None = None,
        stored: Stored = unheeded,
        tell: Tell | None = None,
    ) -> Run:
        """Generate, compare and measure.

        ``tell`` by default reports its sentence as a stage of ``progress``, so that it is in a job's log.

        Raises
        ------
        InputError, ModelUnavailableError, StorageError, CancelledError
            Finished work stays and is not repeated.
        """
        corpora = self._asked(progress, tell) if self.is_served else self._written(progress)
        run = compare_and_store(
            self.name,
            corpora,
            self.config,
            skip_unencodable=self.skip_unencodable,
            device=self.device,
            job=job,
            progress=progress,
            stored=stored,
        )
        if self.measures:
            from mauve_core.analyses.text_measures import measure_run

            measure_run(run, model=None if self.is_served else self.model, device=self.device, progress=progress)
        return run

    def _require_askable(self) -> None:
        """Raise InputError unless a server can be asked for the texts, and a tokenizer counts their tokens."""
        parse_server_name(self.model)
        if self.tokenizer is None or names_server(self.tokenizer):
            raise InputError(
                "A study cuts the texts of both sides in tokens, which a server does not show",
                allowed="with a server, a tokenizer: catalog name, hub id, folder or GGUF file",
                todo="Name that of the server's model (--tokenizer NAME); its weights are not needed",
            )
        if ADVERSARIAL in self.decoders:
            raise InputError(
                "A server shows no likelihoods, from which the perplexity of the human texts would be computed",
                allowed=DECODERS_OF_SERVERS,
                received=ADVERSARIAL,
                todo="Choose another decoder, or run the model on this machine",
            )
        decoders = [parse_decoder(spec) for spec in self.decoders]
        require_expressible(decoders, self.settings, self.server or ServerOptions())

    def _written(self, progress: Progress) -> dict[str, Corpus]:
        """Return the sides of the study, with texts that a model on this machine writes."""
        whole = self._read()
        loaded = load_model(self.model, device=self.device, with_head=True, progress=progress)
        human = self._cut(whole, loaded.tokenizer)
        decoders = resolve_decoders(self.decoders, human, loaded, progress)
        written = generate_files(
            loaded,
            Prompts(human.ids, human.prompts or ()),
            decoders,
            self.folder,
            settings=self.settings,
            device=self.device,
            progress=progress,
        )
        notes = tuple(f"{note}." for note in loaded.writing_notes)
        repeats = self.settings.repeats
        return {HUMAN: human} | {spec: _candidate(spec, path, repeats, notes) for spec, path in written.items()}

    def _asked(self, progress: Progress, tell: Tell | None) -> dict[str, Corpus]:
        """Return the sides of the study, with texts that a server writes, cut by the tokens of the human texts."""
        name, most = self.tokenizer or "", self.settings.max_new_tokens
        whole = self._read()
        tokenizer = load_tokenizer(name)
        human = self._cut(whole, tokenizer)
        written = generate_files(
            self.model,
            Prompts(human.ids, human.prompts or ()),
            self.decoders,
            self.folder,
            settings=self.settings,
            progress=progress,
            server=self.server,
            tell=tell or (lambda line: progress(Told(line), 1, 1)),
        )
        what = "Texts" if self.prompt_tokens is None else "Prompts and texts"
        about = f"{what} were cut in tokens of {name}; the server does not show those of its model."
        corpora = {HUMAN: dataclasses.replace(human, notes=(*human.notes, about))}
        for spec, path in written.items():
            notes = tuple(f"{note}." for note in notes_on_file(self.model, parse_decoder(spec), path, self.server))
            answers = _candidate(spec, path, self.settings.repeats, notes, (FINISH_REASON,))
            corpora[spec] = cut_answers(answers, tokenizer, name, most)
        return corpora

    def _read(self) -> Corpus:
        """Return the human texts; read before a model is loaded, which takes longer than to find a wrong name."""
        file = self.human
        if self.prompt_tokens is not None and file.prompt_field is None:  # what was asked for, rather than a guess
            file = dataclasses.replace(file, prompt_field="")
        return file.read(HUMAN)

    def _cut(self, human: Corpus, tokenizer: Any) -> Corpus:
        """Return the human texts with their prompts, cut in tokens."""
        return cut_texts(human, tokenizer, self.prompt_tokens, self.settings.max_new_tokens)


def resolve_decoders(
    specs: Sequence[str], human: Corpus, loaded: LoadedModel, progress: Progress = silent
) -> list[str]:
    """Return the specs, with the human texts' perplexity under the model for ``adversarial``, to four digits."""
    if ADVERSARIAL not in specs:
        return list(specs)
    losses = negative_log_likelihoods(loaded, human.texts, human.prompts, progress=progress)
    perplexity = float(np.exp(np.concatenate(losses).mean()))
    return [f"{ADVERSARIAL}:ppl={perplexity:.4g}" if spec == ADVERSARIAL else spec for spec in specs]


def _candidate(spec: str, path: Path, repeats: int, notes: Sequence[str], more: Sequence[str] = ()) -> Corpus:
    """Return the texts generated under one decoder, with ``notes`` and ``more`` fields; empty texts are left out and
    named.
    """
    numbered = (GENERATION,) if repeats > 1 else ()
    corpus = TextFile(str(path), "text", "prompt", "id", ("decoder", "seed", *numbered, *more)).read(spec)
    why = written_once([spec]) if repeats > 1 else ""
    notes = (*corpus.notes, *notes, *([f"{why}."] if why else []))
    return dataclasses.replace(corpus, notes=notes)


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
