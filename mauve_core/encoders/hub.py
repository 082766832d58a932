"""What is asked of the Hugging Face hub, when, and for how long: nothing but a hub model that somebody named.

A commit that lies in the hub's local cache is taken from there without a question. A process that serves pages never
asks at all (:func:`never_ask`): what a person starts there is done by a worker, and that one may.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from mauve_core.base.errors import ModelUnavailableError

HUB_TIMEOUT_S = 5.0
"""How long the hub may take to say which commit a name stands for, looking up its address included."""

_CLIENTS = {"httpx", "httpx2", "httpcore", "httpcore2", "requests"}

Given = TypeVar("Given")
_by_environment: bool | None = None


def never_ask() -> None:
    """From now on this process takes hub models from the local cache alone; processes that it starts are free to ask.

    The switch is that of huggingface_hub itself, so that it holds for whatever a library would ask on its own.
    """
    global _by_environment
    from huggingface_hub import constants

    if _by_environment is None:
        _by_environment = bool(constants.HF_HUB_OFFLINE)
    constants.HF_HUB_OFFLINE = True


def is_offline() -> bool:
    """Whether ``HF_HUB_OFFLINE`` keeps this process, and those that it starts, from the hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE) if _by_environment is None else _by_environment


def is_id(name: str) -> bool:
    """Whether the hub could have a model of that name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def cached_commit(name: str, revision: str | None) -> str | None:
    """The commit of a hub model that lies in the hub's local cache with its configuration, or None."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json", revision=revision)
    return Path(found).parent.name if isinstance(found, str) else None


def commit_of(name: str, revision: str | None) -> str:
    """The commit that a name and a revision stand for: the cached one, or else the one that the hub says.

    Raises
    ------
    ModelUnavailableError
        It is not cached, and the hub does not know it, may not be asked, or does not answer within ``HUB_TIMEOUT_S``.
    """
    from huggingface_hub import constants, errors, resolve_revision

    cached = cached_commit(name, revision)
    if cached is not None:
        return cached
    missing = f"The model {name!r} is not on this machine"
    if is_offline():
        raise ModelUnavailableError(f"{missing}, and HF_HUB_OFFLINE keeps this program from the hub")
    if constants.HF_HUB_OFFLINE:
        raise ModelUnavailableError(f"{missing}, and pages fetch none: a job or a command that uses it does")
    unreachable = f"{missing} and the hub cannot be reached"
    try:
        return _in_time(lambda: resolve_revision(name, revision=revision).resolved)
    except errors.HfHubHTTPError as error:
        raise ModelUnavailableError(f"The hub has no model {name!r} that can be read from here") from error
    except (errors.RevisionResolutionError, OSError) as error:
        raise ModelUnavailableError(unreachable) from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in _CLIENTS:
            raise
        raise ModelUnavailableError(unreachable) from error


def _in_time(ask: Callable[[], Given]) -> Given:
    """What ``ask`` gives, or TimeoutError (an OSError): a name server's silence obeys no other limit."""
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 (raised again where the answer is waited for)
            answer.set_exception(error)

    threading.Thread(target=run, name="mauve-hub", daemon=True).start()
    return answer.result(HUB_TIMEOUT_S)  # type: ignore[no-any-return]
