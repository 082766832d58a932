"""Rate: one pair after the other, blind; each is stored when its last question is answered.

The protocol follows JMLR 2023, section 6.4 and appendix E.3. The page holds the texts, but not their sources.

The answers are a panel of buttons, each with a key, and its messages are checked like any input. Streamlit's buttons do
not work here, because their shortcuts lose keys of a fast typist: a key is dropped while another is held down, presses
in one run of the script arrive in another order, a held key repeats, and "r" and "c" are not available. The panel
(``answer_panel.js``) sends one message per pair, once it is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import streamlit as st

from mauve_app import cache
from mauve_app.bounded_cache import kept_by_run
from mauve_app.browser import component
from mauve_app.components.markup import escaped
from mauve_app.server import access
from mauve_app.url import session
from mauve_app.url.parameters import MAX_RATER
from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.runs import Run
from mauve_core.runs.ratings import OPTIONS, Counts, Pair, PairPlan, RatingStore, pair_plan, text_digest

# Pairs per two sources that fill the progress bar: enough for wide intervals. JMLR 2023 took 90.
PER_TWO_SOURCES = 10

PROMPT_HEIGHT, TEXT_HEIGHT = 92, 262
# Longest prompt, in characters, that is shown in full at any width; a longer one scrolls.
SHORT_PROMPT = 160

GUIDE = """
You see a prompt and two continuations of it, **A** and **B**. A person or a machine wrote each of them; both may be
by machines. Read both to the end, then say which one wins, in your opinion, on each of three questions.

- **Each question stands alone.** A text can be full of ideas and still not fit its prompt.
- **Ties are for pairs you truly cannot separate**: at most about one in ten. If one is a little ahead, say *slightly*.
- **Longer is not better.** A long text that goes in circles is worse than a short one that says something.
- **Overlook rough edges**: an ending in mid-sentence, a stray menu or advertisement from a web page.
- **Skip** a pair that cannot be judged at all, for example because its prompt is garbled. Skipped pairs do not count.
- **Take your time.** Most pairs need about a minute; the time that each took is recorded.

Every option has a key, shown on it: `1` to `5` for the first question, `q` to `t` for the second, `a` to `g` for the
third. The third answer stores the pair and brings up the next one; until then you can change your answers. `u` or
Backspace takes the last pair back; `x` skips.
"""

_NUMBER, _SHOWN, _OUTCOME = "judge_number", "judge_shown", "judge_outcome"
_NAME = "judge_name"


@dataclass(frozen=True)
class Shown:
    """The panel's current question: the turn, and the pair of the plan."""

    run_id: str
    rater: str
    index: int
    turn: str


@dataclass(frozen=True)
class Outcome:
    """Result of the last turn: words next to the buttons, any error, and whether the tab must discard its answers."""

    status: str = ""
    error: str = ""
    fresh: bool = False


def show(run: Run, rater: str | None) -> None:
    """The rater's desk; without a name, the question for it."""
    if rater is None:
        _ask_name()
    else:
        _desk(run.id, rater)


def plan_of(run_id: str, rater: str) -> PairPlan:
    """The rater's plan; InputError if the run's sources share no prompts."""
    found = _plan_or_why_not(run_id, rater)
    if isinstance(found, InputError):
        raise found.with_traceback(None)  # its traceback would grow each time it is raised
    return found


@kept_by_run(max_entries=16, show_spinner="Preparing the pairs")
def _plan_or_why_not(run_id: str, rater: str) -> PairPlan | InputError:
    try:
        return pair_plan(cache.load_run(run_id).corpora, rater=rater)
    except InputError as error:
        return error


