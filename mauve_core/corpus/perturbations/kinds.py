"""All perturbations of texts by name; ``none`` is the control."""

from __future__ import annotations

from mauve_core.corpus.perturbations import dropping, misspelling, moving
from mauve_core.corpus.perturbations.perturbation import NONE, Parameter, Perturbation, PerturbationKind, parse

_WORDS = (Parameter("words", 1.0, float, "a share of the words from 0 to 1", lambda share: 0 <= share <= 1),)
_MARKS = (
    Parameter("words", 1.0, float, "a share of the punctuation marks from 0 to 1", lambda share: 0 <= share <= 1),
)
_MATCHES = (Parameter("words", 1.0, float, "a share of the matches from 0 to 1", lambda share: 0 <= share <= 1),)


def _part(share: float, end: str) -> tuple[Parameter, ...]:
    allowed = f"a share of the words from 0 to 1, counted from the {end}"
    return (Parameter("words", share, float, allowed, lambda words: 0 <= words <= 1),)


# In the order of ICLR 2023, section 6.2, followed by the others.
PERTURBATIONS: dict[str, PerturbationKind[str]] = {
    kind.name: kind
    for kind in (
        NONE,
        PerturbationKind(
            "first-third",
            "First third",
            "The first third of each text's words, rounded up.",
            "with a single word",
            change=dropping.first_third,
        ),
        PerturbationKind(
            "drop-articles",
            "Articles dropped",
            "Without a, an and the.",
            "without an article to drop",
            _WORDS,
            dropping.drop_articles,
        ),
        PerturbationKind(
            "drop-stop-words",
            "Stop words dropped",
            "Without English stop words.",
            "without a stop word to drop",
            _WORDS,
            dropping.drop_stop_words,
        ),
        PerturbationKind(
            "swap-halves",
            "First halves swapped",
            "Each text starts with the first half (by sentences) of another text.",
            "with one sentence, alone in having more, or with equal first halves",
            part=moving.first_half,
        ),
        PerturbationKind(
            "shuffle-words",
            "Words shuffled",
            "Each text's words in a different order; punctuation stays with its word.",
            "without two different words to move",
            _WORDS,
            moving.shuffle_words,
        ),
        PerturbationKind(
            "shuffle-beginning",
            "Beginning shuffled",
            "The first words of each text in a different order, 70% of all; the others stay.",
            "without two different words to move in that part",
            _part(0.7, "start"),
            moving.shuffle_beginning,
        ),
        PerturbationKind(
            "shuffle-end",
            "End shuffled",
            "The last words of each text in a different order, 30% of all; the others stay.",
            "without two different words to move in that part",
            _part(0.3, "end"),
            moving.shuffle_end,
        ),
        PerturbationKind(
            "shuffle-sentences",
            "Sentences shuffled",
            "Each text's sentences in a different order.",
            "without two different sentences",
            change=moving.shuffle_sentences,
        ),
        PerturbationKind(
            "lowercase",
            "Lower case",
            "Every word in lower case.",
            "without a capital letter to lower",
            _WORDS,
            dropping.lowercase,
        ),
        PerturbationKind(
            "drop-punctuation",
            "Punctuation dropped",
            "Without punctuation, except within words.",
            "without punctuation to drop",
            _MARKS,
            dropping.drop_punctuation,
        ),
        PerturbationKind(
            "repeat-last-sentence",
            "Last sentence repeated",
            "The last sentence is repeated once or more.",
            "without a sentence",
            (Parameter("times", 1, int, "a whole number from 1 to 100", lambda times: 1 <= times <= 100),),
            moving.repeat_last_sentence,
        ),
        PerturbationKind(
            "typos",
            "Typos",
            "Letters swapped, left out, doubled or replaced by a neighboring key.",
            "without an affected letter",
            (Parameter("rate", 0.05, float, "a share of the letters from 0 to 1", lambda rate: 0 <= rate <= 1),),
            misspelling.typos,
        ),
        PerturbationKind(
            "replace",
            "Replaced",
            "Every match of a regular expression is replaced.",
            "without a match, or one that its replacement changes",
            (
                Parameter("pattern", None, str, "a regular expression"),
                Parameter("with", None, str, "its replacement"),
                *_MATCHES,
            ),
            dropping.replace_matches,
            require=dropping.require_pattern,
        ),
    )
}

# What is probed if nothing is named: the perturbations of ICLR 2023, section 6.2.
PROBES = ("first-third", "drop-articles", "drop-stop-words", "swap-halves", "shuffle-words")


def parse_perturbation(spec: str) -> Perturbation:
    """Parse a perturbation of texts; format and errors are those of ``perturbation.parse``."""
    return parse(spec, PERTURBATIONS)
