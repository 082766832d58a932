"""What the tools answer; the JSON schemas that an agent sees are made from these classes.

A field whose text comes from people or files is :data:`mauve_core.agents.quoting.Quoted`; all other texts are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mauve_core.agents.quoting import Quoted
from mauve_core.jobs.state import Status

Number = Annotated[int, Field(description="Of the candidate in this run, from 1; the other tools take it, too.")]
NextCursor = Annotated[str | None, Field(description="Pass it as cursor for what follows; null if this is the end.")]


class Answer(BaseModel):
    """Base of all answers and their parts: nothing but what the schema names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CandidateName(Answer):
    number: Number
    name: Quoted


class Settings(Answer):
    """What every score of a run depends on; scores of other settings are not comparable."""

    human_texts: int
    encoder: Annotated[
        Quoted | None,
        Field(description="[encoder] in sentences, if not ours. Null: features were given, not said what made them."),
    ]
    partition: Literal["pairwise"] = "pairwise"
    seeds: Annotated[int, Field(description="k-means seeds, over which sd_seeds is the spread.")]
    bootstrap: Annotated[int, Field(description="Resamples of the texts behind each interval.")]
    confidence: float
    scale: Annotated[float, Field(description="Scaling constant c of MAUVE.")]
    normalized: Annotated[list[str], Field(description="Steps applied to all texts before encoding.")]
    warnings: Annotated[list[Quoted], Field(description="What a reader of the scores must know.")]
    more_warnings: int


class Score(Answer):
    written: Annotated[str, Field(description="Mean ± sd over seeds (bootstrap interval): quote the score like this.")]
    mean: float
    sd_seeds: float | None
    sd_generations: float | None
    low: float
    high: float


class RunRow(Answer):
    run: Annotated[str, Field(description="Id: what the other tools take.")]
    name: Quoted
    created: Quoted
    human_texts: int
    encoder: Quoted | None
    candidates: list[Quoted]
    more_candidates: int
    tags: list[Quoted]
    notes: Quoted


class Runs(Answer):
    runs: list[RunRow]
    total: int
    damaged: Annotated[list[Quoted], Field(description="Ids of runs that cannot be read.")]
    next_cursor: NextCursor


class MainReason(Answer):
    candidate: Number
    sentence: Annotated[str, Field(description="Texts compared with human ones; [word 1] is the first of words.")]
    words: list[Quoted]
    cluster: Annotated[int, Field(description="Number of the cluster that shows it, for cluster_texts.")]
    cost: Annotated[str, Field(description="That cluster's share of the gap, with its interval.")]


class Verdict(Answer):
    run: str
    closest: Annotated[str, Field(description="Who is closest to the human texts, and whether that is sure.")]
    other_encoders: Annotated[
        str | None, Field(description="Whether the same candidates lead under others; null: the run has not compared.")
    ]
    leaders: Annotated[list[int], Field(description="Numbers of the candidates of which each could be the closest.")]
    closest_told_apart: Annotated[
        bool, Field(description="Whether tests tell one candidate, the closest, apart from every other one.")
    ]
    too_few_texts: Annotated[str | None, Field(description="Not null: the scores are mostly noise.")]
    copied_texts: Annotated[list[str], Field(description="Candidates that copy human texts: none is the closest.")]
    formats_differ: Annotated[str | None, Field(description="Not null: scores may reflect formats.")]
    main_reason: MainReason | None
    candidates: Annotated[list[CandidateName], Field(description="Those that the sentences name.")]
    settings: Settings


class Row(Answer):
    number: Number
    name: Quoted
    rank: Annotated[str, Field(description="From tests; 2= is a shared rank: not told apart from the group's first.")]
    letters: Annotated[str, Field(description="Two candidates that share a letter are not told apart.")]
    n: Annotated[int, Field(description="Texts, of one generation.")]
    generations: int
    k: Annotated[int, Field(description="Clusters.")]
    score: Score
    like_for_like: Annotated[Score | None, Field(description="At the size of human_vs_human; compare only this to it.")]


class Ceiling(Answer):
    n: int
    k: int
    score: Score


class Leaderboard(Answer):
    run: str
    score: str
    closer: Literal["higher", "lower"]
    rows: list[Row]
    total: int
    human_vs_human: Annotated[Ceiling | None, Field(description="One part of the human texts against another.")]
    reading: Annotated[list[str], Field(description="What spread, interval, rank and letters mean here.")]
    settings: Settings
    next_cursor: NextCursor


