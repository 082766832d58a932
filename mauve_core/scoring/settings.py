"""The settings of a comparison from what its caller gave: a whole configuration, or the usual settings one by one."""

from __future__ import annotations

import dataclasses
from typing import Any

from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.external_features import EncoderObject, is_encoder_object

# The name of a model, its settings, or a function or object that encodes.
Encoding = str | EncoderConfig | EncoderObject


def settled(
    config: CompareConfig | None,
    encoder: Encoding | None,
    encoder_name: str | None,
    *,
    given: bool,
    **score: Any,
) -> tuple[CompareConfig, EncoderObject | None]:
    """Return the configuration, and the encoder if it is a function or an object.

    Parameters
    ----------
    config : CompareConfig or None
    encoder : str, EncoderConfig, callable or object with ``encode``, or None
    encoder_name : str or None
        What features from elsewhere are known as.
    given : bool
        Whether features were given.
    **score
        Fields of ScoreConfig; None leaves the default.

    Raises
    ------
    InputError
        A setting is given in two places, cannot be used, or is of another type.
    """
    chosen = {name: value for name, value in score.items() if value is not None}
    twice = [*(["encoder"] if encoder is not None else []), *chosen]
    if config is not None and not isinstance(config, CompareConfig):
        raise InputError("config cannot be used", allowed="CompareConfig", received=type(config).__name__)
    if config is not None and twice and not (twice == ["encoder"] and config.encoder is None):
        raise InputError(
            f"{', '.join(twice)} and config were both given",
            allowed="each setting in one place",
            todo="Set it in config: CompareConfig(encoder=..., score=ScoreConfig(seeds=...))",
        )
    if given and encoder is not None:
        raise InputError("Features and an encoder were both given", allowed="one of the two")
    function = encoder if is_encoder_object(encoder) else None
    if encoder is not None and function is None and not isinstance(encoder, str | EncoderConfig):
        allowed = "a model's name, EncoderConfig, a function from texts to an array, or an object with encode"
        received = f"the class {encoder.__name__}" if isinstance(encoder, type) else type(encoder).__name__
        raise InputError("encoder cannot be used", allowed=allowed, received=received)
    if config is None:
        config = CompareConfig() if encoder is None and not given else CompareConfig(encoder=None)
    if isinstance(encoder, str | EncoderConfig):
        model = EncoderConfig(model=encoder) if isinstance(encoder, str) else encoder
        config = dataclasses.replace(config, encoder=model)
    if encoder_name is not None:
        if config.encoder is not None:
            raise InputError("encoder_name is for features from elsewhere", todo="The encoder has a name; leave it out")
        config = dataclasses.replace(config, features_from=encoder_name)
    config = dataclasses.replace(config, score=dataclasses.replace(config.score, **chosen))
    return config, function


def with_precision(config: CompareConfig, device: str, *, given: bool) -> CompareConfig:
    """Return the configuration with the precision that "auto" means here, before a key or a run is made of it.

    Raises InputError where features are given: what made them has one precision.
    """
    from mauve_core.encoders.devices import checked_precision, choose_precision

    if config.encoder is None:
        return config
    if given:
        checked_precision(config.encoder.dtype)
        return config
    return dataclasses.replace(config, encoder=choose_precision(config.encoder, device).config)
