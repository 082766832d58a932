"""Tools on background jobs: start a comparison, and say how far a job is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mauve_core.agents.access import Access
from mauve_core.agents.answers import Job
from mauve_core.agents.errors import CallError
from mauve_core.agents.parts import rounded
from mauve_core.agents.quoting import NOTES, cut
from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.tasks.comparison import ComparisonTask
from mauve_core.texts.text_files import TextFile


class CandidateFile(BaseModel):
    """A candidate to compare."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(description="As the leaderboard will show it.")]
    file: Annotated[str, Field(description="In the folder that the server was started with.")]


def start_comparison(
    access: Access, name: str, human: str, candidates: Sequence[CandidateFile], encoder: str, seeds: int, seed: int
) -> Job:
    """Start a comparison as a job, unless one with the same work waits or runs.

    Only encoders that come with the program are taken: an agent makes it fetch nothing.
    """
    access.require_change()
    if encoder not in PACKAGED:
        raise CallError("That encoder cannot be used here", allowed=", ".join(PACKAGED), received=repr(encoder))
    names = [each.name for each in candidates]
    if len(set(names)) < len(names):
        raise CallError("Two candidates have the same name", allowed="a different name for each")
    files = {each.name: TextFile(access.file(each.file)) for each in candidates}
    config = CompareConfig(encoder=EncoderConfig(model=encoder), score=ScoreConfig(seeds=seeds, seed=seed))
    return _job(queue.start(ComparisonTask(name, TextFile(access.file(human)), files, config)))


def job(access: Access, job_id: str) -> Job:
    """Say how far a job is."""
    access.require_jobs()
    if job_id not in {each.id for each in queue.list()}:
        raise CallError("No job has that id", allowed="job, as start_comparison gave it", received=repr(job_id))
    return _job(queue.status(job_id))


def _job(state: JobState) -> Job:
    return Job(
        job=state.id,
        kind=cut(state.kind),
        name=cut(state.name),
        status=state.status,
        stage=cut(state.stage),
        done=state.done,
        total=state.total,
        seconds_left=None if state.seconds_left is None else rounded(state.seconds_left),
        message=cut(state.message, NOTES),
        run=state.run,
    )
