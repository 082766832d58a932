"""What browsers send over the websocket: only messages that Streamlit can read reach it."""

from __future__ import annotations

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STREAM = "/_stcore/stream"

# Close code of a websocket: data that is not accepted (RFC 6455, section 7.4.1).
CLOSE_CODE = 1003

# How Streamlit's ids of widgets begin; the second prefix is that of the events of a component.
WIDGETS = ("$$ID-", "$$STREAMLIT_INTERNAL_KEY_")


async def readable(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the websocket of a page pass until it sends what no page sends."""
    if not scope["path"].endswith(STREAM):
        await app(scope, receive, send)
        return

    async def received() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive" or is_readable(message.get("bytes")):
            return message
        await send({"type": "websocket.close", "code": CLOSE_CODE, "reason": "Not a message of a page"})
        return {"type": "websocket.disconnect", "code": CLOSE_CODE}

    await app(scope, received, send)


def is_readable(frame: bytes | None) -> bool:
    """Whether the frame is a message of a page, with values of widgets alone."""
    from streamlit.proto.BackMsg_pb2 import BackMsg

    try:
        message = BackMsg.FromString(frame or b"")
    except DecodeError:
        return False
    states = message.rerun_script.widget_states.widgets
    return frame is not None and all(state.id.startswith(WIDGETS) for state in states)
