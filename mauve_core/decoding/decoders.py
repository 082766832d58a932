"""Decoding algorithms by name, and what each does to the logits before a token is taken.

A decoder is written ``name`` or ``name:parameter=value,...``, such as ``nucleus:p=0.95``; see :func:`parse_decoder`.
Truncation and beam search are those of transformers. :class:`mauve_core.decoding.processors.SeededDraw` draws the
tokens, so a text depends on its prompt and the seed but not on its batch.

Sources (JMLR 2023, sections 2.1 and 6.2): top-k sampling, Fan et al. 2018; nucleus sampling, Holtzman et al. 2020;
locally typical sampling, Meister et al. 2022; adversarial perplexity sampling, NeurIPS 2021, section 4. Contrastive
search (section 8): Su et al. 2022.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.decoding.contrastive import ContrastiveSearch
from mauve_core.decoding.processors import PerplexityChase, SeededDraw

# Maximum beams or candidates of one prompt. Each is a row of the batch with a cache of its own, and a batch of other
# decoders has as many rows.
MOST_ROWS = 128

# Characters shown of a decoder that does not exist.
SHOWN = 40


@dataclass(frozen=True)
class Parameter:
    """A numeric parameter of a decoder: its default, type and allowed values.

    Attributes
    ----------
    default : float or None
        None if the parameter is required.
    quiet : bool
        Whether the decoder's written form omits the default.
    """

    name: str
    default: float | None
    kind: type[int] | type[float]
    allowed: str
    check: Callable[[float], bool]
    quiet: bool = False


@dataclass(frozen=True)
class Writing:
    """What a decoder needs to know about its batch.

    Attributes
    ----------
    keys : sequence of int
        Keys of the rows' random streams.
    max_new_tokens : int
    special : sequence of int
        Token ids that are not text.
    """

    keys: Sequence[int]
    max_new_tokens: int
    special: Sequence[int] = ()


Values = Mapping[str, float]


@dataclass(frozen=True)
class DecoderKind:
    """A decoding algorithm.

    Attributes
    ----------
    name : str
    summary : str
        One sentence to help a reader choose.
    parameters : tuple of Parameter
    draws : bool
        Whether it samples from the distribution after ``warpers``.
    warpers : callable
        Values -> the logits processors that turn the model's distribution into this decoder's.
    options : callable
        Values -> fields of transformers' GenerationConfig.
    chase : callable or None
        Values and batch -> a processor that chooses the token itself.
    custom : callable or None
        Values -> a generation loop for ``generate(custom_generate=...)``.
    width : callable
        Values -> how many continuations of one prompt the model reads at a time.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    draws: bool = False
    warpers: Callable[[Values], list[Any]] = field(default=lambda values: [])  # noqa: ARG005
    options: Callable[[Values], dict[str, Any]] = field(default=lambda values: {})  # noqa: ARG005
    chase: Callable[[Values, Writing], Any] | None = None
    custom: Callable[[Values], Any] | None = None
    width: Callable[[Values], int] = field(default=lambda values: 1)  # noqa: ARG005


