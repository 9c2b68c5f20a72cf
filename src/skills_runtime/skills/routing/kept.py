"""Keeps the terms of skills between two starts, so that only skills that changed are taken apart again.

Pure: bytes in, bytes out. Bytes that are damaged, or of another version, hold nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from skills_runtime.skills.routing.documents import Document
from skills_runtime.skills.skill import Skill

VERSION = 1
"""Changes whenever the same skill would give other terms."""


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    version: int
    documents: dict[str, Document]


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(_Kept).decode
_plain = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode


def identity(skill: Skill, *, with_body: bool) -> str:
    """What changes whenever the terms of a skill may."""
    said = _plain((skill.name, skill.description, skill.metadata, skill.content_hash if with_body else ""))
    return hashlib.blake2b(said, digest_size=16).hexdigest() + ("+" if with_body else "")


def packed(skills: Sequence[Skill], documents: Sequence[Document], *, with_body: bool) -> bytes:
    """The terms of skills, to be written somewhere."""
    pairs = zip(skills, documents, strict=True)
    return _encode(_Kept(VERSION, {identity(skill, with_body=with_body): document for skill, document in pairs}))


def unpacked(data: bytes) -> Mapping[str, Document]:
    """What was kept; nothing where the bytes are not ours."""
    try:
        kept = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return kept.documents if kept.version == VERSION else {}
