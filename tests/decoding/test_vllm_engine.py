"""Texts by vLLM, for which a module with its signatures stands in: what it is asked for, and what becomes of it."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from mauve_core.base.errors import InputError
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.decoding.decoders import DECODERS
from mauve_core.decoding.engines import DECODERS_OF_VLLM, ENVIRONMENT, NEUTRAL, sampling_of
from mauve_core.encoders.models import load_model
from tests.decoding.vllm_stand_in import PARAMETERS, State
from tests.tiny_models import POSITIONS, make_gpt2, make_llama, make_roberta

pytestmark = pytest.mark.integration

PROMPTS = Prompts(("a", "b", "c", "d", "e"), ("The quick", "In 1969 two people", "She asked", "Rain", "A model that"))
SETTINGS = GenerationSettings(max_new_tokens=8, seed=3)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ends after 150 of its 400 tokens, as its generation_config.json says, which asks for a penalty, too."""
    folder = make_llama(tmp_path_factory.mktemp("model") / "llama")
    settings = {"eos_token_id": [*range(150)], "repetition_penalty": 5.0, "top_k": 1}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    return str(folder)


def install(version: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stand-in where it is imported as that version of vLLM."""
    site = place / version
    (site / f"vllm-{version}.dist-info").mkdir(parents=True)
    (site / f"vllm-{version}.dist-info" / "METADATA").write_text(f"Name: vllm\nVersion: {version}\n")
    (site / "vllm.py").write_text("from tests.decoding.vllm_stand_in import LLM, SamplingParams\n")
    monkeypatch.syspath_prepend(site)
    sys.modules.pop("vllm", None)
    importlib.invalidate_caches()


@pytest.fixture(params=PARAMETERS)
def vllm(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "of the user")
    for name, value in {"release": request.param, "loaded": [], "asked": [], "fails_at": -1, "ended": 0}.items():
        monkeypatch.setattr(State, name, value)
    install(request.param, tmp_path / "site", monkeypatch)
    yield State
    assert State.ended == len(State.loaded), "an engine keeps the device's memory"
    sys.modules.pop("vllm", None)


def texts_of(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


def written(model: str, spec: str, out: Path, settings: GenerationSettings = SETTINGS, **options: Any) -> list[str]:
    return texts_of(
        generate_files(model, PROMPTS, [spec], out, settings=settings, **{"engine": "vllm"} | options)[spec]
    )


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        ("greedy", {"temperature": 0.0}),
        ("temperature:t=0.7", {"temperature": 0.7}),
        (f"top-k:k={10**30}", {"top_k": 2**31 - 1}),
        ("nucleus:p=0.9", {"top_p": 0.9}),
    ],
)
def test_a_decoder_becomes_sampling_parameters(spec: str, changed: dict[str, float]) -> None:
    assert sampling_of(parse_decoder(spec)) == NEUTRAL | changed


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        *((f"{name}:ppl=20" if name == "adversarial" else name, DECODERS_OF_VLLM)
          for name in DECODERS if name not in DECODERS_OF_VLLM.split(", ")),
        ("temperature:t=0.005", "t from 0.01 to 2"),
        ("temperature:t=2.5", "t from 0.01 to 2"),
    ],
)  # fmt: skip
def test_what_vllm_cannot_write_is_refused_before_anything_else(spec: str, allowed: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"vLLM cannot write with the decoder .*{allowed}"):
        generate_files("no/such-model", PROMPTS, ["greedy", spec], tmp_path, engine="vllm")


@pytest.mark.parametrize("least", [0, 3])
@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_greedy_texts_are_those_of_transformers(
    vllm: Any, request: pytest.FixtureRequest, model: str, least: int, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(model)
    settings = replace(SETTINGS, min_new_tokens=least)
    expected = written(folder, "greedy", tmp_path / "t", settings, engine="transformers")
    assert written(folder, "greedy", tmp_path / "v", settings) == expected
    assert len(set(expected)) > 2
    longest = max(len(row) for row in AutoTokenizer.from_pretrained(folder)(list(PROMPTS.texts))["input_ids"])
    assert vllm.loaded == [
        {
            "model": folder,
            "dtype": "float32",
            "seed": 0,
            "max_model_len": longest + 8,
            "generation_config": "vllm",
            "trust_remote_code": False,
        }
    ]


@pytest.mark.trial
def test_texts_end_where_the_model_says(vllm: Any, llama: str, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(llama)
    texts = {least: written(llama, "ancestral", tmp_path, replace(SETTINGS, min_new_tokens=least)) for least in (0, 8)}
    lengths = {least: [len(tokenizer(text)["input_ids"]) - 1 for text in own] for least, own in texts.items()}
    assert min(lengths[0]) < 8 <= min(lengths[8])


@pytest.mark.parametrize("spec", ["top-k:k=1", "nucleus:p=0.001"])
def test_a_cut_to_one_token_is_greedy(vllm: Any, gpt2: str, tmp_path: Path, spec: str) -> None:
    assert written(gpt2, spec, tmp_path) == written(gpt2, "greedy", tmp_path)


def test_a_text_follows_its_prompt_seed_and_generation(vllm: Any, gpt2: str, tmp_path: Path) -> None:
    spec = "nucleus:p=0.9"
    texts = written(gpt2, spec, tmp_path / "a")
    assert written(gpt2, spec, tmp_path / "b", replace(SETTINGS, batch_rows=2)) == texts
    assert written(gpt2, spec, tmp_path / "c", replace(SETTINGS, seed=4)) != texts
    repeated = written(gpt2, spec, tmp_path / "d", replace(SETTINGS, repeats=3))
    assert repeated[:5] == texts
    assert len(set(repeated)) == 15
    sizes = [len(call) for call in vllm.asked]
    assert sizes == [5, 2, 2, 1, 5, 15]
    seeds = [each.seed for call in vllm.asked for each in call]
    assert len(set(seeds)) == 5 + 5 + 10  # another seed, and two more generations, have streams of their own
    assert min(seeds) >= 0
    assert max(seeds).bit_length() > 60


@pytest.mark.trial
def test_a_stopped_run_asks_for_the_rest_alone(vllm: Any, gpt2: str, tmp_path: Path) -> None:
    settings = replace(SETTINGS, batch_rows=2, repeats=2)
    expected = written(gpt2, "ancestral", tmp_path / "whole", settings)
    vllm.asked.clear()
    vllm.fails_at = 3
    with pytest.raises(KeyboardInterrupt):
        written(gpt2, "ancestral", tmp_path / "out", settings)
    assert len(vllm.loaded) == 2
    told: list[Any] = []
    assert written(gpt2, "ancestral", tmp_path / "out", settings, progress=lambda *each: told.append(each)) == expected
    assert [len(call) for call in vllm.asked] == [2, 2, 2, 2, 2]
    assert [done for _, done, _ in told] == [6, 8, 10]
    assert {(stage, total) for stage, _, total in told} == {("writing ancestral", 10)}
    assert len(vllm.loaded) == 3
    assert written(gpt2, "ancestral", tmp_path / "out", settings) == expected
    assert (len(vllm.loaded), len(vllm.asked)) == (3, 5), "a complete file needs no model"
    assert not list((tmp_path / "out").glob(".*"))


def test_files_of_engines_and_releases_never_count_as_each_others(
    vllm: Any, gpt2: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, keys = tmp_path / "out", []

    def make(engine: str, times: int) -> None:
        before = len(vllm.asked)
        written(gpt2, "greedy", out, engine=engine)
        assert len(vllm.asked) - before == times
        keys.append((out / "greedy.key").read_text())

    make("transformers", 0)
    make("vllm", 1)
    make("vllm", 0)
    manifest = json.loads((out / "manifest.json").read_text())
    make("transformers", 0)
    plain = json.loads((out / "manifest.json").read_text())
    make("vllm", 1)
    install("0.99.0", tmp_path / "newer", monkeypatch)
    make("vllm", 1)
    assert len(set(keys)) == 3
    assert keys[0] == keys[3]
    assert keys[1] == keys[2] == keys[4]
    assert (manifest["engine"], manifest["draw"], manifest["dtype"]) == ("vllm", "vllm", "float32")
    assert manifest["versions"].keys() - plain["versions"].keys() == {"vllm"}
    assert manifest["sampling"] == {"greedy": NEUTRAL | {"temperature": 0.0}}
    assert ["can differ between batches" in note for note in manifest["notes"]] == [True]
    assert not {"engine", "dtype", "sampling"} & plain.keys()
    assert (plain["draw"], plain["notes"]) == ("inverse", [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "cpu"}, "first CUDA device that it sees.*CUDA_VISIBLE_DEVICES"),
        ({"settings": replace(SETTINGS, max_new_tokens=POSITIONS)}, f"too long for the model.*{POSITIONS} tokens"),
        ({"model": "openai:http://localhost:1/v1#m"}, "behind a server"),
    ],
    ids=str,
)
def test_what_vllm_is_not_asked_for(vllm: Any, gpt2: str, tmp_path: Path, options: dict[str, Any], words: str) -> None:
    given = {"model": gpt2, "prompts": PROMPTS, "decoders": ["greedy"], "out": tmp_path, "engine": "vllm"} | options
    with pytest.raises(InputError, match=words):
        generate_files(**given)
    assert (vllm.loaded, list(tmp_path.glob("*.jsonl"))) == ([], [])


def test_models_that_vllm_is_not_given(vllm: Any, gpt2: str, tmp_path: Path) -> None:
    loaded = load_model(gpt2, with_head=True, device="cpu")
    with pytest.raises(InputError, match="not one in memory"):
        generate_files(loaded, PROMPTS, ["greedy"], tmp_path, engine="vllm")
    with pytest.raises(InputError, match="cannot generate text"):
        written(str(make_roberta(tmp_path / "roberta")), "greedy", tmp_path)
    larger = shutil.copytree(gpt2, tmp_path / "larger")
    tokenizer = AutoTokenizer.from_pretrained(gpt2)
    tokenizer.add_tokens(["quick"])
    tokenizer.save_pretrained(larger)
    with pytest.raises(InputError, match=r"Token ids outside 0 to 399 in text 0"):
        written(str(larger), "greedy", tmp_path)
    assert vllm.loaded == []


def test_an_adapter_is_refused(vllm: Any, gpt2: str, tmp_path: Path) -> None:
    from tests.encoders.test_adapters import save_adapter

    save_adapter(gpt2, tmp_path / "adapter", kind="gpt2")
    with pytest.raises(InputError, match=r"no adapters from here.*merge_and_unload"):
        written(str(tmp_path / "adapter"), "greedy", tmp_path)
    assert vllm.loaded == []
