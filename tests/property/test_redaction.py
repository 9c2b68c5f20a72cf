"""No secret gets through: in no encoding, in no surroundings, however a stream is cut."""

import base64
import html
import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, cast
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skills_runtime.safety.redaction import MARK, Redactor, is_redactable
from tests.support.examples import examples

LETTERS = "abcxyzABCXYZ019éß中文🙂 \n\t\"'\\/%+&<>=:;$#@!?-_.~{}[]()|*,"


def _apart_from_the_mark(secret: str) -> bool:
    ends = range(1, len(secret))
    return not any(MARK.endswith(secret[:end]) or MARK.startswith(secret[end:]) for end in ends)


secrets = (
    st.text(st.sampled_from(LETTERS), min_size=4, max_size=24)
    .map(str.strip)
    .filter(is_redactable)
    .filter(_apart_from_the_mark)
)
surroundings = st.text(
    st.one_of(st.sampled_from('ab \n{}":,.0%\\'), st.characters(exclude_categories=["Cs"])), max_size=12
)


def _percent_encoded(secret: str, *, upper: bool) -> str:
    return "".join(f"%{byte:02X}" if upper else f"%{byte:02x}" for byte in secret.encode())


def _unicode_escaped(secret: str) -> str:
    units = secret.encode("utf-16-be").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))


def _quoted(secret: str) -> str:
    return json.dumps(secret, ensure_ascii=False)[1:-1]


TEXT_ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": _quoted,
    "json in ascii": lambda secret: json.dumps(secret)[1:-1],
    "json in json": lambda secret: _quoted(_quoted(secret)),
    "json in json in json": lambda secret: _quoted(_quoted(_quoted(secret))),
    "unicode escapes": _unicode_escaped,
    "unicode escapes in json": lambda secret: _quoted(_unicode_escaped(secret)),
    "url": lambda secret: quote(secret, safe=""),
    "url path": quote,
    "form": quote_plus,
    "url twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "url three times": lambda secret: quote(quote(quote(secret, safe=""), safe=""), safe=""),
    "percent upper": lambda secret: _percent_encoded(secret, upper=True),
    "percent lower": lambda secret: _percent_encoded(secret, upper=False),
    "url in json": lambda secret: _quoted(quote(secret)),
    "html": html.escape,
    "html in json": lambda secret: _quoted(html.escape(secret)),
    "shell": lambda secret: shlex.quote(secret).removeprefix("'").removesuffix("'"),
    "shell in json": lambda secret: _quoted(shlex.quote(secret).removeprefix("'").removesuffix("'")),
    "hex": lambda secret: secret.encode().hex(),
    "hex upper": lambda secret: secret.encode().hex().upper(),
    "hex apart": lambda secret: secret.encode().hex(" "),
    "coloured": lambda secret: "\x1b[0m".join(secret),
    "coloured in json": lambda secret: "\\u001b[1;31m".join(map(_quoted, secret)),
}


