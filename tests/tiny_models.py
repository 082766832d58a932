"""Tiny transformers with random weights and a tokenizer trained on a few sentences, saved as ordinary checkpoints.

Nothing is downloaded. Weights are drawn wider than usual (standard deviation 0.3), so that features of different texts
differ clearly and a wrong token, layer or mask cannot hide in the rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.encoders.loading import is_older

if TYPE_CHECKING:  # seconds to load, and most who import this module for a sentence or a name make no model
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

# Longest sequence that every tiny model takes, special tokens included.
POSITIONS = 64

WIDTH, LAYERS, HEADS = 32, 3, 4
SPREAD = 0.3
VOCABULARY = 400

SENTENCES = (
    "The quick brown fox jumps over the lazy dog while the farmer looks on.",
    "In 1969 two people walked on the moon, and 600 million watched them.",
    "She asked whether the train to Geneva would leave at noon or at one.",
    "Rain fell on the roofs of the old town; nobody was in the streets.",
    "A model that repeats itself repeats itself repeats itself.",
    "¿Dónde está la biblioteca? Über den Dächern — 東京 — naïve café.",
)

GPT2_END = "<|endoftext|>"
ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def make_gpt2(folder: Path, *, seed: int = 0, width: int = WIDTH, layers: int = LAYERS) -> Path:
    """A GPT-2 with a byte-level tokenizer that adds nothing and has no padding token, as the real one.

    A wider and deeper one takes its time.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = _byte_level((GPT2_END,))
    wrapped = _wrap(tokenizer, bos_token=GPT2_END, eos_token=GPT2_END, unk_token=GPT2_END)
    config = GPT2Config(
        vocab_size=len(wrapped),
        n_positions=POSITIONS,
        n_embd=width,
        n_layer=layers,
        n_head=HEADS,
        initializer_range=SPREAD,
        bos_token_id=wrapped.bos_token_id,
        eos_token_id=wrapped.eos_token_id,
    )
    return _save(GPT2LMHeadModel, config, wrapped, folder, seed)


def make_llama(folder: Path, *, seed: int = 0) -> Path:
    """A Llama with grouped key-value heads whose tokenizer puts <s> before each text."""
    from tokenizers import processors
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _byte_level(("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    wrapped = _wrap(tokenizer, bos_token="<s>", eos_token="</s>")
    config = LlamaConfig(
        vocab_size=len(wrapped),
        max_position_embeddings=POSITIONS,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        initializer_range=SPREAD,
        bos_token_id=wrapped.bos_token_id,
        eos_token_id=wrapped.eos_token_id,
    )
    return _save(LlamaForCausalLM, config, wrapped, folder, seed)


def make_roberta(folder: Path, *, seed: int = 0) -> Path:
    """A RoBERTa with <s> and </s> around each text and positions that start after the padding id, as the real one."""
    from tokenizers import processors
    from transformers import RobertaConfig, RobertaForMaskedLM

    tokenizer = _byte_level(ROBERTA_SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    wrapped = _wrap(tokenizer, cls_token="<s>", sep_token="</s>", **dict(zip(names, ROBERTA_SPECIAL, strict=True)))
    config = RobertaConfig(max_position_embeddings=POSITIONS + 2, type_vocab_size=1, **_encoder_sizes(wrapped))
    return _save(RobertaForMaskedLM, config, wrapped, folder, seed)


def make_bert(folder: Path, *, seed: int = 0) -> Path:
    """A BERT with a lower-casing WordPiece tokenizer and [CLS], [SEP] around each text."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(
        SENTENCES,
        trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=list(BERT_SPECIAL), show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    wrapped = _wrap(tokenizer, **dict(zip(names, BERT_SPECIAL, strict=True)))
    config = BertConfig(max_position_embeddings=POSITIONS, **_encoder_sizes(wrapped))
    return _save(BertForMaskedLM, config, wrapped, folder, seed)


def rotary(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of rotary embeddings as the configurations of the installed transformers name them."""
    if is_older():
        return {"rope_scaling": settings, "rope_theta": 1e4}
    return {"rope_parameters": settings | {"rope_theta": 1e4}}


# Every builder by name.
MAKERS = {"gpt2": make_gpt2, "llama": make_llama, "roberta": make_roberta, "bert": make_bert}


def _byte_level(special: tuple[str, ...]) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def _wrap(tokenizer: Tokenizer, **special: str) -> PreTrainedTokenizerFast:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, **special)


def _encoder_sizes(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "initializer_range": SPREAD,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _save(model_class: Any, config: Any, tokenizer: PreTrainedTokenizerFast, folder: Path, seed: int) -> Path:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = model_class(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
