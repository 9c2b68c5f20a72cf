"""Makes skills ready to be installed, in the staging place: nothing that is installed changes yet.

Each is fetched, copied, hashed, compared with what is installed, and looked at for what a user should know first.
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
"""How much of a difference is shown; the rest is counted."""
_MAX_TEXT = 256 << 10


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is not what it was."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: int | None = None
    """Its bytes before, if it was there."""
    after: int | None = None
    lines: tuple[str, ...] = ()
    """What changed in its text, as programs write it; none where it is no text."""


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
    """Read the lines of a file, or nothing where it is no text or too long."""
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
    """Everything to be shown of one skill."""

    description: str
    scripts: tuple[str, ...]
    """Files that are programs."""
    allowed_tools: tuple[str, ...]
    runs: str | None
    """The kind of program its action is, if it has one."""
    notes: tuple[str, ...]
    """What is odd about its `SKILL.md`, and what the scan did not read."""
    signature: SignatureStatus
    verdict: Literal["clean", "suspicious", "malicious"]
    """What the security scan comes to."""
    findings: tuple[str, ...] = ()


def screen(directory: Path, hashed: Hashed, inspected: InspectedSkill, signature: SignatureStatus) -> Screened:
    """Look at a skill that is about to be installed."""
    from skills_runtime.skills.scan import scan_directory  # a large table of rules that nothing else here needs

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
    """Stop where the scan found more than a suspicion."""
    if screened.verdict == "malicious":
        detail = f": {screened.findings[0]}" if screened.findings else ""
        raise PolicyDenied(
            f"the security scan takes the skill `{name}` for malicious{detail}",
            hint="look at its files; `--accept-risk` installs it all the same",
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
        return self.before is not None and self.locked is not None and not matches_lock(self.locked, self.before)


class SignaturePolicy(msgspec.Struct, frozen=True):
    """Whose signatures count, and whether there must be one."""

    signer: Signer | None = None
    required: bool = False


class Preparation:
    """Fetches and stages for one command; `work` is its directory in the staging place."""

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
        """The skills somebody wants of a source."""
        request = FetchRequest(source=source, skills=tuple(names), everything=everything, named_by_user=named_by_user)
        fetched = await self._fetcher.fetch(request, self._new_directory(source))
        within = source.path if isinstance(source, GitSource) else None
        chosen = select_offered(find_offered(fetched.root, within), names, everything=everything)
        return [self._stage_offer(offer, source, fetched) for offer in chosen]

    async def update(self, names: Sequence[str]) -> list[Prepared]:
        """The newest versions of locked skills; all of them if none is named."""
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
        """Exactly what the lock file says, from the store or from where it came from; anything else is refused."""
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
                f"the skill `{name}` at its source is not the one that was locked",
                hint=f"`skills update {name}` shows what changed and asks whether to take it",
                details={
                    "code": "SKILL_LOCK_MISMATCH",
                    "locked": entry.computed_hash,
                    "is": prepared.hashed.computed_hash,
                },
            )
        return prepared

    def version(self, name: str, stored: Path, entry: LockEntry) -> Prepared:
        """A version out of the store."""
        return self._stage_directory(name, stored, stored, entry)

    def _has_consent_for_source(self, entry: LockEntry) -> bool:
        """Whether the user agreed to something from the same source before."""
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
        if self._paths.scope == "user":  # the lock file of a user has more fields than that of a project
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
        """Where a source goes; a skill that is the whole source and has no name gets that of the directory."""
        self._fetches += 1
        parent = self._work / f"fetched-{self._fetches}"
        parent.mkdir(mode=0o700)
        return parent / source_label(source)


def _find_locked(name: str, entry: LockEntry, fetched: Fetched) -> Offered:
    """The skill of an entry in its source: at its path, or by its name where it was moved."""
    offers = find_offered(fetched.root)
    path = locked_path(entry)
    at_path = [offer for offer in offers if path is not None and offer.path == path and offer.problem is None]
    return at_path[0] if at_path else select_offered(offers, [name], everything=False)[0]


async def locked_skills(paths: InstallPaths, preparation: Preparation) -> list[Prepared]:
    """Every locked skill, made ready as it was locked; one that cannot be had like that stops all of them."""
    lock = read_lock(paths)
    if not lock.skills:
        raise NotFound(
            f"there is nothing locked in `{paths.lock}`", hint="install something first, or write `skills lock`"
        )
    return [await preparation.locked(name, entry) for name, entry in sorted(lock.skills.items())]
