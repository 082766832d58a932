"""What a form offers of the encoders of one kind of item: which models, which of their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class AvailableModel:
    """An entry of a model picker: whether the weights are on this machine, and whether the model can write texts."""

    name: str
    description: str
    ready: bool
    causal: bool = True


@dataclass(frozen=True)
class Offer:
    """The encoders of a kind.

    Attributes
    ----------
    models : callable
        () -> the models that have a line of their own.
    others : str
        What else can be typed, as a sentence; empty if nothing.
    settings : callable
        Model's name -> the fields of ``EncoderConfig`` that can differ from their defaults.
    fetched : callable
        (name, revision) -> whether a job would have to fetch it from the hub; the hub is not asked.
    check : callable
        (name, revision) -> None. Raises MauveLensError for what is known to be no encoder of such items; the hub is not
        asked.
    """

    models: Callable[[], tuple[AvailableModel, ...]]
    others: str
    settings: Callable[[str], frozenset[str]]
    fetched: Callable[[str, str | None], bool]
    check: Callable[[str, str | None], None]
