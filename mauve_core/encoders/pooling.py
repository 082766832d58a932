"""Pool one vector per token into one vector per text, by a rule or as a sentence-transformers model does.

Causal models: the last real token, which has seen the whole text. Masked models: the first token, which is BERT's [CLS]
and RoBERTa's <s>. Any model: the mean over the real tokens, special ones included. ICLR 2023, appendix D, uses all
three. Further kinds are the maximum of each number, the sum over the square root of the length, and a mean in which the
token at position i counts i times.

A sentence-transformers model lists its parts in modules.json: the transformer, one or several poolings, and further
steps (dense layers, layer norms, unit length). Pooling "auto" follows them, including a default prompt, the maximum
length and lower-casing. An unknown part is refused by name. Recipes are read without torch and transformers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mauve_core.base.config import Pooling
from mauve_core.base.errors import InputError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.files import digest_of_file, require_plain_file
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.hub import hub_file
from mauve_core.encoders.model_files import (
    MODULES,
    WEIGHTS_IN_ORDER,
    FindFile,
    check_weights,
    damaged,
    files_in,
    read_modules,
    read_object,
    read_pickle,
)

if TYPE_CHECKING:
    from torch import Tensor


ResolvedPooling = Literal["last", "first", "mean"]
TokenPooling = Literal["last", "first", "mean", "max", "mean-sqrt-len", "weighted-mean"]


def resolve_pooling(pooling: Pooling, default: ResolvedPooling) -> ResolvedPooling:
    """Return the pooling; "auto" is the model's own default (``LoadedModel.default_pooling``)."""
    return default if pooling == "auto" else pooling


def pool(hidden: Tensor, mask: Tensor, pooling: TokenPooling) -> Tensor:
    """Return one vector per text.

    Parameters
    ----------
    hidden : (rows, longest, d) floating tensor
    mask : (rows, longest) integer tensor
        1 at real tokens, at least one per row; padding may be on either side.
    pooling : {"last", "first", "mean", "max", "mean-sqrt-len", "weighted-mean"}

    Returns
    -------
    (rows, d) float32 tensor
        Sums and means are taken in float32 whatever the precision of ``hidden``.

    Raises
    ------
    InputError
        ``pooling`` is none of these.
    """
    import torch

    if pooling in ("mean", "mean-sqrt-len", "weighted-mean"):
        weights = mask.to(torch.float32)
        weights = weights * weights.cumsum(dim=1) if pooling == "weighted-mean" else weights
        total = torch.einsum("btd,bt->bd", hidden.to(torch.float32), weights)
        by = weights.sum(dim=1, keepdim=True)
        return total / (by.sqrt() if pooling == "mean-sqrt-len" else by)
    if pooling == "max":
        real = hidden.to(torch.float32).masked_fill(mask[:, :, None] == 0, float("-inf"))
        return real.amax(dim=1)
    if pooling == "last":
        positions = torch.arange(mask.shape[1], device=mask.device)
        column = (positions * mask).argmax(dim=1)
    elif pooling == "first":
        column = mask.argmax(dim=1)
    else:
        allowed = "last, first, mean, max, mean-sqrt-len, weighted-mean"
        raise InputError("Unknown pooling", allowed=allowed, received=repr(pooling))
    rows = torch.arange(mask.shape[0], device=mask.device)
    return hidden[rows, column].to(torch.float32)


def pool_jointly(hidden: Tensor, mask: Tensor, poolings: Sequence[TokenPooling]) -> Tensor:
    """Return (rows, len(poolings) * d) vectors of each kind, side by side; as :func:`pool`."""
    import torch

    return torch.cat([pool(hidden, mask, pooling) for pooling in poolings], dim=1)


# sentence-transformers' kinds of pooling, in the order in which its older files join them.
POOLINGS: Mapping[str, TokenPooling] = {
    "cls": "first",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean-sqrt-len",
    "weightedmean": "weighted-mean",
    "lasttoken": "last",
}

