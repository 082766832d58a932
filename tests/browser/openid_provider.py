"""A small OpenID provider on this machine: it signs in whoever it is told to, and follows the protocol otherwise.

Sources: OpenID Connect Core 1.0, sections 3.1.2 and 3.1.3 (authorisation code); RFC 7636 (PKCE).
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "mauve-lens", "provider-secret"


class Provider:
    """What the provider knows; ``email`` is who is at its keyboard."""

    def __init__(self) -> None:
        self.email = "anna@example.org"
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one", "alg": "RS256", "use": "sig"})
        self.asked: dict[str, dict[str, str]] = {}
        self.address = ""

    def answer(self, path: str, query: dict[str, str], form: dict[str, str]) -> tuple[int, Any]:
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.address,
                "authorization_endpoint": f"{self.address}/authorize",
                "token_endpoint": f"{self.address}/token",
                "end_session_endpoint": f"{self.address}/leave",
                "jwks_uri": f"{self.address}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        if path == "/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/authorize":
            code = secrets.token_urlsafe(16)
            self.asked[code] = query
            return 302, f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
        if path == "/leave":
            return 302, query["post_logout_redirect_uri"]
        if path == "/token":
            return self._token(self.asked.pop(form["code"]), form)
        return 404, {}

    def _token(self, asked: dict[str, str], form: dict[str, str]) -> tuple[int, Any]:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if asked["code_challenge"].encode() != challenge:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 600}
        claims |= {"email": self.email, "email_verified": True, "nonce": asked["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return 200, {"access_token": "a", "token_type": "Bearer", "expires_in": 600, "id_token": token}


@contextmanager
def provider() -> Iterator[Provider]:
    """The provider on a free port of 127.0.0.1 until the block ends."""
    known = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._reply({name: values[0] for name, values in parse_qs(body).items()})

        def _reply(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, content = known.answer(parts.path, query, form)
            data = b"" if status == 302 else json.dumps(content).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", content)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing goes to the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        known.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield known
        server.shutdown()
        thread.join()
