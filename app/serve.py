"""The server of the app: ``python -m app.serve`` and options of Streamlit's configuration, such as ``--server.port``.

What the pages import is imported before the server answers, so that the first reader of a page does not wait for it.
Streamlit by itself imports a page's modules when a reader first opens it.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core import sharing
from mauve_core.corpus import limits
from mauve_core.errors import InputError, MauveLensError
from mauve_core.figures import draw

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from streamlit import App

LATE = ("sklearn.feature_extraction.text", "huggingface_hub.file_download", "huggingface_hub.hf_api")
"""Libraries that functions import when they are first called."""

MAIN = Path(__file__).resolve().parent / "main.py"
THIS_MACHINE = "127.0.0.1"
COMPARE = "/compare"
"""Where a reader of the other pages' addresses looks for the first page, which Streamlit keeps at the root."""


def prepare() -> None:
    """Import what the pages are made of, and let figures go without Plotly's check of every property."""
    draw.CHECKED = False
    for name in ("mauve_core.figures", "app.components"):
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)


def options_of(arguments: Sequence[str]) -> dict[str, Any]:
    """Streamlit's options from ``--name=value`` and ``--name value``, a value as JSON where it is that.

    Raises
    ------
    InputError
        Something else stands there.
    """
    options: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--") or "." not in name or not (equals or rest):
            raise InputError("This is no option of the server", allowed="--section.option=value", received=name)
        value = value if equals else rest.pop(0)
        try:
            options[name.removeprefix("--")] = json.loads(value)
        except ValueError:
            options[name.removeprefix("--")] = value
    return options


def protected(options: dict[str, Any]) -> dict[str, Any]:
    """The options with what keeps the server private.

    Raises
    ------
    InputError
        It would answer other machines without a sign-in, or the sign-in is set up wrongly.
    """
    how = sharing.sign_in()
    address = str(options.get("server.address", THIS_MACHINE))
    sharing.require_protection(address, how, without=bool(os.environ.get(sharing.WITHOUT_SIGN_IN)))
    kept = {
        "server.address": address,
        "server.allowedHosts": ["*"],  # app.middleware knows the names, for requests of every kind
        "server.enableXsrfProtection": True,
        "server.maxUploadSize": limits.upload_mb(),
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,  # it would ask a foreign server for this machine's address
    }
    if how.secrets is not None:
        kept["secrets.files"] = [str(how.secrets)]
    return {**options, **kept}


def application() -> App:
    """Streamlit's application with what stands before it."""
    import streamlit as st
    from starlette.middleware import Middleware
    from starlette.routing import Route

    from app import middleware, own_server, run_export, sign_in
    from app.components import job_progress, news

    stack = [Middleware(middleware.Headers), Middleware(middleware.Gate)]
    routes = [route for part in (sign_in, run_export, news, job_progress) for route in part.routes()]
    routes.append(Route(COMPARE, _to_first_page, methods=["GET"]))
    own_server.begin()
    return st.App(MAIN, middleware=stack, routes=routes)


async def _to_first_page(request: Request) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/")


def main() -> None:
    """Import, then serve."""
    try:
        options = protected(options_of(sys.argv[1:]))
    except MauveLensError as error:
        sys.exit(f"mauve-lens: {error}")
    os.umask(0o077)  # all that the server writes is the program's
    prepare()
    sys.argv = sys.argv[:1]
    application().run(config=options)


if __name__ == "__main__":
    main()
