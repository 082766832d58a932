"""Routes that send files of a run: the run as one file, and small pictures of its items.

An export is streamed from disk: Streamlit's downloads hold the whole file in memory. Pictures come one by one as a page
shows them; an address names one by the digest of its item, so a browser never has to ask for it again.
"""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mauve_app.server import access
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.runs import Run, RunStore
from mauve_core.runs.folder import is_id
from mauve_core.texts.media import SIDES, Thumbnails, archive_beside, digest_and_side

# Prefix that ``page_chrome.js`` recognizes: the browser saves the linked file and opens no tab.
EXPORT = "/export/"
THUMBNAILS = "/thumbnails/"

# Archives kept open: reading the directory of one takes longer than a picture.
OPEN_ARCHIVES = 32


def routes() -> list[Route]:
    """The routes; ``mauve_app.server.middleware`` blocks strangers and foreign pages."""
    return [
        Route(f"{EXPORT}{{run_id}}", _export, methods=["GET"]),
        Route(f"{THUMBNAILS}{{run_id}}/{{source:int}}/{{side:int}}/{{file}}", _picture, methods=["GET"]),
    ]


def export_url(run_id: str) -> str:
    """URL of the run's file."""
    return f"{EXPORT}{quote(run_id, safe='')}"


class _FromFolder(FileResponse):
    """A file whose folder is deleted after sending succeeds or fails."""

    def __init__(self, path: Path, folder: tempfile.TemporaryDirectory[str]) -> None:
        super().__init__(path, media_type="application/zip", filename=path.name)
        self.headers["Cache-Control"] = "no-store"
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._folder.cleanup()


async def _export(request: Request) -> Response:
    if not access.may_change():  # as for the page with the button
        return PlainTextResponse(access.READ_ONLY_TEXT, 403)
    try:
        return await run_in_threadpool(_written, request.path_params["run_id"])
    except InputError as error:
        return PlainTextResponse(str(error), 404)
    except MauveLensError as error:
        return PlainTextResponse(str(error), 500)


def _written(run_id: str) -> Response:
    from mauve_core.analyses.attached_results import (
        DOCUMENTS,  # imports scikit-learn, for which no server waits to start
    )

    folder = tempfile.TemporaryDirectory(prefix="mauve-lens-")
    try:
        return _FromFolder(RunStore().export(run_id, Path(folder.name), documents=DOCUMENTS), folder)
    except BaseException:
        folder.cleanup()
        raise


def folder_url(run: Run, source: str, side: int) -> str:
    """Beginning of the address of every picture of a source; ``<digest>.webp`` is its end."""
    return f"{THUMBNAILS}{quote(run.id, safe='')}/{run.index_of(source)}/{side}/"


def picture_url(run: Run, source: str, index: int) -> str:
    """Address of the smallest picture of an item; empty if the source has none."""
    media = run.corpora[source].media
    return "" if media is None else f"{folder_url(run, source, SIDES[0])}{media.digests[index]}.webp"


async def _picture(request: Request) -> Response:
    given = request.path_params
    named = digest_and_side(f"{given['side']}/{given['file']}")
    if named is None or not is_id(given["run_id"]):
        return PlainTextResponse("No such picture.", 404)
    try:
        access.require_shown(given["run_id"])
        data = await run_in_threadpool(_read_picture, given["run_id"], given["source"], *named)
    except (KeyError, OSError, InputError):
        return PlainTextResponse("No such picture.", 404)
    except MauveLensError as error:
        return PlainTextResponse(str(error), 500)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, media_type="image/webp", headers=headers)


def _read_picture(run_id: str, source: int, digest: str, side: int) -> bytes:
    path = archive_beside(RunStore().root / run_id / f"texts-{source}.parquet")
    about = path.stat()
    return _opened(path, about.st_ino, about.st_mtime_ns).get(digest, side)


@lru_cache(OPEN_ARCHIVES)
def _opened(path: Path, inode: int, changed: int) -> Thumbnails:  # noqa: ARG001 (another file under the same name)
    return Thumbnails(path)