def progress_target(plan: PairPlan) -> int:
    """Number of pairs at which every two sources have ``PER_TWO_SOURCES``, or the plan is used up."""
    n = len(plan.sources)
    return min(PER_TWO_SOURCES * n * (n - 1) // 2, plan.total)


def _ask_name() -> None:
    left, _ = st.columns([1, 1])
    with left.form("judge_name_form", enter_to_submit=True):
        st.text_input(
            "Your name or initials",
            key=_NAME,
            max_chars=MAX_RATER,
            help="Stored with your ratings. The same name resumes where it stopped; two people need two names.",
        )
        st.form_submit_button("Start rating", type="primary", on_click=_take_name)
    with st.container(border=True):
        st.markdown("**How to rate**")
        st.markdown(GUIDE)


def _take_name() -> None:
    if session.update(judge_rater=str(st.session_state[_NAME])).judge_rater is None:
        st.toast("Enter a name first.", icon=":material/person:")


@st.fragment
def _desk(run_id: str, rater: str) -> None:
    """Texts, panel and progress; a turn reruns nothing else of the page."""
    try:
        plan, store = plan_of(run_id, rater), _store(run_id)
        pair, counts = plan.next_pair(store.seen(rater)), store.counts()
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    outcome = st.session_state.get(_OUTCOME) or Outcome()
    if outcome.error:
        st.error(escaped(outcome.error), icon=":material/error:")
    if pair is None:
        _all_done(run_id, rater, plan, outcome)
    else:
        _show_pair(pair)
        _show_panel(Shown(run_id, rater, pair.index, ""), pair, counts, outcome)
    _progress(rater, plan, counts)
    with st.expander("How to rate", icon=":material/help:"):
        st.markdown(GUIDE)
        for note in plan.notes:
            st.caption(escaped(note))


def _store(run_id: str) -> RatingStore:
    return RatingStore(cache.load_run(run_id).ratings_path)


def _show_pair(pair: Pair) -> None:
    with st.container(key="judge_pair", gap="xsmall"):
        if pair.prompt:
            st.caption("Prompt")
            long = len(pair.prompt) > SHORT_PROMPT or pair.prompt.count("\n") > 1
            with st.container(border=True, height=PROMPT_HEIGHT if long else "content"):
                st.text(pair.prompt)
        for column, side, text in zip(
            st.columns(2, gap="small"), ("A", "B"), (pair.left_text, pair.right_text), strict=True
        ):
            with column.container(gap="xsmall"):
                st.markdown(f"**{side}**")
                with st.container(border=True, height=TEXT_HEIGHT, key=f"judge_text_{side}"):
                    st.text(text)


def _show_panel(shown: Shown, pair: Pair, counts: Counts, outcome: Outcome) -> None:
    memory = text_digest("\0".join([shown.run_id, shown.rater, pair.prompt_id, pair.left_text, pair.right_text]))
    shown = Shown(shown.run_id, shown.rater, shown.index, f"{st.session_state.setdefault(_NUMBER, 0)} {memory}")
    st.session_state[_SHOWN] = shown
    _answer_panel(
        shown.turn,
        memory,
        may_undo=shown.rater in counts.raters,
        status=outcome.status,
        fresh=outcome.fresh,
        on_act=_act,
    )


def _progress(rater: str, plan: PairPlan, counts: Counts) -> None:
    target, mine = progress_target(plan), counts.raters.get(rater)
    rated = mine.pairs if mine else 0
    pairs = "pair" if rated == 1 else "pairs"
    skipped = f", {mine.skipped:,} skipped" if mine and mine.skipped else ""
    st.progress(
        min(counts.pairs / target, 1.0),
        text=f"**{rated:,}** {pairs} rated by you{skipped}, **{plan.total:,}** in your plan, **{counts.pairs:,}** by "
        f"everyone. The bar is full at {target:,}: about {PER_TWO_SOURCES} for each pair of the "
        f"{len(plan.sources)} sources, a first ranking with wide intervals.",
    )


def _all_done(run_id: str, rater: str, plan: PairPlan, outcome: Outcome) -> None:
    st.info(f"You have rated or skipped all {plan.total:,} pairs. Thank you.", icon=":material/done_all:")
    st.caption(outcome.status)
    st.button("Undo last", key="judge_undo", shortcut="u", on_click=_settle, args=(run_id, rater, None, None))


def _act() -> None:
    """Apply the panel's message once: one about another turn than the one shown was applied already."""
    shown, message = st.session_state.get(_SHOWN), _message_of_panel()
    if shown is None or (message is not None and message.turn != shown.turn):
        return
    undone = message is not None and message.action == "undo"
    _settle(shown.run_id, shown.rater, None if undone else shown.index, message)


def _settle(run_id: str, rater: str, index: int | None, message: Message | None) -> None:
    """Store, skip, or (``index`` None) take back; then start the next turn, whatever the result."""
    try:
        access.require_change()
        store = _store(run_id)
        if index is None:
            outcome = _undo(store, rater)
        elif message is None:
            outcome = Outcome("Not understood; please answer again.")
        else:
            outcome = _carry_out(store, rater, plan_of(run_id, rater)[index], message)
    except MauveLensError as error:
        outcome = Outcome("Not stored.", error=str(error))
    st.session_state[_OUTCOME] = outcome
    st.session_state[_NUMBER] = st.session_state.get(_NUMBER, 0) + 1


def _carry_out(store: RatingStore, rater: str, pair: Pair, message: Message) -> Outcome:
    if pair.key in store.seen(rater):
        return Outcome("This pair was already done in another window; that result stands.")
    if message.action == "skip":
        store.skip(rater, pair)
        return Outcome("Pair skipped.")
    store.append(pair.ratings(rater, message.answers, message.seconds))
    return Outcome("Pair stored.")


def _undo(store: RatingStore, rater: str) -> Outcome:
    if store.undo(rater) is None:
        return Outcome("Nothing to take back.")
    return Outcome("Last pair taken back: here it is again.", fresh=True)


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


def _answer_panel(
    turn: str, memory: str, *, may_undo: bool, status: str, fresh: bool, on_act: Callable[[], None]
) -> None:
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


def _message_of_panel() -> Message | None:
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
