"""Panel of answer buttons for one pair, each with a key, and its messages, which are checked like any input.

Streamlit's buttons do not work here, because their shortcuts lose keys of a fast typist: a key is dropped while another
is held down, presses in one run of the script arrive in another order, a held key repeats, and "r" and "c" are not
available. The panel (``answer_panel.js``) sends one message per pair, once it is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import streamlit as st

from mauve_app.browser import component
from mauve_core.judgments import OPTIONS, QUESTIONS

Action = Literal["rate", "skip", "undo"]

# For each question, the keys of its options from left to right: three rows of the keyboard under the left hand.
KEYS: Mapping[str, str] = dict(zip(QUESTIONS, ("12345", "qwert", "asdfg"), strict=True))

# Label and keys of the other actions.
EXTRA: Mapping[Action, tuple[str, ...]] = {"skip": ("Skip", "x"), "undo": ("Undo last", "u", "Backspace")}

PANEL = "judge_panel"
# A time above a day means a wrong clock and counts as unknown.
MAX_SECONDS = 24 * 3600.0

_panel = component("mauve_lens_answers", "answer_panel", '<div class="panel"></div>')


@dataclass(frozen=True)
class Message:
    """What the rater did.

    Attributes
    ----------
    turn : str
        The turn that the panel showed.
    action : {"rate", "skip", "undo"}
    answers : mapping of str to str
        Question to option, of ``QUESTIONS`` and ``OPTIONS``; complete if ``action`` is "rate", else empty.
    seconds : float or None
        Time that the pair was visible, from first display to the last answer.
    """

    turn: str
    action: Action
    answers: Mapping[str, str]
    seconds: float | None


def show(turn: str, memory: str, *, may_undo: bool, status: str, fresh: bool, on_act: Callable[[], None]) -> None:
    """Draw the panel.

    Parameters
    ----------
    turn : str
        Changes whenever the panel must accept answers again: for a new pair, and after a failure.
    memory : str
        Key of the pair in the tab's storage; does not reveal its sources.
    status : str
        Result of the last turn.
    fresh : bool
        Whether to discard answers that the tab remembers for this pair.
    on_act : callable
        Called before the next run of the script; :func:`message` then returns the action.
    """
    _panel(
        key=PANEL,
        data={
            "turn": turn,
            "memory": memory,
            "questions": [{"name": name, "text": text, "keys": list(KEYS[name])} for name, text in QUESTIONS.items()],
            "options": [option[:1].upper() + option[1:] for option in OPTIONS],
            "extra": {action: list(words) for action, words in EXTRA.items()},
            "may": {"skip": True, "undo": may_undo},
            "said": status,
            "fresh": fresh,
        },
        on_act_change=on_act,
    )


def message() -> Message | None:
    """The panel's message, inside its callback; None if it is invalid."""
    return read_message(st.session_state[PANEL]["act"])


def read_message(value: Any) -> Message | None:
    """A checked message of the panel; None for anything that the panel would not send."""
    if not isinstance(value, Mapping) or not isinstance(value.get("turn"), str):
        return None
    action, answers = value.get("action"), value.get("answers", {})
    if action not in get_args(Action):
        return None
    if action != "rate":
        return Message(value["turn"], cast("Action", action), {}, None)
    if not isinstance(answers, Mapping) or set(answers) != set(QUESTIONS):
        return None
    if not all(type(index) is int and 0 <= index < len(OPTIONS) for index in answers.values()):
        return None
    options = {question: OPTIONS[answers[question]] for question in QUESTIONS}
    return Message(value["turn"], "rate", options, _seconds(value.get("seconds")))


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        return None
    return round(float(value), 1)
