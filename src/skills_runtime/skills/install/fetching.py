"""The seam to whoever brings skills here: what a fetch is asked for, and what it leaves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from skills_runtime.errors import NotFound
from skills_runtime.skills.install.archives import unpack
from skills_runtime.skills.install.sources import ArchiveSource, LocalSource, Source


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a source is needed."""

    source: Source
    skills: tuple[str, ...] = ()
    """The names of the skills, where a source can give them apart; none means all, or the only one."""
    everything: bool = True
    """Whether all of several skills are meant where none is named."""
    commit: str | None = None
    """The exact version, where it is known."""
    named_by_user: bool = True
    """Whether the user named the source, now or before; a lock file alone may be anybody's."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A source as it was brought here."""

    root: Path
    commit: str | None = None
    """The version it is, if the source has versions."""
    trees: Mapping[str, str] = {}
    """The names git has for directories of the source."""


class Fetcher(Protocol):
    """Brings sources here."""

    async def fetch(self, wanted: Wanted, into: Path) -> Fetched:
        """Put a source below a new directory, or raise and leave nothing that counts."""
        ...


class LocalFetcher:
    """Brings what is on this machine: directories and archives."""

    async def fetch(self, wanted: Wanted, into: Path) -> Fetched:
        """A directory is looked at where it is; an archive is unpacked."""
        source = wanted.source
        if isinstance(source, LocalSource):
            if not source.path.is_dir():
                raise NotFound(f"the directory `{source.path}` is gone", hint="install the skill from another place")
            return Fetched(root=source.path)
        if isinstance(source, ArchiveSource) and not source.is_remote:
            unpack(Path(source.location), into)
            return Fetched(root=into)
        raise NotFound("this source is not on this machine", hint="allow fetching, or install from a path")
