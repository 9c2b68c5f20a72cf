"""Makes skills ready to be installed, in the staging place: nothing that is installed changes yet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.errors import NotFound, PolicyDenied
from skills_runtime.skills.install.applying import STAGED
from skills_runtime.skills.install.choosing import Offered, choose, offered_in, usable_directory_name
from skills_runtime.skills.install.differences import FileChange, differences
from skills_runtime.skills.install.fetching import Fetched, Fetcher, Wanted
from skills_runtime.skills.install.hashing import Hashed, hash_directory
from skills_runtime.skills.install.lockfile import Lock, LockEntry, read_lock
from skills_runtime.skills.install.memory import consents, now
from skills_runtime.skills.install.origins import entry_for, path_of, source_of
from skills_runtime.skills.install.places import Places
from skills_runtime.skills.install.screening import Screened, screen
from skills_runtime.skills.install.signatures import Signer, check_signature
from skills_runtime.skills.install.sources import GitSource, Source, label_of
from skills_runtime.skills.install.store import VersionStore
from skills_runtime.skills.install.trees import copy_skill
from skills_runtime.skills.standard.directories import inspect_directory

Becomes = Literal["new", "changed", "same"]


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that could be installed at once."""

    name: str
    staged: Path
    hashed: Hashed
    entry: LockEntry
    before: Hashed | None
    """What is installed under the name now."""
    locked: LockEntry | None
    """What the lock file says of the name now."""
    screened: Screened
    changes: tuple[FileChange, ...]

    @property
    def becomes(self) -> Becomes:
        """What installing it would mean."""
        if self.before is None:
            return "new"
        return "same" if self.before.digest == self.hashed.digest else "changed"

    @property
    def edited(self) -> bool:
        """Whether somebody changed the installed skill since it was locked."""
        return self.before is not None and self.locked is not None and not matches(self.locked, self.before)


class Trust(msgspec.Struct, frozen=True):
    """Whose signatures count, and whether there must be one."""

    signer: Signer | None = None
    required: bool = False


