"""Load a model by its identity, ready to encode or to write."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from mauve_core.base.config import Pooling, Precision
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.extras import require
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.adapters import merge_adapter
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.hub_files import is_known
from mauve_core.encoders.loading import check_vocabulary, load_config, load_tokenizer_files, load_weights
from mauve_core.encoders.model_files import CONFIG, MODULES, require_plain_files
from mauve_core.encoders.opening import OpenModel, ends_of, open_model, tokenizer_folder
from mauve_core.encoders.pooling import resolve_pooling
from mauve_core.encoders.quiet import quiet_libraries
from mauve_core.encoders.sentence_modules import SentenceRecipe
from mauve_core.encoders.sentence_steps import Apply, load_steps
from mauve_core.encoders.text_ends import TextEnds


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
