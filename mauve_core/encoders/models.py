"""Load a model by its identity, ready to encode or to write."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal

from mauve_core.base.config import Pooling, Precision
from mauve_core.base.errors import ModelUnavailableError
from mauve_core.base.extras import require
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.adapters import merge_adapter
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.devices import resolve_device
from mauve_core.encoders.hub_files import is_known
from mauve_core.encoders.loading import check_vocabulary, load_config, load_tokenizer_files, load_weights
from mauve_core.encoders.model_files import CONFIG, MODULES, require_plain_files
from mauve_core.encoders.model_reading import language_model, read_files, tokenizer_folder
from mauve_core.encoders.pooling import TokenPooling, resolve_pooling
from mauve_core.encoders.quiet import quiet_libraries
from mauve_core.encoders.sentence_modules import SentenceRecipe
from mauve_core.encoders.sentence_steps import Apply, load_steps
from mauve_core.encoders.worker_pool import note_work


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode on its device.

    Attributes
    ----------
    model : transformers.PreTrainedModel
        With its language-model head if requested, otherwise the bare model.
    tokenizer : transformers.PreTrainedTokenizerBase
        Always with a padding token.
    kind : {"causal", "masked"}
    device : str
        "cpu", "cuda:0", ...
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
    steps : sequence of callables
        Applied to pooled vectors, (rows, d) float32 on the device.
    notes : tuple of str
        What a reader of the features must know.
    writing_notes : tuple of str
        What a reader of the texts that the model writes must know.
    """

    model: Any
    tokenizer: Any
    kind: Literal["causal", "masked"]
    device: str
    max_positions: int
    default_pooling: Literal["last", "first"]
    identity: ModelIdentity
    poolings: tuple[TokenPooling, ...] = ()
    prompt: str = ""
    recipe: SentenceRecipe | None = None
    steps: Sequence[Apply] = ()
    notes: tuple[str, ...] = ()
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
    require("transformers")
    identity = language_model(name, revision)
    if identity.adapter is not None:
        require("peft")
    target = resolve_device(device)
    with quiet_libraries():
        import torch

        note_work()
        files = read_files(identity, with_head=with_head, progress=progress)
        weights = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
        model = load_weights(files.folder, name, files.config, weights, with_head=with_head, ends=files.ends.ids)
        if identity.adapter is not None:
            merge_adapter(model, identity.adapter, name)
    loaded = LoadedModel(
        model=model.eval().requires_grad_(requires_grad=False).to(target),
        tokenizer=files.tokenizer,
        kind=files.kind,
        device=target,
        max_positions=files.max_positions,
        default_pooling="last" if files.kind == "causal" else "first",
        identity=identity,
        writing_notes=files.ends.notes,
    )
    check_vocabulary(loaded.known_tokens, files.tokenizer, name)
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


def with_pooling(loaded: LoadedModel, pooling: Pooling, recipe: SentenceRecipe | None) -> LoadedModel:
    """Return the model with its pooling.

    Parameters
    ----------
    loaded : LoadedModel
        Its tokenizer lower-cases from now on if the recipe says so.
    pooling : {"auto", "last", "first", "mean"}
    recipe : SentenceRecipe or None
        What "auto" means according to the model's own files.

    Raises
    ------
    ModelUnavailableError
        Weights of the recipe are damaged or do not fit.
    """
    if recipe is None:
        resolved, notes = resolve_pooling(pooling, loaded.default_pooling), loaded.notes
        if pooling == "auto" and not _is_kind_known(loaded.identity):
            notes += (
                f"{loaded.identity.name} is pooled by its {resolved} token; whether it has a modules.json that says "
                "otherwise is not known on this machine, and the hub did not answer",
            )
        return replace(loaded, poolings=(resolved,), notes=notes)
    if recipe.lower_case:
        _lower_case(loaded)
    return replace(
        loaded,
        max_positions=min(loaded.max_positions, recipe.max_tokens or loaded.max_positions),
        poolings=recipe.poolings,
        prompt=recipe.prompt,
        recipe=recipe,
        steps=_steps(loaded, recipe, loaded.device),
        notes=(f"{loaded.identity.name} is encoded as its modules.json specifies: {recipe.in_words()}",),
    )


def _is_kind_known(identity: ModelIdentity) -> bool:
    """Return whether this machine knows if the model is a sentence-transformers model."""
    return identity.kind != "hub" or is_known(identity.location, identity.revision or "main", MODULES)


def replicas(loaded: LoadedModel, devices: Sequence[str]) -> list[LoadedModel]:
    """Return the model on each of ``devices``; the first must be its own."""
    copies = [replace(loaded, model=deepcopy(loaded.model).to(name), device=name) for name in devices[1:]]
    if loaded.recipe is not None:
        copies = [replace(copy, steps=_steps(copy, loaded.recipe, copy.device)) for copy in copies]
    return [loaded, *copies]


def _steps(loaded: LoadedModel, recipe: SentenceRecipe, device: str) -> list[Apply]:
    width = len(recipe.poolings) * int(loaded.model.config.get_text_config().hidden_size)
    return load_steps(recipe.steps, width, device)


def _lower_case(loaded: LoadedModel) -> None:
    """Lower-case texts before any other step, but not the special tokens that they contain."""
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as Normalizers

    backend = getattr(loaded.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelUnavailableError(
            f"The tokenizer of {loaded.identity.name} cannot lowercase texts, which its files require",
            todo="Choose the pooling yourself: --pooling mean, last or first",
        )
    before = [] if backend.normalizer is None else [backend.normalizer]
    backend.normalizer = Normalizers([Lowercase(), *before])