_OLDER = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

# Activations of a dense layer, all from torch.nn and without settings.
ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid")

_TEXT_SETTINGS = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# Arguments of models and tokenizers that change no vector; the encoder's settings decide the precision.
_HARMLESS = ("trust_remote_code", "padding_side", "use_fast", "torch_dtype", "dtype", "add_pooling_layer")

StepKind = Literal["dense", "layer-norm", "unit-length"]


@dataclass(frozen=True)
class Step:
    """A step after pooling.

    Attributes
    ----------
    kind : {"dense", "layer-norm", "unit-length"}
    weights : Path or None
        Weight file: safetensors, or a pickle of plain tensors.
    width : int
        Output dimension, for kinds with weights.
    activation : str
        One of ``ACTIVATIONS``, after a dense layer.
    residual : bool
        Whether to add the dense layer's input to its output.
    """

    kind: StepKind
    weights: Path | None = None
    width: int = 0
    activation: str = "Identity"
    residual: bool = False


@dataclass(frozen=True)
class SentenceRecipe:
    """From hidden states to one vector per text.

    Attributes
    ----------
    poolings : tuple of str
        Their vectors are concatenated.
    steps : tuple of Step
        Applied to the result in turn.
    max_tokens : int or None
        Maximum length of texts; None leaves it to the model.
    lower_case : bool
    prompt : str
        Prefix of each text.
    digest : str
        SHA-256 of all of the above, weights included.
    """

    poolings: tuple[TokenPooling, ...]
    steps: tuple[Step, ...]
    max_tokens: int | None
    lower_case: bool
    prompt: str
    digest: str

    def in_words(self) -> str:
        """ "mean pooling, unit length, prompt 'query: '"."""
        parts = ["+".join(self.poolings) + " pooling"]
        names = {"dense": "a dense layer with {} outputs", "layer-norm": "layer norm", "unit-length": "unit length"}
        parts += [names[step.kind].format(step.width) for step in self.steps]
        parts += ["lowercase"] if self.lower_case else []
        parts += [f"prompt {self.prompt!r}"] if self.prompt else []
        return ", ".join(parts)


