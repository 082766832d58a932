"""Kinds of items: what can be compared, and everything that differs between texts, images and others.

A kind is one object in one module, named here. Whatever else differs by kind is asked of that object: its words, its
properties, and what a form offers of its encoders. Its module is imported when an item of that kind is read or encoded
for the first time, because it may lie in a package above this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from mauve_core.base.config import KINDS, TEXT, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import Words
from mauve_core.texts.perturbations import Perturbation, PerturbationKind, parse
from mauve_core.texts.properties import Property
from mauve_core.texts.streams import refusals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mauve_core.texts.corpus import Corpus


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


class Encoded(Protocol):
    """The features of n items, as :class:`mauve_core.encoders.features.Features`."""

    array: NDArray[np.float32]
    lengths: NDArray[np.int32]
    cut: NDArray[np.bool_]
    key: str
    device: str
    limit: int
    pooling: str
    notes: tuple[str, ...]


class ItemEncoder(Protocol):
    """Turns the items of any number of corpora into features; loads its model once."""

    def encode(self, corpus: Corpus, *, store: Any = None, progress: Progress = silent) -> Encoded:
        """Return the features of a corpus, from the store (a ``FeatureStore``) if available."""
        ...

    def key(self, corpus: Corpus) -> str:
        """Return the store's key of these features, without computing them."""
        ...


@dataclass(frozen=True, eq=False)
class PerturbedCorpus:
    """A corpus of n items after a perturbation.

    Attributes
    ----------
    corpus : Corpus
        The same items in the same order. Those that changed are to be encoded; the others keep their features.
    changed : (n,) bool array
        Whether the item differs from the original.
    notes : tuple of str
        Number of selected items that did not change, and why.
    """

    corpus: Corpus
    changed: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


class Kind(Protocol):
    """One kind of item.

    Attributes
    ----------
    name : str
        As in ``KINDS``.
    words : Words
    model : str
        The encoder that is taken if none is named.
    offer : Offer
        What a form offers of the encoders.
    suffixes : tuple of str
        Of files that can hold such items, without the dot, for a form that takes files.
    has_words : bool
        Whether items are texts of a language, whose words can be counted, searched and changed.
    properties : mapping of str to Property
        By name, in display order; a name means the same property in every kind.
    perturbations : mapping of str to PerturbationKind
        By name, in display order, the control first; other names than those of other kinds.
    probes : tuple of str
        Perturbations that are probed if none is named.
    libraries : tuple of str
        Packages that decide what is read of an item, or its features, beside those of every run.
    """

    @property
    def name(self) -> str: ...

    @property
    def words(self) -> Words: ...

    @property
    def model(self) -> str: ...

    @property
    def offer(self) -> Offer: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    @property
    def has_words(self) -> bool: ...

    @property
    def properties(self) -> Mapping[str, Property]: ...

    @property
    def perturbations(self) -> Mapping[str, PerturbationKind[Any]]: ...

    @property
    def probes(self) -> tuple[str, ...]: ...

    @property
    def libraries(self) -> tuple[str, ...]: ...

    def measure(self, corpus: Corpus) -> dict[str, NDArray[np.float64]]:
        """Return (n,) values by name of ``properties``; 0 or 1 if binary, nan where an item lacks the property."""
        ...

    def described(self, corpus: Corpus) -> tuple[str, ...]:
        """Return the words that stand for each item where words are counted: names of clusters, phrases."""
        ...

    def recognizes(self, path: Path, field: str | None = None) -> bool:
        """Whether a file, a folder or the field of a table holds items of this kind; looks no further than it must."""
        ...

    def columns(self, path: Path) -> tuple[str, ...]:
        """Return the columns of a table that hold such items without being named; none if the file has no columns."""
        ...

    def read(
        self, path: str | Path, *, name: str | None, fields: Mapping[str, Any], progress: Progress = silent
    ) -> Corpus:
        """Read a corpus; ``fields`` are the fields of a table that the caller named, empty if none."""
        ...

    def encoder(self, config: EncoderConfig, device: str) -> ItemEncoder:
        """Return an encoder with those settings; InputError if they do not apply to such items."""
        ...

    def perturb(
        self, corpus: Corpus, perturbation: Perturbation, *, seed: int, progress: Progress = silent
    ) -> PerturbedCorpus:
        """Perturb the items of a corpus; InputError if the perturbation is none of such items, or they are gone."""
        ...


class Unperturbed:
    """Base of kinds whose items nothing perturbs."""

    perturbations: ClassVar[Mapping[str, PerturbationKind[Any]]] = {}
    probes: ClassVar[tuple[str, ...]] = ()

    def perturb(
        self, corpus: Corpus, perturbation: Perturbation, *, seed: int, progress: Progress = silent
    ) -> PerturbedCorpus:
        del seed, progress
        items = kind_of(corpus.kind).words.items
        raise InputError(f"Nothing perturbs {items}", received=perturbation.spec)


@cache
def kind_of(name: str) -> Kind:
    """Return a kind by its name; InputError if there is none."""
    if name not in KINDS:
        raise InputError("This kind of item is unknown", allowed=", ".join(KINDS), received=repr(name))
    module, _, attribute = KINDS[name].partition(":")
    found: Kind = getattr(import_module(module), attribute)
    return found


def kind_at(path: str | Path, field: str | None = None) -> Kind:
    """Return the kind of the items of a file, folder, pattern or data set; ``field`` is the one to read, if named."""
    where = Path(path)
    with refusals(where):
        return next(kind for kind in map(kind_of, KINDS) if kind.name == TEXT or kind.recognizes(where, field))


def require_no_fields(path: str | Path, items: str, fields: Mapping[str, Any]) -> None:
    """Raise InputError if fields were named for items that have none."""
    if fields:
        raise InputError(
            f"{path} holds {items}, which have no fields", allowed="no fields", received=", ".join(sorted(fields))
        )


@cache
def property_named(name: str) -> Property:
    """Return a property of items of any kind; InputError if none has that name."""
    for kind in map(kind_of, KINDS):
        if name in kind.properties:
            return kind.properties[name]
    raise InputError("No kind of item has this property", received=repr(name)[:80])


def require_words(name: str, what: str) -> None:
    """Raise InputError unless items of that kind are texts; ``what`` begins the sentence, in the singular."""
    kind = kind_of(name)
    if not kind.has_words:
        raise InputError(f"{what} is about texts", allowed="a run of texts", received=f"a run of {kind.words.items}")


def parse_perturbation(spec: str) -> Perturbation:
    """Parse a perturbation of items of any kind; format and errors as :func:`mauve_core.texts.perturbations.parse`."""
    return parse(spec, _perturbations())


@cache
def _perturbations() -> Mapping[str, PerturbationKind[Any]]:
    """Perturbations of items of any kind by name."""
    return {name: found for kind in reversed(KINDS) for name, found in kind_of(kind).perturbations.items()}


def common_kind(kinds: Mapping[str, str]) -> Kind:
    """Return the kind of all sides, whose kinds are given by name; InputError if they differ."""
    first, name = next(iter(kinds.items()))
    for side, other in kinds.items():
        if other != name:
            raise InputError(
                "Sides of different kinds cannot be compared",
                allowed="items of one kind",
                received=f"{first!r} has {kind_of(name).words.items}, and {side!r} has {kind_of(other).words.items}",
            )
    return kind_of(name)
