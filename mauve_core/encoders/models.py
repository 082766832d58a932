"""From a model's identity to a model in memory, ready to encode or to write.

GGUF files load slowly (about 20 s for 135 million weights), so the first use converts one into a plain checkpoint
under the user's home of the program; later uses load that in a fraction of a second.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mauve_core.config import Dtype
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.lanes import note_work
from mauve_core.errors import InputError, ModelUnavailableError
from mauve_core.files import close_to_others, home, make_folder, storage_errors

CONVERSION_FORMAT = 1
"""Part of a converted checkpoint's name; raised when the conversion itself changes."""


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode on its device.

    Attributes
    ----------
    model : transformers.PreTrainedModel
        With its language-model head when asked for, otherwise the bare model.
    tokenizer : transformers.PreTrainedTokenizerBase
        Always with a padding token.
    kind : {"causal", "masked"}
    device : str
        "cpu", "cuda:0", ...
    max_positions : int
        Longest sequence, special tokens included, that the model takes.
    default_pooling : {"last", "first", "mean"}
        What pooling "auto" stands for.
    identity : ModelIdentity
    """

    model: Any
    tokenizer: Any
    kind: Literal["causal", "masked"]
    device: str
    max_positions: int
    default_pooling: Literal["last", "first", "mean"]
    identity: ModelIdentity


def load_model(
    name: str,
    revision: str | None = None,
    dtype: Dtype = "float32",
    device: str = "auto",
    *,
    with_head: bool = False,
) -> LoadedModel:
    """Load a model by catalogue name, hub id, local folder or GGUF file.

    Parameters
    ----------
    name, revision : see :class:`mauve_core.config.EncoderConfig`
    dtype : {"float32", "bfloat16", "float16"}
    device : str
        "auto" takes the first CUDA device, else the CPU; or any name that torch knows.
    with_head : bool
        Load the language-model head too, to write with the model.

    Raises
    ------
    ModelUnavailableError
        The model is unknown or cannot be reached.
    InputError
        The model is neither causal nor masked, or the device does not exist.
    """
    identity = _language_model(name, revision)
    with _quiet_transformers():
        import torch
        from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer

        note_work()
        target = resolve_device(device)
        source = str(_plain_checkpoint(identity))
        options: dict[str, Any] = {"revision": identity.revision} if identity.kind == "hub" else {}
        try:
            config = AutoConfig.from_pretrained(source, **options)
            kind = _kind_of(config, name)
            if with_head and kind != "causal":
                raise InputError(f"The model {name} cannot write text", allowed="a causal language model")
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
            factory = AutoModelForCausalLM if with_head else AutoModel
            model = factory.from_pretrained(source, dtype=getattr(torch, dtype), **options)
        except (OSError, KeyError) as error:
            raise ModelUnavailableError(f"The model {name} cannot be loaded: {_first_line(error)}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    pooling: Literal["last", "first", "mean"] = "last" if kind == "causal" else "first"
    return LoadedModel(
        model=model.eval().requires_grad_(requires_grad=False).to(target),
        tokenizer=tokenizer,
        kind=kind,
        device=target,
        max_positions=_max_positions(config, tokenizer),
        default_pooling="mean" if identity.mean_pooling else pooling,
        identity=identity,
    )


def load_tokenizer(name: str, revision: str | None = None) -> Any:
    """The tokenizer of a model without its weights; only a GGUF file is converted first, once.

    Raises
    ------
    ModelUnavailableError
        The model is unknown or cannot be reached.
    InputError
        It is a file of word vectors, which has no tokenizer.
    """
    identity = _language_model(name, revision)
    with _quiet_transformers():
        from transformers import AutoTokenizer

        options: dict[str, Any] = {"revision": identity.revision} if identity.kind == "hub" else {}
        try:
            return AutoTokenizer.from_pretrained(str(_plain_checkpoint(identity)), **options)
        except (OSError, KeyError) as error:
            raise ModelUnavailableError(f"The tokenizer of {name} cannot be loaded: {_first_line(error)}") from error


def resolve_device(device: str) -> str:
    """The torch device that ``device`` stands for; InputError when this machine lacks it."""
    import torch

    if device == "auto":
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise InputError(f"No device named {device!r}", allowed="auto, cpu, cuda, cuda:0, ...") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError("This machine has no CUDA device", received=device, todo="Use --device cpu or auto")
    return device


def resolve_devices(device: str) -> tuple[str, ...]:
    """All torch devices that ``device`` stands for: "auto" and "cuda" are every CUDA device, and commas separate names.

    Raises
    ------
    InputError
        This machine lacks one of them.
    """
    import torch

    found: list[str] = []
    for name in (part.strip() for part in device.split(",")):
        one = resolve_device(name)
        every = name == "cuda" or (name == "auto" and one != "cpu")
        found += [f"cuda:{index}" for index in range(torch.cuda.device_count())] if every else [one]
    return tuple(found)


def replicas(loaded: LoadedModel, devices: Sequence[str]) -> list[LoadedModel]:
    """The model on each of ``devices``, of which the first is its own."""
    copies = (replace(loaded, model=deepcopy(loaded.model).to(name), device=name) for name in devices[1:])
    return [loaded, *copies]


def _language_model(name: str, revision: str | None) -> ModelIdentity:
    """The model's identity; InputError where the name stands for word vectors."""
    identity = identify(name, revision)
    if identity.kind == "word-vectors":
        raise InputError(
            f"{name} is a file of word vectors, which has no tokenizer and can neither write nor score texts",
            allowed="a language model: catalogue name, hub id, folder or GGUF file",
        )
    return identity


