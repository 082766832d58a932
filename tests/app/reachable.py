"""The addresses that the server has, from its own router, and which of them each kind of visitor reaches.

    python -m tests.app.reachable

Every route answers through a stand-in for its endpoint, so what is seen is what stands before it. Streamlit allows one
server a process: the tests run this one in a process of its own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from mauve_app.server import access, serve
from mauve_core.base import sharing
from mauve_core.base.files import HOME_VARIABLE
from tests.app.asgi import hash_of

REACHED = 299
HERE = "http://127.0.0.1:8501"
PASSWORD = "correct horse"
# The environment of the server for each kind of visitor.
KINDS: dict[str, dict[str, str]] = {
    "signed out": {sharing.PASSWORD_HASH: hash_of(PASSWORD)},
    "signed in, read-only": {sharing.PASSWORD_HASH: hash_of(PASSWORD), sharing.READ_ONLY: "1"},
    "signed in": {sharing.PASSWORD_HASH: hash_of(PASSWORD)},
    "on this machine, without a sign-in": {},
}


async def _reached(_: Request) -> PlainTextResponse:
    return PlainTextResponse("", REACHED)


async def _connected(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


def server() -> Starlette:
    """The application with its routes and middleware, and stand-ins for what answers."""
    whole = serve.application()._build_starlette_app()
    routes: list[Route | WebSocketRoute] = []
    for route in whole.routes:
        if isinstance(route, WebSocketRoute):
            routes.append(WebSocketRoute(route.path, _connected))
        elif isinstance(route, Mount):
            routes.append(Route(f"{route.path}/{{path:path}}", _reached, methods=["GET", "HEAD"]))
        elif isinstance(route, Route):
            own = route.path == "/sign-in" and "POST" in (route.methods or ())
            routes.append(Route(route.path, route.endpoint if own else _reached, methods=list(route.methods or ())))
        else:
            raise TypeError(f"A route of another kind: {route}")
    return Starlette(routes=routes, middleware=whole.user_middleware)


def reached(app: Starlette, environment: Mapping[str, str], *, sign_in: bool) -> list[str]:
    """Methods and paths that answer the visitor, sorted."""
    for name in (sharing.PASSWORD_HASH, sharing.READ_ONLY):
        os.environ.pop(name, None)
    os.environ.update(environment)
    access.sign_in.cache_clear()
    found = set()
    client = TestClient(app, base_url=HERE, follow_redirects=False)
    if sign_in:
        client.post("/sign-in", data={"password": PASSWORD}, headers={"origin": HERE})
    for route in app.routes:
        if isinstance(route, WebSocketRoute):
            try:
                with client.websocket_connect(f"ws{HERE[4:]}{route.path}", headers={"origin": HERE}):
                    found.add(f"WebSocket {route.path}")
            except WebSocketDisconnect:
                pass
        elif isinstance(route, Route):
            path = route.path.replace("{path:path}", "x").replace("{file_id:path}", "x")
            path = path.replace("{", "").replace("}", "")
            for method in sorted(route.methods or ()):
                response = client.request(method, path, headers={"origin": HERE})
                if response.status_code == REACHED or (route.path, method) == ("/sign-in", "POST"):
                    found.add(f"{method} {route.path}")
    return sorted(found)


def main() -> None:
    """Print JSON: all addresses, and those that each kind of visitor reaches."""
    with tempfile.TemporaryDirectory() as home:
        os.environ[HOME_VARIABLE] = home
        app = server()
        everything = set()
        for route in app.routes:
            methods = sorted(route.methods or ()) if isinstance(route, Route) else ["WebSocket"]
            everything |= {f"{method} {getattr(route, 'path', '')}" for method in methods}
        table = {kind: reached(app, values, sign_in=kind.startswith("signed in")) for kind, values in KINDS.items()}
        sys.stdout.write(json.dumps({"everything": sorted(everything), **table}, indent=1))


if __name__ == "__main__":
    main()
