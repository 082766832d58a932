"""The Hugging Face hub: requests for models that the user named, with a time limit, and files in its local cache.

A model is always read from its snapshot in the cache, so that the checks of local folders apply. A commit in the cache
is used without a request; once a model's files and its modules.json, or the fact that it has none, are cached, the hub
is not asked again. A process that serves pages never asks (:func:`never_ask`); the workers that it starts may. The
progress bars and reports of the hub's client and of transformers are silenced: the program reports its own progress.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mauve_core.base.errors import ModelUnavailableError, library_errors, words_of
from mauve_core.base.progress import Progress, counted
from mauve_core.encoders.model_files import VOCABULARIES, WEIGHTS_IN_ORDER, shards

_users, _restore, _lock = 0, ExitStack(), threading.Lock()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence transformers and the hub's client; the last user restores the settings that the first one found."""
    global _users
    import transformers.utils.logging  # noqa: F401 (not while the lock is held: it takes seconds)

    with _lock:
        if not _users:
            _restore.callback(_silence())
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _restore.close()


def _silence() -> Callable[[], None]:
    """Silence both libraries; return what restores their settings."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    verbosity, bars, hub_silent = (
        logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
        are_progress_bars_disabled(),
    )
    logging.set_verbosity_error()
    logging.disable_progress_bar()

    def restore() -> None:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_silent:
            disable_progress_bars()

    return restore


_reported = threading.local()


@contextmanager
def tensors_reported(progress: Progress, stage: str) -> Iterator[None]:
    """Report the tensors of a GGUF file to ``progress`` as this thread converts them, in place of transformers' bar.

    transformers draws that bar with tqdm itself, whatever its settings say. Other threads keep it.
    """
    from transformers import modeling_gguf_pytorch_utils as gguf

    with _lock:
        if not isinstance(gguf.tqdm, _Bars):
            gguf.tqdm = _Bars(gguf.tqdm)
    _reported.to = progress, stage
    try:
        yield
    finally:
        del _reported.to


class _Bars:
    """A stand-in for tqdm in one module of transformers."""

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._tqdm = tqdm

    def __call__(self, items: Iterable[Any], *args: Any, **kwargs: Any) -> Iterable[Any]:
        to = getattr(_reported, "to", None)
        return self._tqdm(items, *args, **kwargs) if to is None else self._reporting(list(items), *to)

    def _reporting(self, items: list[Any], progress: Progress, stage: str) -> Iterator[Any]:
        done = counted(progress, stage, len(items))
        for item in items:
            yield item
            done()


# Maximum time to find the commit of a name, address lookup included.
HUB_TIMEOUT_S = 5.0

# Configurations; a repository of the hub has one of them.
MODEL, ADAPTER = "config.json", "adapter_config.json"

T = TypeVar("T")
_by_environment: bool | None = None


def never_ask() -> None:
    """From now on, this process takes hub models from the local cache alone; its child processes may ask.

    It sets huggingface_hub's own switch, which also covers requests that other libraries make. Nor does the process ask
    a server that has models.
    """
    global _by_environment
    from huggingface_hub import constants

    from mauve_core.encoders import servers

    servers.never_ask()
    if _by_environment is None:
        _by_environment = bool(constants.HF_HUB_OFFLINE)
    constants.HF_HUB_OFFLINE = True


def is_offline() -> bool:
    """Return whether ``HF_HUB_OFFLINE`` keeps this process and its child processes from the hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE) if _by_environment is None else _by_environment


