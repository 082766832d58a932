"""LoRA adapters in PEFT's format: a folder, or a hub model, with ``adapter_config.json`` and its weights.

An adapter is merged into its base model as soon as that is loaded, W + (alpha / r) B A (Hu et al., 2022), so that all
that encodes and writes works on plain weights. Both files are untrusted. Weights are read as safetensors only; settings
reach PEFT through a list of those known here, because PEFT imports modules that others name; and every tensor must find
its place in the base.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mauve_core.base.errors import ModelUnavailableError
from mauve_core.base.files import require_plain_file
from mauve_core.base.patterns import compiled_pattern
from mauve_core.encoders.loading import third_party
from mauve_core.encoders.model_files import FindFile, damaged, read_object, tensor_shapes

ADAPTER_CONFIG, ADAPTER_WEIGHTS, PICKLED = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"

# Settings that PEFT gets as they are.
_USED = ("use_rslora", "use_dora", "fan_in_fan_out")

# Settings that are read here: ranks, with which the tensors must agree, and scales.
_READ = ("r", "rank_pattern", "lora_alpha", "alpha_pattern")

# Seconds in which all patterns of an adapter are matched; those of one for each module of a large model take under one.
_MATCHING_S = 5.0

# Settings that say how the adapter was trained, or which modules it has, as its tensors do.
_WITHOUT_EFFECT = {
    *("peft_type", "peft_version", "task_type", "auto_mapping", "base_model_name_or_path", "revision"),
    *("inference_mode", "lora_dropout", "runtime_config", "megatron_core", "qalora_group_size", "ensure_weight_tying"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "modules_to_save", "bias"),
    *("init_lora_weights", "eva_config"),
}

# Beginnings of training that leave the weights of the base as they are.
_PLAIN_STARTS = (True, False, "gaussian", "orthogonal", "eva", None)

# How PEFT's names of tensors begin.
_PREFIX = "base_model.model."

# Names of heads on top of a bare model.
_HEADS = ("lm_head", "embed_out", "cls", "score", "classifier", "qa_outputs")

# Part of the names of weights that PEFT saves beside those that it adds to them, such as resized embeddings.
_BASE = ".base_layer."

# Ends of the names of an adapter's tensors, in the file and in PEFT's modules.
_PARTS = {
    ".lora_A.weight": ".lora_A.default.weight",
    ".lora_B.weight": ".lora_B.default.weight",
    ".lora_embedding_A": ".lora_embedding_A.default",
    ".lora_embedding_B": ".lora_embedding_B.default",
    ".lora_magnitude_vector": ".lora_magnitude_vector.default.weight",
}


@dataclass(frozen=True)
class Adapter:
    """An adapter's files, checked.

    Attributes
    ----------
    config, weights : Path
    settings : mapping
        Content of the config.
    """

    config: Path
    weights: Path
    settings: Mapping[str, Any]

    @property
    def base(self) -> str | None:
        """Name of the base model in the adapter's own words; None if it has none."""
        return self.settings.get("base_model_name_or_path") or None

    @property
    def base_revision(self) -> str | None:
        return self.settings.get("revision") or None


def read_adapter(find: FindFile, name: str) -> Adapter:
    """Return the adapter whose files ``find`` finds.

    Raises
    ------
    ModelUnavailableError, InputError
        A file is missing or damaged; the weights are a pickle; or it is no LoRA adapter that can be merged.
    """
    config = find(ADAPTER_CONFIG)
    if config is None:
        raise ModelUnavailableError(f"{name} holds no adapter: {ADAPTER_CONFIG} is missing")
    settings = read_object(config)
    _check_settings(config, settings)
    weights = find(ADAPTER_WEIGHTS)
    if weights is None:
        raise ModelUnavailableError(
            f"The adapter {name} lacks its weights ({ADAPTER_WEIGHTS})",
            allowed=f"safetensors; a pickle ({PICKLED}) is not read",
            todo="Save it again with a current version of peft (save_pretrained)",
        )
    require_plain_file(weights, "model file")
    return Adapter(config, weights, settings)


