"""Which part of a text the features read: its beginning shuffled against its end shuffled.

A causal model's last token has seen the whole text, but reflects its end most. Shuffling the last words of a text then
changes the score more than shuffling many more words before them, and errors there stay unnoticed.
"""

from __future__ import annotations

from mauve_core.base.config import POSITION_PROBES
from mauve_core.base.formatting import as_percent, significant
from mauve_core.encoders.catalogue import LAST_TOKEN
from mauve_core.experiments.robustness.table import ProbeLine, ProbeTable
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import Perturbation

POSITIONS = tuple(map(parse_perturbation, POSITION_PROBES))

POSITION_SCORE = "jensen-shannon"

_POOLINGS = {
    "auto": "the model's own pooling",
    "last": "the last token",
    "first": "the first token",
    "mean": "the mean over tokens",
}


def positions_sentence(table: ProbeTable) -> str:
    """Say which part of a text these features read; empty unless a beginning and a shorter end were shuffled.

    Features are said to read mostly the end if shuffling it changes the divergence more than shuffling the beginning,
    under every split and seed.
    """
    first, last = (_line(table, item.kind.name) for item in POSITIONS)
    if first is None or last is None:
        return ""
    shares = [float(_perturbation(line).values["words"]) for line in (first, last)]
    if shares[0] < shares[1]:
        return ""
    pairs = zip(first.scores[POSITION_SCORE].values, last.scores[POSITION_SCORE].values, strict=True)
    farther = [after > before for before, after in pairs]
    gains = [significant(table.over_control(line, POSITION_SCORE).mean) for line in (last, first)]
    shuffled = (
        f"Shuffling the last {as_percent(shares[1])} of the words raises the Jensen-Shannon divergence by {gains[0]}, "
        f"shuffling the first {as_percent(shares[0])} by {gains[1]}"
    )
    if not all(farther):
        return f"{shuffled}: no sign that these features{_pooled(table)} read mostly the end of a text."
    return (
        f"{shuffled}, less under every split and seed: these features{_pooled(table)} read mostly the end of a text "
        "and may miss what happens before. Alternatives are the mean over tokens and a masked model such as RoBERTa."
    )


def _line(table: ProbeTable, kind: str) -> ProbeLine | None:
    """The first line of that kind that perturbs all texts."""
    lines = (line for line in table.lines if line.kind == "perturbation")
    return next((each for each in lines if (p := _perturbation(each)).kind.name == kind and p.dose == 1), None)


def _perturbation(line: ProbeLine) -> Perturbation:
    return parse_perturbation(line.name)


def _pooled(table: ProbeTable) -> str:
    """The pooling in parentheses; empty if the table does not say."""
    config = table.settings.get("config")
    encoder = config.get("encoder") if isinstance(config, dict) else None
    pooling = encoder.get("pooling") if isinstance(encoder, dict) else None
    if pooling == "auto" and isinstance(encoder, dict) and encoder.get("model") in LAST_TOKEN:
        pooling = "last"
    return f" ({_POOLINGS[pooling]})" if pooling in _POOLINGS else ""