def is_id(name: str) -> bool:
    """Return whether ``name`` is a valid hub id."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def cached_commit(name: str, revision: str | None) -> str | None:
    """Return the commit of a hub model, or adapter, whose configuration is in the local cache, or None."""
    from huggingface_hub import try_to_load_from_cache

    for file in (MODEL, ADAPTER):
        found = try_to_load_from_cache(name, file, revision=revision)
        if isinstance(found, str):
            return Path(found).parent.name
    return None


def commit_of(name: str, revision: str | None) -> str:
    """Return the commit of a name and a revision: the cached one, or else the hub's.

    Raises
    ------
    ModelUnavailableError
        It is not cached, and the hub does not know it, may not be asked, or does not answer within ``HUB_TIMEOUT_S``.
    """
    from huggingface_hub import constants, errors

    cached = cached_commit(name, revision)
    if cached is not None:
        return cached
    missing = f"The model {name!r} is not on this machine"
    if is_offline():
        raise ModelUnavailableError(f"{missing}, and HF_HUB_OFFLINE blocks access to the hub")
    if constants.HF_HUB_OFFLINE:
        raise ModelUnavailableError(
            f"{missing}, and pages do not download models; a job or a command that uses it does"
        )
    unreachable = f"{missing} and the hub cannot be reached"

    def ours(error: BaseException) -> ModelUnavailableError:
        # in huggingface_hub 0.34, LocalEntryNotFoundError is also an HfHubHTTPError
        if isinstance(error, errors.HfHubHTTPError) and not isinstance(error, errors.LocalEntryNotFoundError):
            return ModelUnavailableError(f"The hub has no model {name!r} that this machine can access")
        return ModelUnavailableError(unreachable)

    with library_errors(ours):
        return _in_time(lambda: _resolved(name, revision))


def _resolved(name: str, revision: str | None) -> str:
    """Return the commit that the hub gives; the local cache keeps which one that was.

    A huggingface_hub that cannot resolve a revision by itself does both where it fetches the configuration.
    """
    import huggingface_hub
    from huggingface_hub import errors

    if hasattr(huggingface_hub, "resolve_revision"):
        return huggingface_hub.resolve_revision(name, revision=revision).resolved
    try:
        return _fetched(name, MODEL, revision)
    except errors.LocalEntryNotFoundError:  # it cannot be reached
        raise
    except errors.EntryNotFoundError:
        return _fetched(name, ADAPTER, revision)


def _fetched(name: str, file: str, revision: str | None) -> str:
    """Return the commit of a file that is in the local cache from now on."""
    from huggingface_hub import hf_hub_download

    with quiet_libraries():
        return Path(hf_hub_download(name, file, revision=revision, etag_timeout=HUB_TIMEOUT_S)).parent.name


def _in_time(ask: Callable[[], T]) -> T:
    """Return the result of ``ask``, or raise TimeoutError (an OSError): no other limit covers a silent name server."""
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 (raised again in the caller)
            answer.set_exception(error)

    threading.Thread(target=run, name="mauve-hub", daemon=True).start()
    return answer.result(HUB_TIMEOUT_S)  # type: ignore[no-any-return]


# Settings and vocabularies; weights are fetched by name, code never.
SMALL = ("*.json", "*.txt", "*.model", "*.codes", "*.tiktoken", "*.jinja")

ELSEWHERE = ("onnx/*", "openvino/*", "coreml/*", "original/*", "tf/*", "flax/*")


def hub_file(name: str, commit: str, file: str) -> Path | None:
    """Return a model's file at ``commit`` in the local cache; None if the model has none or the hub does not answer.

    Raises
    ------
    ModelUnavailableError
        The hub refuses it.
    """
    from huggingface_hub import constants, try_to_load_from_cache

    found = try_to_load_from_cache(name, file, revision=commit)
    if isinstance(found, str):
        return Path(found)
    return _downloaded(name, commit, file, str(constants.HF_HUB_CACHE)) if found is None else None


def is_here(name: str, commit: str, file: str) -> Path | None:
    """Return a model's file at ``commit`` if it is in the local cache, without asking the hub."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, file, revision=commit)
    return Path(found) if isinstance(found, str) else None


def is_known(name: str, commit: str, file: str) -> bool:
    """Return whether the local cache knows if the model has this file."""
    from huggingface_hub import try_to_load_from_cache

    return try_to_load_from_cache(name, file, revision=commit) is not None


def hub_snapshot(name: str, commit: str, transformer: str = "") -> Path:
    """Return the folder in the local cache with the model's settings, tokenizer and weights.

    ``transformer`` is the subfolder of the weights, or "".

    Raises
    ------
    ModelUnavailableError
        They are neither cached nor can be fetched.
    """
    folder, prefix = hub_tokenizer(name, commit, transformer), f"{transformer}/" if transformer else ""
    weights = next((path for file in WEIGHTS_IN_ORDER if (path := hub_file(name, commit, prefix + file))), None)
    if weights is None:
        raise _incomplete(name)
    for shard in shards(weights) if weights.name.endswith(".index.json") else ():
        hub_file(name, commit, prefix + shard)
    return folder


def hub_tokenizer(name: str, commit: str, transformer: str = "") -> Path:
    """Return the folder in the local cache with the model's settings and tokenizer; weights are not fetched.

    ``transformer`` and errors as for :func:`hub_snapshot`.
    """
    prefix = f"{transformer}/" if transformer else ""
    config = hub_file(name, commit, f"{prefix}config.json")
    settings_known = all(is_known(name, commit, file) for file in ("modules.json", f"{prefix}tokenizer_config.json"))
    if not settings_known or config is None or not _vocabularies(config.parent):
        _fetch_small_files(name, commit)
        config = hub_file(name, commit, f"{prefix}config.json")
    if config is None:
        raise _incomplete(name)
    return config.parent


def _incomplete(name: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The files of the model {name!r} are not all on this machine and cannot be downloaded from the hub",
        todo="Connect to the hub once, or choose a model that works offline",
    )


def _vocabularies(folder: Path) -> bool:
    found = (path.name for pattern in VOCABULARIES for path in folder.glob(pattern))
    return any(name != "tokenizer_config.json" for name in found)


def _fetch_small_files(name: str, commit: str) -> None:
    """Fetch all settings and vocabularies if the hub answers; an error names a missing file where it is needed."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

    small, elsewhere = list(SMALL), list(ELSEWHERE)
    try:
        with quiet_libraries():
            snapshot_download(
                name, revision=commit, etag_timeout=HUB_TIMEOUT_S, allow_patterns=small, ignore_patterns=elsewhere
            )
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        return
    except Exception as error:
        raise _refused(name, error) from error


@functools.lru_cache(maxsize=1024)
def _downloaded(name: str, commit: str, file: str, cache: str) -> Path | None:  # noqa: ARG001 (the cache is part of the key)
    """Return what the hub gives; a hub that does not answer is asked once per process."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        with quiet_libraries():
            return Path(hf_hub_download(name, file, revision=commit, etag_timeout=HUB_TIMEOUT_S))
    except EntryNotFoundError:  # or a hub that cannot be reached
        return None
    except Exception as error:
        raise _refused(name, error) from error


def _refused(name: str, error: Exception) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The files of the model {name!r} cannot be downloaded from the hub: {words_of(error)}"
    )