def merge_adapter(model: Any, adapter: Adapter, name: str) -> None:
    """Add the adapter to the weights of a transformers model, bare or with its head, in place.

    Raises
    ------
    ModelUnavailableError
        It does not fit the model.
    """
    import torch
    from safetensors.torch import load_file

    ranks = _ranks(adapter)
    with third_party(f"The adapter {name}", name, adapter.config.parent), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT says what it sets by itself
        tensors = {key.removeprefix(_PREFIX): tensor for key, tensor in load_file(adapter.weights).items()}
        root, tensors = _placed(model, tensors)
        own = {place: tensor for key, tensor in tensors.items() if (place := _in_peft(key)) is not None}
        others = {key.replace(_BASE, "."): tensor for key, tensor in tensors.items() if _in_peft(key) is None}
        changed = {_module_of(name) for name in own}
        if unread := sorted(changed - ranks.keys()):
            raise _unfit(adapter, f"{unread[0]} has no lora_A")
        _require_places(root, changed, others, adapter)
        alphas = _alphas(changed, adapter)
        alike = defaultdict(list)
        for module in sorted(changed):
            alike[ranks[module], alphas[module]].append(module)
        with torch.no_grad():
            _fill(root, others, adapter)
            for (rank, alpha), modules in alike.items():
                tuner = _tuner(root, modules, rank, alpha, adapter.settings)
                _fill_tuner(root, {name: own[name] for name in own if _module_of(name) in set(modules)}, adapter)
                tuner.merge_and_unload(safe_merge=True)


def _tuner(root: Any, modules: Collection[str], rank: int, alpha: float, settings: Mapping[str, Any]) -> Any:
    """PEFT's modules around those of the same rank and scale that the adapter changes, by their full names.

    They have no numbers yet: a rank says how many there are to be, and only the file whether it has them.
    """
    import torch
    from peft import LoraConfig
    from peft.tuners.lora import LoraModel

    used = {name: settings[name] for name in _USED if name in settings}
    config = LoraConfig(**used, r=rank, lora_alpha=alpha, target_modules=[*modules])
    with torch.device("meta"):
        return LoraModel(root, config, "default", low_cpu_mem_usage=True)


def _alphas(modules: Iterable[str], adapter: Adapter) -> dict[str, float]:
    """Return the scale of each module: that of the first pattern that its name, or the end of it, matches.

    PEFT itself would match the patterns, which are regular expressions from the file, for as long as they take.
    """
    default, pattern = adapter.settings.get("lora_alpha", 8), adapter.settings.get("alpha_pattern") or {}
    if not isinstance(pattern, dict):
        raise damaged(adapter.config, f"alpha_pattern is {pattern!r}", "an object")
    for alpha in (default, *pattern.values()):
        if isinstance(alpha, bool) or not isinstance(alpha, int | float):
            raise damaged(adapter.config, f"it has the scale {alpha!r}", "numbers as lora_alpha and in alpha_pattern")
    found = dict.fromkeys(modules, default)
    left, end = set(found), time.monotonic() + _MATCHING_S
    for key, alpha in pattern.items():
        compiled = compiled_pattern(rf"(.*\.)?({key})$")
        try:
            same = {module for module in left if compiled.match(module, timeout=_until(end))}
        except TimeoutError as error:
            raise damaged(adapter.config, "its alpha_pattern takes too long to match", "names of modules") from error
        found |= dict.fromkeys(same, alpha)
        left -= same
    return found


