"""Check a model folder before any library opens it.

The content is untrusted: files must be regular and of a reasonable size, counts must be plausible for a model, weights
must hold the tensors that a configuration promises, and a pickle may hold tensors and plain containers alone. Needs
neither torch nor transformers, but for the types of the tensors in a file of weights.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from mauve_core.base.archives import open_zip
from mauve_core.base.errors import InputError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.files import require_plain_file
from mauve_core.base.json_codec import parse_json

CONFIG, MODULES = "config.json", "modules.json"

# Maximum bytes of a JSON settings file; models have kilobytes, an index of shards a few megabytes.
MOST_JSON_BYTES = 32 * 2**20

# Maximum bytes of a vocabulary; large ones have 40 MB.
MOST_TOKENIZER_BYTES = 256 * 2**20

# Most tensors of one file; the largest models have some ten thousand in all.
MOST_TENSORS = 100_000

# Maximum layers, experts, labels or the like in a configuration; models have up to a few hundred.
MOST_OF_A_KIND = 10_000

SETTINGS = (
    "config.json",
    "*_config.json",
    "*.index.json",
    "modules.json",
    "*_tokens*.json",
    "chat_template*",
    "*.jinja",
)
VOCABULARIES = ("tokenizer*", "vocab*", "merges.txt", "*.model", "*.codes", "*.tiktoken", "tekken.json")
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")

# Files of settings that transformers makes objects of.
CONFIGURATIONS = ("config.json", "*_config.json")

# What transformers itself implements, by a part of the names of the settings: attn_implementation, at any depth, with
# an underscore before it or _internal after it.
IMPLEMENTATIONS = {
    # Not those of flash_attn: where it is missing, transformers fetches code of the hub in its place.
    "attn_implementation": frozenset(("eager", "sdpa", "flex_attention")),
    "experts_implementation": frozenset(("eager", "batched_mm", "grouped_mm")),
}

# What transformers looks for; the first match counts.
WEIGHTS_IN_ORDER = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)

_COUNTS = re.compile(r"(?:^|_)(?:layers?|blocks?|block_count|depths?|stages?|experts?|labels|attention_types)\Z")


# From a file name in a model's folder to its path; None if missing.
FindFile = Callable[[str], Path | None]


@dataclass(frozen=True)
class StoredWeights:
    """Content of weight files, according to their headers.

    Attributes
    ----------
    files : tuple of Path
    tensors, numbers : int
        Upper bounds of the tensors, and of the numbers in all of them.
    """

    files: tuple[Path, ...]
    tensors: int
    numbers: int


def require_plain_files(folder: Path) -> None:
    """Refuse a folder with a named pipe, a device or a socket in place of a model file, or with an oversized file, or
    whose settings name code of the hub.

    Raises
    ------
    ModelUnavailableError
        The folder cannot be listed, or :func:`check_kernels` refuses its settings.
    InputError
        Names the file.
    """
    try:
        entries = sorted(folder.iterdir())
        templates = folder / "additional_chat_templates"  # transformers reads these with the tokenizer
        entries += sorted(templates.iterdir()) if templates.is_dir() else []
    except OSError as error:
        raise ModelUnavailableError(f"The folder {folder} cannot be read: {error.strerror or error}") from error
    for entry in entries:
        patterns = (*SETTINGS, *VOCABULARIES, *WEIGHTS)
        if entry.is_dir() or not any(entry.match(pattern) for pattern in patterns):
            continue
        size = require_plain_file(entry, "model file")
        if any(entry.match(pattern) for pattern in VOCABULARIES):
            _require_size(entry, size, MOST_TOKENIZER_BYTES)
        elif any(entry.match(pattern) for pattern in SETTINGS):
            _require_size(entry, size, MOST_JSON_BYTES)
        if any(entry.match(pattern) for pattern in CONFIGURATIONS):
            check_kernels(read_json(entry), entry)


def read_json(path: Path) -> Any:
    """Return the content of a JSON settings file.

    Raises
    ------
    ModelUnavailableError
        It is not UTF-8 JSON, or too large; names the file.
    InputError
        It is missing, or not a regular file.
    """
    _require_size(path, require_plain_file(path, "model file"), MOST_JSON_BYTES)
    try:
        return parse_json(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not JSON ({words_of(error)})") from error
    except OSError as error:
        raise ModelUnavailableError(f"The file {path} cannot be read: {error.strerror or error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """Like :func:`read_json`, for a file that holds an object."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise damaged(path, f"it holds a JSON {type(values).__name__}", "an object { ... }")
    return values


