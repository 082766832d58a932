"""Decoding algorithms by name, and what each does to the logits before a token is taken.

A decoder is written ``name`` or ``name:parameter=value,...``, such as ``nucleus:p=0.95``; see :func:`parse_decoder`.
Truncation and beam search are those of transformers; our own are a check of the logits, sampling toward a perplexity,
and :class:`SeededDraw`, which draws the tokens, so that a text depends on its prompt and the seed but not on its batch.

Contrastive search is a loop of its own for ``generate``: of the k most probable tokens it takes the one with the
largest (1 - alpha) p(token) - alpha max_j cos(h(token), h_j), h the hidden states of the last layer, j over all earlier
tokens.

Sources (JMLR 2023, sections 2.1 and 6.2): top-k sampling, Fan et al. 2018; nucleus sampling, Holtzman et al. 2020;
locally typical sampling, Meister et al. 2022; adversarial perplexity sampling, NeurIPS 2021, section 4; contrastive
search, Su et al., *A Contrastive Framework for Neural Text Generation*, NeurIPS 2022, equation 5.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mauve_core.base.errors import InputError

if TYPE_CHECKING:
    import torch


class ContrastiveSearch:
    """Deterministic loop for ``generate(custom_generate=...)``.

    Parameters
    ----------
    alpha : float in [0, 1]
        Weight of the penalty; 0 is greedy decoding.
    k : int
        Tokens tried at each step.
    """

    def __init__(self, alpha: float, k: int) -> None:
        self._alpha, self._k = alpha, k

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> torch.Tensor:
        """Continue a left-padded batch until every row has ended; return prompts and continuations, padded."""
        import torch
        from transformers import DynamicCache

        mask = model_kwargs.get("attention_mask")
        mask = torch.ones_like(input_ids) if mask is None else mask
        going = torch.ones(len(input_ids), dtype=torch.bool, device=input_ids.device)
        cache = DynamicCache()
        states, logits = _forward(model, input_ids, mask, cache)
        while True:
            scores = logits_processor(input_ids, logits.float())
            probabilities, tried = scores.softmax(dim=-1).topk(min(self._k, scores.shape[-1]), dim=-1)
            rows, k = tried.shape
            cache.batch_repeat_interleave(k)
            longer = torch.cat([mask, mask.new_ones(rows, 1)], dim=1)
            new, new_logits = _forward(model, tried.reshape(-1, 1), longer.repeat_interleave(k, dim=0), cache)
            likeness = torch.einsum("rkd,rtd->rkt", new.reshape(rows, k, -1), states)
            likeness = likeness.masked_fill(mask[:, None, :] == 0, -torch.inf).amax(dim=-1)
            choice = ((1 - self._alpha) * probabilities - self._alpha * likeness).argmax(dim=-1)
            chosen = torch.arange(rows, device=choice.device) * k + choice
            cache.batch_select_indices(chosen)
            logits, mask = new_logits[chosen], longer
            states = torch.cat([states, new[chosen]], dim=1)
            token = tried.gather(1, choice[:, None])[:, 0]
            padding = generation_config._pad_token_tensor
            token = torch.where(going, token, token if padding is None else padding)
            input_ids = torch.cat([input_ids, token[:, None]], dim=1)
            going &= ~stopping_criteria(input_ids, None)
            if not going.any():
                return input_ids


def _forward(model: Any, ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit-length hidden states (rows, t, d) of the new tokens, and logits (rows, V) of the last; the cache grows."""
    import torch

    positions = (mask.cumsum(dim=-1) - 1).clamp_min(0)[:, -ids.shape[1] :]
    output = model(
        **{cache_argument(model): cache},
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        use_cache=True,
        output_hidden_states=True,
        logits_to_keep=1,
        return_dict=True,
    )
    states = torch.nn.functional.normalize(output.hidden_states[-1].float(), dim=-1)
    return states, output.logits[:, -1]


def cache_argument(model: Any) -> str:
    """Return what the model calls its cache: ``cache`` from transformers 5.24 on, ``past_key_values`` before."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


# Bits of the random number of one draw.
DRAW_BITS = 60

# Draws of a row whose random numbers are made at a time, unless the caller says how many there will be.
DRAWN_AHEAD = 128


class FiniteLogits:
    """A logits processor that changes nothing and finds logits that are no numbers; put it before all others.

    The largest logit so far stays on the device, so that a step waits for no transfer; only the first one does.

    Parameters
    ----------
    name : str
        The model, for the error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._largest: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        import torch

        largest = scores.amax()  # NaN if any is; a processor of transformers before this one may have set -inf
        if self._largest is None:
            self._largest = largest
            self.check()
        self._largest = torch.maximum(self._largest, largest)
        return scores

    def check(self) -> None:
        """Raise an InputError that names the model if a logit so far was NaN or infinite."""
        if self._largest is not None and not float(self._largest) < math.inf:
            raise InputError(
                f"The weights of the model {self._name} give no finite logits",
                todo="Copy, download or save (save_pretrained) the model again",
            )


