"""Prepare skills for installation in the staging directory, without changing installed skills.

Each skill is fetched, copied, hashed, compared with the installed version and scanned for what the user should know.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import NotFound, PolicyDenied
from skills_runtime.skills.install.consents import now, read_consents
from skills_runtime.skills.install.fetch import Fetched, Fetcher, FetchRequest
from skills_runtime.skills.install.hashing import Hashed, HashedEntry, hash_directory
from skills_runtime.skills.install.lockfile import InstallPaths, Lock, LockEntry, matches_lock, read_lock
from skills_runtime.skills.install.selection import (
    Offered,
    check_directory_name,
    copy_skill,
    find_offered,
    select_offered,
)
from skills_runtime.skills.install.signatures import SignatureStatus, Signer, check_signature
from skills_runtime.skills.install.sources import (
    GitSource,
    InstallSource,
    entry_for,
    locked_path,
    locked_source,
    source_label,
)
from skills_runtime.skills.install.transaction import STAGED, VersionStore
from skills_runtime.skills.standard.directories import InspectedSkill, inspect_directory
from skills_runtime.storage import open_directory, read_below
from skills_runtime.text import unified_diff

MAX_DIFF_LINES = 400
"""Number of diff lines shown per file; further lines are only counted."""
_MAX_TEXT = 256 << 10


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that differs from the installed version."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: int | None = None
    """Its size before, if it existed."""
    after: int | None = None
    lines: tuple[str, ...] = ()
    """Unified diff of its text; empty for binary files."""


def compare_files(before: Path, old: Hashed, after: Path, new: Hashed) -> tuple[FileChange, ...]:
    """List each file that differs between two directories, by path."""
    old_entries, new_entries = ({entry.path: entry for entry in hashed.entries} for hashed in (old, new))
    changes: list[FileChange] = []
    for path in sorted(old_entries.keys() | new_entries.keys()):
        old_entry, new_entry = old_entries.get(path), new_entries.get(path)
        if old_entry is None or new_entry is None:
            kind = "added" if old_entry is None else "removed"
            sizes = (old_entry.size if old_entry else None, new_entry.size if new_entry else None)
            changes.append(FileChange(path=path, kind=kind, before=sizes[0], after=sizes[1]))
        elif (old_entry.content, old_entry.kind) != (new_entry.content, new_entry.kind):
            texts = _text_lines(before, old_entry), _text_lines(after, new_entry)
            lines: list[str] = []
            if texts[0] is not None and texts[1] is not None:
                lines = list(unified_diff(texts[0], texts[1], (f"before/{path}", f"after/{path}"), end=""))
            if len(lines) > MAX_DIFF_LINES:
                lines = [*lines[:MAX_DIFF_LINES], f"… {len(lines) - MAX_DIFF_LINES} more lines"]
            changes.append(
                FileChange(path=path, kind="changed", before=old_entry.size, after=new_entry.size, lines=tuple(lines))
            )
    return tuple(changes)


def _text_lines(root: Path, entry: HashedEntry) -> list[str] | None:
    """Read the lines of a file; return None if it is binary or too long."""
    if entry.kind != "file" or entry.size > _MAX_TEXT:
        return None
    with open_directory(root.resolve()) as top:
        data = read_below(top, entry.path.split("/"), limit=_MAX_TEXT)
    try:
        return data.decode().splitlines() if b"\0" not in data else None
    except UnicodeDecodeError:
        return None


_PROGRAMS = (
    ".py", ".pyc", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua", ".go", ".rs",
    ".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".jar", ".wasm", ".applescript",
)  # fmt: skip


class Screened(msgspec.Struct, frozen=True, kw_only=True):
    """What the user is shown about a skill before installing it."""

    description: str
    scripts: tuple[str, ...]
    """Executable files."""
    allowed_tools: tuple[str, ...]
    runs: str | None
    """The runtime of its action, if it has one."""
    notes: tuple[str, ...]
    """Warnings about its `SKILL.md`, and files that the scan skipped."""
    signature: SignatureStatus
    verdict: Literal["clean", "suspicious", "malicious"]
    """Verdict of the security scan."""
    findings: tuple[str, ...] = ()


def screen(directory: Path, hashed: Hashed, inspected: InspectedSkill, signature: SignatureStatus) -> Screened:
    """Scan a skill that is about to be installed."""
    # A large table of rules, needed only here.
    from skills_runtime.skills.scan import scan_directory

    skill, run = inspected.skill, inspected.run
    report = scan_directory(directory)
    warnings = [diagnostic.message for diagnostic in inspected.diagnostics if diagnostic.severity == "warning"]
    unscanned = [f"`{file.file}` was not scanned: {file.reason}" for file in report.skipped]
    findings: list[str] = []
    for finding in report.findings:
        location = f"{finding.file}:{finding.line}" if finding.line else finding.file
        findings.append(f"{finding.severity} {location} {finding.title}: {finding.excerpt} [{finding.code}]")
    return Screened(
        description=skill.description if skill else run.description if run and run.description else "",
        scripts=tuple(_find_scripts(directory, hashed)),
        allowed_tools=skill.allowed_tools if skill else (),
        runs=run.runtime if run else None,
        notes=(*warnings, *unscanned),
        signature=signature,
        verdict=report.verdict,
        findings=tuple(findings),
    )


def refuse_malicious(name: str, screened: Screened) -> None:
    """Raise `PolicyDenied` if the scan's verdict is `malicious`."""
    if screened.verdict == "malicious":
        detail = f": {screened.findings[0]}" if screened.findings else ""
        raise PolicyDenied(
            f"the security scan rates the skill `{name}` as malicious{detail}",
            hint="inspect its files; use `--accept-risk` to install it anyway",
            details={"code": "SKILL_INSTALL_MALICIOUS", "findings": list(screened.findings)},
        )