def read_recipe(identity: ModelIdentity) -> SentenceRecipe | None:
    """Return what pooling "auto" means in the model's files; None if it is not a sentence-transformers model.

    Raises
    ------
    ModelUnavailableError
        Its files are damaged, or require something unknown; says which part, and what to choose.
    InputError
        One of them is not a regular file.
    """
    if identity.kind not in ("package", "folder", "hub") or Path(identity.location).is_file():
        return None
    find = _finder(identity)
    path = find(MODULES)
    if path is None:
        return None
    modules = read_modules(path)
    kinds = [_kind(module) for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise _unsupported(path, f"the modules {', '.join(kinds)}")
    texts = _text_settings(find, modules[0]["path"])
    poolings, include_prompt = _poolings(_required(find, path, f"{modules[1]['path']}/config.json"))
    prompt = _prompt(find)
    if prompt and not include_prompt:
        raise _unsupported(path, "a pooling that excludes the prompt (include_prompt false)")
    steps = [_step(find, path, module) for module in modules[2:]]
    used = [step for step in steps if step is not None]
    settings = {
        "poolings": poolings,
        "steps": [[s.kind, _digest(s.weights), s.width, s.activation, s.residual] for s in used],
        "texts": texts,
        "prompt": prompt,
    }
    digest = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
    return SentenceRecipe(poolings, tuple(used), texts[0], texts[1], prompt, digest)


def _finder(identity: ModelIdentity) -> FindFile:
    if identity.kind != "hub":
        return files_in(Path(identity.location))
    return lambda name: hub_file(identity.location, identity.revision or "main", name)


def _kind(module: dict[str, Any]) -> str:
    """Return "Pooling" for sentence_transformers' own class in any module, and the full name of any other class."""
    name = str(module["type"])
    return name.rpartition(".")[2] if name.startswith("sentence_transformers.") else name


def _text_settings(find: FindFile, subfolder: str) -> tuple[int | None, bool]:
    """Return the maximum length of texts, and whether to lower-case them."""
    prefix = f"{subfolder}/" if subfolder else ""
    path = next((found for name in _TEXT_SETTINGS if (found := find(prefix + name)) is not None), None)
    if path is None:
        return None, False
    values = read_object(path)
    for group in ("model_args", "model_kwargs", "tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"):
        strange = sorted(set(values.get(group) or ()) - set(_HARMLESS))
        if strange:
            raise _unsupported(path, f"{group} with {', '.join(strange)}")
    text = {"method": "forward", "method_output_name": "last_hidden_state"}
    expected = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
    strange = [name for name, value in expected.items() if values.get(name, value) != value]
    strange += [name for name in ("query_expansion", "processing_kwargs") if values.get(name)]
    strange += ["modality_config"] if values.get("modality_config", {"text": text}) != {"text": text} else []
    if strange:
        raise _unsupported(path, f"the settings {', '.join(strange)}")
    most, lower = values.get("max_seq_length"), values.get("do_lower_case") or False
    if not (most is None or (type(most) is int and most > 0)) or not isinstance(lower, bool):
        raise damaged(path, "max_seq_length or do_lower_case cannot be used", "a number of tokens; true or false")
    return most, lower


def _poolings(path: Path) -> tuple[tuple[TokenPooling, ...], bool]:
    """Return the kinds of pooling, and whether they include the prompt's tokens."""
    values = read_object(path)
    named = values.get("pooling_mode")
    if named is None:
        named = [kind for key, kind in _OLDER.items() if values.get(key)] or ["mean"]
    kinds = [named] if isinstance(named, str) else named
    if not isinstance(kinds, list) or not kinds or not all(isinstance(kind, str) for kind in kinds):
        raise damaged(path, "its pooling_mode cannot be used", ", ".join(POOLINGS))
    unknown = [kind for kind in kinds if kind not in POOLINGS]
    if unknown:
        raise _unsupported(path, f"the pooling {', '.join(unknown)}")
    return tuple(POOLINGS[kind] for kind in kinds), bool(values.get("include_prompt", True))


def _prompt(find: FindFile) -> str:
    """Return the default prompt, which precedes each text."""
    path = find("config_sentence_transformers.json")
    if path is None:
        return ""
    values = read_object(path)
    name, prompts = values.get("default_prompt_name"), values.get("prompts") or {}
    if name is None:
        return ""
    prompt = prompts.get(name, 0) if isinstance(prompts, dict) and isinstance(name, str) else 0
    if not isinstance(prompt, str | None):
        raise damaged(path, f"it has no prompt named {name!r}, its default_prompt_name")
    return prompt or ""


def _step(find: FindFile, modules: Path, module: dict[str, Any]) -> Step | None:
    """Return a step after pooling; None if it has no effect on a trained model."""
    kind, subfolder = _kind(module), module["path"]
    if kind == "Dropout":
        return None
    if kind not in ("Dense", "LayerNorm", "Normalize"):
        raise _unsupported(modules, f"the module {kind}")
    path = find(f"{subfolder}/config.json")
    if path is None and kind != "Normalize":
        raise damaged(modules, f"{subfolder}/config.json, which it requires, is missing")
    values = {} if path is None else read_object(path)
    named = [values.get(f"module_{end}_name") for end in ("input", "output")]
    if any(name not in (None, "sentence_embedding") for name in named):
        raise _unsupported(path or modules, f"the module {kind} on vectors other than the text's")
    if path is None or kind == "Normalize":
        return Step("unit-length")
    width = values.get("out_features" if kind == "Dense" else "dimension")
    if type(width) is not int or width < 1:
        raise damaged(path, "its number of features cannot be used", "a whole number of at least 1")
    weights = next(
        (found for name in WEIGHTS_IN_ORDER[::2] if (found := find(f"{subfolder}/{name}")) is not None), None
    )
    if weights is None:
        raise damaged(modules, f"the weights of the module {subfolder} are missing")
    if kind == "LayerNorm":
        return Step("layer-norm", weights, width)
    return Step("dense", weights, width, _activation(path, values), bool(values.get("use_residual")))


def _activation(path: Path, values: dict[str, Any]) -> str:
    """Return the name of a torch.nn class without settings."""
    name = str(values.get("activation_function", "torch.nn.modules.activation.Tanh"))
    first, _, last = name.rpartition(".")
    if not first.startswith("torch.nn") or last not in ACTIVATIONS:
        raise _unsupported(path, f"the activation {name}")
    return last


def _required(find: FindFile, modules: Path, name: str) -> Path:
    path = find(name)
    if path is None:
        raise damaged(modules, f"the file {name}, which it requires, is missing")
    return path


def _digest(path: Path | None) -> str:
    if path is None:
        return ""
    require_plain_file(path, "model file")
    return digest_of_file(path)


def _unsupported(path: Path, what: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The file {path} requires something unsupported: {what}",
        allowed=f"a Transformer, a Pooling ({', '.join(POOLINGS)}), then Dense, LayerNorm, Normalize",
        todo="Choose the pooling yourself: --pooling mean, last or first",
    )


Apply = Callable[["Tensor"], "Tensor"]


def load_steps(steps: Sequence[Step], width: int, device: str) -> list[Apply]:
    """Return functions on (rows, ``width``) float32 vectors, to apply in turn, with their weights on ``device``.

    Raises
    ------
    ModelUnavailableError
        Weights are damaged or do not fit together; names the file.
    """
    functions = []
    for step in steps:
        functions.append(_function(step, width, device))
        width = step.width or width
    return functions


def _function(step: Step, width: int, device: str) -> Apply:
    from torch.nn import functional

    if step.weights is None:
        return partial(functional.normalize, dim=-1)
    weights = _weights(step.weights, device)
    if step.kind == "layer-norm":
        expected: dict[str, tuple[int, ...]] = {"norm.weight": (width,), "norm.bias": (width,)}
    else:
        expected = {"linear.weight": (step.width, width)}
        expected |= {"linear.bias": (step.width,)} if "linear.bias" in weights else {}
        expected |= {"residual.weight": (step.width, width)} if step.residual and step.width != width else {}
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if shapes != expected:
        raise damaged(step.weights, f"it holds {shapes} for vectors of {width} numbers", str(expected))
    if step.kind == "layer-norm":
        weight, bias = weights["norm.weight"], weights["norm.bias"]
        return lambda x: functional.layer_norm(x, (width,), weight, bias)
    return _dense(step, weights)


def _dense(step: Step, weights: dict[str, Tensor]) -> Apply:
    import torch
    from torch.nn.functional import linear

    weight, bias, across = weights["linear.weight"], weights.get("linear.bias"), weights.get("residual.weight")
    activation = getattr(torch.nn, step.activation)()

    def apply(x: Tensor) -> Tensor:
        y: Tensor = activation(linear(x, weight, bias))
        if not step.residual:
            return y
        return y + (x if across is None else linear(x, across))

    return apply


def _weights(path: Path, device: str) -> dict[str, Tensor]:
    """Return float32 tensors by name, from safetensors or from a pickle of nothing else."""
    import torch
    from safetensors.torch import load_file

    check_weights(path)
    with library_errors(lambda error: damaged(path, words_of(error))):
        tensors = load_file(path) if path.suffix == ".safetensors" else read_pickle(path, "cpu")
        return {name: tensor.to(device, torch.float32) for name, tensor in tensors.items()}