class SeededDraw:
    """A logits processor that draws each row's next token with that row's own random stream.

    One random number a token finds its place in the cumulative distribution of the softmax. Probabilities become whole
    numbers of 2^-59, whose sums do not depend on the order of addition: equal probabilities and streams give the same
    token on every device, one of probability 0 is never drawn, and what is cut off shifts no probability by more than
    2^-59 times the size of the vocabulary (1e-13 for 50,000 tokens). Row i's numbers depend on ``keys[i]`` alone.

    Adding Gumbel noise to the logits would draw from the same distribution, with a random number for each token of the
    vocabulary, which a device could not make alike or would have to receive at every step.

    Parameters
    ----------
    keys : sequence of int
        One random stream per row.
    steps : int
        Random numbers of a row that are made, and sent to the device, at a time; they do not depend on it.
    """

    def __init__(self, keys: Sequence[int], steps: int = DRAWN_AHEAD) -> None:
        self._streams = [np.random.Philox(key=key) for key in keys]
        self._steps = steps
        self._ahead: Iterator[torch.Tensor] = iter(())

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Return scores in which only each row's drawn token is possible."""
        return only(self.draw(scores), scores)

    def draw(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the drawn tokens (rows,) of logits (rows, V), on their device."""
        numbers = next(self._ahead, None)
        if numbers is None:
            self._ahead = iter(self._more().to(scores.device))
            numbers = next(self._ahead)
        return token_at(numbers, scores)

    def _more(self) -> torch.Tensor:
        """(steps, rows) random integers of ``DRAW_BITS`` bits."""
        import torch

        raw = np.stack([stream.random_raw(self._steps) for stream in self._streams], axis=1)
        return torch.from_numpy((raw >> np.uint64(64 - DRAW_BITS)).astype(np.int64))


def token_at(numbers: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """The tokens (rows,) at the share ``numbers`` / 2^60 of the cumulative softmax of ``scores`` (rows, V).

    All sums and products are of 64-bit integers, and exact.
    """
    import torch

    weights = scores.float().softmax(dim=-1).mul_(2.0 ** (DRAW_BITS - 1)).long()
    cumulative = weights.cumsum(dim=-1)
    place = _share(numbers, cumulative[:, -1])  # below the last sum, so that the token found has a weight
    found = torch.searchsorted(cumulative, place[:, None], right=True)[:, 0]
    return found.clamp_max_(scores.shape[-1] - 1)  # logits that are no numbers have no sums; FiniteLogits names them


def _share(numbers: torch.Tensor, totals: torch.Tensor) -> torch.Tensor:
    """Floor of numbers * totals / 2^60, both below 2^60, from products of their halves."""
    half = DRAW_BITS // 2
    low = (1 << half) - 1
    upper, lower = numbers >> half, numbers & low
    high, rest = totals >> half, totals & low
    return upper * high + ((upper * rest + lower * high + (lower * rest >> half)) >> half)


class PerplexityChase:
    """A logits processor that writes gibberish of a given perplexity (JMLR 2023, section 6.2 (f)).

    It draws the first tokens uniformly from the vocabulary. Each later token brings the perplexity of the text so far,
    under the writing model, closest to the target.

    Parameters
    ----------
    keys : sequence of int
        One random stream per row, as for :class:`SeededDraw`.
    perplexity : float > 1
    uniform_tokens : int
        Number of tokens drawn uniformly.
    never : sequence of int
        Tokens that are never written (special tokens; a text runs to its full length).
    """

    def __init__(self, keys: Sequence[int], perplexity: float, uniform_tokens: int, never: Sequence[int]) -> None:
        self._streams = [np.random.Generator(np.random.Philox(key=key)) for key in keys]
        self._target = math.log(perplexity)
        self._uniform_tokens = uniform_tokens
        self._never = list(never)
        self._written = 0
        self._spent = np.zeros(len(keys))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        import torch

        losses = -torch.log_softmax(scores.float(), dim=-1)
        possible = torch.isfinite(losses)
        possible[:, self._never] = False
        spent = torch.as_tensor(self._spent, dtype=torch.float64, device=scores.device)[:, None]
        if self._written < self._uniform_tokens:
            draws = torch.tensor([stream.random() for stream in self._streams], device=scores.device)
            index = (draws * possible.sum(dim=1)).long() + 1
            chosen = (possible.cumsum(dim=1) >= index[:, None]).int().argmax(dim=1)
        else:
            distance = ((spent + losses) / (self._written + 1) - self._target).abs()
            chosen = distance.masked_fill(~possible, torch.inf).argmin(dim=1)
        self._spent += losses.gather(1, chosen[:, None])[:, 0].double().cpu().numpy()
        self._written += 1
        return only(chosen, scores)


def only(chosen: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Scores in which only each row's chosen token is possible."""
    import torch

    return torch.full_like(scores, -torch.inf).scatter_(-1, chosen[:, None], 0.0)


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
