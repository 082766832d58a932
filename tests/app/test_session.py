"""The URL as the single truth of what is looked at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.runtime.state.query_params import QueryParams
from streamlit.testing.v1 import AppTest

from mauve_app.cache import LAST_RUN
from mauve_app.url.parameters import (
    FACTORS,
    MAX_CHOSEN,
    MAX_LASSO_POINTS,
    MAX_RATER,
    MAX_SECONDS,
    MAX_SPEC,
    MAX_TRIED,
    PARAMETERS,
    State,
    changed,
    parse,
    to_query,
)
from mauve_core.figures.text_map import COLOURINGS
from mauve_core.findings.clusters import ORDERS
from mauve_core.runs import Run, RunStore
from mauve_core.stats.divergences import SMOOTHINGS
from tests.app.pages import url_of

names = st.text(min_size=1, max_size=30)
numbers = st.floats(-100, 100, allow_subnormal=False).map(lambda x: float(f"{x:.5g}"))
sets_of_places = st.frozensets(st.integers(0, 10**6), max_size=20).map(lambda found: tuple(sorted(found)))
states = st.builds(
    State,
    run=st.none() | names,
    candidate=st.none() | names,
    partition=st.sampled_from(["pairwise", "joint"]),
    cluster=st.none() | st.integers(0, 10**6),
    weight=st.floats(0, 1, allow_subnormal=False).map(lambda x: float(f"{x:.5g}")),
    scale=st.none() | st.floats(0.001, 1000).map(lambda x: float(f"{x:.5g}")),
    smoothing=st.sampled_from(list(SMOOTHINGS)),
    seed=st.none() | st.integers(0, 100),
    map_hidden=st.none() | st.frozensets(st.integers(0, 20)).map(lambda places: tuple(sorted(places))),
    lasso=st.none() | st.lists(st.tuples(numbers, numbers), min_size=3, max_size=20).map(tuple),
    lasso_kept=st.none() | st.lists(st.tuples(numbers, numbers), min_size=3, max_size=20).map(tuple),
    decoders_section=st.sampled_from([None, "measures", "variety", "sweeps", "generate"]),
    ranking_measure=st.none() | names,
    plot_x_measure=st.none() | names,
    plot_y_measure=st.none() | names,
    sweep_axis=st.sampled_from(["length", "n", "k", "scale", "decoder", "neighbors", "components", "bandwidth"]),
    score=st.sampled_from(["mauve", "mauve_star", "frontier_integral", "mid"]),
    methods_section=st.sampled_from(["methods", "encoders"]),
    judge_section=st.sampled_from(["rate", "results"]),
    judge_rater=st.none() | names.map(lambda name: " ".join(name.split()) or None),
    judge_question=st.none() | names,
    what_if_selection=st.sampled_from(["clusters", "lasso", "slice"]),
    what_if_clusters=st.none() | sets_of_places,
    what_if_field=st.none() | names,
    what_if_value=st.none() | st.text(max_size=30),
    what_if_side=st.sampled_from(["model", "human", "both"]),
    what_if_action=st.sampled_from(["drop", "cap", "match", "weight"]),
    what_if_factor=st.floats(*FACTORS, allow_subnormal=False).map(lambda x: float(f"{x:.5g}")),
    greedy_action=st.sampled_from(["match", "drop"]),
    probes_section=st.sampled_from(["scores", "flow", "text"]),
    probes_perturbation=st.sampled_from(
        [None, "drop-articles", "typos:rate=0.1@0.5", r"replace:/a\/b/\1 & =,@/words=0.3@0.25"]
    ),
    probes_flow=st.none() | st.tuples(st.integers(0, 999), st.integers(0, 999)).filter(lambda ends: ends[0] != ends[1]),
    runs_section=st.sampled_from(["runs", "pair", "bin"]),
    runs_query=st.none() | names.map(lambda words: " ".join(words.split()) or None),
    runs_tags=st.frozensets(names.map(lambda tag: tag.replace(",", "").strip()).filter(bool), max_size=5).map(
        lambda tags: tuple(sorted(tags))
    ),
    first_run=st.none() | names,
    second_run=st.none() | names,
    tour=st.none() | st.integers(0, 100),
    presenting=st.booleans(),
    clusters_order=st.sampled_from(list(ORDERS)),
    map_colour=st.sampled_from(list(COLOURINGS)),
    gap_tab=st.sampled_from(["texts", "what-if", "few"]),
    texts_paired=st.booleans(),
    human_text=st.none() | st.integers(0, 10_000),
    model_text=st.none() | st.integers(0, 10_000),
    nearest_pair=st.integers(0, 9),
    metadata_column=st.none() | names,
    attributes_as=st.sampled_from(["chart", "table"]),
    cluster_of_all=st.none() | st.integers(0, 499),
    texts_of_all=st.sampled_from(["random", "nearest"]),
    categorical_columns=st.none() | sets_of_places,
    numeric_columns=st.none() | sets_of_places,
    purity_side=st.sampled_from([None, "model", "human", "both"]),
    purity_column=st.none() | names,
    measures_as=st.sampled_from(["closeness", "diversity", "likelihood", "table"]),
    sweep_as=st.sampled_from(["chart", "table"]),
    probes_order=st.none() | names,
    probes_other_sources=st.booleans(),
    probes_baseline=st.sampled_from(["nothing", "control"]),
    flow_tab=st.sampled_from(["matrix", "largest", "sensitivity"]),
    flow_page=st.integers(0, 100),
    tried_source=st.none() | names,
    tried_text=st.integers(0, 10**6),
    tried_perturbations=st.sampled_from(
        [None, (), ("typos",), ("drop-articles", r"replace:/a\/b/\1 & =,@/words=0.3@0.25", "what")]
    ),
    judge_ties=st.sampled_from(["half", "random"]),
    judge_min_seconds=st.integers(0, MAX_SECONDS),
    published_paper=st.none() | names,
    published_measure=st.none() | names,
    published_reference=st.sampled_from([None, ("stories", "discriminator_accuracy")]),
    published_axes=st.sampled_from(["figures", "ranks"]),
    published_table=st.none() | names,
    search_finding=st.none() | names,
    reference=st.none() | names,
)


@given(states)
def test_a_state_comes_back_from_its_query_string(state: State) -> None:
    assert parse(to_query(state)) == state


def test_the_default_state_writes_nothing() -> None:
    assert to_query(State()) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("weight", "1.5"), ("weight", "nan"), ("weight", "half"), ("scale", "0"), ("scale", "-5"), ("scale", "inf"),
        ("cluster", "-1"), ("cluster", "1e3"), ("cluster", "²"), ("cluster", "9" * 30), ("partition", "JOINT"),
        ("smoothing", "Laplace"), ("smoothing", "add-0.1"), ("lasso", "1,2;3,4"), ("lasso", "1,2;3,4;5"),
        ("lasso", "1,2;3,4;nan,1"), ("lasso", ";".join(["0,0"] * (MAX_LASSO_POINTS + 1))), ("run", ""),
        ("nonsense", "1"), ("section", "Sweeps"), ("axis", "width"), ("axis", ""), ("score", "MAUVE"),
        ("measure", ""), ("across", ""),
        ("tab", "Rate"), ("rater", ""), ("rater", " \t\n"), ("question", ""),
        ("pick", "Lasso"), ("chosen", ""), ("chosen", "1,-2"), ("chosen", "1,none"),
        ("chosen", ",".join(map(str, range(MAX_CHOSEN + 1)))),
        ("field", ""), ("side", "human,model"), ("action", "delete"), ("factor", "-0.1"), ("factor", "100.1"),
        ("factor", "nan"), ("factor", "half"), ("fix", "cap"),
        ("part", "Flow"), ("part", ""), ("flow", "3"), ("flow", "3,3"), ("flow", "3,-1"), ("flow", "1,2,3"),
        ("flow", "a,b"), ("perturbation", ""), ("perturbation", "no-such"), ("perturbation", "typos:rate=2"),
        ("perturbation", "replace:/(/x/"), ("perturbation", "typos" + " " * MAX_SPEC),
        ("shelf", "all"), ("query", " \t"), ("tags", " , ,"), ("left", ""),
        ("pair", "a"), ("captured", "charts"), ("categories", "1,x"),
        ("numbers", ""), ("whose", "mine"), ("column", ""), ("measured", "tables"), ("swept", ""), ("yardstick", "yes"),
        ("less", "noise"), ("moves", "flow"), ("sheet", "1.5"), ("source", ""), ("text", "x"), ("tried", ""),
        ("tried", "\n".join(f"typos@0.{i}1" for i in range(MAX_TRIED + 1))), ("tried", "x" * (MAX_SPEC + 1)),
        ("ties", "both"), ("seconds", f"{MAX_SECONDS + 1}"), ("seconds", "-5"), ("against", "stories"),
        ("against", ",x"), ("plane", "Ranks"), ("table", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read_counts_as_absent(name: str, text: str) -> None:
    assert parse({name: text, "candidate": "kept"}) == State(candidate="kept")


def test_a_raters_name_is_one_short_line() -> None:
    assert parse({"rater": "  Ann\n of  Green Gables "}).judge_rater == "Ann of Green Gables"
    assert parse({"rater": "x" * 59 + " y"}).judge_rater == "x" * 59
    assert len(parse({"rater": "x" * 500}).judge_rater or "") == MAX_RATER


def after(before: dict[str, str], script: Callable[[], None]) -> dict[str, str]:
    """The query string after a script ran on a page that had the query string ``before``."""
    app = AppTest.from_function(script)
    for name, value in before.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return url_of(app)


def test_update_keeps_the_rest_and_other_parameters() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(weight=0.25)

    found = after({"run": "a", "cluster": "3", "embed": "true"}, script)
    assert found == {"run": "a", "cluster": "3", "embed": "true", "weight": "0.25"}


def test_none_or_the_default_clears_a_field() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(cluster=None, weight=0.5)

    assert after({"run": "a", "cluster": "3", "weight": "0.25"}, script) == {"run": "a"}


def test_a_new_run_forgets_what_belongs_to_the_old_one() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(run="b")

    before = {"run": "a", "candidate": "x", "cluster": "3", "lasso": "0,0;1,0;1,1", "scale": "2"}
    what_if = {"chosen": "1,2", "field": "topic", "value": "river", "action": "weight", "factor": "0.25"}
    probes = {"perturbation": "typos", "flow": "1,2", "part": "flow"}
    kept = {"run": "b", "scale": "2", "action": "weight", "factor": "0.25", "part": "flow"}
    read = {
        "pair": "2",
        "human_text": "4",
        "model_text": "5",
        "column": "topic",
        "pure": "topic",
        "numbers": "1",
        "sheet": "2",
    }
    tried = {"source": "x", "text": "3", "tried": "typos", "measured": "table"}
    kept |= {"tried": "typos", "measured": "table"}
    assert after(before | what_if | probes | read | tried, script) == kept


def test_naming_the_run_forgets_nothing_and_never_replaces_one() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.name_run("b")

    assert after({"cluster": "3"}, script) == {"run": "b", "cluster": "3"}
    assert after({"run": "a", "cluster": "3"}, script) == {"run": "a", "cluster": "3"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kept", "opened"), [({}, "demo"), ({LAST_RUN: "synthetic"}, "synthetic"), ({LAST_RUN: "gone"}, "demo")]
)
def test_a_url_without_a_run_opens_the_last_one_of_the_browser(
    open_page: Callable[..., AppTest], run: Run, monkeypatch: pytest.MonkeyPatch, kept: dict[str, str], opened: str
) -> None:
    class Cookies(dict[str, str]):
        def to_dict(self) -> dict[str, str]:
            return dict(self)

    assert RunStore().save("demo", run.comparison, run.corpora).id == "demo"
    monkeypatch.setattr(type(streamlit.context), "cookies", Cookies(kept))
    assert url_of(open_page())["run"] == opened
    missing = open_page(run="gone")
    assert url_of(missing)["run"] == "gone"
    assert any("gone" in error.value for error in missing.error)


def test_a_new_partition_forgets_the_cluster_unless_it_comes_with_one() -> None:
    def other() -> None:
        from mauve_app.url import session

        session.update(partition="joint")

    def with_cluster() -> None:
        from mauve_app.url import session

        session.update(partition="joint", cluster=5)

    assert after({"cluster": "3", "chosen": "3,4"}, other) == {"partition": "joint"}
    assert after({"cluster": "3"}, with_cluster) == {"partition": "joint", "cluster": "5"}


def test_a_new_candidate_forgets_the_cluster_unless_its_clusters_are_the_same() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(candidate="y")

    first, other = {"candidate": "x", "cluster": "3"}, {"candidate": "y"}
    assert after(first | {"chosen": "3,4"}, script) == other
    assert after({"cluster": "3"}, script) == other  # the candidate before was the run's first
    assert after(first | {"seed": "1"}, script) == other | {"seed": "1"}
    same = {"partition": "joint"}  # one seed for all candidates
    assert after(first | same | {"seed": "1"}, script) == other | same | {"seed": "1", "cluster": "3"}
    assert after(first | same, script) == other | same | {"cluster": "3"}
    opened = {"human_text": "4", "model_text": "5"}
    kept = other | same | {"cluster": "3", "human_text": "4"}  # the human list is the same
    assert after(first | same | opened, script) == kept


def test_another_cluster_or_area_forgets_the_texts_that_were_read_in_it() -> None:
    def cluster() -> None:
        from mauve_app.url import session

        session.update(cluster=4)

    def lasso() -> None:
        from mauve_app.url import session

        session.update(lasso=[(0, 0), (1, 0), (1, 1)])

    def same() -> None:
        from mauve_app.url import session

        session.update(cluster=3, weight=0.25)

    read = {"pair": "1", "human_text": "4", "model_text": "5"}
    assert after({"cluster": "3", **read}, cluster) == {"cluster": "4"}
    assert after({"cluster": "3", **read}, lasso) == {"cluster": "3", "lasso": "0,0;1,0;1,1"}
    assert after({"cluster": "3", **read}, same) == {"cluster": "3", "weight": "0.25", **read}


def test_a_perturbation_is_kept_as_it_is_usually_written() -> None:
    assert parse({"perturbation": " typos:rate=0.050@0.50 "}).probes_perturbation == "typos@0.5"


def test_a_new_perturbation_forgets_the_flow_unless_it_comes_with_one() -> None:
    def other() -> None:
        from mauve_app.url import session

        session.update(probes_perturbation="typos")

    def with_flow() -> None:
        from mauve_app.url import session

        session.update(probes_perturbation="typos", probes_flow=(1, 2))

    before = {"perturbation": "drop-articles", "flow": "3,4"}
    assert after(before, other) == {"perturbation": "typos"}
    assert after(before, with_flow) == {"perturbation": "typos", "flow": "1,2"}
    assert after({"flow": "3,4"}, other) == {"perturbation": "typos", "flow": "3,4"}  # the page's own is now named


def test_a_long_lasso_is_thinned_to_what_a_link_carries() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(lasso=[(i / 7, i / 3) for i in range(1000)])

    lasso = parse(after({}, script)).lasso
    assert lasso is not None
    assert len(lasso) == MAX_LASSO_POINTS
    drawn = {(float(f"{i / 7:.5g}"), float(f"{i / 3:.5g}")) for i in range(1000)}  # as the link writes them
    assert set(lasso) <= drawn


def test_chosen_clusters_are_sorted_and_none_of_them_differs_from_no_choice() -> None:
    def some() -> None:
        from mauve_app.url import session

        session.update(what_if_clusters=[7, 2, 7])

    def none() -> None:
        from mauve_app.url import session

        session.update(what_if_clusters=[])

    assert after({"cluster": "3"}, some) == {"cluster": "3", "chosen": "2,7"}
    found = after({"cluster": "3"}, none)
    assert found == {"cluster": "3", "chosen": "none"}
    assert parse(found).what_if_clusters == ()
    assert parse({"cluster": "3"}).what_if_clusters is None


def test_a_change_of_page_brings_the_query_string_back() -> None:
    def script() -> None:
        import streamlit as st

        from mauve_app.url import session

        session.keep_url(st.session_state.get("page", "compare"))

    app = AppTest.from_function(script)
    app.query_params["run"] = "a"
    app.query_params["cluster"] = "3"
    app.run()
    del app.query_params["run"], app.query_params["cluster"]  # what Streamlit does at a change of page
    app.session_state["page"] = "clusters"
    app.run()
    assert url_of(app) == {"run": "a", "cluster": "3"}


def test_a_session_that_a_link_opens_after_a_restart_has_the_url_that_the_browser_had() -> None:
    def script() -> None:
        import streamlit as st

        from mauve_app.url import session

        session.recall("run=a&utm=1&scale=3")
        st.session_state["opened"] = session.open_run()
        session.keep_url("clusters")

    app = AppTest.from_function(script).run()
    assert app.session_state["opened"] == "a"
    assert url_of(app) == {"run": "a", "scale": "3"}
    app.query_params["run"] = "b"
    del app.query_params["scale"]
    assert url_of(app.run()) == {"run": "b"}


def test_the_browser_never_has_a_part_of_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    def script() -> None:
        from mauve_app.url import session

        session.update(weight=0.25, scale=3.0, cluster=None)

    sent: list[dict[str, str]] = []
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda query: sent.append(query.to_dict()))
    after({"run": "a", "cluster": "1", "utm": "x"}, script)
    assert sent == [{"run": "a", "utm": "x", "weight": "0.25", "scale": "3"}]


def test_clearing_the_url_on_the_same_page_is_respected() -> None:
    def script() -> None:
        from mauve_app.url import session

        session.keep_url("compare")

    app = AppTest.from_function(script)
    app.query_params["run"] = "a"
    app.run()
    del app.query_params["run"]
    app.run()
    assert url_of(app) == {}


def test_one_partition_and_seed_are_the_default_of_every_page() -> None:
    assert (State().partition, State().seed) == ("pairwise", None)
    assert to_query(State(partition="pairwise")) == {}
    assert to_query(State(partition="joint", seed=0)) == {"partition": "joint", "seed": "0"}


def test_a_link_to_another_run_keeps_the_settings_of_the_visit() -> None:
    def script() -> None:
        import streamlit as st

        from mauve_app.url import session

        st.session_state["link"] = session.link_to_run("b")

    app = AppTest.from_function(script)
    settings = {"partition": "joint", "weight": "0.3", "scale": "2", "smoothing": "laplace"}
    app.query_params.update({"run": "a", "seed": "1", "candidate": "x", "cluster": "3", **settings})
    app.run()
    assert app.session_state["link"] == {"run": "b", **settings}


def test_another_field_of_metadata_forgets_the_value() -> None:
    before = State(run="a", what_if_field="topic", what_if_value="river")
    assert changed(before, what_if_field="words") == State(run="a", what_if_field="words")
    found = changed(before, what_if_field="words", what_if_value="7")
    assert found == State(run="a", what_if_field="words", what_if_value="7")


@pytest.mark.slow
@given(states, states)
def test_what_a_change_leaves_is_what_its_link_says(before: State, after: State) -> None:
    found = changed(before, **{field: getattr(after, field) for field in PARAMETERS})
    assert found == parse(to_query(found)) == after