class Preparation:
    """Fetches and stages for one command; `work` is its directory in the staging place."""

    def __init__(self, places: Places, fetcher: Fetcher, work: Path, trust: Trust | None = None) -> None:
        self._places = places
        self._fetcher = fetcher
        self._work = work
        self._trust = trust or Trust()
        self._lock: Lock = read_lock(places)
        self._fetches = 0

    async def install(self, source: Source, names: Sequence[str], *, everything: bool) -> list[Prepared]:
        """The skills somebody wants of a source."""
        wanted = Wanted(source=source, skills=tuple(names), everything=everything)
        fetched = await self._fetcher.fetch(wanted, self._new_directory(source))
        within = source.path if isinstance(source, GitSource) else None
        chosen = choose(offered_in(fetched.root, within), names, everything=everything)
        return [self._stage(each, source, fetched) for each in chosen]

    async def update(self, names: Sequence[str]) -> list[Prepared]:
        """The newest versions of locked skills; all of them if none is named."""
        if not self._lock.skills:
            raise NotFound(f"nothing is locked in `{self._places.lock}`", hint="`skills install` installs something")
        missing = next((name for name in names if name not in self._lock.skills), None)
        if missing is not None:
            raise NotFound(f"no skill `{missing}` is in the lock file", hint="`skills verify` shows what is there")
        return [
            each for group in self._groups(names or sorted(self._lock.skills)) for each in await self._newest(*group)
        ]

    async def locked(self, name: str, entry: LockEntry) -> Prepared:
        """Exactly what the lock file says, from the store or from where it came from; anything else is refused."""
        if not entry.computed_hash:
            raise PolicyDenied(
                f"`{name}` is locked without a hash", hint="`skills lock` writes it from what is installed"
            )
        kept = self._kept(name, entry)
        if kept is not None:
            return self._staged(name, kept, kept, entry)
        source = source_of(name, entry, root=self._places.root)
        named = self._is_known(entry)
        wanted = Wanted(source=source, skills=(name,), commit=entry.commit, named_by_user=named)
        fetched = await self._fetcher.fetch(wanted, self._new_directory(source))
        offered = _found(name, entry, fetched)
        prepared = self._staged(name, offered.directory, fetched.root, entry)
        if not matches(entry, prepared.hashed):
            raise PolicyDenied(
                f"the skill `{name}` at its source is not the one that was locked",
                hint=f"`skills update {name}` shows what changed and asks whether to take it",
                details={
                    "code": "SKILL_LOCK_MISMATCH",
                    "locked": entry.computed_hash,
                    "is": prepared.hashed.computed_hash,
                },
            )
        return prepared

    def version(self, name: str, kept: Path, entry: LockEntry) -> Prepared:
        """A version out of the store."""
        return self._staged(name, kept, kept, entry)

    def _groups(self, names: Sequence[str]) -> list[tuple[Source, list[str]]]:
        """Sources with the skills that come from them, so that each is fetched once."""
        groups: dict[Source, list[str]] = {}
        for name in dict.fromkeys(names):
            groups.setdefault(source_of(name, self._lock.skills[name], root=self._places.root), []).append(name)
        return list(groups.items())

    async def _newest(self, source: Source, names: list[str]) -> list[Prepared]:
        named = all(self._is_known(self._lock.skills[name]) for name in names)
        wanted = Wanted(source=source, skills=tuple(names), named_by_user=named)
        fetched = await self._fetcher.fetch(wanted, self._new_directory(source))
        return [self._stage(_found(name, self._lock.skills[name], fetched), source, fetched, name) for name in names]

    def _is_known(self, entry: LockEntry) -> bool:
        """Whether the user agreed to something from the same source before."""
        return any(consent.source == entry.source for consent in consents(self._places.state).values())

    def _kept(self, name: str, entry: LockEntry) -> Path | None:
        place = self._places.skills / usable_directory_name(name)
        if place.is_dir() and not place.is_symlink() and matches(entry, hash_directory(place)):
            return place
        store = VersionStore(self._places.store)
        kept = store.get(entry.digest) if entry.digest else None
        kept = kept or (store.find(entry.computed_hash) if entry.computed_hash else None)
        return kept if kept is not None and matches(entry, hash_directory(kept)) else None

    def _stage(self, offered: Offered, source: Source, fetched: Fetched, name: str | None = None) -> Prepared:
        called = name or offered.name
        entry = entry_for(source, root=self._places.root, skill_path=offered.path)
        locked = self._lock.skills.get(called)
        entry = msgspec.structs.replace(entry, commit=fetched.commit, other=dict(locked.other) if locked else {})
        prepared = self._staged(called, offered.directory, fetched.root, entry)
        hashed = prepared.hashed
        other = _times(self._places, entry.other, fetched.trees.get(offered.path, ""), prepared.becomes)
        url = entry.source_url or (entry.source if self._places.scope == "user" else None)
        final = msgspec.structs.replace(
            entry, source_url=url, computed_hash=hashed.computed_hash, digest=hashed.digest, other=other
        )
        return msgspec.structs.replace(prepared, entry=final)

    def _staged(self, name: str, directory: Path, within: Path, entry: LockEntry) -> Prepared:
        usable_directory_name(name)
        staged = self._work / STAGED / name
        copy_skill(directory, staged, within=within)
        hashed = hash_directory(staged)
        signature = check_signature(staged, self._trust.signer, required=self._trust.required)
        place = self._places.skills / name
        before = hash_directory(place) if place.is_dir() and not place.is_symlink() else None
        return Prepared(
            name=name,
            staged=staged,
            hashed=hashed,
            entry=entry,
            before=before,
            locked=self._lock.skills.get(name),
            screened=screen(staged, hashed, inspect_directory(staged, mode="lenient"), signature),
            changes=differences(place, before, staged, hashed) if before else (),
        )

    def _new_directory(self, source: Source) -> Path:
        """Where a source goes; a skill that is the whole source and has no name gets that of the directory."""
        self._fetches += 1
        above = self._work / f"fetched-{self._fetches}"
        above.mkdir(mode=0o700)
        return above / label_of(source)


def matches(entry: LockEntry, hashed: Hashed) -> bool:
    """Whether a directory is what the lock file says; our digest counts where the lock file has it."""
    digest_holds = entry.digest is None or entry.digest == hashed.digest
    return (
        digest_holds and entry.computed_hash in ("", hashed.computed_hash) and bool(entry.computed_hash or entry.digest)
    )


def _found(name: str, entry: LockEntry, fetched: Fetched) -> Offered:
    """The skill of an entry in its source: at its path, or by its name where it was moved."""
    offers = offered_in(fetched.root)
    path = path_of(entry)
    at_path = [offer for offer in offers if path is not None and offer.path == path and offer.problem is None]
    return at_path[0] if at_path else choose(offers, [name], everything=False)[0]


def _times(places: Places, other: Mapping[str, Any], tree: str, becomes: Becomes) -> dict[str, Any]:
    """The fields that only the lock file of a user has."""
    if places.scope == "project":
        return dict(other)
    moment = now()
    changed = moment if becomes != "same" else other.get("updatedAt", moment)
    return {**other, "skillFolderHash": tree, "installedAt": other.get("installedAt", moment), "updatedAt": changed}
