"""A model whose weights are not read yet: what its files say, and its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mauve_core.base.config import Precision
from mauve_core.base.errors import InputError
from mauve_core.base.extras import require
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import IMAGE_ENCODERS, ModelIdentity, folder_named, identify
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.gguf_files import converted, converted_tokenizer
from mauve_core.encoders.hub_files import hub_file, hub_snapshot, hub_tokenizer
from mauve_core.encoders.loading import load_config, load_tokenizer_files
from mauve_core.encoders.model_files import CONFIG, damaged, files_in, require_plain_files, transformer_folder
from mauve_core.encoders.pooling import TokenPooling
from mauve_core.encoders.quiet import quiet_libraries
from mauve_core.encoders.sentence_modules import SentenceRecipe
from mauve_core.encoders.text_ends import TextEnds, read_text_ends
from mauve_core.encoders.worker_pool import note_work


@dataclass(frozen=True, kw_only=True)
class OpenModel:
    """A model whose weights are not read yet: what is needed to tokenize texts for it.

    Attributes
    ----------
    folder : Path
        What transformers loads.
    config : transformers.PretrainedConfig
    tokenizer : transformers.PreTrainedTokenizerBase
    kind : {"causal", "masked"}
    dtype : {"float32", "tf32", "bfloat16", "float16"}
        Of the weights; "tf32" keeps them in float32.
    device : str
        Where the weights go: "cpu", "cuda:0", ...
    max_positions : int
        Longest sequence that the model takes, special tokens included.
    default_pooling : {"last", "first"}
        Meaning of pooling "auto" if the model's own files do not say.
    identity : ModelIdentity
    poolings : tuple of str
        Kinds of pooling whose vectors are concatenated; empty until :func:`with_pooling` chooses.
    prompt : str
        Prefix of each text.
    recipe : SentenceRecipe or None
        Set if the poolings come from the model's own files.
    notes : tuple of str
        What a reader of the features must know.
    """

    folder: Path
    config: Any
    tokenizer: Any
    kind: Literal["causal", "masked"]
    dtype: Precision
    device: str
    max_positions: int
    default_pooling: Literal["last", "first"]
    identity: ModelIdentity
    poolings: tuple[TokenPooling, ...] = ()
    prompt: str = ""
    recipe: SentenceRecipe | None = None
    notes: tuple[str, ...] = ()

    @property
    def pooled(self) -> str:
        """What is done to the vectors of a text's tokens: a kind of pooling, or the recipe's words."""
        return "+".join(self.poolings) if self.recipe is None else self.recipe.in_words()


def open_model(
    name: str,
    revision: str | None = None,
    dtype: Precision = "float32",
    device: str = "auto",
    *,
    progress: Progress = silent,
) -> OpenModel:
    """Load all of a model but its weights; parameters and errors are those of ``models.load_model``."""
    require("transformers")
    identity = language_model(name, revision)
    if identity.adapter is not None:
        require("peft")
    target = resolve_device(device)
    with quiet_libraries():
        note_work()
        folder = checked_folder(identity, progress)
        config = load_config(folder, name)
        kind = _kind_of(config, name)
        tokenizer = load_tokenizer_files(folder, name)
        return OpenModel(
            folder=folder,
            config=config,
            tokenizer=tokenizer,
            kind=kind,
            dtype=dtype,
            device=target,
            max_positions=_max_positions(config, tokenizer, folder),
            default_pooling="last" if kind == "causal" else "first",
            identity=identity,
        )


def ends_of(opened: OpenModel) -> TextEnds:
    """Return where the texts of a model that is to write end; InputError if it is not causal."""
    name = opened.identity.name
    if opened.kind != "causal":
        raise InputError(f"The model {name} cannot generate text", allowed="a causal language model")
    return read_text_ends(opened.folder, name, opened.config, opened.tokenizer)


def tokenizer_folder(name: str, revision: str | None) -> Path:
    """Return the folder of the model's tokenizer; convert that of a GGUF file or fetch that of a hub model first."""
    folder = folder_named(name)
    if folder is not None and not any(folder.glob("*.gguf")):
        return folder / transformer_folder(files_in(folder))
    identity = language_model(name, revision)
    if identity.location.endswith(".gguf"):
        return converted_tokenizer(identity)
    if identity.kind == "hub":
        hub, commit = identity.location, identity.revision or "main"
        return hub_tokenizer(hub, commit, transformer_folder(lambda file: hub_file(hub, commit, file)))
    return _plain_folder(identity, silent)


def language_model(name: str, revision: str | None) -> ModelIdentity:
    """Return the model's identity; InputError if the name stands for word vectors or a server."""
    identity = identify(name, revision)
    if identity.kind == "word-vectors":
        raise InputError(
            f"{name} is a file of word vectors, which has no tokenizer and can neither generate nor score texts",
            allowed="a language model: catalog name, hub id, folder or GGUF file",
        )
    if identity.name in IMAGE_ENCODERS:
        raise InputError(
            f"{name} encodes images, not texts",
            allowed="a language model: catalog name, hub id, folder or GGUF file",
            received=name,
        )
    if identity.kind == "server":
        raise InputError(
            "A model behind a server cannot be loaded here, and a server neither scores texts nor shows its tokens",
            allowed="a language model: catalog name, hub id, folder or GGUF file",
            received=name,
        )
    return identity


def checked_folder(identity: ModelIdentity, progress: Progress = silent) -> Path:
    """Return the folder that transformers can load, after checking that all files are regular."""
    folder = _plain_folder(identity, progress)
    require_plain_files(folder)
    return folder


def _plain_folder(identity: ModelIdentity, progress: Progress) -> Path:
    """Return the model's folder; convert a GGUF file or fetch a hub model first."""
    if identity.location.endswith(".gguf"):
        return converted(identity.base, progress)
    if identity.kind == "hub":
        name, commit = identity.location, identity.revision or "main"
        return hub_snapshot(name, commit, transformer_folder(lambda file: hub_file(name, commit, file)))
    folder = Path(identity.location)
    return folder / transformer_folder(files_in(folder))


def _kind_of(config: Any, name: str) -> Literal["causal", "masked"]:
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    architectures = " ".join(config.architectures or ())
    if "CausalLM" in architectures or "LMHead" in architectures:
        return "causal"
    if "MaskedLM" in architectures or config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return "masked"
    if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return "causal"
    raise InputError(
        f"The model {name} is of type {config.model_type}",
        allowed="causal language models (GPT-2, Llama, ...) and masked language models (BERT, RoBERTa, ...)",
    )


def _max_positions(config: Any, tokenizer: Any, folder: Path) -> int:
    """Return the smaller of the model's positions and the tokenizer's limit."""
    positions = getattr(config, "max_position_embeddings", getattr(config, "n_positions", None))
    padding = config.pad_token_id if config.model_type in {"roberta", "xlm-roberta", "camembert"} else -1
    if not isinstance(positions, int | None) or not isinstance(padding, int):
        raise damaged(folder / CONFIG, f"{positions!r} positions, padding {padding!r}", "whole numbers")
    if positions is not None:
        positions -= padding + 1  # these models count positions from the padding id
        if positions < 1:
            raise damaged(folder / CONFIG, f"it leaves {positions} positions", "a whole number of at least 1")
    return int(min(positions or tokenizer.model_max_length, tokenizer.model_max_length))
