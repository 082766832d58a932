"""The protocol of ``/completions`` and ``/chat/completions``: what an answer must hold to be used."""

from __future__ import annotations

from typing import Any

from mauve_core.base.errors import ModelUnavailableError

# Why a text ended: at its own end or at ``max_new_tokens``, or because the server's filter cut it.
FINISH_REASONS = ("stop", "length", "content_filter")


def read_completion(answer: Any, *, chat: bool) -> dict[str, Any]:
    """Return the text, why it ended and the tokens that the server counted; None for what it does not say.

    Parameters
    ----------
    answer : parsed JSON
        Untrusted.
    chat : bool
        Whether a message was answered, or a text continued.

    Raises
    ------
    ModelUnavailableError
        There is no text, more than one, or one that is not Unicode.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    holder = choice.get("message") if chat and isinstance(choice, dict) else choice
    text = holder.get("content" if chat else "text") if isinstance(holder, dict) else None
    if not isinstance(choice, dict) or not isinstance(text, str):
        raise ModelUnavailableError(
            "The server's answer cannot be used: it has no text, or more than one",
            todo="Check which route the model takes: openai:URL#model continues, openai-chat:URL#model answers",
        )
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ModelUnavailableError("The server's answer cannot be used: its text is not valid Unicode")
    reason, usage = choice.get("finish_reason"), answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counted = {part: usage.get(part) for part in ("prompt_tokens", "completion_tokens")}
    return {
        "text": text,
        "finish_reason": reason if reason is None or reason in FINISH_REASONS else "other",
        **{part: n if type(n) is int and 0 <= n < 2**53 else None for part, n in counted.items()},
    }
