"""Bundles to unpack, honest and hostile."""

import hashlib
import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

from skills_runtime.skills.sources.bundles import Budget, Bundle, Bundles

HONEST = {"actions/go.sh": b"#!/bin/sh\necho gone\n", "references/guide.md": b"# Guide\n"}

Entry = tuple[str | zipfile.ZipInfo, bytes]


def zipped(*entries: Entry, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these entries, whatever they are."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def honest(**more: bytes) -> bytes:
    return zipped(*HONEST.items(), *more.items())


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    """An entry with a mode of Unix."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def link(name: str, target: str = "/etc/passwd") -> Entry:
    return entry(name, stat.S_IFLNK | 0o777), target.encode()


def bundle_of(data: bytes, **fields: str) -> Bundle:
    return Bundle(mention="$[web].writer", sha256=hashlib.sha256(data).hexdigest(), key="k", **fields)


class Shop:
    """A cache, and a place to fetch bundles from that counts."""

    def __init__(self, cache: Path, **budget: int) -> None:
        self.cache = cache
        self.bundles = Bundles(cache, Budget(**budget))
        self.fetched = 0

    def fetch(self, data: bytes | None) -> Callable[[], bytes | None]:
        def fetched() -> bytes | None:
            self.fetched += 1
            return data

        return fetched

    def directory(self, data: bytes, bundle: Bundle | None = None) -> Path:
        return self.bundles.directory(bundle or bundle_of(data), self.fetch(data))
