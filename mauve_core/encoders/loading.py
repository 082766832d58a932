"""Load untrusted models and tokenizers from folders with transformers, without their code and within budgets.

transformers interprets a folder; this module adds the restrictions. A model's Python code never runs, and the user is
not asked whether it may. Nothing is fetched: hub models are already in a folder. A configuration cannot create more
modules or numbers than the weights on disk hold. Every weight comes from disk: a missing, extra or misshapen one is an
error, with three exceptions. The pooler of a model like BERT may be missing, since its output is not used. Heads on
top of the bare model may be extra. So may buffers that are not learned and that the model creates itself, such as
masks and positions, which older versions saved.

What older versions of transformers leave to this program (types of settings, a model without memory for its weights,
GPT-2's own scales, special tokens of GGUF files) is seen in the library, not in its number.
"""

from __future__ import annotations

import inspect
import json
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, MauveLensError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.encoders.model_files import (
    CONFIG,
    VOCABULARIES,
    StoredWeights,
    damaged,
    find_weights,
    read_config,
    read_object,
    whole_number_tensors,
)

# The settings of rotary embeddings in the configurations that transformers 5 saves; before, they had several names.
ROTARY = "rope_parameters"


def is_older() -> bool:
    """Return whether the installed transformers does not know ``rope_parameters``, which version 5 introduced."""
    from transformers import modeling_rope_utils

    return not hasattr(modeling_rope_utils, "RopeParameters")


def check_settings(values: Mapping[str, Any], config: Any, path: Path) -> None:
    """Refuse what an older transformers would misread or fail at later.

    ``values`` is the content of the file ``path``, ``config`` what transformers made of it.

    Raises
    ------
    ModelUnavailableError
        A word stands where the type of the model has a number, or the rotary embeddings are set as from version 5 on.
    """
    if is_older() and values.get(ROTARY):
        raise ModelUnavailableError(
            f"The model's settings in {path} have {ROTARY}, which the installed transformers would leave out",
            todo="Install a newer one: pip install 'transformers>=5'",
        )
    for name, parameter in inspect.signature(type(config).__init__).parameters.items():
        number = isinstance(parameter.default, int | float) and not isinstance(parameter.default, bool)
        if number and isinstance(values.get(name), str):
            raise damaged(path, f"{name} is {values[name]!r}", f"a number, such as {parameter.default}")


def skeleton(factory: Any, config: Any) -> Any | None:
    """Return the model without memory for its weights; None if transformers builds it so before it loads them.

    ``factory`` is transformers' AutoModel, a class like it, or that of a model.
    """
    if not is_older():
        return None
    import torch

    with torch.device("meta"):
        if hasattr(factory, "from_config"):
            return factory.from_config(config, trust_remote_code=False)
        return factory(config)


def correct_special_tokens(tokenizer: Any, config: Any) -> None:
    """Give the tokenizer of a GGUF file the special tokens that the file names; ``config`` is what the file says.

    Before version 5, one is put before each text of a Llama, whatever the file says, and no longer.
    """
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        index = getattr(config, f"{name}_id", None)
        if isinstance(index, int) and 0 <= index < len(tokenizer):
            setattr(tokenizer, name, tokenizer.convert_ids_to_tokens(index))
    if is_older() and getattr(tokenizer, "add_bos_token", False):
        tokenizer.add_bos_token = False


def attend_with_own_scales(model: Any) -> None:
    """Let a GPT-2 with scales of its own attend by the code that heeds them.

    The others are ``scale_attn_weights`` = false and ``scale_attn_by_inverse_layer_idx`` = true.
    """
    config = model.config
    if config.model_type != "gpt2" or (config.scale_attn_weights and not config.scale_attn_by_inverse_layer_idx):
        return
    if not all(hasattr(layer.attn, "scaling") for layer in model.base_model.h):
        model.set_attn_implementation("eager")


# Maximum modules of a model; one of 61 layers with 256 experts each has about 100,000.
MOST_MODULES = 200_000

# Numbers that a model may have beyond twice those on disk: tied embeddings count twice while it is built, a pooler may
# be missing, and buffers such as masks are not weights.
SPARE_NUMBERS = 50_000_000

# Layers that a configuration may always declare; an error then names the missing weights.
ALWAYS_FINE = 100

