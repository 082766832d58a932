"""Where a model's texts end, by its files; whatever else they ask of generation is passed over.

generation_config.json may hold settings that change every text, such as a repetition penalty, and transformers merges
them into what its caller asks for. A decoder follows its own parameters alone, so the ids of special tokens are all
that is taken from there. Needs neither torch nor the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mauve_core.encoders.model_files import CONFIG, damaged, read_object

GENERATION = "generation_config.json"

END = "eos_token_id"
IDS = (END, "bos_token_id", "pad_token_id")

# Values with which a setting changes nothing; any other one is off if it is 0, false, empty or null, except that 0 may
# be a token's id.
NEUTRAL = {
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "num_beams": 1,
    "num_beam_groups": 1,
    "num_return_sequences": 1,
    "num_assistant_tokens": 20,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": 0.4,
    "assistant_lookbehind": 10,
    "target_lookbehind": 10,
}

# Settings that nobody misses: how long a text may become is always declared, and the others affect only speed.
NO_MATTER = frozenset(
    {
        *IDS,
        *("max_length", "max_new_tokens", "transformers_version", "_from_model_config"),
        *("use_cache", "cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size", "low_memory"),
        *("output_attentions", "output_hidden_states", "output_scores", "output_logits", "return_dict_in_generate"),
        *("compile_config", "disable_compile", "continuous_batching_config"),
    }
)

MOST_NAMED = 6


@dataclass(frozen=True)
class TextEnds:
    """Ids of the tokens that end a text, none if nothing does, and what a reader of the texts must know."""

    ids: tuple[int, ...]
    notes: tuple[str, ...]


def read_text_ends(folder: Path, name: str, config: Any, tokenizer: Any) -> TextEnds:
    """Return where the texts of the model in ``folder`` end.

    The first of generation_config.json, the model's configuration and its tokenizer that names tokens decides. Default
    ids of a configuration that the vocabulary does not reach are ignored.

    Raises
    ------
    ModelUnavailableError
        generation_config.json is damaged, or names other ids than whole numbers within the vocabulary.
    """
    path = folder / GENERATION
    path = path if path.exists() else folder / CONFIG
    stated = read_object(path)
    text_config = config.get_text_config()
    known = int(getattr(text_config, "vocab_size", None) or len(tokenizer))
    for key in IDS:
        value = stated.get(key)
        default = value == getattr(config, key, None) or value == getattr(text_config, key, None)
        if value is not None and not default and _ids(value, known, several=key == END) is None:
            raise damaged(path, f"{key} = {str(value)[:40]}", f"whole numbers from 0 to {known - 1:,}")
    choices = (stated.get(END), getattr(config, END, None), getattr(text_config, END, None), tokenizer.eos_token_id)
    ids = next((found for value in choices if (found := _ids(value, known, several=True))), ())
    asked = _asked(stated)
    note = (
        f"The settings for generation in the {path.name} of {name} are passed over, since a decoder follows its own "
        f"parameters alone: {asked}"
    )
    return TextEnds(ids, (note,) if asked else ())


def _ids(value: Any, known: int, *, several: bool) -> tuple[int, ...] | None:
    """Return the value as ids, one or more; None if it is anything else."""
    ids = tuple(value) if several and isinstance(value, list) else (value,)
    return ids if ids and all(type(each) is int and 0 <= each < known for each in ids) else None


def _asked(settings: Mapping[str, Any]) -> str:
    """Return the settings that would change texts, with their values where these are short."""
    from transformers import GenerationConfig

    known = vars(GenerationConfig()).keys() - NO_MATTER
    asked = [
        f"{key} = {value}" if isinstance(value, int | float) else key
        for key, value in settings.items()
        if key in known and not _is_off(key, value)
    ]
    more = f" and {len(asked) - MOST_NAMED} more" if len(asked) > MOST_NAMED else ""
    return ", ".join(asked[:MOST_NAMED]) + more


def _is_off(key: str, value: Any) -> bool:
    return value is None or (not value and not key.endswith("_id")) or value == NEUTRAL.get(key)
