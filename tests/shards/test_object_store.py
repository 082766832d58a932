"""Shards in an object store: read by ranges over S3's own protocol, without a word of the credentials."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from pyarrow import fs

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.shards.comparison import encode_tasks
from mauve_core.shards.places import list_shards, opened_shard
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.tasks import remaining
from tests.sharded import SCORE, Inline, carried_out, made_texts, written_features, written_texts
from tests.sharded import made_sides as made_features
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

KEY, SECRET = "AKIAEXAMPLEKEY", "example-secret-that-nobody-may-see"


@dataclass
class Store:
    """A store of this machine."""

    system: fs.S3FileSystem
    query: str

    def url(self, place: str) -> str:
        return f"s3://texts/{place}?{self.query}"

    def put(self, folder: Path, name: str) -> None:
        for path in sorted(folder.iterdir()):
            with self.system.open_output_stream(f"texts/{name}/{path.name}") as stream:
                stream.write(path.read_bytes())


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    moto = pytest.importorskip("moto.server")
    for name, value in {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()  # stores of one process share their content
    system = fs.S3FileSystem(endpoint_override=address, region="us-east-1", allow_bucket_creation=True)
    system.create_dir("texts")
    try:
        yield Store(system, f"endpoint_override={quote(address, safe='')}&region=us-east-1")
    finally:
        server.stop()


def test_places_in_a_store_are_listed_as_on_disk(store: Store, tmp_path: Path) -> None:
    written_texts(tmp_path / "texts", made_texts(20), 3)
    store.put(tmp_path / "texts/human", "human")
    store.put(tmp_path / "texts/model", "models/one")
    names = ["00.jsonl", "01.jsonl", "02.jsonl"]
    assert list_shards(store.url("human")) == tuple(store.url(f"human/{name}") for name in names)
    assert list_shards(store.url("human/*.jsonl")) == list_shards(store.url("human"))
    assert list_shards(store.url("*/*.jsonl")) == list_shards(store.url("human"))
    assert list_shards(store.url("**/01.jsonl")) == (store.url("human/01.jsonl"), store.url("models/one/01.jsonl"))
    assert list_shards(store.url("human/02.jsonl")) == (store.url("human/02.jsonl"),)
    for nowhere in ("other/*.jsonl", "human/*.parquet"):
        with pytest.raises(InputError, match="There are no shards"):
            list_shards(store.url(nowhere))


def test_a_comparison_reads_texts_from_a_store(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    words = by_topic(tmp_path / "words.txt")
    places = written_texts(tmp_path / "texts", made_texts(), 3)
    for name, folder in places.items():
        store.put(folder, name)
    encoder = EncoderConfig(str(words))
    here = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE)
    there = plan_of(store.url("human"), {"model": store.url("model")}, encoder=encoder, score=SCORE)
    expected, found = carried_out(here, tmp_path / "here"), carried_out(there, tmp_path / "there")
    assert found.digest() == expected.digest()
    said = "".join(capfd.readouterr()) + caplog.text
    written = b"".join(path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file())
    for secret in (SECRET, KEY):
        assert secret not in said
        assert secret.encode() not in written


def test_a_comparison_reads_features_from_a_store(store: Store, tmp_path: Path) -> None:
    places = written_features(tmp_path / "features", made_features(200), 2)
    for name, folder in places.items():
        store.put(folder, name)
    here = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE)
    there = plan_of(store.url("human"), {"model": store.url("model")}, encoder=None, score=SCORE)
    assert carried_out(there, tmp_path / "there").digest() == carried_out(here, tmp_path / "here").digest()


def test_a_vanished_shard_is_named_and_nothing_is_lost(store: Store, tmp_path: Path) -> None:
    words = by_topic(tmp_path / "words.txt")
    places = written_texts(tmp_path / "texts", made_texts(), 3)
    for name, folder in places.items():
        store.put(folder, name)
    encoder = EncoderConfig(str(words))

    def planned() -> Plan:
        return plan_of(store.url("human"), {"model": store.url("model")}, encoder=encoder, score=SCORE)

    plan, gone = planned(), "texts/model/01.jsonl"
    store.system.delete_file(gone)
    with pytest.raises(InputError, match=r"model/01\.jsonl\S* is not there any more") as caught:
        carried_out(plan, tmp_path / "work")
    assert SECRET not in str(caught.value)
    work = Work.open(tmp_path / "work")
    for task in (one for one in remaining(encode_tasks(work)) if "model/01.jsonl" not in one.what):
        Inline().run(work.folder, [task], lambda task, memory: None)
    assert len(remaining(encode_tasks(work))) == 1
    with store.system.open_output_stream(gone) as stream:
        stream.write((places["model"] / "01.jsonl").read_bytes())
    found = carried_out(planned(), tmp_path / "work")  # its time of change is another one
    assert next(one for one in found.passes if one.name == "encode").done_before == 5
    assert found.digest() == carried_out(planned(), tmp_path / "again").digest()


@pytest.mark.trial
def test_a_store_that_refuses_is_named_without_the_key(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"s3://texts/human/00.jsonl?endpoint_override={quote('http://127.0.0.1:1', safe='')}&region=us-east-1"
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(InputError, match=r"00\.jsonl\S* cannot be read") as caught, opened_shard(nowhere) as stream:
        stream.read()
    assert SECRET not in str(caught.value)