# Vocabularies that transformers reads instead of a tokenizer's own files.
CONVERTED = ("tekken.json", "tokenizer.model*", "tiktoken.model")

# Maximum of that by which replacements make a text longer; models replace a character by three or so.
MOST_GROWTH = 1000

SIZES = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")

# Ends of the names of weights in files, whatever the model calls them; older files also hold masks named bias.
NAMED_WEIGHTS = (".weight", ".gamma", ".beta")

# Name suffix in GPT-2 checkpoints from before 2023: the constant that the attention mask inserts.
MASK = ".masked_bias"

SAFE = {"trust_remote_code": False, "local_files_only": True}


def load_config(folder: Path, name: str) -> Any:
    """Return transformers' configuration of the model in ``folder``.

    Raises
    ------
    ModelUnavailableError, InputError
        See :func:`mauve_core.encoders.model_files.read_config`; or the type is unknown, or settings conflict.
    """
    values = read_config(folder)
    from transformers import AutoConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if values["model_type"] not in CONFIG_MAPPING_NAMES:
        if values.get("auto_map"):
            raise _own_code(name, folder / CONFIG)
        raise damaged(folder / CONFIG, f"transformers does not know model_type {values['model_type']!r}")
    with third_party(f"The configuration of the model {name} ({folder / CONFIG})", name, folder):
        config = AutoConfig.from_pretrained(str(folder), **SAFE)
        text = config.get_text_config()
    if not hasattr(text, "to_dict"):  # settings that no class of transformers has made its own
        raise damaged(folder / CONFIG, f"a model of type {values['model_type']} has no text_config")
    sizes = {size: getattr(text, size, None) for size in SIZES}
    for size, value in sizes.items():
        if isinstance(value, int) and value < 1:
            raise damaged(folder / CONFIG, f"{size} = {value}", "whole numbers of at least 1")
    check_settings(values, config, folder / CONFIG)
    return config


def load_tokenizer_files(folder: Path, name: str) -> Any:
    """Return the tokenizer in ``folder``.

    Raises
    ------
    ModelUnavailableError
        Its files are missing or damaged, or it requires code of its own.
    """
    from transformers import AutoTokenizer

    settings = folder / "tokenizer_config.json"
    if settings.exists():
        read_object(settings)
    if not any(path.name != settings.name for pattern in VOCABULARIES for path in folder.glob(pattern)):
        raise _no_tokenizer(folder, " or ".join(VOCABULARIES))
    with third_party(f"The tokenizer of the model {name} in {folder}", name, folder):
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **SAFE)
    files = dict(getattr(tokenizer, "vocab_files_names", {}) or {})
    tokenizer_file = files.pop("tokenizer_file", None)
    others = any(True for pattern in CONVERTED for _ in folder.glob(pattern))
    complete = others or (tokenizer_file is not None and (folder / tokenizer_file).exists())
    if not complete and not all((folder / file).exists() for file in files.values()):
        # transformers would create an empty tokenizer, which knows no text.
        raise _no_tokenizer(folder, " and ".join(files.values()) + (f", or {tokenizer_file}" if tokenizer_file else ""))
    growth = _growth(tokenizer)
    if growth > MOST_GROWTH:
        what = f"its normalizers make texts up to {growth:,} times as long"
        raise damaged(folder / "tokenizer.json", what, f"up to {MOST_GROWTH:,} times")
    longest = tokenizer.model_max_length
    if isinstance(longest, bool) or not isinstance(longest, int | float) or not longest >= 1:
        raise damaged(settings, f"model_max_length is {longest!r}", "a number of at least 1")
    return tokenizer