def _find_scripts(directory: Path, hashed: Hashed) -> list[str]:
    scripts: list[str] = []
    with open_directory(directory.resolve()) as top:
        for entry in hashed.entries:
            is_script = entry.path.startswith("scripts/") or entry.path.lower().endswith(_PROGRAMS) or entry.executable
            if is_script or (entry.kind == "file" and read_below(top, entry.path.split("/"), limit=2) == b"#!"):
                scripts.append(entry.path)
    return sorted(scripts)


Becomes = Literal["new", "changed", "same"]


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that is staged and ready to be installed."""

    name: str
    staged: Path
    hashed: Hashed
    entry: LockEntry
    before: Hashed | None
    """Hashes of the currently installed version."""
    locked: LockEntry | None
    """The current lock entry."""
    screened: Screened
    changes: tuple[FileChange, ...]

    @property
    def becomes(self) -> Becomes:
        """Whether installing it adds, changes or keeps the installed skill."""
        if self.before is None:
            return "new"
        return "same" if self.before.digest == self.hashed.digest else "changed"

    @property
    def edited(self) -> bool:
        """Whether the installed skill was edited since it was locked."""
        return self.before is not None and self.locked is not None and not matches_lock(self.locked, self.before)


class SignaturePolicy(msgspec.Struct, frozen=True):
    """The trusted signer, and whether a signature is required."""

    signer: Signer | None = None
    required: bool = False


class Preparation:
    """Fetches and stages skills for one command in its working directory `work`."""

    def __init__(self, paths: InstallPaths, fetcher: Fetcher, work: Path, trust: SignaturePolicy | None = None) -> None:
        self._paths = paths
        self._fetcher = fetcher
        self._work = work
        self._trust = trust or SignaturePolicy()
        self._lock: Lock = read_lock(paths)
        self._fetches = 0

    async def install(
        self, source: InstallSource, names: Sequence[str], *, everything: bool, named_by_user: bool = True
    ) -> list[Prepared]:
        """Fetch and stage the named skills of a source."""
        request = FetchRequest(source=source, skills=tuple(names), everything=everything, named_by_user=named_by_user)
        fetched = await self._fetcher.fetch(request, self._new_directory(source))
        within = source.path if isinstance(source, GitSource) else None
        chosen = select_offered(find_offered(fetched.root, within), names, everything=everything)
        return [self._stage_offer(offer, source, fetched) for offer in chosen]

    async def update(self, names: Sequence[str]) -> list[Prepared]:
        """Fetch and stage the newest versions of locked skills; all of them if `names` is empty."""
        if not self._lock.skills:
            raise NotFound(f"nothing is locked in `{self._paths.lock}`", hint="`skills install` installs something")
        missing = next((name for name in names if name not in self._lock.skills), None)
        if missing is not None:
            raise NotFound(f"no skill `{missing}` is in the lock file", hint="`skills verify` shows what is there")
        groups: dict[InstallSource, list[str]] = {}  # so that each source is fetched once
        for name in dict.fromkeys(names or sorted(self._lock.skills)):
            source = locked_source(name, self._lock.skills[name], root=self._paths.root)
            groups.setdefault(source, []).append(name)
        prepared: list[Prepared] = []
        for source, members in groups.items():
            named_by_user = all(self._has_consent_for_source(self._lock.skills[name]) for name in members)
            request = FetchRequest(source=source, skills=tuple(members), named_by_user=named_by_user)
            fetched = await self._fetcher.fetch(request, self._new_directory(source))
            prepared += [
                self._stage_offer(_find_locked(name, self._lock.skills[name], fetched), source, fetched, name)
                for name in members
            ]
        return prepared

    async def locked(self, name: str, entry: LockEntry) -> Prepared:
        """Stage exactly the locked version, from the store or its source; raise if the content differs."""
        if not entry.computed_hash:
            raise PolicyDenied(
                f"`{name}` is locked without a hash", hint="`skills lock` writes it from what is installed"
            )
        stored = self._find_stored(name, entry)
        if stored is not None:
            return self._stage_directory(name, stored, stored, entry)
        source = locked_source(name, entry, root=self._paths.root)
        named_by_user = self._has_consent_for_source(entry)
        request = FetchRequest(source=source, skills=(name,), commit=entry.commit, named_by_user=named_by_user)
        fetched = await self._fetcher.fetch(request, self._new_directory(source))
        offer = _find_locked(name, entry, fetched)
        prepared = self._stage_directory(name, offer.directory, fetched.root, entry)
        if not matches_lock(entry, prepared.hashed):
            raise PolicyDenied(
                f"the source of the skill `{name}` no longer has the locked content",
                hint=f"run `skills update {name}` to see the changes and accept them",
                details={
                    "code": "SKILL_LOCK_MISMATCH",
                    "locked": entry.computed_hash,
                    "is": prepared.hashed.computed_hash,
                },
            )
        return prepared

    def version(self, name: str, stored: Path, entry: LockEntry) -> Prepared:
        """Stage a version from the store."""
        return self._stage_directory(name, stored, stored, entry)

    def _has_consent_for_source(self, entry: LockEntry) -> bool:
        """Return whether the user consented to any skill of the same source before."""
        return any(consent.source == entry.source for consent in read_consents(self._paths.state).values())

    def _find_stored(self, name: str, entry: LockEntry) -> Path | None:
        directory = self._paths.skills / check_directory_name(name)
        if directory.is_dir() and not directory.is_symlink() and matches_lock(entry, hash_directory(directory)):
            return directory
        store = VersionStore(self._paths.store)
        stored = store.get(entry.digest) if entry.digest else None
        stored = stored or (store.find(entry.computed_hash) if entry.computed_hash else None)
        return stored if stored is not None and matches_lock(entry, hash_directory(stored)) else None

    def _stage_offer(
        self, offer: Offered, source: InstallSource, fetched: Fetched, name: str | None = None
    ) -> Prepared:
        skill_name = name or offer.name
        entry = entry_for(source, root=self._paths.root, skill_path=offer.path)
        locked = self._lock.skills.get(skill_name)
        entry = msgspec.structs.replace(entry, commit=fetched.commit, other=dict(locked.other) if locked else {})
        prepared = self._stage_directory(skill_name, offer.directory, fetched.root, entry)
        hashed = prepared.hashed
        other, url = dict(entry.other), entry.source_url
        # The lock file of a user has more fields than that of a project.
        if self._paths.scope == "user":
            moment = now()
            other["skillFolderHash"] = fetched.trees.get(offer.path, "")
            other.setdefault("installedAt", moment)
            other["updatedAt"] = other.get("updatedAt", moment) if prepared.becomes == "same" else moment
            url = url or entry.source
        final = msgspec.structs.replace(
            entry, source_url=url, computed_hash=hashed.computed_hash, digest=hashed.digest, other=other
        )
        return msgspec.structs.replace(prepared, entry=final)

    def _stage_directory(self, name: str, directory: Path, within: Path, entry: LockEntry) -> Prepared:
        check_directory_name(name)
        staged = self._work / STAGED / name
        copy_skill(directory, staged, within=within)
        hashed = hash_directory(staged)
        signature = check_signature(staged, self._trust.signer, required=self._trust.required)
        installed = self._paths.skills / name
        before = hash_directory(installed) if installed.is_dir() and not installed.is_symlink() else None
        return Prepared(
            name=name,
            staged=staged,
            hashed=hashed,
            entry=entry,
            before=before,
            locked=self._lock.skills.get(name),
            screened=screen(staged, hashed, inspect_directory(staged, mode="lenient"), signature),
            changes=compare_files(installed, before, staged, hashed) if before else (),
        )

    def _new_directory(self, source: InstallSource) -> Path:
        """Create a directory to fetch into; its name is the fallback name of a skill that is the whole source."""
        self._fetches += 1
        parent = self._work / f"fetched-{self._fetches}"
        parent.mkdir(mode=0o700)
        return parent / source_label(source)


def _find_locked(name: str, entry: LockEntry, fetched: Fetched) -> Offered:
    """Find the skill of a lock entry in its source, by path, or by name if it was moved."""
    offers = find_offered(fetched.root)
    path = locked_path(entry)
    at_path = [offer for offer in offers if path is not None and offer.path == path and offer.problem is None]
    return at_path[0] if at_path else select_offered(offers, [name], everything=False)[0]


async def locked_skills(paths: InstallPaths, preparation: Preparation) -> list[Prepared]:
    """Stage every locked skill at its locked version; fail if any of them is unavailable."""
    lock = read_lock(paths)
    if not lock.skills:
        raise NotFound(
            f"there is nothing locked in `{paths.lock}`", hint="install something first, or write `skills lock`"
        )
    return [await preparation.locked(name, entry) for name, entry in sorted(lock.skills.items())]
