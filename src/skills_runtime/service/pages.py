"""Pages for browsers: the files of Studio below `/studio/`, and the OpenAPI document as a page without scripts."""

import mimetypes
import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.service.file_response import open_inside, parse_inner_path
from skills_runtime.service.problems import build_problem, problem_response

STUDIO = "/studio/"
INDEX = "index.html"
ASSETS = "assets"
MAX_FILE_BYTES = 16 << 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self' data:; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
"""Only files of this service: no inline scripts, other hosts, forms or frames around the page."""
_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""Media types of all files that the build produces, independent of the machine."""
_FILE_NAME = re.compile(r"[^/]+\.[A-Za-z0-9]{1,12}")
_NOT_INCLUDED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Studio is not included</title></head>
<body><h1>Studio is not included</h1>
<p>This installation has no Studio, the web app. <code>skills-runtime studio</code> prints how to get it.</p>
<p>The HTTP interface works without it: <a href="/api/docs">its reference page</a>.</p>
<hr><p lang="zh">此安装不包含 Studio（网页界面）。运行 <code>skills-runtime studio</code> 可查看获取方法。</p>
</body></html>
"""
METHODS = ("get", "post", "put", "patch", "delete")
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-family:ui-monospace,monospace}h3 code{font-size:1rem}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #8884;padding:.2rem .8rem .2rem 0;text-align:left}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#9cf}}"
)


def is_built(root: Path) -> bool:
    """Return whether the web app was built."""
    return (root / INDEX).is_file()


class StudioRoute(Route):
    """Serve everything below `/studio/` except the API below `/studio/api/`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        super().__init__("/studio{path:path}", self._serve, methods=["GET"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match only requests for the web app."""
        path = scope.get("path", "")
        if not (path == "/studio" or path.startswith(STUDIO)) or path.startswith(f"{STUDIO}api/"):
            return Match.NONE, {}
        return super().matches(scope)

    async def _serve(self, request: Request) -> Response:
        path = request.url.path
        if path == "/studio":
            return RedirectResponse(STUDIO, status_code=307)
        try:
            return await run_in_threadpool(studio_file, self._root, path.removeprefix(STUDIO))
        except (NotFound, ValidationFailed) as error:
            return problem_response(path, build_problem(error))


def studio_file(root: Path, path: str) -> Response:
    """Return the file at a path of the web app; any other path is a client-side route and gets the index page."""
    if not is_built(root):
        return Response(_NOT_INCLUDED, status_code=503, media_type="text/html", headers=_headers("no-store"))
    if path.startswith(f"{ASSETS}/"):
        return _file(root, path, "public, max-age=31536000, immutable")
    if path != INDEX and _FILE_NAME.fullmatch(path) and path in _top_level_names(root):
        return _file(root, path, "no-cache")
    return _file(root, INDEX, "no-store")


def _top_level_names(root: Path) -> list[str]:
    """Return the file names in the root; names from requests are never looked up on the disk."""
    try:
        return os.listdir(root)  # noqa: PTH208 - names are enough
    except OSError:
        return []


def _file(root: Path, path: str, caching: str) -> Response:
    parts = parse_inner_path(path)
    with open(open_inside(root, parts), "rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
            raise NotFound(f"there is no file {path[:200]!a} to show")
        data = file.read(MAX_FILE_BYTES)
    suffix = Path(parts[-1]).suffix.lower()
    media_type = _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
    return Response(data, headers={**_headers(caching), "Content-Type": media_type})


def _headers(caching: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": POLICY,
        "Cache-Control": caching,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


def reference_page(document: Mapping[str, Any]) -> str:
    """Render the OpenAPI document as an HTML page."""
    info = document["info"]
    title = escape(info["title"])
    body = "\n".join(_groups(document))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{title} {escape(info['version'])}</h1><p>{escape(info.get('summary', ''))}</p>"
        '<p>The same for programs: <a href="/api/openapi.json">openapi.json</a></p>'
        f"{body}</body></html>"
    )


def _groups(document: Mapping[str, Any]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                groups.setdefault((operation.get("tags") or ["other"])[0], []).append(_section(method, path, operation))
    for name, operations in groups.items():
        yield f"<h2>{escape(name)}</h2>"
        yield from operations


def _section(method: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = [
        (
            f"<code>{escape(parameter['name'])}</code> ({escape(parameter['in'])})",
            escape(parameter.get("description", "")),
        )
        for parameter in operation.get("parameters", ())
    ]
    answers = [(escape(status), escape(response["description"])) for status, response in operation["responses"].items()]
    return (
        f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
        f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p>"
        f"{_table('Parameter', rows)}{_table('Answer', answers)}"
    )


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(f"<tr><td>{first}</td><td>{second}</td></tr>" for first, second in rows)
    return f"<table><tr><th>{heading}</th><th></th></tr>{lines}</table>"