def load_weights(
    folder: Path,
    name: str,
    config: Any,
    dtype: Any,
    *,
    with_head: bool,
    ends: Sequence[int] = (),
    device: str = "cpu",
    factory: Any = None,
) -> Any:
    """Return the model in ``folder``, whose texts end with one of the tokens ``ends``.

    A class of transformers may be named as ``factory``; without one, it is chosen by the configuration. To another
    ``device`` than the CPU, each weight goes as it is read, from several threads.

    Raises
    ------
    ModelUnavailableError, InputError
        Not all weights are from there; or another device needs accelerate, which is not installed.
    """
    from transformers import AutoModel, AutoModelForCausalLM, GenerationConfig

    values = read_config(folder)
    stored = find_weights(folder, values)
    integers = set() if values.get("quantization_config") else set().union(*map(whole_number_tensors, stored.files))
    layers = getattr(config.get_text_config(), "num_hidden_layers", None) or 0
    if layers > max(stored.tensors, ALWAYS_FINE):
        raise damaged(
            folder / CONFIG, f"it declares {layers:,} layers, but its weights hold {stored.tensors:,} tensors"
        )
    factory = factory or (AutoModelForCausalLM if with_head else AutoModel)
    own: dict[str, Any] = {}
    if with_head:
        own["generation_config"] = GenerationConfig(eos_token_id=list(ends) or None)
    if device != "cpu":
        require("accelerate")
        own["device_map"] = {"": device}
    where = str(stored.files[0] if len(stored.files) == 1 else folder)
    with third_party(f"The model {name} in {folder}", name, folder):
        with building_budget(stored, dtype.itemsize, name):
            empty = skeleton(factory, config)
        if empty is not None:
            _refuse_whole_numbers(empty, integers, where)
    with third_party(f"The model {name} in {folder}", name, folder), building_budget(stored, dtype.itemsize, name):
        model, info = factory.from_pretrained(
            str(folder),
            config=config,
            dtype=dtype,
            weights_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **own,
            **SAFE,
        )
        attend_with_own_scales(model)
    check_loaded(model, info, where, integers)
    return model


def check_loaded(model: Any, info: Mapping[str, Any], where: str, integers: Collection[str] = ()) -> None:
    """Refuse a model with weights that are not from its files, without some that are, or with rounded ones.

    ``info`` is transformers' ``output_loading_info``; ``where`` names the files in messages; ``integers`` are the
    tensors in them that hold whole numbers, as masks and positions may.

    Raises
    ------
    ModelUnavailableError
        Names the weights.
    """
    base = model.base_model
    prefix = f"{model.base_model_prefix}."
    own = {name.split(".")[0] for name in (*base.state_dict(), *(child for child, _ in base.named_children()))}

    def is_head(key: str) -> bool:
        return not key.startswith(prefix) and key.split(".")[0] not in own

    buffers = {name.removeprefix(prefix) for name, _ in model.named_buffers()}

    def is_buffer(key: str) -> bool:
        return key.removeprefix(prefix) in buffers or key.endswith(MASK)

    missing = sorted(key for key in info["missing_keys"] if not key.removeprefix(prefix).startswith("pooler."))
    unexpected = sorted(key for key in info["unexpected_keys"] if not is_head(key) and not is_buffer(key))
    mismatched = sorted(str(key[0] if isinstance(key, tuple) else key) for key in info["mismatched_keys"])
    parts = [
        f"{what} {len(keys)}: {keys[0]}{', ...' if len(keys) > 1 else ''}"
        for what, keys in (("missing", missing), ("unexpected", unexpected), ("of a different shape", mismatched))
        if keys
    ]
    if parts:
        raise ModelUnavailableError(
            f"The weights in {where} do not match {CONFIG} ({type(model).__name__}); " + "; ".join(parts),
            todo="Copy or download the whole model again",
        )
    named = {key for key in integers if key.endswith(NAMED_WEIGHTS) and not is_buffer(key)}
    _refuse_whole_numbers(model, set(integers) - set(info["unexpected_keys"]), where, named)


def _refuse_whole_numbers(model: Any, integers: Collection[str], where: str, named: Collection[str] = ()) -> None:
    """Refuse weights of the model, and those whose names are in ``named``, that are in ``integers``."""
    prefix = f"{model.base_model_prefix}."
    weights = {name.removeprefix(prefix) for name, _ in model.named_parameters()}
    rounded = sorted(key for key in integers if key.removeprefix(prefix) in weights or key in named)
    if rounded:
        raise ModelUnavailableError(
            f"The tensor {rounded[0]} in {where} holds whole numbers",
            allowed="weights in floating point",
            todo="Copy or download the weights again",
        )


