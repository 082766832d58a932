"""``mauve-lens ratings`` from the outside: out, in, and as a ranking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN, QUESTIONS
from mauve_core.runs import Run
from mauve_core.runs.ratings import RatingStore, pair_plan
from mauve_core.stats.bradley_terry import win_probability
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=40, seeds=2, projection=False)


def rate(run: Run, pairs: int = 60) -> RatingStore:
    """One rater who mostly likes human texts best, and skips two pairs."""
    store, plan = RatingStore(run.ratings_path), pair_plan(run.corpora, rater="ann")
    for index in range(pairs):
        pair = plan[index]
        option = "slightly A" if pair.left == HUMAN else "slightly B" if pair.right == HUMAN else "tie"
        if index % 9 == 8:
            option = "definitely A"
        store.append(pair.ratings("ann", dict.fromkeys(QUESTIONS, option), 30.0))
    for index in (pairs, pairs + 1):
        store.skip("ann", plan[index])
    return store


def test_out_and_in_again(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, out = rate(run), tmp_path / "ratings.csv"
    assert main(["ratings", "export", run.id, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "180 ratings of 60 pairs by 1 raters" in said
    assert "2 skipped pairs" in said
    before = store.list()
    assert main(["ratings", "import", run.id, str(out)]) == 0
    assert "0 of 180 ratings added to synthetic; 180 already existed" in capsys.readouterr().out
    run.ratings_path.unlink()
    assert main(["ratings", "import", run.id, str(out)]) == 0
    assert "180 of 180 ratings added" in capsys.readouterr().out
    assert store.list() == before


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("ben,t0001,human,nobody,sensible,tie", "sources that run synthetic does not have"),
        ("ben,t9999,human,close,sensible,tie", "t9999"),
    ],
)
def test_a_bad_file_adds_nothing(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, said: str
) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(f"rater,prompt_id,left,right,question,option\nben,t0002,human,close,sensible,tie\n{row}\n")
    assert main(["ratings", "import", run.id, str(file)]) == 2
    assert said in capsys.readouterr().err
    assert RatingStore(run.ratings_path).list() == ()


def test_a_ranking_of_each_question_and_how_scores_agree(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    rate(run)
    assert main(["ratings", "rank", run.id, "--json", "--bootstrap", "100"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [ranking["question"] for ranking in record["rankings"]] == list(QUESTIONS)
    first = record["rankings"][0]
    assert (first["players"][0]["name"], first["n"], first["raters"]) == ("human", 60, 1)
    assert {row["indicator"]: row["n"] for row in first["correlations"]}["MAUVE"] == 3


def test_any_table_of_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("left,right,winner\n" + "a,b,left\n" * 3 + "a,b,right\n" + "b,c,left\n")
    assert main(["ratings", "rank", str(file), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    (ranking,) = record["rankings"]
    a, b, c = ranking["players"]
    assert win_probability(a["score"], b["score"]) == pytest.approx(0.75)
    assert (c["name"], c["score"], ranking["correlations"]) == ("c", "-inf", [])
    assert main(["ratings", "rank", str(file)]) == 0
    said = capsys.readouterr().out
    assert "never won" in said
    assert "−∞ to " in said


def test_a_table_of_too_many_sources_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("left,right,winner\n" + "".join(f"p{i},p{i + 1},left\n" for i in range(5000)))
    assert main(["ratings", "rank", str(file)]) == 2
    assert "too many sources to rank. Allowed: at most 300. Received: 5,001." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rank", "synthetic"], "has no ratings"),
        (["rank", "nowhere"], "nowhere is neither a stored run nor a file"),
        (["rank", "/dev/zero"], "is a device"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["ratings", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
