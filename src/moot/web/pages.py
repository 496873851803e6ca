"""The built page, its files, and what else is served to be looked at."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from moot.web import reference

PAGE = (Path(__file__).parent / "static").resolve()


class _PagePath(PathConvertor):
    """All that is not the interface's: what is unknown there is not found, whatever the method."""

    regex = "(?!api(/|$)).*"


register_url_convertor("page", _PagePath())


def add_pages(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        """The OpenAPI document to read: drawn here, because the usual viewers load scripts from elsewhere."""
        return HTMLResponse(reference.page(request.app.openapi()))

    @app.get("/{path:page}", include_in_schema=False)
    async def page(path: str) -> Response:
        """A file of the page, or the page itself: it knows its own addresses."""
        file = _file_of_the_page(path)
        if file is not None:
            forever = (
                {"cache-control": "public, max-age=31536000, immutable"} if "assets" in file.parts else {}
            )
            return FileResponse(file, headers=forever)
        if not (PAGE / "index.html").is_file():
            return PlainTextResponse("The page has not been built: run `make run`.", status_code=404)
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})


def _file_of_the_page(path: str) -> Path | None:
    try:
        file = (PAGE / path).resolve()
        return file if file.is_relative_to(PAGE) and file.is_file() else None
    except (OSError, ValueError):
        # No file can have that name: it is too long, or has a NUL in it.
        return None