def check_vocabulary(known: int, tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer with more than the ``known`` tokens that have embeddings, and give it a padding token.

    Added tokens may exceed the embedding, as an unused padding token does in many models; texts that contain one are
    refused (:func:`mauve_core.encoders.tokenizing.refuse_unknown_tokens`).
    """
    if tokenizer.pad_token is None or tokenizer.pad_token_id >= known:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    added = set(tokenizer.get_added_vocab().values())
    largest = max((index for index in tokenizer.get_vocab().values() if index not in added), default=-1)
    if largest >= known:
        raise ModelUnavailableError(
            f"The tokenizer of the model {name} does not match the model: its token ids go up to {largest:,}",
            allowed=f"ids from 0 to {known - 1:,}, which have embeddings",
            todo="Copy the tokenizer's files from the source of the weights",
        )


@contextmanager
def building_budget(stored: StoredWeights, itemsize: int, name: str, builds: int = 1) -> Iterator[None]:
    """Stop building a model that the weights on disk cannot fill or that exceeds this machine's memory.

    ``builds`` says how often the library may build it, without memory except for the last time.
    transformers first builds it without memory, module by module; torch hooks report each registration.
    """
    from torch.nn.modules.module import (
        register_module_buffer_registration_hook,
        register_module_module_registration_hook,
        register_module_parameter_registration_hook,
    )

    most = builds * (2 * stored.numbers + SPARE_NUMBERS)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    own_thread, modules, numbers = threading.get_ident(), 0, 0

    def count_module(*_: Any) -> None:
        nonlocal modules
        modules += threading.get_ident() == own_thread
        if modules > MOST_MODULES:
            raise InputError(
                f"The configuration of the model {name} declares more modules than any model has",
                allowed=f"at most {MOST_MODULES:,}",
                todo=f"Check the numbers of layers and experts in its {CONFIG}",
            )

    def count_numbers(_module: Any, _name: str, tensor: Any) -> None:
        nonlocal numbers
        if tensor is None or tensor.device.type != "meta" or threading.get_ident() != own_thread:
            return
        numbers += tensor.numel()
        if numbers > most:
            raise ModelUnavailableError(
                f"The configuration of the model {name} declares more parameters than its weights hold "
                f"({', '.join(file.name for file in stored.files[:3])})",
                allowed=f"about {stored.numbers:,}",
                received=f"{numbers:,} or more",
                todo=f"Check the sizes in its {CONFIG}",
            )
        if numbers * itemsize > builds * memory:
            raise InputError(
                f"The model {name} does not fit in this machine's memory",
                allowed=f"{memory:,} bytes",
                received=f"{numbers * itemsize:,} or more",
                todo="Choose a smaller model, or --dtype bfloat16",
            )

    hooks = (
        register_module_module_registration_hook(count_module),
        register_module_parameter_registration_hook(count_numbers),
        register_module_buffer_registration_hook(count_numbers),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def third_party(what: str, name: str, folder: Path) -> Iterator[None]:
    """Turn any error of a library about a model's files into a ModelUnavailableError that names them."""

    def ours(error: BaseException) -> MauveLensError:
        if "trust_remote_code" in str(error):
            return _own_code(name, folder)
        return ModelUnavailableError(
            f"{what} cannot be loaded: {words_of(error)}",
            todo="Copy, download or save (save_pretrained) the model again",
        )

    with library_errors(ours):
        yield


@contextmanager
def reading_weights(path: str, *, todo: str = "Install their package again") -> Iterator[None]:
    """Turn any error of a library about a file of weights into a ModelUnavailableError that names it."""
    with library_errors(lambda _: ModelUnavailableError(f"The weights {path} are damaged", todo=todo)):
        yield


def _growth(tokenizer: Any) -> int:
    """How many times longer a text may become by replacements before it is tokenized, for each of its characters."""
    normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    return 1 if normalizer is None else _growth_of(json.loads(normalizer.__getstate__()))


def _growth_of(normalizer: dict[str, Any]) -> int:
    growth = prod(_growth_of(each) for each in normalizer.get("normalizers", ()))
    if normalizer["type"] == "Replace":
        return max(len(normalizer["content"]), 1)
    return growth + len(normalizer.get("prepend", ""))


def _no_tokenizer(folder: Path, wanted: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The folder {folder} lacks a tokenizer",
        allowed=f"a folder with {wanted}",
        todo="Copy the tokenizer's files next to the weights",
    )


def _own_code(name: str, where: Path) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model {name} comes with its own Python code (auto_map in {where}), which is never run",
        allowed="models whose type transformers knows",
        todo="Convert the model to such a type, or compute features elsewhere and pass them with --features",
    )
