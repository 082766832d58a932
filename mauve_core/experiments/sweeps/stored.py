"""Sweep axes that use the run's own partitions: the scaling constant and the decoder's parameter.

NeurIPS 2021, figure 5 (right) and appendix, figure 8 (center and right). The number of clusters is the run's; nothing
is encoded or clustered.
"""

from __future__ import annotations

from mauve_core.base.config import SCALE_BOUNDS, SCORES
from mauve_core.base.errors import InputError
from mauve_core.decoding.decoders import Decoder, parse_decoder
from mauve_core.experiments.sweeps.request import Request, Swept, numbers_within, point_of
from mauve_core.experiments.sweeps.sweep import SweepPoint
from mauve_core.scoring.result import Candidate, SeedSpread
from mauve_core.texts import Corpus
from mauve_core.texts.metadata import python_values

# Default values of c, besides the run's own.
SCALES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)

# Metadata column for the decoder, as written by ``mauve-lens generate``.
COLUMN = "decoder"

# Position of ancestral sampling on a line.
ANCESTRAL = {"nucleus p": 1.0, "temperature t": 1.0}

# Meaning of a line's ends, for the note.
LIMITS = {
    "nucleus p": "greedy decoding is the limit p -> 0",
    "temperature t": "greedy decoding is the limit t -> 0",
    "top-k k": "ancestral sampling is any k from the vocabulary size up, greedy decoding is k = 1",
}


def usual_scales(request: Request) -> tuple[float, ...]:
    """Default values of c, including the run's own."""
    return tuple(sorted({*SCALES, request.run.comparison.config.score.scale}))


def over_scale(request: Request) -> Swept:
    """Sweep the constant c of MAUVE; the other scores do not depend on it and repeat at every value."""
    comparison, seeds = request.run.comparison, request.stored_seeds()
    values = usual_scales(request) if request.values is None else request.values
    scales = numbers_within("The scaling constant", values, *SCALE_BOUNDS)
    points = []
    for done, candidate in enumerate(comparison.candidates):
        request.progress("Scoring", done, len(comparison.candidates))
        points += [point_of(scale, candidate.name, candidate.partitions[:seeds], scale) for scale in scales]
    request.progress("Scoring", len(comparison.candidates), len(comparison.candidates))
    return Swept(
        tuple(points),
        (
            "c stretches MAUVE and MAUVE*: candidates whose frontiers do not cross keep their order. The frontier "
            "integral and the mid-point do not depend on c.",
            f"The run's own c is {comparison.config.score.scale:g}.",
        ),
    )


def over_decoder(request: Request) -> Swept:
    """Sweep the decoder's parameter: one line per decoder that has candidates with different values."""
    if request.values is not None:
        raise InputError(
            "A sweep over decoders takes its values from the run's candidates", todo="Leave the values out"
        )
    seeds, comparison = request.stored_seeds(), request.run.comparison
    lines: dict[str, list[SweepPoint]] = {}
    ancestral: list[Candidate] = []
    notes: list[str] = []
    for candidate in comparison.candidates:
        decoder, reason = decoder_of(candidate.name, request.run.corpora[candidate.name])
        placed = None if decoder is None else line_and_value(decoder)
        if placed is not None:
            line, value = placed
            lines.setdefault(line, []).append(_own_point(request, value, line, candidate, seeds))
        elif decoder is not None and decoder.kind.name == "ancestral":
            ancestral.append(candidate)
        else:
            notes.append(f"{candidate.name} is left out: {reason or 'no single parameter of its decoder varies'}.")
    for line, value in ANCESTRAL.items():
        if line in lines:
            lines[line] += [_own_point(request, value, line, candidate, seeds) for candidate in ancestral]
    varying = {line: points for line, points in lines.items() if len({point.value for point in points}) > 1}
    if not varying:
        raise _no_line(request)
    notes += [f"{line} is left out: it has only one value." for line in lines if line not in varying]
    notes += [f"{line}: {LIMITS[line]}." for line in varying if line in LIMITS]
    request.progress("Reading scores", len(request.names), len(request.names))
    return Swept(tuple(point for points in varying.values() for point in points), tuple(notes))


def decoder_of(name: str, corpus: Corpus) -> tuple[Decoder | None, str]:
    """The decoder of a candidate, from its name or from the column ``decoder``.

    Returns
    -------
    decoder : Decoder or None
        None if neither spells one out, or they differ. ``nucleus`` alone does not specify p.
    reason : str
        Why there is none; empty otherwise.
    """
    column = set(python_values(corpus.metadata[COLUMN])) if COLUMN in corpus.metadata else set()
    written = next(iter(column)) if len(column) == 1 else None
    named, labelled = _spelled(name), _spelled(written) if isinstance(written, str) else None
    if named is not None and labelled is not None and named.spec != labelled.spec:
        return None, f"its name says {named.spec}, its texts {labelled.spec}"
    decoder = named or labelled
    return decoder, "" if decoder else "neither its name nor its texts say which decoder and value were used"


def line_and_value(decoder: Decoder) -> tuple[str, float] | None:
    """A decoder's line and its value there; None unless exactly one parameter varies.

    Other parameters that differ from their defaults (``no-repeat`` of beam search) become part of the line's name.
    """
    moving = [parameter for parameter in decoder.kind.parameters if not parameter.quiet]
    if len(moving) != 1:
        return None
    line = f"{decoder.kind.name} {moving[0].name}"
    for parameter in decoder.kind.parameters:
        if parameter.quiet and decoder.values[parameter.name] != parameter.default:
            line += f", {parameter.name}={decoder.values[parameter.name]:g}"
    return line, float(decoder.values[moving[0].name])


def _spelled(text: str) -> Decoder | None:
    """Parse a decoder if the text gives every parameter without a default."""
    try:
        decoder = parse_decoder(text)
    except InputError:
        return None
    written = {setting.partition("=")[0].strip() for setting in text.partition(":")[2].split(",")}
    return decoder if {p.name for p in decoder.kind.parameters if not p.quiet} <= written else None


def _own_point(request: Request, value: float, line: str, candidate: Candidate, seeds: int) -> SweepPoint:
    scores = {name: SeedSpread.of(candidate.scores[name].values[:seeds]) for name in SCORES}
    n = min(request.run.comparison.human.n, candidate.source.n)
    return SweepPoint(value, line, candidate.name, n, candidate.partitions[0].k, scores)


def _no_line(request: Request) -> InputError:
    return InputError(
        f"Run {request.run.id} has no two candidates of the same decoder with different values",
        allowed="such as nucleus:p=0.9 and nucleus:p=0.95, as a candidate's name or in its column 'decoder'",
        received=", ".join(request.names),
        todo="Generate texts with several values (mauve-lens generate --decoder nucleus:p=0.9 --decoder nucleus:p=0.95 "
        "...), then compare them in one run",
    )
