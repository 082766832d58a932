"""What is continued and how: prompts with ids, lengths of the texts, the seed and the number of generations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Within, check_fields
from mauve_core.decoding.decoders import Decoder
from mauve_core.texts import corpus_from_table
from mauve_core.texts.fields import guess_prompt
from mauve_core.texts.reading import read_table

MAX_REPEATS = 1000


@dataclass(frozen=True)
class GenerationSettings:
    """Lengths of the texts, the seed, the number of generations, and the size of a batch.

    Attributes
    ----------
    max_new_tokens, min_new_tokens : int
        A text ends at the model's end-of-text token, but not before ``min_new_tokens``.
    seed : int
    batch_rows, batch_tokens : int, optional
        Bounds of a batch, by default those of the device; they change the speed, not the texts. vLLM gets
        ``batch_rows`` texts at a time and plans its batches itself.
    repeats : int
        Generations: continuations of each prompt. A decoder that draws nothing writes one.
    """

    max_new_tokens: Annotated[int, Within(1, 1_000_000)] = 256
    min_new_tokens: Annotated[int, Within(0, 1_000_000)] = 0
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    batch_rows: Annotated[int, Within(1, 1_000_000)] | None = None
    batch_tokens: Annotated[int, Within(1, 2**31)] | None = None
    repeats: Annotated[int, Within(1, MAX_REPEATS)] = 1

    def __post_init__(self) -> None:
        check_fields(self, "setting")
        if self.min_new_tokens > self.max_new_tokens:
            allowed, received = f"0 to {self.max_new_tokens}", str(self.min_new_tokens)
            raise InputError("The setting min_new_tokens cannot be used", allowed=allowed, received=received)

    def require_room(self, lengths: Sequence[int], positions: int) -> None:
        """Raise InputError if a prompt, of so many tokens, is empty or with its continuation exceeds the positions."""
        if not min(lengths):
            raise InputError("A prompt has no tokens", todo="Remove empty prompts")
        if max(lengths) + self.max_new_tokens > positions:
            raise InputError(
                "The prompt and continuation are too long for the model",
                allowed=f"{positions} tokens",
                received=f"{max(lengths)} + {self.max_new_tokens} tokens",
            )

    def generations(self, decoder: Decoder) -> int:
        """Generations that the decoder writes: one if it draws nothing, because all of them would be the same."""
        return self.repeats if decoder.is_random else 1


@dataclass(frozen=True)
class Prompts:
    """Prompts and their ids, which the continuations keep; ``notes`` are those of reading them."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in ("ids", "texts"):
            object.__setattr__(self, part, tuple(text_list(getattr(self, part), f"The {part} of the prompts")))
        if not self.texts or len(self.ids) != len(self.texts) or len(set(self.ids)) != len(self.ids):
            raise InputError(
                "The prompts cannot be used",
                allowed="at least one prompt, each with its own id",
                received=f"{len(self.texts)} prompts with {len(set(self.ids))} different ids",
            )

    def chosen(self, indices: Sequence[int]) -> Prompts:
        """Return the prompts at these places."""
        return Prompts(tuple(self.ids[i] for i in indices), tuple(self.texts[i] for i in indices))

    @property
    def digest(self) -> str:
        """SHA-256 of ids and texts."""
        return hashlib.sha256(json.dumps([self.ids, self.texts]).encode()).hexdigest()


def read_prompts(path: Path, prompt_field: str | None = None) -> Prompts:
    """Prompts of a corpus file: the given field, else a field that looks like a prompt, else the text itself."""
    table = read_table(path)
    corpus = corpus_from_table(table, text_field=prompt_field or table.text_field or guess_prompt(table))
    return Prompts(corpus.ids, corpus.texts, corpus.notes)