@dataclass(frozen=True)
class Decoder:
    """A decoder with its parameters set, such as ``nucleus:p=0.95``.

    Attributes
    ----------
    kind : DecoderKind
    values : mapping of str to float
        Every parameter of the kind, in its order.
    """

    kind: DecoderKind
    values: Values

    @property
    def spec(self) -> str:
        """The written form for :func:`parse_decoder`."""
        settings = ",".join(f"{p.name}={_number(self.values[p.name])}" for p in self._shown())
        return f"{self.kind.name}:{settings}" if settings else self.kind.name

    @property
    def slug(self) -> str:
        """Form for file names: ``nucleus-0.95``."""
        parts = [f"{p.name}-{_number(self.values[p.name])}" if p.quiet else _number(self.values[p.name])
                 for p in self._shown()]  # fmt: skip
        return "-".join([self.kind.name, *parts])

    @property
    def has_distribution(self) -> bool:
        """Whether each next token has a distribution given the earlier ones, which ``warpers`` and ``draws`` define.

        False for beam search, contrastive search and adversarial sampling, which consider whole texts.
        """
        return self.kind.chase is None and self.kind.custom is None and not self.kind.options(self.values)

    @property
    def is_random(self) -> bool:
        """Whether it draws at random, so that its continuations of one prompt differ."""
        return self.kind.draws or self.kind.chase is not None

    def warpers(self) -> list[Any]:
        """The logits processors that turn the model's distribution into this decoder's; none for greedy."""
        return self.kind.warpers(self.values)

    def processors(self, writing: Writing) -> list[Any]:
        """Logits processors for a batch, in order of application."""
        chain = self.warpers()
        if self.kind.chase is not None:
            chain.append(self.kind.chase(self.values, writing))
        if self.kind.draws:
            chain.append(SeededDraw(writing.keys, writing.max_new_tokens))
        return chain

    def _shown(self) -> list[Parameter]:
        return [p for p in self.kind.parameters if not (p.quiet and self.values[p.name] == p.default)]


def stream_key(seed: int, decoder: Decoder, prompt_id: str, generation: int = 0) -> int:
    """The 128-bit key of one text's random stream, from the seed, the decoder, the prompt's id and the generation.

    Generation 0 adds nothing to the key, so that it is the text of a run without repeats.
    """
    words = f"{seed}\x1f{decoder.spec}\x1f{prompt_id}".encode()
    if generation:
        words = f"generation {generation}\x1f".encode() + words
    return int.from_bytes(hashlib.sha256(words).digest()[:16], "little")


def parse_decoder(spec: str) -> Decoder:
    """Read ``name`` or ``name:parameter=value,parameter=value``; omitted parameters take their defaults.

    Raises
    ------
    InputError
        A name or parameter is unknown, a value is out of range, or a required parameter is missing.
    """
    name, _, settings = spec.partition(":")
    kind = DECODERS.get(name.strip())
    if kind is None:
        raise InputError(
            "There is no such decoder",
            allowed=", ".join(map(_outline, DECODERS.values())),
            received=(spec if len(spec) <= SHOWN else f"{spec[:SHOWN]} …") or "nothing",
            todo="See mauve-lens generate --help",
        )
    if settings and not kind.parameters:
        raise InputError(f"The decoder {kind.name} takes no parameters", received=spec)
    known = {parameter.name: parameter for parameter in kind.parameters}
    values: dict[str, float] = {}
    for setting in filter(None, settings.split(",")):
        key, _, text = (part.strip() for part in setting.partition("="))
        value = _read(known[key], text) if key in known and key not in values else None
        if value is None:
            raise InputError(f"Invalid setting for the decoder {kind.name}", allowed=usage(kind), received=spec)
        values[key] = value
    missing = [p.name for p in kind.parameters if p.default is None and p.name not in values]
    if missing:
        raise InputError(f"The decoder {kind.name} needs {', '.join(missing)}", allowed=usage(kind), received=spec)
    return Decoder(kind, {p.name: values.get(p.name, p.default) for p in kind.parameters})  # type: ignore[misc]


def usage(kind: DecoderKind) -> str:
    """The written form of a decoder and the allowed values of its parameters."""
    settings = ",".join(f"{parameter.name}={parameter.allowed}" for parameter in kind.parameters)
    return f"{kind.name}:{settings}" if settings else kind.name


def _outline(kind: DecoderKind) -> str:
    """The written form of a decoder without values."""
    return ":".join(filter(None, [kind.name, ",".join(parameter.name for parameter in kind.parameters)]))


def _read(parameter: Parameter, text: str) -> float | None:
    """The parsed value, or None if the parameter does not allow it."""
    try:
        value = parameter.kind(text)
        return value if math.isfinite(value) and parameter.check(value) else None
    except (ValueError, OverflowError):
        return None


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _temperature(values: Values) -> list[Any]:
    from transformers import TemperatureLogitsWarper

    return [TemperatureLogitsWarper(float(values["t"]))]


