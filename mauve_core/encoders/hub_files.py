"""Files of a hub model in the hub's local cache, fetched if missing.

A model is always read from its snapshot in the cache, so that the checks of local folders apply. Once its files and
its modules.json, or the fact that it has none, are cached, the hub is not asked again.
"""

from __future__ import annotations

import functools
from pathlib import Path

from mauve_core.base.errors import ModelUnavailableError, words_of
from mauve_core.encoders.hub import HUB_TIMEOUT_S
from mauve_core.encoders.model_files import VOCABULARIES, WEIGHTS_IN_ORDER, shards
from mauve_core.encoders.quiet import quiet_libraries

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
