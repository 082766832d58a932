"""Open a model by its identity: first what its files say and its tokenizer, then its weights, ready to encode or write.

generation_config.json may hold settings that change every text, such as a repetition penalty, and transformers merges
them into what its caller asks for. A decoder follows its own parameters alone, so the ids of special tokens, which say
where texts end, are all that is taken from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mauve_core.base.config import Pooling, Precision
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.extras import require
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.adapters import merge_adapter
from mauve_core.encoders.batching import note_work
from mauve_core.encoders.catalogue import IMAGE_ENCODERS, ModelIdentity, folder_named, identify
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.gguf_files import converted, converted_tokenizer
from mauve_core.encoders.hub import hub_file, hub_snapshot, hub_tokenizer, is_known, quiet_libraries
from mauve_core.encoders.loading import check_vocabulary, load_config, load_tokenizer_files, load_weights
from mauve_core.encoders.model_files import (
    CONFIG,
    MODULES,
    damaged,
    files_in,
    read_object,
    require_plain_files,
    transformer_folder,
)
from mauve_core.encoders.pooling import Apply, SentenceRecipe, TokenPooling, load_steps, resolve_pooling

GENERATION = "generation_config.json"

END = "eos_token_id"
IDS = (END, "bos_token_id", "pad_token_id")

# Values with which a setting changes nothing; any other one is off if it is 0, false, empty or null, except that 0 may
# be a token's id.
NEUTRAL = {
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "num_beams": 1,
    "num_beam_groups": 1,
    "num_return_sequences": 1,
    "num_assistant_tokens": 20,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": 0.4,
    "assistant_lookbehind": 10,
    "target_lookbehind": 10,
}

# Settings that nobody misses: how long a text may become is always declared, and the others affect only speed.
NO_MATTER = frozenset(
    {
        *IDS,
        *("max_length", "max_new_tokens", "transformers_version", "_from_model_config"),
        *("use_cache", "cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size", "low_memory"),
        *("output_attentions", "output_hidden_states", "output_scores", "output_logits", "return_dict_in_generate"),
        *("compile_config", "disable_compile", "continuous_batching_config"),
    }
)

MOST_NAMED = 6


@dataclass(frozen=True)
class TextEnds:
    """Ids of the tokens that end a text, none if nothing does, and what a reader of the texts must know."""

    ids: tuple[int, ...]
    notes: tuple[str, ...]


def read_text_ends(folder: Path, name: str, config: Any, tokenizer: Any) -> TextEnds:
    """Return where the texts of the model in ``folder`` end.

    The first of generation_config.json, the model's configuration and its tokenizer that names tokens decides. Default
    ids of a configuration that the vocabulary does not reach are ignored.

    Raises
    ------
    ModelUnavailableError
        generation_config.json is damaged, or names other ids than whole numbers within the vocabulary.
    """
    path = folder / GENERATION
    path = path if path.exists() else folder / CONFIG
    stated = read_object(path)
    text_config = config.get_text_config()
    known = int(getattr(text_config, "vocab_size", None) or len(tokenizer))
    for key in IDS:
        value = stated.get(key)
        default = value == getattr(config, key, None) or value == getattr(text_config, key, None)
        if value is not None and not default and _ids(value, known, several=key == END) is None:
            raise damaged(path, f"{key} = {str(value)[:40]}", f"whole numbers from 0 to {known - 1:,}")
    choices = (stated.get(END), getattr(config, END, None), getattr(text_config, END, None), tokenizer.eos_token_id)
    ids = next((found for value in choices if (found := _ids(value, known, several=True))), ())
    asked = _asked(stated)
    note = (
        f"The settings for generation in the {path.name} of {name} are passed over, since a decoder follows its own "
        f"parameters alone: {asked}"
    )
    return TextEnds(ids, (note,) if asked else ())


def _ids(value: Any, known: int, *, several: bool) -> tuple[int, ...] | None:
    """Return the value as ids, one or more; None if it is anything else."""
    ids = tuple(value) if several and isinstance(value, list) else (value,)
    return ids if ids and all(type(each) is int and 0 <= each < known for each in ids) else None


def _asked(settings: Mapping[str, Any]) -> str:
    """Return the settings that would change texts, with their values where these are short."""
    from transformers import GenerationConfig

    known = vars(GenerationConfig()).keys() - NO_MATTER
    asked = [
        f"{key} = {value}" if isinstance(value, int | float) else key
        for key, value in settings.items()
        if key in known and not _is_off(key, value)
    ]
    more = f" and {len(asked) - MOST_NAMED} more" if len(asked) > MOST_NAMED else ""
    return ", ".join(asked[:MOST_NAMED]) + more


def _is_off(key: str, value: Any) -> bool:
    return value is None or (not value and not key.endswith("_id")) or value == NEUTRAL.get(key)


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
    """Load all of a model but its weights; parameters and errors are those of :func:`load_model`."""
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


@dataclass(frozen=True, kw_only=True)
class LoadedModel(OpenModel):
    """A model in evaluation mode on its device, with a tokenizer that has a padding token.

    Attributes
    ----------
    model : transformers.PreTrainedModel
        With its language-model head if requested, otherwise the bare model.
    steps : sequence of callables
        Applied to pooled vectors, (rows, d) float32 on the device.
    writing_notes : tuple of str
        What a reader of the texts that the model writes must know.
    """

    model: Any
    steps: Sequence[Apply] = ()
    writing_notes: tuple[str, ...] = ()

    @property
    def known_tokens(self) -> int:
        """Number of tokens that have an embedding."""
        return int(self.model.get_input_embeddings().num_embeddings)


def load_model(
    name: str,
    revision: str | None = None,
    dtype: Precision = "float32",
    device: str = "auto",
    *,
    with_head: bool = False,
    progress: Progress = silent,
) -> LoadedModel:
    """Load a model by catalog name, hub id, local folder or GGUF file; an adapter is merged into its base.

    Parameters
    ----------
    name, revision : see :class:`mauve_core.base.config.EncoderConfig`
    dtype : {"float32", "tf32", "bfloat16", "float16"}
        Of the weights; "tf32" keeps them in float32.
    device : str
        "auto" takes the first CUDA device, else the CPU; or any torch device name.
    with_head : bool
        Load the language-model head too, to write with the model.
    progress : callable
        Called as ``progress("Converting the GGUF file", tensors done, tensors)`` at the first use of such a file.

    Raises
    ------
    ModelUnavailableError
        The model is unknown, cannot be reached, is damaged, or lacks weights or its tokenizer.
    InputError
        torch or transformers is not installed; the model is neither causal nor masked, or does not fit into memory; or
        the device does not exist.
    """
    return with_weights(open_model(name, revision, dtype, device, progress=progress), with_head=with_head)


def with_weights(opened: OpenModel, *, with_head: bool = False) -> LoadedModel:
    """Read the weights of a model; parameters and errors are those of :func:`load_model`.

    Texts may be tokenized meanwhile: of the tokenizer, only the name of its padding token changes.
    """
    import torch

    name, folder, config = opened.identity.name, opened.folder, opened.config
    with quiet_libraries():
        dtype = torch.float32 if opened.dtype == "tf32" else getattr(torch, opened.dtype)
        ends = ends_of(opened) if with_head else TextEnds((), ())
        adapter = opened.identity.adapter
        # An adapter is merged on the CPU, for the same weights on every device.
        place = opened.device if adapter is None and opened.device.startswith("cuda") else "cpu"
        try:
            model = load_weights(folder, name, config, dtype, with_head=with_head, ends=ends.ids, device=place)
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"The model {name} does not fit in the memory of {place}",
                todo="Choose a smaller model, --dtype bfloat16, or --device cpu",
            ) from error
        if adapter is not None:
            merge_adapter(model, adapter, name)
    loaded = LoadedModel(
        **vars(opened),
        model=model.eval().requires_grad_(requires_grad=False).to(opened.device),
        steps=_steps(opened, opened.device),
        writing_notes=ends.notes,
    )
    check_vocabulary(loaded.known_tokens, opened.tokenizer, name)
    return loaded


def load_tokenizer(name: str, revision: str | None = None) -> Any:
    """Load the tokenizer of a model, whose weights are neither read nor fetched; a folder may lack them.

    Raises
    ------
    ModelUnavailableError
        The model is unknown, cannot be reached, or lacks its tokenizer.
    InputError
        transformers is not installed; or it is a file of word vectors or a server, which have no tokenizer.
    StorageError
        The tokenizer of a GGUF file, which is converted at its first use, cannot be stored.
    """
    require("transformers")
    with quiet_libraries():
        folder = tokenizer_folder(name, revision)
        require_plain_files(folder)
        if (folder / CONFIG).exists():
            load_config(folder, name)
        return load_tokenizer_files(folder, name)


def with_pooling(opened: OpenModel, pooling: Pooling, recipe: SentenceRecipe | None) -> OpenModel:
    """Return the model with its pooling.

    Parameters
    ----------
    opened : OpenModel
        Its tokenizer lower-cases from now on if the recipe says so.
    pooling : {"auto", "last", "first", "mean"}
    recipe : SentenceRecipe or None
        What "auto" means according to the model's own files.

    Raises
    ------
    ModelUnavailableError
        The recipe lower-cases texts, and the tokenizer cannot.
    """
    if recipe is None:
        resolved, notes = resolve_pooling(pooling, opened.default_pooling), opened.notes
        if pooling == "auto" and not _is_kind_known(opened.identity):
            notes += (
                f"{opened.identity.name} is pooled by its {resolved} token; whether it has a modules.json that says "
                "otherwise is not known on this machine, and the hub did not answer",
            )
        return replace(opened, poolings=(resolved,), notes=notes)
    if recipe.lower_case:
        _lower_case(opened)
    return replace(
        opened,
        max_positions=min(opened.max_positions, recipe.max_tokens or opened.max_positions),
        poolings=recipe.poolings,
        prompt=recipe.prompt,
        recipe=recipe,
        notes=(f"{opened.identity.name} is encoded as its modules.json specifies: {recipe.in_words()}",),
    )


def _is_kind_known(identity: ModelIdentity) -> bool:
    """Return whether this machine knows if the model is a sentence-transformers model."""
    return identity.kind != "hub" or is_known(identity.location, identity.revision or "main", MODULES)


def replicas(loaded: LoadedModel, devices: Sequence[str]) -> list[LoadedModel]:
    """Return the model on each of ``devices``; the first must be its own."""
    copies = [
        replace(loaded, model=deepcopy(loaded.model).to(name), device=name, steps=_steps(loaded, name))
        for name in devices[1:]
    ]
    return [loaded, *copies]


def _steps(opened: OpenModel, device: str) -> list[Apply]:
    if opened.recipe is None:
        return []
    width = len(opened.recipe.poolings) * int(opened.config.get_text_config().hidden_size)
    return load_steps(opened.recipe.steps, width, device)


def _lower_case(opened: OpenModel) -> None:
    """Lower-case texts before any other step, but not the special tokens that they contain."""
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as Normalizers

    backend = getattr(opened.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelUnavailableError(
            f"The tokenizer of {opened.identity.name} cannot lowercase texts, which its files require",
            todo="Choose the pooling yourself: --pooling mean, last or first",
        )
    before = [] if backend.normalizer is None else [backend.normalizer]
    backend.normalizer = Normalizers([Lowercase(), *before])