def _core(secret: bytes, before: int, alphabet: bytes | None) -> str:
    """The letters of base64 that the secret alone decides."""
    whole = base64.b64encode(b"\0" * before + secret, alphabet).decode()
    first = -(-8 * before // 6)
    return whole[first : 8 * (before + len(secret)) // 6]


@pytest.mark.parametrize("name", TEXT_ENCODINGS)
@settings(max_examples=examples(25))
@given(st.data())
def test_an_encoded_secret_is_taken_out_of_text(name: str, data: st.DataObject) -> None:
    secret = data.draw(secrets)
    before, behind = data.draw(surroundings), data.draw(surroundings)
    written = TEXT_ENCODINGS[name](secret)
    redactor = Redactor([secret])
    hidden = redactor.text(before + written + behind)
    assert MARK in hidden
    assert written not in hidden
    assert redactor.text(hidden) is hidden


@pytest.mark.parametrize("name", TEXT_ENCODINGS)
@settings(max_examples=examples(25))
@given(st.data())
def test_an_encoded_secret_is_taken_out_of_a_line(name: str, data: st.DataObject) -> None:
    secret = data.draw(secrets)
    text = data.draw(surroundings) + TEXT_ENCODINGS[name](secret) + data.draw(surroundings)
    document = {"n": [1, text, {text: None}], "tail": True}
    redactor = Redactor([secret])
    for line in (json.dumps(document).encode(), json.dumps(document, ensure_ascii=False).encode()):
        hidden = json.loads(redactor.line(line))
        assert hidden == redactor.value(document)
        assert hidden == {"n": [1, redactor.text(text), {redactor.text(text): None}], "tail": True}
        assert MARK in hidden["n"][1]


NASTY = ['000"', "a\\\\b\\c", "%25%", "it's 'quoted'", "a+b c&amp;d<e>", "é\n🙂\t中/x", "\\u0041\\x41", '\\"\\"1']


@pytest.mark.parametrize("name", TEXT_ENCODINGS)
@pytest.mark.parametrize("secret", NASTY)
def test_a_secret_full_of_what_is_escaped_is_taken_out(name: str, secret: str) -> None:
    redactor = Redactor([secret])
    text = f"<{TEXT_ENCODINGS[name](secret)}>"
    line = json.dumps({"a": text}).encode()
    assert redactor.text(text) == f"<{MARK}>"
    assert json.loads(redactor.line(line)) == {"a": f"<{MARK}>"}
    for cut in range(1, len(text)):
        stream = redactor.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.finish() == f"<{MARK}>"


@pytest.mark.parametrize("alphabet", [None, b"-_"], ids=["standard", "url"])
@given(secrets, st.binary(max_size=70), st.binary(max_size=9), st.booleans())
def test_a_secret_within_base64_is_taken_out(
    alphabet: bytes | None, secret: str, before: bytes, behind: bytes, padded: bool
) -> None:
    raw = secret.encode()
    written = base64.b64encode(before + raw + behind, alphabet).decode()
    core = _core(raw, len(before) % 3, alphabet)
    assert core in written
    redactor = Redactor([secret])
    for text in (written if padded else written.rstrip("="), quote(written, safe=""), f'"{written}"'):
        hidden = redactor.text(text)
        assert MARK in hidden
        assert core not in hidden
    wrapped = "\n".join(re.findall(".{1,76}", written)) + "\n"
    labelled = "\n".join(f"L{number}: {part}" for number, part in enumerate(wrapped.splitlines(), start=1))
    for text in (
        wrapped,
        _quoted(wrapped),
        wrapped.replace("\n", "\r\n"),
        _quoted(wrapped.replace("\n", "\r\n")),
        labelled,
    ):
        hidden = redactor.text(text)
        assert MARK in hidden
        assert core not in re.sub(r"\s|\\[nr]|L\d+: ", "", hidden)


FRAGMENTS = st.sampled_from(
    ["sk-", "sk-abc123def456ghi789", "task-force", "ghp_", "ghp_abcdefghijklmnop0123", "AKIAIOSFODNN7EXAMPLE", "eyJ",
     "eyJhbGciOi.eyJzdWIiOi.c2ln", "-----BEGIN ", "RSA PRIVATE KEY-----", "\nMIIEabcd\nabcd==\n", "-----",
     "-----END RSA PRIVATE KEY-----", "http", "://u:", "pw1", "@", "host:80/", "password", "token: ", "hunter22x",
     "Authorization: ", "Bearer ", "abcdef0123456789", "\x1b[1m", "\x1b", "[0m", "\\u001b[0m", "\\", "\\u00", "\\n",
     "%3D", "%", "&#", "=", '"', ".", " ", "\n", "a", "中", "<redacted>"]
)  # fmt: skip


@st.composite
def _mixtures(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Known secrets, and a text of them, of their halves, of keys and of anything else."""
    entries = draw(st.lists(secrets, min_size=1, max_size=3))
    names = sorted(TEXT_ENCODINGS)
    pieces: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        written = TEXT_ENCODINGS[draw(st.sampled_from(names))](draw(st.sampled_from(entries)))
        half = written[: draw(st.integers(0, len(written)))]
        coded = base64.b64encode(half.encode(errors="surrogatepass")).decode()
        pieces.append(draw(st.one_of(st.sampled_from([written, half, coded]), FRAGMENTS, surroundings)))
    return entries, pieces


def _chunks(draw: st.DataObject, text: str) -> Iterator[str]:
    offset = 0
    while offset < len(text):
        size = draw.draw(st.integers(1, 9))
        yield text[offset : offset + size]
        offset += size


@given(_mixtures(), st.data())
def test_a_stream_gives_what_the_whole_text_gives(mixture: tuple[list[str], list[str]], data: st.DataObject) -> None:
    entries, pieces = mixture
    text = "".join(pieces)
    redactor = Redactor(entries)
    stream = redactor.stream()
    streamed = "".join(stream.feed(chunk) for chunk in _chunks(data, text)) + stream.finish()
    assert streamed == redactor.text(text)


@given(_mixtures())
def test_redaction_is_done_after_one_pass(mixture: tuple[list[str], list[str]]) -> None:
    entries, pieces = mixture
    redactor = Redactor(entries)
    hidden = redactor.text(" ".join(pieces))
    assert redactor.text(hidden) == hidden


@given(secrets, st.text(st.sampled_from('qwvjk ,.\n中文QWVJK{}"\\'), max_size=60))
def test_text_without_secrets_is_the_same_object(secret: str, text: str) -> None:
    assume(not set(secret) <= set('qwvjk ,.\n中文QWVJK{}"\\'))
    redactor = Redactor([secret])
    line = json.dumps([text, {"k": text}]).encode()
    value = [text, {"k": text}]
    assert redactor.text(text) is text
    assert redactor.line(line) is line
    assert redactor.value(value) is value


leaves = st.none() | st.booleans() | st.integers() | surroundings | secrets
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(secrets | surroundings, inner, max_size=3),
    max_leaves=9,
)


@given(st.lists(secrets, max_size=3), documents)
def test_a_line_keeps_its_shape(known: list[str], document: Any) -> None:
    redactor = Redactor(known)
    hidden = json.loads(redactor.line(json.dumps(document).encode()))
    assert _shape(hidden) == _shape(document)
    assert hidden == redactor.value(document)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(payload) for payload in cast("dict[str, Any]", value).values()]
    if isinstance(value, list):
        return [_shape(payload) for payload in cast("list[Any]", value)]
    return type(value).__name__