class ClusterRow(Answer):
    cluster: Annotated[int, Field(description="Number; means something in this candidate's partition only.")]
    name: Quoted
    cost: Annotated[str | None, Field(description="Share of the gap (interval); null where no gap is shown.")]
    cost_share: float | None
    low: float | None
    high: float | None
    direction: Annotated[
        Literal["adds", "misses", ""], Field(description="The candidate writes more of it than people, or less.")
    ]
    human_texts: int
    candidate_texts: int
    stability: Annotated[
        Literal["stable", "unsure", "noise"] | None,
        Field(description="Only a stable difference is beyond chance and the same in other partitions; null: unknown."),
    ]
    words: list[Quoted]


class Clusters(Answer):
    run: str
    candidate: CandidateName
    score: Annotated[str, Field(description="The candidate's MAUVE, and the seed whose clusters these are.")]
    gap_test: Annotated[str, Field(description="Whether there is a gap to explain.")]
    ordered_by: Literal["cost", "difference of shares"]
    clusters: list[ClusterRow]
    total: int
    notes: list[Quoted]
    settings: Settings
    next_cursor: NextCursor


class Text(Answer):
    id: Quoted
    side: Literal["human", "candidate"]
    text: Quoted
    from_character: int
    characters: Annotated[int, Field(description="Length of the whole text; ask from_character for the rest.")]
    prompt: Annotated[Quoted | None, Field(description="Its beginning.")]


class Texts(Answer):
    run: str
    candidate: CandidateName
    cluster: int
    cluster_name: Quoted
    human_texts: Annotated[int, Field(description="In the whole cluster.")]
    candidate_texts: Annotated[int, Field(description="In the whole cluster.")]
    texts: Annotated[list[Text], Field(description="In file order, not the most typical: examples prove nothing.")]
    next_cursor: NextCursor


class PropertyRow(Answer):
    property: str
    description: str
    candidate_mean: float
    human_mean: float
    auc: Annotated[float, Field(description="Chance that a human text has more of it than one of the candidate.")]
    low: float
    high: float
    separates: Annotated[bool, Field(description="Tells the sides apart by itself: whole interval beyond 0.8 or 0.2.")]


class PhraseRow(Answer):
    phrase: Quoted
    side: Literal["human", "candidate"]
    texts: int
    other_texts: Annotated[int, Field(description="Texts of the other side in the cluster with the phrase.")]
    log_odds: float
    low: float
    high: float


class Findings(Answer):
    run: str
    candidate: CandidateName
    gap_test: str
    main_reason: MainReason | None
    cluster: Annotated[int, Field(description="The cluster that properties and phrases are about.")]
    cluster_name: Quoted
    human_texts: int
    candidate_texts: int
    properties: Annotated[list[PropertyRow], Field(description="Both sides' texts in the cluster, compared.")]
    phrases: Annotated[
        list[PhraseRow],
        Field(description="Log odds with intervals for one phrase each: of many, some exclude 0 by chance."),
    ]
    notes: list[str]


class Test(Answer):
    run: str
    score: str
    first: CandidateName
    second: CandidateName
    result: Annotated[str, Field(description="Which is closer to the human texts, if the test tells them apart.")]
    told_apart: bool
    difference: Annotated[float, Field(description="Score of the first minus that of the second.")]
    low: float
    high: float
    p_value: float
    p_adjusted: Annotated[float, Field(description="By Holm's method over all pairs of the run.")]
    paired: bool
    n: Annotated[int, Field(description="Prompts in common; without any, texts of both.")]
    scores: Annotated[list[Score], Field(description="Of the first and of the second.")]
    reading: list[str]
    settings: Settings


class Job(Answer):
    job: Annotated[str, Field(description="Id, for the tool job.")]
    kind: Quoted
    name: Quoted
    status: Status
    stage: Quoted
    done: int
    total: int
    seconds_left: float | None
    message: Annotated[Quoted, Field(description="Why it failed or stopped; else empty.")]
    run: Annotated[Quoted | None, Field(description="Id of the run, once it is stored.")]


class Figure(Answer):
    run: str
    title: str
    caption: list[str]
    candidates: list[CandidateName]
    uri: Annotated[str, Field(description="Of the SVG drawing that comes with this answer, for the person to see.")]
    svg_bytes: int
    settings: Settings
