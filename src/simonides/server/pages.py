"""The page of the API, and the login of a browser. All files are this package's own."""

from __future__ import annotations

from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from simonides.core.errors import NotFound
from simonides.server.callers import COOKIE

KINDS = {"js": "text/javascript", "css": "text/css"}

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def add(app: FastAPI) -> None:
    """Add the pages."""
    folder = files("simonides.server") / "static"
    served = {each.name for each in folder.iterdir() if each.name.split(".")[-1] in KINDS}

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("/docs")

    @app.get("/login", include_in_schema=False)
    async def login(request: Request, token: str = "") -> Response:
        address = request.client.host if request.client else ""
        cookie = app.state.callers.cookie_of(token, address)
        answer = RedirectResponse("/docs", 303, HEADERS)
        is_secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=is_secure)
        return answer

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse((folder / "docs.html").read_text("utf-8"), headers=HEADERS)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in served:
            raise NotFound(name)
        kind = KINDS[name.split(".")[-1]]
        return Response((folder / name).read_bytes(), 200, HEADERS, f"{kind}; charset=utf-8")
