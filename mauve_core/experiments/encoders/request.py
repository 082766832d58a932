"""Encoders of a comparison of encoders, written as one word each.

    minilm                                       a model with its own pooling and last layer
    smollm2-135m:pooling=mean,layer=0            averages of a model's token embeddings, its word vectors
    glove.txt                                    a file of word vectors

Settings that decide how much of a text is read (tokens, precision, prompt) are the run's own unless given, so that the
encoders see the same texts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mauve_core.base.config import USUAL_ENCODERS, EncoderConfig, names_server, parse_server_name
from mauve_core.base.errors import InputError
from mauve_core.encoders.catalogue import PACKAGED, has_no_tokenizer
from mauve_core.texts.kinds import Kind

_DEFAULTS = EncoderConfig()
_PARTS = tuple(item.name for item in dataclasses.fields(EncoderConfig))[1:]
_NUMBERS = ("layer", "max_tokens")
_OF_THE_RUN = ("max_tokens", "with_prompt", "dtype")


def parse_encoder(spec: str, own: EncoderConfig | None = None) -> EncoderConfig:
    """Read ``MODEL`` or ``MODEL:setting=value,setting=value``.

    Parameters
    ----------
    spec : str
        The settings are fields of :class:`mauve_core.base.config.EncoderConfig`; a colon without an equals sign behind
        it belongs to the model's path.
    own : EncoderConfig, optional
        The run's own encoder, whose ``max_tokens``, ``with_prompt`` and ``dtype`` apply unless given. Word vectors
        and models behind servers have one precision.

    Raises
    ------
    InputError
        An unknown or repeated setting, or a value that is not possible.
    """
    model, settings = _split(spec)
    given: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        name, _, value = (part.strip() for part in setting.partition("="))
        if name not in _PARTS or name in given:
            allowed = f"each at most once: {', '.join(_PARTS)}"
            raise InputError("The encoder cannot be read", allowed=allowed, received=spec)
        given[name] = _value(name, value, spec)
    usual = {name: getattr(own or _DEFAULTS, name) for name in _OF_THE_RUN}
    if has_no_tokenizer(model):
        usual["dtype"] = _DEFAULTS.dtype
    return EncoderConfig(**{"model": model, **usual, **given})


def written(config: EncoderConfig, own: EncoderConfig | None = None) -> str:
    """Return the word that :func:`parse_encoder` reads back, without settings that it fills in."""
    usual = parse_encoder(config.model, own)
    parts = [
        f"{name}={_text(getattr(config, name))}" for name in _PARTS if getattr(config, name) != getattr(usual, name)
    ]
    return f"{config.model}:{','.join(parts)}" if parts else config.model


def with_absolute_path(spec: str) -> str:
    """Return the word with an existing file or folder as an absolute path; other models stay."""
    model, settings = _split(spec)
    path = Path(model).expanduser()
    if model in PACKAGED or not path.exists():
        return spec
    return f"{path.absolute()}:{settings}" if settings else str(path.absolute())


def usual_encoders(kind: Kind | None = None) -> tuple[str, ...]:
    """Return those of :func:`offered_encoders` whose weights are on this machine; default: for texts."""
    if kind is None or kind.has_words:
        return tuple(spec for spec in USUAL_ENCODERS if PACKAGED[_split(spec)[0]].locate() is not None)
    return tuple(model.name for model in kind.offer.models() if model.ready)


def offered_encoders(kind: Kind) -> tuple[str, ...]:
    """Return the encoders to choose from for items of a kind: ``USUAL_ENCODERS`` for texts, else all with a line."""
    return USUAL_ENCODERS if kind.has_words else tuple(model.name for model in kind.offer.models())


def encoder_titles(configs: Sequence[EncoderConfig | None]) -> tuple[str, ...]:
    """Return a short name of each encoder, different for different ones; the first is the run's own, and may be None.

    A title has the model's name without its folder, then the settings that differ from a model's own, and the length,
    precision or prompt where they differ from the first encoder's.
    """
    base = next((config for config in configs if config is not None), _DEFAULTS)
    short = [_title(config, base, whole=False) for config in configs]
    return tuple(
        title if short.count(title) == 1 else _title(config, base, whole=True)
        for title, config in zip(short, configs, strict=True)
    )


def _title(config: EncoderConfig | None, base: EncoderConfig, *, whole: bool) -> str:
    if config is None:
        return "features given"
    parts = [config.model if whole else _short(config.model)]
    for name in _PARTS:
        value, usual = getattr(config, name), getattr(base if name in _OF_THE_RUN else _DEFAULTS, name)
        if value == usual or (name == "dtype" and has_no_tokenizer(config.model)):
            continue
        parts.append(str(value) if name in ("pooling", "revision", "dtype") else f"{name} {_text(value)}")
    return " · ".join([parts[0], *(part.replace("_", " ") for part in parts[1:])])


def _short(model: str) -> str:
    return parse_server_name(model).model if names_server(model) else model.rstrip("/").rpartition("/")[2]


def _split(spec: str) -> tuple[str, str]:
    model, colon, settings = spec.rpartition(":")
    return (model.strip(), settings) if colon and "=" in settings else (spec.strip(), "")


def _value(name: str, value: str, spec: str) -> Any:
    if name == "with_prompt":
        if value not in ("yes", "no"):
            raise InputError("The encoder cannot be read", allowed="with_prompt=yes or with_prompt=no", received=spec)
        return value == "yes"
    if name not in _NUMBERS:
        return value
    try:
        return int(value)
    except ValueError as error:
        raise InputError(f"The encoder's {name} is not a whole number", received=spec) from error


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
