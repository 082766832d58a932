"""A perturbation: a change to every text or other item, or to a share of them, written as one word.

    drop-articles                       every text loses its articles
    drop-articles@0.5                   half of the texts do
    drop-articles:words=0.3             every text loses three articles in ten
    typos:rate=0.05                     one letter in twenty is mistyped
    replace:/colou?r/hue/@0.5           a regular expression and its replacement; / within them is written \\/
    jpeg-30                             every image is stored as a JPEG of quality 30

The share of items after @ is called the dose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from mauve_core.base.errors import InputError

# What is changed: a text, or the pixels of an image.
Item = TypeVar("Item")

Values = Mapping[str, float | str]
Change = Callable[[Item, Values, np.random.Generator], Item]
Part = Callable[[str], tuple[int, int] | None]


@dataclass(frozen=True)
class Parameter:
    """A setting of a perturbation.

    Attributes
    ----------
    default : float or None
        None if the setting is required.
    kind : {float, int, str}
    allowed : str
        Description of the allowed values.
    said : str
        How a title gives the value, such as ``quality {:g}``; empty for what all such settings have in common.
    """

    name: str
    default: float | None
    kind: type[float] | type[int] | type[str]
    allowed: str
    check: Callable[[float], bool] = field(default=lambda value: True)  # noqa: ARG005
    said: str = ""


@dataclass(frozen=True)
class PerturbationKind(Generic[Item]):
    """A kind of change to texts or other items.

    Attributes
    ----------
    name, title : str
        In specs and in tables.
    summary : str
        One sentence to help a reader choose.
    unchanged : str
        Why an item may stay unchanged.
    change : callable or None
        (item, values, random stream) -> item; None for the control and for exchanges.
    part : callable or None
        Start and end of the part that a text exchanges, None for a text without one; None for all other kinds.
    require : callable
        Validates the values together; raises InputError.
    inline : bool
        Whether the value of its one parameter follows its name and a hyphen: ``jpeg-30``.
    items : str
        What it changes: "texts", "images".
    """

    name: str
    title: str
    summary: str
    unchanged: str = ""
    parameters: tuple[Parameter, ...] = ()
    change: Change[Item] | None = None
    part: Part | None = None
    require: Callable[[Values], None] = field(default=lambda values: None)  # noqa: ARG005
    inline: bool = False
    items: str = "texts"

    @property
    def is_control(self) -> bool:
        """Whether it changes nothing."""
        return self.change is None and self.part is None

    @property
    def has_pattern(self) -> bool:
        """Whether its spec holds a pattern and a replacement between slashes."""
        return any(parameter.kind is str for parameter in self.parameters)

    @property
    def form(self) -> str:
        """The name, with the parameter that follows it: ``jpeg-QUALITY``."""
        return f"{self.name}-{self.parameters[0].name.upper()}" if self.inline else self.name


@dataclass(frozen=True)
class Perturbation:
    """A kind with its parameters and dose; equal perturbations have equal effects.

    Attributes
    ----------
    values : mapping of str to float or str
        All parameters of the kind, in its order.
    dose : float
        Share of the items to perturb, in [0, 1].
    """

    kind: PerturbationKind[Any]
    values: Values = field(default_factory=dict)
    dose: float = 1.0

    def __post_init__(self) -> None:
        values: dict[str, float | str] = {}
        for parameter in self.kind.parameters:
            value = _checked(parameter, self.values.get(parameter.name, parameter.default))
            if value is None:
                raise self._refused()
            values[parameter.name] = value
        if set(self.values) - set(values):
            raise self._refused()
        if not 0 <= self.dose <= 1:
            raise InputError(
                f"The share of {self.kind.items} is not usable", allowed="from 0 to 1", received=f"{self.dose}"
            )
        if self.kind.is_control and self.dose != 1:
            raise InputError(f"The control {self.kind.name} changes nothing and takes no dose")
        self.kind.require(values)
        object.__setattr__(self, "values", values)

    def _refused(self) -> InputError:
        received = ", ".join(f"{name}={value}" for name, value in self.values.items())
        name = self.kind.name
        return InputError(
            f"The perturbation {name} cannot have these settings", allowed=usage(self.kind), received=received
        )

    @property
    def spec(self) -> str:
        """The spec without parameters at their defaults."""
        dose = "" if self.dose == 1 else f"@{_number(self.dose)}"
        if self.kind.inline:
            return f"{self.kind.name}-{_number(float(self.values[self.kind.parameters[0].name]))}{dose}"
        settings = ",".join(
            f"{p.name}={_number(float(self.values[p.name]))}"
            for p in self.kind.parameters
            if p.kind is not str and self.values[p.name] != p.default
        )
        if self.kind.has_pattern:
            texts = [str(self.values[p.name]) for p in self.kind.parameters if p.kind is str]
            settings = f"/{'/'.join(map(_slashed, texts))}/{settings}"
        return (f"{self.kind.name}:{settings}" if settings else self.kind.name) + dose

    @property
    def title(self) -> str:
        """The name in a table, with patterns verbatim."""
        parts = [self.kind.title]
        for parameter in self.kind.parameters:
            value = self.values[parameter.name]
            if parameter.said:
                parts.append(parameter.said.format(value))
            elif parameter.kind is str:
                parts.append(f"{parameter.name} {value!r}")
            elif value != (1 if parameter.name == "words" else None if parameter.name == "rate" else parameter.default):
                parts.append(f"{_percent(value)} of {'letters' if parameter.name == 'rate' else 'words'}"
                             if parameter.name in ("rate", "words") else f"{parameter.name} = {value:g}")  # fmt: skip
        if self.dose != 1:
            parts.append(f"{_percent(self.dose)} of {self.kind.items}")
        return ", ".join(parts)

    def __hash__(self) -> int:
        return hash(self.spec)


NONE: PerturbationKind[Any] = PerturbationKind("none", "None", "Nothing is changed: the effect of sampling alone.")

# The control, whatever the items are.
CONTROL = Perturbation(NONE)


def parse(spec: str, kinds: Mapping[str, PerturbationKind[Any]]) -> Perturbation:
    """Parse ``name``, ``name-value``, ``name:parameter=value,...`` or ``name:/pattern/replacement/``.

    Each may end in ``@share``.

    Raises
    ------
    InputError
        An unknown name or parameter, a duplicate or missing parameter, or a value that is not allowed.
    """
    name = re.split("[:@]", spec, maxsplit=1)[0].strip()
    rest = spec.strip()[len(name) :]
    kind, value = _kind_and_value(name, kinds)
    if kind is None:
        forms = ", ".join(each.form for each in kinds.values())
        raise InputError("No perturbation of that name", allowed=forms, received=repr(spec))
    name = kind.name
    values: dict[str, float | str] = {} if value is None else {kind.parameters[0].name: _read_number(value, spec)}
    if kind.has_pattern:
        match = re.fullmatch(r":/((?:[^\\/]|\\.)*)/((?:[^\\/]|\\.)*)/([^@]*)(@.*)?", rest, re.DOTALL)
        if match is None:
            raise InputError(f"The perturbation {name} cannot be read", allowed=usage(kind), received=spec)
        names = [parameter.name for parameter in kind.parameters if parameter.kind is str]
        values = {key: match[i].replace("\\/", "/") for i, key in enumerate(names, 1)}
        settings, dose = match[3], (match[4] or "")[1:]
        has_dose = match[4] is not None
    else:
        settings, separator, dose = rest.partition("@")
        settings, has_dose = settings.removeprefix(":"), bool(separator)
    known = {parameter.name for parameter in kind.parameters if parameter.kind is not str and not kind.inline}
    for setting in filter(None, settings.split(",")):
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in known or key in values:
            raise InputError(f"The perturbation {name} cannot be read", allowed=usage(kind), received=spec)
        values[key] = _read_number(text, spec)
    return Perturbation(kind, values, _read_number(dose, spec) if has_dose else 1.0)


def usage(kind: PerturbationKind[Any]) -> str:
    """Spec format and allowed parameter values."""
    dose = "" if kind.is_control else f"@share of {kind.items}"
    if kind.inline:
        only = kind.parameters[0]
        return f"{kind.form}{dose} ({only.name.upper()}: {only.allowed})"
    settings = ",".join(f"{p.name}={p.allowed}" for p in kind.parameters if p.kind is not str)
    if kind.has_pattern:
        settings = f"/{'/'.join(p.name.upper() for p in kind.parameters if p.kind is str)}/{settings}"
    return (f"{kind.name}:{settings}" if settings else kind.name) + dose


def require_of(items: str, perturbation: Perturbation, kinds: Mapping[str, PerturbationKind[Any]]) -> None:
    """Refuse a perturbation of items other than these, such as "texts"; ``kinds`` are those of these items."""
    if perturbation.kind.items != items and not perturbation.kind.is_control:
        raise InputError(
            f"The perturbation {perturbation.kind.name} changes {perturbation.kind.items}, and these are {items}",
            allowed=", ".join(kind.form for kind in kinds.values()),
            received=perturbation.spec,
        )


def _kind_and_value(
    name: str, kinds: Mapping[str, PerturbationKind[Any]]
) -> tuple[PerturbationKind[Any] | None, str | None]:
    """The kind of that name, and what follows the name of an inline one; None without it."""
    if name in kinds:
        return kinds[name], None
    for kind in kinds.values():
        if kind.inline and name.startswith(f"{kind.name}-"):
            return kind, name.removeprefix(f"{kind.name}-")
    return None, None


def _checked(parameter: Parameter, value: float | str | None) -> float | str | None:
    """The converted value; None if not allowed."""
    if value is None or isinstance(value, str) != (parameter.kind is str):
        return None
    if isinstance(value, str):
        return value
    number = parameter.kind(value) if math.isfinite(value) else math.nan
    return number if number == value and parameter.check(float(number)) else None


def _read_number(text: str, spec: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError("The perturbation has a value that is not a number", received=spec) from error


def _number(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _percent(share: float | str) -> str:
    return f"{100 * float(share):g}%"


def _slashed(text: str) -> str:
    """Escape every slash that does not follow a backslash, as \\/."""
    return re.sub(r"\\.|/", lambda match: "\\/" if match[0] == "/" else match[0], text, flags=re.DOTALL)
