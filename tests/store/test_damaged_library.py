"""Twenty damaged runs among forty: the others go on in every way, and each damaged one is named with its cure."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.markup import escaped
from mauve_core.__main__ import main
from mauve_core.base.errors import StorageError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import RunStore
from tests.synthetic import make_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
RUNS, EVERY = 40, 2
Damage = Callable[[Path], object]


def written(name: str, data: bytes) -> Damage:
    return lambda run: (run / name).write_bytes(data)


def cut(name: str, share: float) -> Damage:
    """The file without its end."""

    def damage(run: Path) -> None:
        data = (run / name).read_bytes()
        (run / name).write_bytes(data[: int(len(data) * share)])

    return damage


def replaced(name: str, old: bytes, new: bytes) -> Damage:
    """One place of the file changed."""

    def damage(run: Path) -> None:
        data = (run / name).read_bytes()
        assert old in data
        (run / name).write_bytes(data.replace(old, new, 1))

    return damage


def missing(name: str) -> Damage:
    return lambda run: (run / name).unlink()


def a_folder(name: str) -> Damage:
    def damage(run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return damage


RECORD, JOINT, TEXTS, FEATURES = "comparison.json", "joint.npy", "texts-0.parquet", "features-0.npy"
# What the library notices.
IN_LIST: tuple[Damage, ...] = (
    written(RECORD, b""),
    written(RECORD, b"{"),
    written(RECORD, b"[]"),
    written(RECORD, b'{"format": 1}'),
    written(RECORD, b"\xff\xfe\x00"),
    written(RECORD, b'{"a":' * 100_000),
    cut(RECORD, 0.5),
    a_folder(RECORD),
    replaced(RECORD, b'"n"', b'"m"'),
    written("about.json", b"{"),
)

# What shows when the run is opened.
ON_OPENING: tuple[Damage, ...] = (
    written(JOINT, b""),
    cut(JOINT, 0.5),
    missing(JOINT),
    a_folder(JOINT),
    replaced(JOINT, b"NUMPY", b"NUMPX"),
    replaced(JOINT, b"'shape': (", b"'shape': (9"),
    written(TEXTS, b"PAR1"),
    cut(TEXTS, 0.5),
    missing(TEXTS),
    a_folder(TEXTS),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty copies of a run; every second one is damaged in a way of its own."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(folder))
        made = make_run(folder, name="one", n=40, seeds=2, projection=False)
        for place in range(RUNS):
            copy = made.path.parent / f"run-{place:02}"
            shutil.copytree(made.path, copy)
            if place % EVERY:
                (IN_LIST + ON_OPENING)[place // EVERY](copy)
        shutil.rmtree(made.path)
    return folder


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    return RunStore(home / "runs")


SOUND = [f"run-{place:02}" for place in range(0, RUNS, EVERY)]
NOTICED = [f"run-{EVERY * place + 1:02}" for place in range(len(IN_LIST))]
UNNOTICED = [f"run-{EVERY * (place + len(IN_LIST)) + 1:02}" for place in range(len(ON_OPENING))]


def test_all_are_listed_or_named_as_damaged(store: RunStore) -> None:
    assert {summary.id for summary in store.list()} == {*SOUND, *UNNOTICED}
    damaged = store.damaged()
    assert set(damaged) == set(NOTICED)
    for name, error in damaged.items():
        assert name in str(error)
        cures = (f"mauve-lens runs delete {name}", "Repair or delete", "Compare its texts again")
        assert any(cure in error.todo for cure in cures)


@pytest.mark.parametrize("name", UNNOTICED)
def test_what_shows_on_opening_is_named_with_its_cure(store: RunStore, name: str) -> None:
    with pytest.raises(StorageError) as caught:
        html_report(store.load(name))
    assert name in str(caught.value)
    assert caught.value.todo


@pytest.mark.parametrize("name", SOUND[:5])
def test_the_others_open_and_are_exported(store: RunStore, name: str, tmp_path: Path) -> None:
    run = store.load(name)
    assert len(html_report(run)) > 1000
    assert all(run.features(source.name) is not None for source in run.comparison.sources)
    saved = store.export(name, tmp_path / "run.zip")
    back = RunStore(tmp_path / "other").import_(saved)
    assert RunStore(tmp_path / "other").load(back.id).comparison.sources == run.comparison.sources


@pytest.mark.filterwarnings("default:.*cannot be read")
def test_the_command_line_lists_them(store: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    shown = capsys.readouterr()
    assert all(name in shown.out for name in SOUND)
    assert all(name in shown.out + shown.err for name in NOTICED)


def test_the_library_page_shows_both(store: RunStore) -> None:
    app = (
        AppTest.from_file(ROOT / "app" / "mauve_app" / "main.py", default_timeout=60)
        .run()
        .switch_page("views/runs.py")
        .run()
    )
    assert not app.exception
    said = " ".join(element.value for element in [*app.error, *app.warning, *app.markdown, *app.caption])
    assert [name for name in NOTICED if escaped(name) not in said] == []


def test_a_damaged_run_and_a_sound_one_are_deleted_and_come_back(store: RunStore) -> None:
    for name in (NOTICED[0], UNNOTICED[0], SOUND[0]):
        store.delete(name)
        assert name not in {summary.id for summary in store.list()} | set(store.damaged())
        (entry,) = [each for each in store.deleted() if each.summary.id == name]
        store.restore(entry.token)
        assert name in {summary.id for summary in store.list()} | set(store.damaged())
