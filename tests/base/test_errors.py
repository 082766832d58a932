"""Messages in one line, whatever a file put into them."""

from __future__ import annotations

import pytest

from mauve_core.base.errors import WORDS, InputError, own_words_of, words_of


def test_a_message_says_what_was_wrong_allowed_and_received_and_what_to_do() -> None:
    error = InputError("k is too large", allowed="at most 9", received="10", todo="Lower it")
    assert str(error) == "k is too large. Allowed: at most 9. Received: 10. Lower it."
    assert str(InputError("It is empty!")) == "It is empty!"


def test_control_characters_and_line_breaks_do_not_reach_the_message() -> None:
    error = InputError("a\nb", received="\x0f\x1b[31m\u202e")
    assert str(error) == r"a b. Received: \x0f\x1b[31m\u202e."
    assert error.received == r"\x0f\x1b[31m\u202e"


def test_of_a_wrong_form_is_said_what_is_wrong_and_not_what_python_says() -> None:
    def deep() -> None:
        deep()

    for wrong, said in (
        (lambda: [].items(), "missing or of another kind"),  # type: ignore[attr-defined]
        (lambda: len(1), "missing or of another kind"),  # type: ignore[arg-type]
        (lambda: {}["name"], "it lacks 'name'"),
        (deep, "nested too deeply"),
        (lambda: int("9" * 5000), "it has a whole number of more than 4,300 digits"),
        (lambda: str(10**5000), "it has a whole number of more than 4,300 digits"),
    ):
        with pytest.raises((AttributeError, TypeError, KeyError, RecursionError, ValueError)) as caught:
            wrong()
        assert said in words_of(caught.value)
    assert own_words_of(AttributeError("no attribute 'x'")) == "no attribute 'x'"


def test_what_another_library_says_is_cut_and_what_we_say_is_not() -> None:
    ours = InputError("x" * 500)
    assert words_of(ours) == str(ours)
    assert len(words_of(ValueError("line\n" * 200))) < WORDS + 30
    assert "\n" not in words_of(ValueError("line\n" * 200))
