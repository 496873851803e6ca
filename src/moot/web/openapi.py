"""What /openapi.json says beyond what follows from the routes: refusals, streams, files.

OpenAPI 3.2, because that is the first version with a word for streams: `itemSchema` describes one event of
`text/event-stream`, and its `data`, which is a string, says with `contentSchema` what it holds.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, Literal

import msgspec
from fastapi import FastAPI

from moot.board.wire import ChallengeReplyComplete, ChallengeReplyToken, SessionFrame
from moot.server import StreamError
from moot.server.event_frames import FormatFrame
from moot.server.format import Looked
from moot.web import wire
from moot.web.streams import Idle

Answers = dict[int | str, dict[str, Any]]

PROBLEMS: Answers = {
    code: {"model": wire.Problem, "description": text}
    for code, text in {
        400: "Something in the request cannot be taken; the sentence names the field.",
        401: "Others can reach the server, and nobody is signed in.",
        403: "The request comes from another site, or it is for whoever runs the server.",
        404: "There is no such session, or it is somebody else's.",
        409: "The session is not at a point where that is possible, or its key came with another request.",
        413: "The body is larger than 1 MiB, or, where evidence is taken, than 16 MiB.",
        429: "A limit is reached, here or at the model's provider; Retry-After says how long, where known.",
        500: "Something failed on this side.",
        503: "The database is away, no model can be reached, or its key is refused.",
    }.items()
}

EXPORT: Answers = {
    200: {
        "description": "The record of the session.",
        "content": {
            "text/markdown": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "text/html": {"schema": {"type": "string"}},
        },
    }
}


def problems(*codes: int) -> Answers:
    return {code: PROBLEMS[code] for code in sorted({400, 401, *codes, 500, 503})}


STREAMS = {
    "SessionEvent": SessionFrame | Idle,
    "FormatEvent": FormatFrame | Idle,
    "ChallengeEvent": ChallengeReplyToken | ChallengeReplyComplete | Looked | StreamError,
}
"""What each `data:` line of a stream can be, told apart by its `type`."""


def stream_of(*events: Literal["SessionEvent", "ChallengeEvent", "FormatEvent"]) -> Answers:
    refs = [{"$ref": f"#/components/schemas/{event}"} for event in events]
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": refs[0] if len(refs) == 1 else {"anyOf": refs},
    }
    item = {
        "type": "object",
        "required": ["data"],
        "properties": {"id": {"type": "string", "pattern": "^[0-9]+$"}, "data": data},
    }
    return {
        200: {
            "description": f"Server-sent events; the data of each is a {' or a '.join(events)}.",
            "content": {"text/event-stream": {"itemSchema": item}},
        }
    }


def _events() -> dict[str, Any]:
    """The streams' unions, and everything that they are made of."""
    unions, parts = msgspec.json.schema_components(
        STREAMS.values(), ref_template="#/components/schemas/{name}"
    )
    for part in parts.values():
        if "description" in part:
            part["description"] = cleandoc(part["description"])
    return {**parts, **dict(zip(STREAMS, unions, strict=True))}


class DescribedApp(FastAPI):
    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.openapi_version = "3.2.0"

    def openapi(self) -> dict[str, Any]:
        """With the events, and without the status that FastAPI says of every route that takes something:
        ours is 400."""
        if self.openapi_schema is None:
            document = super().openapi()
            for operations in document["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
            schemas = document["components"]["schemas"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            # What both know is left as FastAPI describes it.
            document["components"]["schemas"] = dict(sorted((_events() | schemas).items()))
        assert self.openapi_schema is not None
        return self.openapi_schema
