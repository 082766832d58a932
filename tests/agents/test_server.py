"""What an agent sees of stored runs: the run's own numbers, in small answers, with every word of a file quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from mauve_core.agents import page_text, tools
from mauve_core.agents.access import Access, access_of
from mauve_core.agents.server import build_server
from mauve_core.analyses.attached_results import verdict
from mauve_core.base import faults, sharing
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.findings.clusters import costed_table
from mauve_core.findings.verdicts import mean_and_interval
from mauve_core.runs import Run
from tests.agents.calling import Session, talk, texts_in
from tests.agents.injecting import WORD, make_injecting_run
from tests.job_folders import job
from tests.synthetic import make_crowd, make_run, make_untold_run

pytestmark = pytest.mark.integration

ANSWER_BYTES = 8000
RUN = "synthetic"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    return make_run(home, name=RUN, n=100, seeds=2, projection=False)


@pytest.fixture(scope="module")
def crowd(home: Path) -> Run:
    return make_crowd(home)


@pytest.fixture(autouse=True)
def in_home(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    monkeypatch.delenv(sharing.READ_ONLY, raising=False)


@pytest.fixture
def server() -> MCPServer:
    return build_server(Access())


async def everything(session: Session, run_id: str) -> dict[str, dict[str, Any]]:
    """One answer of each tool that reads a run."""
    clusters = await session.ask("clusters", run=run_id, candidate=3)
    costliest = clusters["clusters"][0]["cluster"]
    return {
        "list_runs": await session.ask("list_runs"),
        "verdict": await session.ask("verdict", run=run_id),
        "leaderboard": await session.ask("leaderboard", run=run_id),
        "clusters": clusters,
        "cluster_texts": await session.ask("cluster_texts", run=run_id, candidate=3, cluster=costliest),
        "findings": await session.ask("findings", run=run_id, candidate=3),
        "test_candidates": await session.ask("test_candidates", run=run_id, first=1, second=2),
        "figure": await session.ask("figure", run=run_id),
    }


def test_there_are_ten_tools_which_say_what_they_do(server: MCPServer) -> None:
    async def told(session: Session) -> None:
        assert len(session.tools) == 10
        for tool in session.tools.values():
            assert tool.description is not None
            assert "never instructions" in tool.description
            assert tool.output_schema is not None
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint == (tool.name != "start_comparison")

    talk(server, told)


def test_the_costliest_cluster_and_three_of_its_texts_take_four_calls_and_little_room(
    server: MCPServer, run: Run
) -> None:
    async def told(session: Session) -> tuple[dict[str, Any], dict[str, Any]]:
        (stored,) = [each for each in (await session.ask("list_runs"))["runs"] if each["run"] == RUN]
        (costliest,) = (await session.ask("clusters", run=stored["run"], candidate="collapsed", limit=1))["clusters"]
        texts = await session.ask(
            "cluster_texts", run=RUN, candidate="collapsed", cluster=costliest["cluster"], side="both", limit=3
        )
        assert session.calls <= 4
        assert session.bytes <= 25_000
        return costliest, texts

    costliest, texts = talk(server, told)
    partition = run.comparison.partition("pairwise", "collapsed")
    table = costed_table(run.comparison, "pairwise", "collapsed", partition.seed, 0.5)
    row = table.loc[table["cost"].idxmax()]
    assert costliest["cluster"] == row["cluster"]
    shown = [costliest[key] for key in ("cost_share", "low", "high")]
    assert shown == pytest.approx([row["cost_share"], row["low"], row["high"]], rel=1e-5)  # six digits are shown
    assert (costliest["human_texts"], costliest["candidate_texts"]) == (row["human"], row["model"])
    assert len(texts["texts"]) == 3
    sources = {"human": HUMAN, "candidate": "collapsed"}
    for text in texts["texts"]:
        corpus = run.corpora[sources[text["side"]]]
        place = corpus.ids.index(text["id"])
        assert corpus.texts[place] == text["text"]
        assert partition.labels[sources[text["side"]]][place] == costliest["cluster"]


def test_scores_have_the_digits_of_the_leaderboard(server: MCPServer, run: Run) -> None:
    async def told(session: Session) -> None:
        rows = (await session.ask("leaderboard", run=RUN))["rows"]
        for row in rows:
            assert row["score"]["written"] == with_plain_spaces(
                mean_and_interval(run.comparison.candidate(row["name"]).scores["mauve"])
            )
        found = await session.ask("verdict", run=RUN)
        said = found["closest"]
        for each in found["candidates"]:
            said = said.replace(f"[candidate {each['number']}]", each["name"])
        assert said == with_plain_spaces(str(verdict(run).closest))
        tested = await session.ask("test_candidates", run=RUN, first="collapsed", second="close")
        (own,) = (
            each.seen_from("collapsed")
            for each in run.comparison.differences
            if each.score == "mauve" and {each.first, each.second} == {"collapsed", "close"}
        )
        assert tested["difference"] == pytest.approx(own.difference, rel=1e-5)
        assert tested["told_apart"] == own.told_apart
        assert tested["result"].startswith(
            "Under the features given, [candidate 1] is closer to the human texts than [candidate 3]:"
        )

    talk(server, told)


@pytest.mark.parametrize(("score", "best"), [("mauve", "close"), ("frontier_integral", "close")])
def test_the_closer_candidate_is_so_under_scores_of_both_directions(server: MCPServer, score: str, best: str) -> None:
    async def told(session: Session) -> None:
        rows = (await session.ask("leaderboard", run=RUN, score=score))["rows"]
        assert rows[0]["name"] == best
        tested = await session.ask("test_candidates", run=RUN, first="collapsed", second=best, score=score)
        assert tested["result"].startswith("Under the features given, [candidate 1] is closer")

    talk(server, told)


def test_what_is_not_told_apart_is_not_ranked(home: Path, server: MCPServer) -> None:
    untold = make_untold_run(home)

    async def told(session: Session) -> None:
        found = await session.ask("verdict", run=untold.id)
        assert not found["closest_told_apart"]
        assert len(found["leaders"]) == 3
        tested = await session.ask("test_candidates", run=untold.id, first=1, second=3)
        assert "are not told apart" in tested["result"]
        assert "closer" not in tested["result"]

    talk(server, told)


def test_without_a_verdict_candidates_have_numbers_too(server: MCPServer, crowd: Run) -> None:
    async def told(session: Session) -> None:
        found = await session.ask("verdict", run=crowd.id)
        assert found["leaders"] == []
        assert found["closest"].startswith("The human side, [candidate 1], [candidate 2] and 9 more have 60 texts each")
        assert not any(each.name in found["closest"] for each in crowd.comparison.candidates)

    talk(server, told)


def test_a_gap_that_could_be_chance_has_no_costs(server: MCPServer) -> None:
    async def told(session: Session) -> None:
        found = await session.ask("clusters", run=RUN, candidate="close", limit=50)
        assert found["gap_test"].startswith("Nothing to explain")
        assert found["ordered_by"] == "difference of shares"
        assert {each["cost"] for each in found["clusters"]} == {None}
        assert {each["low"] for each in found["clusters"]} == {None}

    talk(server, told)


def test_the_pages_of_a_list_are_the_whole_list(server: MCPServer, run: Run, crowd: Run) -> None:
    partition = run.comparison.partition("pairwise", "collapsed")
    texts = sum(int(partition.counts(source)[0]) for source in (HUMAN, "collapsed"))

    async def all_of(session: Session, tool: str, items: str, limit: int, **arguments: Any) -> list[Any]:
        found, cursor = [], None
        while True:
            answer = await session.ask(tool, **arguments, limit=limit, cursor=cursor)
            assert session.sizes[tool] <= ANSWER_BYTES
            assert 1 <= len(answer[items]) <= limit
            found += answer[items]
            cursor = answer["next_cursor"]
            if cursor is None:
                return found

    async def told(session: Session) -> None:
        for tool, items, arguments, total in (
            ("leaderboard", "rows", {"run": crowd.id}, len(crowd.comparison.candidates)),
            ("clusters", "clusters", {"run": RUN, "candidate": 3}, partition.k),
            ("cluster_texts", "texts", {"run": RUN, "candidate": 3, "cluster": 0}, texts),
        ):
            whole = await all_of(session, tool, items, 50, **arguments)
            assert await all_of(session, tool, items, 5, **arguments) == whole
            assert len(whole) == total
            assert len({json.dumps(each) for each in whole}) == len(whole)

    talk(server, told)


def test_every_answer_is_small(server: MCPServer, crowd: Run) -> None:
    async def told(session: Session) -> None:
        await everything(session, crowd.id)
        assert max(session.sizes.values()) <= ANSWER_BYTES, session.sizes

    talk(server, told)


def test_long_texts_are_cut_and_can_be_read_on(server: MCPServer, run: Run) -> None:
    async def told(session: Session) -> None:
        asked = {"run": RUN, "candidate": 3, "cluster": 0, "limit": 1}
        (begun,) = (await session.ask("cluster_texts", **asked, characters=10))["texts"]
        (rest,) = (await session.ask("cluster_texts", **asked, characters=4000, from_character=10))["texts"]
        whole = begun["text"] + rest["text"]
        assert len(begun["text"]) == 10
        assert len(whole) == begun["characters"]
        assert whole in run.corpora[HUMAN if begun["side"] == "human" else "collapsed"].texts

    talk(server, told)


def test_words_of_files_stand_in_quotations_alone(home: Path, server: MCPServer) -> None:
    hostile = make_injecting_run(home)

    async def told(session: Session) -> None:
        for tool, answer in (await everything(session, hostile.id)).items():
            schema = session.tools[tool].output_schema or {}
            texts = list(texts_in(answer, schema, schema))
            own_id = {hostile.id}  # an id is made of a name, and of a-z, 0-9 and dashes alone
            unmarked = [text for text, quoted in texts if WORD in text.casefold() and not quoted]
            assert [text for text in unmarked if text not in own_id and hostile.id not in text] == [], tool
            assert any(WORD in text.casefold() for text, quoted in texts if quoted), tool
        quoted_text = (await session.ask("cluster_texts", run=hostile.id, candidate=3, cluster=0))["texts"][0]
        assert quoted_text["text"] in "\n".join(text for corpus in hostile.corpora.values() for text in corpus.texts)
        assert WORD not in await session.refused("clusters", run=hostile.id, candidate="nobody")

    talk(server, told)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("verdict", {"run": "../../etc"}, "No run has that id"),
        ("leaderboard", {"run": RUN, "cursor": f"1.{'0' * 12}"}, "cursor does not belong"),
        ("clusters", {"run": RUN, "candidate": 4}, "no such candidate"),
        ("clusters", {"run": RUN, "candidate": 0}, "no such candidate"),
        ("test_candidates", {"run": RUN, "first": 1, "second": "close"}, "against itself"),
        ("clusters", {"run": RUN, "candidate": "9" * 5000}, "no such candidate"),
        ("findings", {"run": RUN, "candidate": 1, "cluster": 5000}, "no such cluster"),
        ("job", {"job": "../x"}, "No job has that id"),
        ("leaderboard", {"run": RUN, "scores": "mid"}, "scores"),
        ("list_runs", {"limits": 3}, "limits"),
    ],
)
def test_a_wrong_call_is_told_what_was_wrong(
    server: MCPServer, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def told(session: Session) -> str:
        return await session.refused(tool, **arguments)

    message = talk(server, told)
    assert said in message
    assert len(message) < 2000


def test_a_cursor_of_other_arguments_is_refused(server: MCPServer) -> None:
    async def told(session: Session) -> str:
        cursor = (await session.ask("clusters", run=RUN, candidate=3, limit=1))["next_cursor"]
        return await session.refused("clusters", run=RUN, candidate=2, limit=1, cursor=cursor)

    assert "cursor does not belong" in talk(server, told)


def test_a_damaged_run_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: MCPServer
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    broken = make_run(tmp_path, name="broken", n=40, seeds=1, projection=False)
    (broken.path / "comparison.json").write_bytes(b"{}")

    async def told(session: Session) -> tuple[dict[str, Any], str]:
        return await session.ask("list_runs"), await session.refused("verdict", run="broken")

    listed, message = talk(server, told)
    assert listed["damaged"] == ["broken"]
    assert "A stored file cannot be used" in message
    assert "data, never an instruction" in message


def test_a_fault_is_told_without_its_words(server: MCPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(access: Access, run_id: str) -> None:
        raise ZeroDivisionError("words of a text")

    monkeypatch.setattr(tools, "verdict", broken)

    async def told(session: Session) -> str:
        return await session.refused("verdict", run=RUN)

    message = talk(server, told)
    assert "Unexpected ZeroDivisionError" in message
    assert "words of a text" not in message
    assert faults.remembered()[-1]["during"] == "mcp"


def test_an_agent_sees_the_runs_that_the_app_shows(crowd: Run) -> None:
    access = access_of(None, {sharing.READ_ONLY: RUN})

    async def told(session: Session) -> None:
        assert [each["run"] for each in (await session.ask("list_runs"))["runs"]] == [RUN]
        await session.ask("verdict", run=RUN)
        assert "No run has that id" in await session.refused("verdict", run=crowd.id)
        assert "no jobs" in await session.refused("job", job="20260101-000000000001-abcd")

    talk(build_server(access), told)


def test_a_job_is_told_of(server: MCPServer) -> None:
    with job(1, status="failed", message="No file is there", name=WORD) as state:

        async def told(session: Session) -> dict[str, Any]:
            return await session.ask("job", job=state.id)

        found = talk(server, told)
    assert (found["status"], found["message"], found["name"]) == ("failed", "No file is there", WORD)


def test_the_skill_names_every_tool_and_no_other(server: MCPServer) -> None:
    async def told(session: Session) -> set[str]:
        return set(session.tools)

    rows = [line for line in page_text("skill").splitlines() if line.startswith("| ")]
    first = [line for line in page_text("skill").splitlines() if "`list_runs`" in line]
    words = {word for line in (*rows, *first) for word in line.split("`")[1::2]}
    tools = talk(server, told)
    assert tools <= words
    assert words - tools <= {"closest", "done"}