def _until(end: float) -> float:
    """Seconds left; TimeoutError if none are."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _require_places(root: Any, targets: Iterable[str], others: Iterable[str], adapter: Adapter) -> None:
    """Refuse an adapter of modules that the base lacks, or of a weight that a model uses twice: as embedding and head.

    PEFT changes only one use of such a weight; merged, the adapter would change both.
    """
    modules = dict(root.named_modules())
    parameters = dict(root.named_parameters(remove_duplicate=False))
    uses = Counter(map(id, parameters.values()))
    for module in targets:
        if module not in modules:
            raise _unfit(adapter, f"it changes {module}, which the base does not have")
    for name in (*(f"{module}.weight" for module in targets), *others):
        if name in parameters and uses[id(parameters[name])] > 1:
            raise ModelUnavailableError(
                f"The adapter {adapter.weights.parent} changes {name}, which the base uses both to read and to write",
                todo="Save the base with untied embeddings (tie_word_embeddings false), and train or name it instead",
            )


def _check_settings(path: Path, settings: Mapping[str, Any]) -> None:
    if settings.get("peft_type") != "LORA":
        raise damaged(path, f"its peft_type is {settings.get('peft_type')!r}", "LORA")
    for name in ("base_model_name_or_path", "revision"):
        if not isinstance(settings.get(name), str | None):
            raise damaged(path, f"{name} is {settings[name]!r}", "a name")
    known = {*_USED, *_READ, *_WITHOUT_EFFECT}
    for name, value in settings.items():
        plain = name in known or value in (None, False) or value in ({}, [])
        if not plain or (name == "init_lora_weights" and value not in _PLAIN_STARTS):
            raise ModelUnavailableError(
                f"The adapter in {path.parent} has {name} = {value!r}, with which it cannot be merged here",
                allowed="plain LoRA, rsLoRA and DoRA",
                todo="Merge it with peft (merge_and_unload), save the result, and use its folder",
            )


def _ranks(adapter: Adapter) -> dict[str, int]:
    """Return the rank of each module that the adapter changes, by its tensors; they must be those of its settings."""
    pattern = adapter.settings.get("rank_pattern") or {}
    if not isinstance(pattern, dict):
        raise damaged(adapter.config, f"rank_pattern is {pattern!r}", "an object")
    said = adapter.settings.get("r")
    declared = {rank for rank in (said, *pattern.values()) if isinstance(rank, int)}
    found = {}
    for key, shape in tensor_shapes(adapter.weights).items():
        for end in (".lora_A.weight", ".lora_embedding_A"):
            if key.endswith(end):
                module = key.removeprefix(_PREFIX).removesuffix(end)
                found[module] = shape[0] if shape else 0
                if found[module] not in declared or found[module] < 1:
                    raise _unfit(adapter, f"{module} has rank {found[module]}, but {ADAPTER_CONFIG} says {said}")
    if not found:
        raise damaged(adapter.weights, "it holds no LoRA tensors")
    return found


def _placed(model: Any, tensors: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the module in which the tensors' names begin, and the tensors without those of heads that are not loaded.

    Names in an adapter begin at the model on which it was trained, which may have had a head or not, as this one may.
    """
    import torch

    prefix, bare = model.base_model_prefix, model.base_model
    loaded = {_first(name) for name, _ in model.named_parameters(remove_duplicate=False)}
    kept = {key: tensor for key, tensor in tensors.items() if _first(key) in loaded or _first(key) not in _HEADS}
    if model is not bare:
        return (model if any(_first(key) in loaded for key in kept) else bare), kept
    if not any(_first(key) == prefix for key in kept):
        return bare, kept
    around = torch.nn.Module()
    around.add_module(prefix, bare)
    return around, kept


def _first(name: str) -> str:
    return name.split(".")[0]


def _in_peft(key: str) -> str | None:
    """Return the name of a LoRA tensor in PEFT's modules; None for another weight, which replaces that of the base."""
    end = next((end for end in _PARTS if key.endswith(end)), None)
    return None if end is None else key.removesuffix(end) + _PARTS[end]


def _module_of(name: str) -> str:
    """Return the module that a LoRA tensor of that name, in PEFT's modules, changes."""
    return name.partition(".lora_")[0]


def _fill(root: Any, tensors: Mapping[str, Any], adapter: Adapter) -> None:
    """Copy tensors to the parameters of their names."""
    for name, parameter in _places(root, tensors, adapter).items():
        parameter.copy_(tensors[name])


def _fill_tuner(root: Any, tensors: Mapping[str, Any], adapter: Adapter) -> None:
    """Put tensors in the place of PEFT's parameters, which have no numbers yet and must all get some."""
    for name, parameter in root.named_parameters(remove_duplicate=False):
        if parameter.is_meta and name not in tensors:
            raise _unfit(adapter, f"it lacks {name}")
    places, device = _places(root, tensors, adapter), next(p.device for p in root.parameters() if not p.is_meta)
    made = {name: tensors[name].to(device, parameter.dtype) for name, parameter in places.items()}
    root.load_state_dict(made, strict=False, assign=True)


def _places(root: Any, tensors: Mapping[str, Any], adapter: Adapter) -> dict[str, Any]:
    """Return the parameters of these names; they must have the shapes of the tensors, which hold real numbers."""
    parameters = dict(root.named_parameters(remove_duplicate=False))
    for name, tensor in tensors.items():
        if name not in parameters:
            raise _unfit(adapter, f"it changes {name}, which the base does not have")
        if parameters[name].shape != tensor.shape:
            sizes = f"{tuple(tensor.shape)}, not {tuple(parameters[name].shape)}"
            raise _unfit(adapter, f"{name} has the shape {sizes}")
        if not tensor.is_floating_point():
            raise damaged(adapter.weights, f"{name} holds numbers of type {tensor.dtype}", "weights in floating point")
    return {name: parameters[name] for name in tensors}


def _unfit(adapter: Adapter, what: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The adapter {adapter.weights.parent} does not fit its base model: {what}",
        todo="Name the model on which it was trained: BASE+ADAPTER",
    )
