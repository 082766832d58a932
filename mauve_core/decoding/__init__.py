"""Continue prompts under one of several decoders: with transformers, with vLLM, or by a server."""

from mauve_core.decoding.decoders import DECODERS, Decoder, parse_decoder
from mauve_core.decoding.files import GenerationSettings, Prompts, read_prompts
from mauve_core.decoding.generate import continue_prompts, generate_files

__all__ = [
    "DECODERS",
    "Decoder",
    "GenerationSettings",
    "Prompts",
    "continue_prompts",
    "generate_files",
    "parse_decoder",
    "read_prompts",
]
