"""Messages in one line, whatever a file put into them."""

from __future__ import annotations

from mauve_core.base.errors import InputError


def test_a_message_says_what_was_wrong_allowed_and_received_and_what_to_do() -> None:
    error = InputError("k is too large", allowed="at most 9", received="10", todo="Lower it")
    assert str(error) == "k is too large. Allowed: at most 9. Received: 10. Lower it."
    assert str(InputError("It is empty!")) == "It is empty!"


def test_control_characters_and_line_breaks_do_not_reach_the_message() -> None:
    error = InputError("a\nb", received="\x0f\x1b[31m\u202e")
    assert str(error) == r"a b. Received: \x0f\x1b[31m\u202e."
    assert error.received == r"\x0f\x1b[31m\u202e"
