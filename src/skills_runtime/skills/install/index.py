"""The list of skills that a site offers at a well-known address: both versions of the public proposal.

Pure.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal, cast
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install.choosing import usable_directory_name
from skills_runtime.skills.install.names import safe_parts
from skills_runtime.text import one_line

MAX_INDEX_BYTES = 1 << 20
MAX_SKILLS = 2_000
MAX_FILES = 200
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_WELL_KNOWN = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_SHOWN = 20


class Download(msgspec.Struct, frozen=True):
    """One thing to be downloaded, and what it must be."""

    url: str
    path: str
    """Where it goes in the directory of the skill."""
    digest: str | None
    """Its SHA-256 in hex; the older version of the list has none."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that a site offers."""

    name: str
    kind: Literal["file", "archive", "files"]
    downloads: tuple[Download, ...]


def index_addresses(url: str) -> tuple[str, ...]:
    """Where the list of a site may be, the likeliest first."""
    if urlsplit(url).path.endswith(".json"):
        return (url,)
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    below = [f"{origin}{parts.path.rstrip('/')}{path}" for path in _WELL_KNOWN]
    return tuple(dict.fromkeys([*below, *(f"{origin}{path}" for path in _WELL_KNOWN)]))


def parse_index(data: bytes, address: str) -> tuple[Listed, ...]:
    """The skills in a list; one entry that is wrong makes the whole list unusable."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(address, f"it is not JSON: {error}") from error
    skills = cast("dict[str, Any]", document).get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list) or len(cast("list[Any]", skills)) > MAX_SKILLS:
        raise _wrong(address, "it has no list of skills, or one without end")
    listed = tuple(_listed(entry, address) for entry in cast("list[Any]", skills))
    names = [each.name for each in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _wrong(address, f"it has `{twice}` twice")
    return listed


def wanted_of(listed: Sequence[Listed], names: Sequence[str], *, everything: bool) -> list[Listed]:
    """The skills to download."""
    offered = {each.name: each for each in listed}
    shown = ", ".join(f"`{name}`" for name in list(offered)[:_SHOWN])
    missing = next((name for name in names if name not in offered), None)
    if missing is not None or not listed:
        raise NotFound(f"the site has no skill `{one_line(missing or '')}`", hint=f"it has: {shown or 'none'}")
    if names:
        return [offered[name] for name in dict.fromkeys(names)]
    if len(listed) > 1 and not everything:
        raise ValidationFailed(
            f"the site has {len(listed)} skills: {shown}", hint="choose with `--skill NAME`, or take `--all`"
        )
    return list(listed)


def _listed(entry: Any, address: str) -> Listed:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    name = fields.get("name")
    if not isinstance(name, str):
        raise _wrong(address, "a skill has no name")
    usable_directory_name(name)
    if "files" in fields and "url" not in fields:
        return Listed(name=name, kind="files", downloads=_older(name, fields["files"], address))
    kind, url, digest = fields.get("type"), fields.get("url"), fields.get("digest")
    match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if kind not in ("skill-md", "archive") or not isinstance(url, str) or match is None:
        raise _wrong(address, f"`{name}` has no type, address and digest that can be used")
    download = Download(urljoin(address, url), "SKILL.md", match[1])
    return Listed(name=name, kind="archive" if kind == "archive" else "file", downloads=(download,))


def _older(name: str, files: Any, address: str) -> tuple[Download, ...]:
    if not isinstance(files, list) or not 0 < len(cast("list[Any]", files)) <= MAX_FILES:
        raise _wrong(address, f"`{name}` has no list of files, or one without end")
    base = urljoin(address, ".")
    downloads: list[Download] = []
    for file in cast("list[Any]", files):
        if not isinstance(file, str):
            raise _wrong(address, f"a file of `{name}` has no name")
        path = "/".join(safe_parts(file))
        downloads.append(Download(f"{base}{quote(name)}/{quote(path)}", path, None))
    return tuple(downloads)


def _wrong(address: str, why: str) -> ValidationFailed:
    return ValidationFailed(
        f"the list of skills at `{one_line(address)[:200]}` cannot be used: {why}",
        hint="ask whoever runs the site to correct it",
        details={"code": "SKILL_INDEX_INVALID"},
    )
