"""What older versions of transformers leave to this program; what they do is seen in the library, not in its number.

They do not check the types of a configuration's values, build a model in memory before they know that it fits,
read positions from other settings than newer files hold, take special tokens of GGUF files from their own defaults, and
leave GPT-2's own scales out of their fused attention.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mauve_core.base.errors import ModelUnavailableError
from mauve_core.encoders.model_files import damaged

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
