"""The app's server: ``python -m mauve_app.server.serve``, with Streamlit's options, such as ``--server.port``.

It imports the pages' modules while it answers already; Streamlit alone imports them when a reader first opens the page.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import pkgutil
import resource
import signal
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mauve_core.base import sharing
from mauve_core.base.errors import InputError, MauveLensError, StorageError
from mauve_core.cli.serving import OPEN
from mauve_core.jobs import queue
from mauve_core.texts import limits

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send
    from streamlit import App

# Libraries that functions import on their first call.
LATE = ("sklearn.feature_extraction.text", "huggingface_hub.file_download", "huggingface_hub.hf_api")

MAIN = Path(__file__).resolve().parents[1] / "main.py"
THIS_MACHINE = "127.0.0.1"
LONGEST_START_S = 60
# Target file limit: a session with its browser's connections takes about ten, and some systems allow only 256.
DESCRIPTORS = 4096

# Path of the first page as other pages' names suggest it; Streamlit serves that page at the root.
COMPARE = "/compare"


class Imports:
    """Middleware that imports the pages' modules once the server runs, and lets browsers connect to a page after that.

    Pages wait, because two threads that import what imports itself in a circle may see half of it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._imports: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._imports = asyncio.ensure_future(asyncio.to_thread(prepare))
            self._imports.add_done_callback(_end_unless_done)
        elif scope["type"] == "websocket" and self._imports is not None:
            await asyncio.wait([self._imports])
        await self.app(scope, receive, send)


def _end_unless_done(imports: asyncio.Future[None]) -> None:
    """End a server that could show no page."""
    error = None if imports.cancelled() else imports.exception()
    if error is not None:
        traceback.print_exception(error)
        signal.raise_signal(signal.SIGTERM)


def prepare() -> None:
    """Import the pages and their parts, and turn off Plotly's validation of every property.

    A page draws nothing when it is imported: Streamlit runs its file as ``__main__``, at every rerun.
    """
    from mauve_core.figures import draw

    draw.CHECKED = False
    for name in ("mauve_core.figures", "mauve_app.components", "mauve_app.views"):
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)


def options_of(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse Streamlit's options from ``--name=value`` and ``--name value``; values are read as JSON if possible.

    Raises
    ------
    InputError
        An argument is not an option.
    """
    options: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--") or "." not in name or not (equals or rest):
            raise InputError("Not an option of the server", allowed="--section.option=value", received=name)
        value = value if equals else rest.pop(0)
        try:
            options[name.removeprefix("--")] = json.loads(value)
        except ValueError:
            options[name.removeprefix("--")] = value
    return options


def protected(options: dict[str, Any]) -> dict[str, Any]:
    """Add the options that keep the server private.

    Raises
    ------
    InputError
        The server would answer other machines without a sign-in, or the sign-in setup is wrong.
    """
    how = sharing.sign_in()
    address = str(options.get("server.address", THIS_MACHINE))
    sharing.require_protection(address, how, without_sign_in=sharing.is_switched_on(sharing.WITHOUT_SIGN_IN))
    enforced = {
        "server.address": address,
        "server.allowedHosts": ["*"],  # mauve_app.server.middleware checks host names for all requests
        "server.enableXsrfProtection": True,
        "server.maxUploadSize": limits.upload_mb(),
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,  # it would ask a foreign server for this machine's address
    }
    if how.secrets is not None:
        enforced["secrets.files"] = [str(how.secrets)]
    return {**options, **enforced}


def application() -> App:
    """Streamlit's application behind the app's middleware."""
    import streamlit as st
    from starlette.middleware import Middleware
    from starlette.routing import Route

    from mauve_app.components import live_updates, messages
    from mauve_app.server import connections, middleware, origins, run_files, sign_in

    own = (connections.Tidied, middleware.Headers, middleware.Gate, Imports)
    routes = [route for part in (sign_in, run_files, live_updates) for route in part.routes()]
    routes.append(Route(COMPARE, _to_first_page, methods=["GET"]))
    origins.begin_own_server()
    return st.App(
        MAIN,
        middleware=[Middleware(each) for each in own],
        routes=routes,
        lifespan=connections.looked_after,
        on_script_error=messages.uncaught,
    )


async def _to_first_page(request: Request) -> Response:
    from starlette.responses import RedirectResponse

    query = request.scope["query_string"].decode("ascii")  # mauve_app.server.middleware rejects other query strings
    return RedirectResponse(f"/?{query}" if query else "/")


def main() -> None:
    """Serve."""
    try:
        options = protected(options_of(sys.argv[1:]))
        _remove_leftovers()
    except MauveLensError as error:
        sys.exit(f"mauve-lens: {error}")
    _allow_descriptors()
    os.umask(0o077)  # restrict files to the server's user
    sys.argv = sys.argv[:1]
    page = os.environ.pop(OPEN, None)
    if page:
        threading.Thread(target=_open, args=(page,), daemon=True).start()
    application().run(config=options)


def _open(page: str) -> None:
    """Open the browser on one of the server's pages once it answers; nothing where there is no desktop."""
    if sys.platform == "linux" and not {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return  # else a browser of the terminal
    where = urlsplit(page)
    for _ in range(LONGEST_START_S * 10):
        with suppress(OSError), socket.create_connection((where.hostname, where.port)):
            webbrowser.open(page)
            return
        time.sleep(0.1)


def _allow_descriptors() -> None:
    """Raise this process's limit on open files and connections as far as allowed, up to ``DESCRIPTORS``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _remove_leftovers() -> None:
    try:
        queue.remove_leftovers()
    except StorageError as error:  # existing runs can still be shown
        sys.stderr.write(f"mauve-lens: {error}\n")


if __name__ == "__main__":
    main()