def _top_k(values: Values) -> list[Any]:
    from transformers import TopKLogitsWarper

    return [TopKLogitsWarper(top_k=int(values["k"]))]


def _nucleus(values: Values) -> list[Any]:
    from transformers import TopPLogitsWarper

    return [TopPLogitsWarper(top_p=values["p"])]


def _typical(values: Values) -> list[Any]:
    from transformers import TypicalLogitsWarper

    return [TypicalLogitsWarper(mass=values["tau"])]


def _beam(values: Values) -> dict[str, Any]:
    no_repeat = int(values["no-repeat"])
    return {"num_beams": int(values["b"]), **({"no_repeat_ngram_size": no_repeat} if no_repeat else {})}


def _adversarial(values: Values, writing: Writing) -> PerplexityChase:
    uniform = math.ceil(values["share"] * writing.max_new_tokens)
    return PerplexityChase(writing.keys, values["ppl"], uniform, writing.special)


_OPEN_SHARE = "a share in (0, 1)"

# Every decoder by its name.
DECODERS: dict[str, DecoderKind] = {
    kind.name: kind
    for kind in (
        DecoderKind("greedy", "The most probable token at each step."),
        DecoderKind("ancestral", "A draw from the model's own distribution.", draws=True),
        DecoderKind(
            "temperature",
            "A draw after the logits are divided by t; t below 1 favors likely tokens.",
            (Parameter("t", 0.7, float, "a number above 0", lambda t: t > 0),),
            draws=True,
            warpers=_temperature,
        ),
        DecoderKind(
            "top-k",
            "A draw from the k most probable tokens.",
            (Parameter("k", 50, int, "a whole number of at least 1", lambda k: k >= 1),),
            draws=True,
            warpers=_top_k,
        ),
        DecoderKind(
            "nucleus",
            "A draw from the smallest set of tokens with total probability p.",
            (Parameter("p", 0.95, float, "a share in (0, 1]", lambda p: 0 < p <= 1),),
            draws=True,
            warpers=_nucleus,
        ),
        DecoderKind(
            "typical",
            "A draw from the tokens whose surprisal is closest to the expected one, up to total probability tau.",
            (Parameter("tau", 0.95, float, _OPEN_SHARE, lambda tau: 0 < tau < 1),),
            draws=True,
            warpers=_typical,
        ),
        DecoderKind(
            "beam",
            "The most probable text found by a search with b beams, optionally without repeated n-grams.",
            (
                Parameter("b", 4, int, f"a whole number from 2 to {MOST_ROWS}", lambda b: 2 <= b <= MOST_ROWS),
                Parameter("no-repeat", 0, int, "a length, 0 for none", lambda n: n >= 0, quiet=True),
            ),
            options=_beam,
            width=lambda values: int(values["b"]),
        ),
        DecoderKind(
            "contrastive",
            "The one of the k most probable tokens that is likely yet unlike everything before it.",
            (
                Parameter("alpha", 0.6, float, "a weight in [0, 1]", lambda alpha: 0 <= alpha <= 1),
                Parameter("k", 5, int, f"a whole number from 1 to {MOST_ROWS}", lambda k: 1 <= k <= MOST_ROWS),
            ),
            custom=lambda values: ContrastiveSearch(values["alpha"], int(values["k"])),
            width=lambda values: int(values["k"]),
        ),
        DecoderKind(
            "adversarial",
            "Gibberish with a chosen perplexity: random tokens first, then tokens that bring the perplexity to ppl.",
            (
                Parameter("ppl", None, float, "the perplexity of human text, above 1", lambda ppl: ppl > 1),
                Parameter("share", 0.15, float, _OPEN_SHARE, lambda share: 0 < share < 1, quiet=True),
            ),
            chase=_adversarial,
        ),
    )
}
