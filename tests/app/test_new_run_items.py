"""The New run page with files of images and molecules: what cards say, what is offered, and what is started."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app import uploaded_files
from mauve_app.uploads import side_size
from mauve_core import molecules as molecules
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders.features import FeatureStore
from mauve_core.images import files, reading
from mauve_core.images import kind as images
from mauve_core.images.kind import ImageEncoder
from mauve_core.texts.text_files import TextFile
from tests.app.pages import said
from tests.app.test_new_run_view import VIEW, jsonl, key_of, markdown, start_button, upload
from tests.images.made import draw_images, draw_stripes

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
N = 24
SMILES = ("CCO", "CCN", "CCC", "c1ccccc1", "CC(=O)O", "CCOC")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Folders of N images: ``real`` and ``made``."""
    folder = tmp_path_factory.mktemp("pictures")
    return {"real": draw_images(folder / "real", N), "made": draw_stripes(folder / "made", N)}


def zipped(folder: Path, more: Mapping[str, bytes] | None = None) -> bytes:
    """The images of a folder as a zip archive, and other members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(folder.rglob("*.png")):
            archive.write(path, path.relative_to(folder))
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return stream.getvalue()


def parquet(folder: Path, *columns: str, captions: bool = False) -> bytes:
    """A table with the images in each of some columns, and maybe a text beside them."""
    cells = [{"bytes": path.read_bytes(), "path": path.name} for path in sorted(folder.rglob("*.png"))]
    table: dict[str, list[Any]] = dict.fromkeys(columns, cells)
    if captions:
        table["caption"] = [f"A picture of stripes, number {number} of many." for number in range(len(cells))]
    stream = io.BytesIO()
    pd.DataFrame(table).to_parquet(stream)
    return stream.getvalue()


def with_images(open_page: OpenPage, pictures: Mapping[str, Path]) -> AppTest:
    app = open_page(VIEW)
    upload(app, "human", ("real.zip", zipped(pictures["real"], {"broken.png": b"nothing", "notes.txt": b"x"})))
    return upload(app, "models", ("made v1.zip", zipped(pictures["made"])))


def headers(app: AppTest) -> list[str]:
    return [each.value for each in app.header]


def labels(app: AppTest) -> set[str]:
    return {each.label for each in (*app.number_input, *app.selectbox, *app.toggle, *app.text_input)}


def test_zip_archives_are_read_shown_and_started(
    open_page: OpenPage, started: list[tuple[str, Any]], pictures: Mapping[str, Path]
) -> None:
    app = open_page(VIEW)
    assert headers(app)[:2] == ["Human texts", "Model texts"]
    app = with_images(open_page, pictures)
    assert not app.exception
    assert not app.error
    assert headers(app)[:2] == ["Real images", "Model images"]
    assert f"**{N}** images, **1** left out" in markdown(app)
    assert "broken.png is not an image" in said(app)
    assert "Files of other kinds are not read: 1 .txt." in said(app)
    assert len(app.get("image")) == 2 * uploaded_files.PICTURES
    assert not app.dataframe
    assert "Format" not in headers(app)
    assert not labels(app) & {"Text", "Prompt", "Id", "Max tokens", "Encode prompt and text together", "Pooling"}
    start_button(app).click().run()
    assert not app.exception
    task = started[0][1]
    assert task.name == "real vs made-v1"
    assert task.config.encoder == EncoderConfig(model=images.IMAGE.model)
    assert list(task.candidates) == ["made-v1"]
    assert task.normalize is None
    assert len(task.candidates["made-v1"].read("m")) == N


def test_the_server_decodes_no_image(
    open_page: OpenPage, pictures: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(*_: object) -> None:
        raise AssertionError("decoded in the server")

    for place in (reading, files):
        monkeypatch.setattr(place, "decoded", decode)
    app = with_images(open_page, pictures)
    assert not app.exception
    assert not app.error
    assert f"**{N}** images, **1** left out" in markdown(app)
    assert app.get("image")


def test_an_encoder_belongs_to_its_kind(
    open_page: OpenPage, started: list[tuple[str, Any]], pictures: Mapping[str, Path]
) -> None:
    app = open_page(VIEW)
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    app.number_input(key="max_tokens").set_value(64).run()
    upload(app, "human", ("real.zip", zipped(pictures["real"])))
    upload(app, "models", ("made.zip", zipped(pictures["made"])))
    offered = app.selectbox(key="encoder_model_image")
    assert offered.value == images.IMAGE.model
    assert "minilm" not in offered.options
    assert {"pixels", "inception-fid", "facebook/dinov2-small"} <= set(offered.options)
    offered.set_value("pixels").run()
    assert "without a network" in said(app)
    start_button(app).click().run()
    assert started[0][1].config.encoder == EncoderConfig(model="pixels")
    upload(app, "human", ("human.jsonl", jsonl()))
    [button for button in app.button if button.label == "Remove"][1].click().run()
    upload(app, "models", ("greedy.jsonl", jsonl()))
    assert app.selectbox(key="encoder_model_text").value == "minilm"
    start_button(app).click().run()
    encoder = started[1][1].config.encoder
    assert encoder is not None
    assert encoder.model == "minilm"


def test_sides_of_two_kinds_are_said_and_not_started(open_page: OpenPage, pictures: Mapping[str, Path]) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("made.zip", zipped(pictures["made"])))
    assert not app.exception
    assert start_button(app).disabled
    assert "'human' has texts, and 'made' has images" in said(app)


def damaged(pictures: Mapping[str, Path]) -> dict[str, tuple[bytes, str]]:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.png", bytes(8_000_000))
    paths = "".join(f"{number}.png,1\n" for number in range(N))
    return {
        "cut.zip": (zipped(pictures["made"])[:2000], "cut.zip is no zip archive that can be read"),
        "bomb.zip": (bomb.getvalue(), "bomb.zip unpacks to far more than images do"),
        "paths.csv": (f"file,label\n{paths}".encode(), "store the images in a zip archive"),
    }


@pytest.mark.parametrize("name", ["cut.zip", "bomb.zip", "paths.csv"])
def test_a_bad_file_of_images_is_named_on_its_card(
    open_page: OpenPage, pictures: Mapping[str, Path], name: str, own_home: Path
) -> None:
    data, reason = damaged(pictures)[name]
    app = open_page(VIEW)
    upload(app, "human", ("real.zip", zipped(pictures["real"])))
    upload(app, "models", ("good.zip", zipped(pictures["made"])), (name, data))
    assert not app.exception
    (error,) = app.error
    assert reason in error.value.replace("\\", "")
    assert str(own_home) not in error.value.replace("\\", "")
    assert start_button(app).disabled
    assert markdown(app).count(f"**{N}** images") == 2
    [button for button in app.button if button.label == "Remove"][2].click().run()
    assert not app.error
    assert not start_button(app).disabled


def test_one_of_several_fields_of_images_is_chosen(
    open_page: OpenPage, started: list[tuple[str, Any]], pictures: Mapping[str, Path]
) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("real.zip", zipped(pictures["real"])))
    upload(app, "models", ("made.parquet", parquet(pictures["made"], "image", "mask")))
    assert [box.value for box in app.error] == ["Several fields hold images. Choose one above."]
    assert start_button(app).disabled
    key_of(app, "items").set_value(1).run()
    start_button(app).click().run()
    ((_, task),) = started
    assert task.candidates["made"].text_field == "mask"


def test_the_size_of_a_side_says_whether_its_images_are_encoded(own_home: Path, pictures: Mapping[str, Path]) -> None:
    archive = Path(shutil.make_archive(str(own_home / "made"), "zip", pictures["made"]))
    file, encoder = TextFile(str(archive)), EncoderConfig(model="pixels")
    size = side_size(file, encoder)
    assert (size.texts, size.stored, size.words.items) == (N, False, "images")
    ImageEncoder(encoder).encode(file.read("made"), store=FeatureStore())
    assert side_size(file, encoder).stored
    assert not side_size(file, EncoderConfig(model="facebook/dinov2-small")).stored, "the hub is not asked"


def smiles(n: int = N) -> bytes:
    return "".join(f"{SMILES[i % len(SMILES)]}{'C' * (i // len(SMILES))} m{i}\n" for i in range(n)).encode()


def test_molecules_are_read_and_drawn(open_page: OpenPage, started: list[tuple[str, Any]]) -> None:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    pytest.importorskip("fcd", reason="fcd is not installed")
    app = open_page(VIEW)
    upload(app, "human", ("real.smi", smiles()))
    upload(app, "models", ("made.smiles", smiles() + b"xx no\n"))
    assert not app.error
    assert headers(app)[:2] == ["Real molecules", "Model molecules"]
    assert f"**{N}** molecules, **1** left out" in markdown(app)
    assert app.selectbox(key="encoder_model_molecule").options == ["chemnet"]
    assert "hub" not in said(app)
    start_button(app).click().run()
    assert started[0][1].config.encoder == EncoderConfig(model="chemnet")


def test_molecules_without_their_package_say_what_to_install(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(molecules, "find_spec", lambda name: None)
    app = upload(open_page(VIEW), "human", ("real.smi", smiles()))
    assert not app.exception
    assert "pip install rdkit" in app.error[0].value
