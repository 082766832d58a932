"""A run as one file, streamed from disk by a route of the app: Streamlit's downloads hold the whole file in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mauve_app.server import access
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.store import RunStore

# Prefix that ``page_chrome.js`` recognizes: the browser saves the linked file and opens no tab.
EXPORT = "/export/"


def routes() -> list[Route]:
    """The download route; ``mauve_app.server.middleware`` blocks strangers and foreign pages."""
    return [Route(f"{EXPORT}{{run_id}}", _export, methods=["GET"])]


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
    from mauve_core.experiments.documents import DOCUMENTS  # imports scikit-learn, for which no server waits to start

    folder = tempfile.TemporaryDirectory(prefix="mauve-lens-")
    try:
        return _FromFolder(RunStore().export(run_id, Path(folder.name), documents=DOCUMENTS), folder)
    except BaseException:
        folder.cleanup()
        raise