def read_config(folder: Path) -> dict[str, Any]:
    """Return the model's config.json, after checking the counts that determine what is built.

    Raises
    ------
    ModelUnavailableError, InputError
        It is missing, not an object, names no type, has a count above ``MOST_OF_A_KIND``, or belongs to an adapter.
    """
    if (folder / "adapter_config.json").exists():
        raise ModelUnavailableError(
            f"The folder {folder} holds an adapter (adapter_config.json) beside a model",
            todo="Name the base and the adapter: BASE+ADAPTER",
        )
    path = folder / CONFIG
    if not path.exists():
        raise ModelUnavailableError(f"The folder {folder} holds no model: {CONFIG} is missing")
    config = read_object(path)
    if not isinstance(config.get("model_type"), str) or not config["model_type"]:
        raise damaged(path, "it names no model_type", 'a type that transformers knows, such as "gpt2"')
    architectures = config.get("architectures")
    if architectures is not None and not _are_names(architectures):
        raise damaged(path, "its architectures cannot be used", "a list of names")
    check_counts(config, path)
    return config


def check_counts(config: dict[str, Any], path: Path) -> None:
    """Refuse a configuration with a count above ``MOST_OF_A_KIND``; ModelUnavailableError names it."""
    for name, number in _counts(config):
        if number > MOST_OF_A_KIND:
            raise damaged(path, f"{name} = {number:,} is more than any model has", f"at most {MOST_OF_A_KIND:,}")


def check_kernels(values: Any, path: Path) -> None:
    """Refuse settings that name another implementation of attention or experts than those of transformers.

    Any other name is a repository of the hub (``owner/name``), whose code transformers fetches and imports where the
    package kernels is installed.

    Raises
    ------
    ModelUnavailableError
        Names the setting.
    """
    for name, value in _settings(values):
        known = next((known for part, known in IMPLEMENTATIONS.items() if part in name), None)
        if known is not None and not all(_is_known(each, known) for each in _leaves(value)):
            raise damaged(path, f"{name} = {str(value)[:80]!r} may name code of the hub", ", ".join(sorted(known)))


def _settings(values: Any) -> Iterator[tuple[str, Any]]:
    """Yield every setting at any depth."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value.items()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _leaves(value: Any) -> list[Any]:
    """Return the implementations that a setting names: one, or one for each part of the model."""
    if not isinstance(value, dict):
        return [value]
    return [leaf for _, leaf in _settings(value) if not isinstance(leaf, dict)]


def _is_known(value: Any, known: Set[str]) -> bool:
    return value is None or (isinstance(value, str) and value.removeprefix("paged|") in known)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def files_in(folder: Path) -> FindFile:
    """Return a function that finds files in a folder by name."""
    return lambda name: folder / name if (folder / name).exists() else None


def transformer_folder(find: FindFile) -> str:
    """Return the subfolder of the transformer, "" for the model's own; sentence-transformers may use another."""
    path = None if find(CONFIG) is not None else find(MODULES)
    return "" if path is None else str(read_modules(path)[0]["path"])


def read_modules(path: Path) -> list[dict[str, Any]]:
    """Return the entries of modules.json (sentence-transformers), each with its type and a subfolder of the model."""
    modules = read_json(path)
    if not isinstance(modules, list) or not modules or not all(isinstance(module, dict) for module in modules):
        raise damaged(path, "it does not hold a list of modules")
    for module in modules:
        subfolder = module.setdefault("path", "")
        if not isinstance(subfolder, str) or not isinstance(module.get("type"), str):
            raise damaged(path, "a module lacks its type or path")
        inside = PurePosixPath(subfolder)
        if inside.is_absolute() or ".." in inside.parts or "\\" in subfolder:
            raise damaged(path, f"the module path {subfolder!r} leads outside the model's folder")
    return modules


