"""vLLM as far as it is used, on the CPU: a model of transformers writes, sampled here as vLLM's documentation says.

``PARAMETERS`` holds the names in the signatures of two releases, and a call with any other name is refused. Both take
more than ``LLM.__init__`` names: the fields of ``EngineArgs``, of which those are listed that matter here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

_LLM = (
    "runner convert tokenizer tokenizer_mode skip_tokenizer_init trust_remote_code allowed_local_media_path "
    "allowed_media_domains tensor_parallel_size dtype quantization revision tokenizer_revision seed "
    "gpu_memory_utilization cpu_offload_gb enforce_eager disable_custom_all_reduce hf_token hf_overrides "
    "mm_processor_kwargs pooler_config structured_outputs_config kv_cache_memory_bytes compilation_config "
    "logits_processors"
)
_ENGINE = "max_model_len generation_config"
_GENERATE = "prompts sampling_params use_tqdm lora_request priority"
_SAMPLING = (
    "n presence_penalty frequency_penalty repetition_penalty temperature top_p top_k min_p seed stop stop_token_ids "
    "ignore_eos max_tokens min_tokens logprobs prompt_logprobs detokenize skip_special_tokens "
    "spaces_between_special_tokens include_stop_str_in_output output_kind output_text_buffer_length "
    "structured_outputs logit_bias allowed_token_ids extra_args bad_words skip_reading_prefix_cache"
)
PARAMETERS = {
    "0.11.2": {
        "LLM": f"model {_LLM} {_ENGINE} swap_space override_pooler_config",
        "generate": _GENERATE,
        "SamplingParams": f"{_SAMPLING} best_of logits_processors truncate_prompt_tokens guided_decoding",
    },
    "0.33.0": {
        "LLM": f"model {_LLM} {_ENGINE} chat_template offload_group_size offload_num_in_group offload_prefetch_step "
        "offload_params enable_return_routed_experts return_sampling_mask profiler_config attention_config "
        "quantization_config spec_method spec_model spec_tokens",
        "generate": f"{_GENERATE} tokenization_kwargs mm_processor_kwargs",
        "SamplingParams": f"{_SAMPLING} watermarking prompt_logprob_token_ids prompt_logprob_start logprob_token_ids "
        "flat_logprobs stream_interval skip_clone thinking_token_budget repetition_detection "
        "routed_experts_prompt_start trace_decode_token_ids",
    },
}

NO_SEED = -1


class State:
    """The release that is stood in for, models loaded, parameters of each call of ``generate``, and engines ended."""

    release = "0.33.0"
    loaded: list[dict[str, Any]] = []
    asked: list[list[SamplingParams]] = []
    fails_at = -1
    ended = 0


def _checked(name: str, given: dict[str, Any]) -> None:
    known = PARAMETERS[State.release][name].split()
    parameters = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None) for each in known]
    inspect.Signature(parameters).bind(**given)  # a TypeError at any other name


class SamplingParams:
    def __init__(self, **given: Any) -> None:
        _checked("SamplingParams", given)
        self.given = given
        defaults = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
        lengths = {"seed": None, "max_tokens": 16, "min_tokens": 0, "stop_token_ids": None, "ignore_eos": False}
        for name, value in (defaults | lengths | given).items():
            setattr(self, name, value)
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1 or not self.min_tokens <= self.max_tokens:
            raise ValueError("a sampling parameter is out of its range")
        if not -(2**31) <= self.top_k < 2**31 or not -(2**63) <= (self.seed or 0) < 2**63:
            raise OverflowError("an integer is too large")


class LLM:
    def __init__(self, model: str, **given: Any) -> None:
        _checked("LLM", {"model": model} | given)
        State.loaded.append({"model": model} | given)
        self._eos = AutoTokenizer.from_pretrained(model).eos_token_id
        self._model = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, given["dtype"])).eval()
        self._positions = given["max_model_len"]
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=self._end))
        if self._positions > self._model.config.max_position_embeddings:
            raise ValueError("max_model_len is larger than the model takes")

    def _end(self) -> None:
        State.ended += 1

    def generate(self, prompts: Any, sampling_params: Any = None, **given: Any) -> list[Any]:
        _checked("generate", {"prompts": prompts, "sampling_params": sampling_params} | given)
        if len(State.asked) == State.fails_at:
            State.fails_at = -1
            raise KeyboardInterrupt
        State.asked.append(list(sampling_params))
        pairs = zip(prompts, sampling_params, strict=True)
        return [
            SimpleNamespace(outputs=[SimpleNamespace(token_ids=tuple(self._continue(each["prompt_token_ids"], how)))])
            for each, how in pairs
        ]

    @torch.inference_mode()
    def _continue(self, prompt: Sequence[int], how: SamplingParams) -> list[int]:
        if not prompt or len(prompt) >= self._positions:
            raise ValueError("the prompt is empty or too long")
        ends = {*(how.stop_token_ids or ()), *(() if how.ignore_eos else (self._eos,))}
        draws = torch.Generator()
        if how.seed not in (None, NO_SEED):
            draws.manual_seed(how.seed)
        written: list[int] = []
        while len(written) < how.max_tokens and len(prompt) + len(written) < self._positions:
            logits = self._model(torch.tensor([[*prompt, *written]])).logits[0, -1].double()
            if len(written) < how.min_tokens:
                logits[list(ends)] = -torch.inf
            written.append(_sampled(logits, how, draws))
            if written[-1] in ends:
                break
        return written


def _sampled(logits: torch.Tensor, how: SamplingParams, draws: torch.Generator) -> int:
    if how.temperature == 0:
        return int(logits.argmax())
    p, order = (logits / max(how.temperature, 0.01)).softmax(dim=0).sort(descending=True)
    if how.top_k > 0:
        p[how.top_k :] = 0
    p[(p.cumsum(dim=0) - p) / p.sum() >= how.top_p] = 0
    return int(order[torch.multinomial(p, 1, generator=draws)])