def _plain_checkpoint(identity: ModelIdentity) -> Path | str:
    """Where transformers can load the model from: GGUF files are converted first, once."""
    if not identity.location.endswith(".gguf"):
        return identity.location
    folder = home() / "models" / f"{Path(identity.location).stem}-{identity.digest[:16]}-{CONVERSION_FORMAT}"
    if not (folder / "config.json").exists():
        _convert_gguf(Path(identity.location), folder)
    return folder


def _convert_gguf(gguf: Path, folder: Path) -> None:
    """Write the GGUF file's weights (as float32) and tokenizer into ``folder``, whole or not at all."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    logging.getLogger(__name__).info("Converting %s into a plain checkpoint (once, about 20 s)", gguf.name)
    with storage_errors(folder):
        make_folder(folder.parent)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
            quantised = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        except (OSError, ValueError, KeyError) as error:
            raise ModelUnavailableError(f"The GGUF file {gguf} cannot be read: {_first_line(error)}") from error
        settings = {name: value for name, value in quantised.config.to_dict().items() if name != "quantization_config"}
        plain = AutoModelForCausalLM.from_config(type(quantised.config).from_dict(settings))
        plain.load_state_dict(quantised.state_dict())
        with storage_errors(folder):
            plain.save_pretrained(scratch)
            tokenizer.save_pretrained(scratch)
            close_to_others(scratch)
            if not folder.exists():  # another process may have been faster
                os.replace(scratch, folder)  # noqa: PTH105 (a folder, renamed in one step)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


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
        allowed="causal language models (GPT-2, Llama, ...) and masked ones (BERT, RoBERTa, ...)",
    )


def _max_positions(config: Any, tokenizer: Any) -> int:
    """The smaller of what the model's positions and its tokenizer allow."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions is not None and config.model_type in {"roberta", "xlm-roberta", "camembert"}:
        positions -= config.pad_token_id + 1  # these models count positions from the padding id on
    return int(min(positions or tokenizer.model_max_length, tokenizer.model_max_length))


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Keep loading bars and load reports of transformers off the terminal, and restore them afterwards."""
    from transformers.utils import logging as transformers_logging

    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