def _counts(values: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield the integers that count something, with their names."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _counts(value, str(key))
    elif isinstance(values, list):
        for value in values:
            yield from _counts(value, name)
    elif isinstance(values, int | float) and _COUNTS.search(name):
        yield name, int(min(values, 1e18)) if values == values else 0


def find_weights(folder: Path, config: dict[str, Any]) -> StoredWeights:
    """Return the files that transformers will load, after checking their headers.

    Raises
    ------
    ModelUnavailableError
        There are none, a shard is missing, or one is damaged; names the file.
    InputError
        One is not a regular file.
    """
    named = config.get("transformers_weights")
    choices = (_name_inside(folder / CONFIG, named),) if named is not None else WEIGHTS_IN_ORDER
    first = next((folder / name for name in choices if (folder / name).exists()), None)
    if first is None:
        raise ModelUnavailableError(f"The folder {folder} holds no weights: no file named {' or '.join(choices)}")
    files = tuple(folder / name for name in shards(first)) if first.name.endswith(".index.json") else (first,)
    for file in files:
        if not file.exists():
            raise ModelUnavailableError(
                f"The file {file}, which {first.name} names, is missing", todo="Copy all shards"
            )
    parts = [check_weights(file) for file in files]
    tensors, numbers = (sum(part) for part in zip(*parts, strict=True))
    if config.get("quantization_config"):  # packed: down to one bit per number
        numbers = 8 * sum(file.stat().st_size for file in files)
    return StoredWeights(files, tensors, numbers)


def shards(index: Path) -> tuple[str, ...]:
    """Return the file names in an index of shards; ModelUnavailableError if it is damaged."""
    weights = read_object(index).get("weight_map")
    if not isinstance(weights, dict) or not weights:
        raise damaged(index, "it names no shards (weight_map)")
    return tuple(sorted({_name_inside(index, name) for name in weights.values()}))


def _name_inside(path: Path, name: Any) -> str:
    """Check a file name that ``path`` mentions: it must be in the same folder."""
    if not isinstance(name, str) or not name or PurePosixPath(name).name != name or "\\" in name:
        raise damaged(path, f"it names weights {name!r}", "names of files in the same folder")
    return name


def check_weights(file: Path) -> tuple[int, int]:
    """Return the tensors and numbers in a weight file, or a pickle's entries and bytes; raises like
    :func:`find_weights`.
    """
    size = require_plain_file(file, "model file")
    if file.suffix == ".safetensors":
        shapes = tensor_shapes(file).values()
        return len(shapes), sum(prod(shape) for shape in shapes)
    unknown = damaged(file, "it is not in the format that torch.save has written since 2020", "safetensors")
    with library_errors(lambda _: unknown), file.open("rb") as stream, open_zip(stream) as archive:
        entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise damaged(file, "its entries are compressed, which torch.save never does", "safetensors")
    return len(entries), size


def tensor_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the tensors in a safetensors file; ModelUnavailableError if its header is damaged."""
    require_plain_file(file, "model file")
    with file.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
    if MOST_JSON_BYTES < header <= file.stat().st_size:
        raise damaged(file, f"its header has {header:,} bytes", f"at most {MOST_JSON_BYTES:,}")
    with opened_tensors(file) as opened:
        names = list(opened.keys())
        shapes = {name: tuple(opened.get_slice(name).get_shape()) for name in names[:MOST_TENSORS]}
    if len(names) > MOST_TENSORS:
        raise damaged(file, f"{len(names):,} tensors are more than any model has", f"at most {MOST_TENSORS:,}")
    return shapes


@contextmanager
def opened_tensors(file: Path) -> Iterator[Any]:
    """Open a safetensors file; ModelUnavailableError for whatever the library says of it, also while it is read."""
    from safetensors import safe_open

    with (
        library_errors(lambda error: damaged(file, f"it is not a safetensors file ({words_of(error)})")),
        safe_open(file, framework="numpy") as opened,
    ):
        yield opened


def damaged(path: Path, what: str, allowed: str = "") -> ModelUnavailableError:
    """Return the error for an unusable model file."""
    return ModelUnavailableError(
        f"The model file {path} cannot be used: {what}",
        allowed=allowed,
        todo="Copy, download or save (save_pretrained) the model again",
    )


def _require_size(path: Path, size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"The model file {path} has {size:,} bytes",
            allowed=f"at most {most:,}",
            todo="Check that it is the right file",
        )


def whole_number_tensors(file: Path) -> set[str]:
    """Return the names of the tensors in a weight file that hold whole numbers or truth values.

    Raises
    ------
    ModelUnavailableError
        The file is damaged, a pickle of more than tensors, or holds complex numbers, which a model would cut to reals.
    """
    if file.suffix != ".safetensors":
        tensors = read_pickle(file, "meta")
        kinds = {name: str(getattr(tensor, "dtype", "")) for name, tensor in tensors.items()}
        _refuse_complex(file, (name for name, kind in kinds.items() if "complex" in kind))
        return {name for name, tensor in tensors.items() if not _is_floating(tensor)}
    with opened_tensors(file) as opened:
        kinds = {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118
    _refuse_complex(file, (name for name, kind in kinds.items() if kind.startswith("C")))
    return {name for name, kind in kinds.items() if kind == "BOOL" or kind[0] in "IU"}


def _refuse_complex(file: Path, names: Iterable[str]) -> None:
    for name in names:
        raise damaged(file, f"{name} holds complex numbers", "weights in floating point")


def read_pickle(file: Path, device: str) -> dict[str, Any]:
    """Return what torch.save wrote, if that is tensors and plain containers; no code of the file is run.

    Raises
    ------
    ModelUnavailableError
        It is anything else, or damaged.
    """
    import torch

    what = "it is no plain PyTorch weights file: a pickle may contain only tensors"
    with library_errors(lambda _: damaged(file, what, "safetensors")):
        tensors = torch.load(file, map_location=device, weights_only=True, mmap=True)
    if not isinstance(tensors, dict):
        raise damaged(file, "it does not hold tensors by name", "safetensors")
    return tensors


def _is_floating(tensor: Any) -> bool:
    return bool(getattr(tensor, "is_floating_point", lambda: True)())
