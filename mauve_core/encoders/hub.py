"""Requests to the Hugging Face hub: only for a hub model that the user named, and with a time limit.

A commit in the hub's local cache is used without a request. A process that serves pages never asks the hub
(:func:`never_ask`); the workers that it starts may.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from mauve_core.base.errors import ModelUnavailableError, library_errors
from mauve_core.encoders.quiet import quiet_libraries

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

    from mauve_core.encoders.servers import client

    client.never_ask()
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
