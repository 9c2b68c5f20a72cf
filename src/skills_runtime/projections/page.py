"""A run as one page that needs nothing else: no script, no network, everything it shows escaped.

Pure. Shows what events show: digests and sizes where contents are hidden, never the contents.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

from skills_runtime.events import Event
from skills_runtime.projections.page_entries import Entry, entries_of
from skills_runtime.projections.page_words import WORDS, Words
from skills_runtime.projections.state import RunState

Language = Literal["en", "zh"]

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #8886}"
    "table{border-collapse:collapse}th,td{text-align:start;vertical-align:top;padding:.15rem 1rem .15rem 0}"
    "th{font-weight:600}pre{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;margin:.3rem 0;"
    "font:13px/1.5 ui-monospace,monospace}"
    "article{border-inline-start:3px solid #8886;padding:.1rem .9rem;margin:1rem 0}"
    "article.answer{border-color:#3a7}article.task{border-color:#36c}article.approval{border-color:#c80}"
    "article.failed{border-color:#c33}.seq{color:#777;font-size:.8rem}footer{margin-top:3rem;color:#777}"
)
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Characters that nobody sees, some of which turn round what stands beside them."""


class PageFile(NamedTuple):
    """A file that the run handed over."""

    name: str
    size: int
    digest: str


def render_page(
    state: RunState, events: Iterable[Event], files: Sequence[PageFile] = (), language: Language = "en"
) -> Iterator[str]:
    """The page of a run, piece by piece."""
    words = WORDS[language]
    title = shown(next((line for line in state.task.splitlines() if line.strip()), state.run_id)[:120])
    yield (
        f'<!doctype html>\n<html lang="{words.tag}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1><bdi>{title}</bdi></h1>\n"
    )
    yield _table(_facts(state, words))
    yield from _section(words.task, _block(state.task))
    yield from _section(words.result, _block(state.final_output or state.failure_reason or words.none))
    yield from _section(words.files, _table([(one.name, _sized(one)) for one in files]) if files else words.none)
    yield f"<h2>{words.story}</h2>\n"
    for entry in entries_of(events, words):
        yield _article(entry)
    yield f"<footer>{words.made}</footer></body></html>\n"


def shown(text: str) -> str:
    """Text as it may stand in a page: escaped, and what cannot be seen written out."""
    return escape(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _facts(state: RunState, words: Words) -> list[tuple[str, str]]:
    tokens = f"{state.input_tokens:,} + {state.output_tokens:,}"
    facts = [
        (words.run, state.run_id),
        (words.status, words.statuses.get(state.status.value, state.status.value)),
        (words.model, state.model),
        (words.began, state.started_at or state.created_at),
        (words.ended, state.completed_at or ""),
        (words.calls, str(state.tool_calls)),
        (words.tokens, tokens),
        (words.cost, f"${state.cost_usd:.4f}" if state.cost_usd else ""),
        (words.profile, state.profile_id),
    ]
    return [(name, value) for name, value in facts if value]


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{shown(name)}</th><td><bdi>{shown(value)}</bdi></td></tr>" for name, value in rows)
    return f"<table>{''.join(lines)}</table>\n"


def _section(heading: str, body: str) -> Iterator[str]:
    yield f"<h2>{heading}</h2>\n{body}\n"


def _sized(file: PageFile) -> str:
    return f"{file.size:,} B · sha256:{file.digest}"


def _block(text: str) -> str:
    return f"<pre>{shown(text.rstrip())}</pre>"


def _article(entry: Entry) -> str:
    head = f'<strong>{shown(entry.heading)}</strong> <span class="seq">#{entry.seq} · {shown(entry.time)}</span>'
    return f'<article class="{entry.kind}"><div>{head}</div>{_block(_text(entry.body))}</article>\n'


def _text(body: str | Mapping[str, Any]) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2, sort_keys=True)
