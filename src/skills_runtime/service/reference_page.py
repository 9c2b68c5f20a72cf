"""The OpenAPI document as a page to read: no script, nothing fetched from anywhere."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-family:ui-monospace,monospace}h3 code{font-size:1rem}"
    "table{border-collapse:collapse}td,th{border-bottom:1px solid #8884;padding:.2rem .8rem .2rem 0;text-align:left}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#9cf}}"
)


def reference_page(document: Mapping[str, Any]) -> str:
    """The whole page."""
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
        (f"<code>{escape(one['name'])}</code> ({escape(one['in'])})", escape(one.get("description", "")))
        for one in operation.get("parameters", ())
    ]
    answers = [(escape(status), escape(one["description"])) for status, one in operation["responses"].items()]
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
