"""Operations on skills: install, update, roll back, remove, lock, verify, write, describe and edit.

An installation is prepared first: fetched, compared, scanned. `PreparedSkills` are installed after the user agreed.
`SkillOperations` needs no ledger: a command can use it alone; `RunService.skills` is the same for a service.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from skills_runtime.config import process_environ
from skills_runtime.engine.run_requests import find_skill
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import AccessRefused, NotFound, RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.ports import SandboxSetup, Watch
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox.egress import find_reach, parse_address
from skills_runtime.skills import (
    InspectedSkill,
    Library,
    Runtime,
    Skill,
    TrustStore,
    find_bundled_skills,
    inspect_directory,
    load_library,
    parse_skill,
    render_files,
    resolve_discovery_paths,
    state_of,
    to_jsonable,
    write_files,
)
from skills_runtime.skills.install import (
    FETCH_SECONDS,
    MAX_OUTPUT_BYTES,
    MAX_PACK_BYTES,
    MAX_PACK_FILES,
    ArchiveSource,
    GitCommand,
    GitResult,
    GitSource,
    Installed,
    InstallPaths,
    InstallSource,
    LocalFetcher,
    LocalSource,
    LockEntry,
    Preparation,
    Prepared,
    Reach,
    SignaturePolicy,
    SkillFetcher,
    find_previous_version,
    finish_interrupted,
    install_prepared,
    locked_skills,
    open_work_directory,
    parse_source,
    project_places,
    read_consents,
    refuse_malicious,
    remove_skills,
    roll_back,
    user_places,
    verify_installed,
    write_lock_from_installed,
)
from skills_runtime.skills.scan import scan_directory
from skills_runtime.storage import open_directory, read_below, stage_directory, walk, write_atomic

Scope = Literal["project", "user"]
FILE = "SKILL.md"
INPUT_SCHEMA = "input.schema.json"
"""Beside `skill.yaml`: the JSON schema of the skill's input."""
MAX_FILES = 500
MAX_TEXT = 1 << 20
_SKIPPED = (".git", "node_modules", "__pycache__")
_MAX_READ = 16 << 20
_EDIT_LOCK = threading.Lock()
Prepare = Callable[[Preparation], Awaitable[Sequence[Prepared]]]


class InstallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where skills are installed, whose signatures count, and which private hosts are allowed."""

    scope: Scope = "project"
    trust: SignaturePolicy = SignaturePolicy()
    allowed_hosts: tuple[str, ...] = ()
    public_only: bool = False
    """Whether only `allowed_hosts` allows a private host, and not naming it in the source."""


class AgreedSkills(msgspec.Struct, frozen=True, kw_only=True):
    """The skills a client wants from a source, and the digests of those it has reviewed, by name."""

    source: str
    skills: tuple[str, ...] = ()
    everything: bool = False
    ref: str | None = None
    digests: Mapping[str, str] = {}
    """Empty to preview what would be installed."""


class PreparedSkills:
    """Fetched and scanned skills; nothing is changed before `install`."""

    def __init__(self, paths: InstallPaths, skills: Sequence[Prepared], install: Callable[[bool], None]) -> None:
        self.paths = paths
        self.skills = list(skills)
        self._install = install

    @property
    def unapproved(self) -> list[Prepared]:
        """Return those with changes that the user has not approved before."""
        agreed = read_consents(self.paths.state)
        return [skill for skill in self.skills if skill.becomes != "same" or skill.hashed.digest not in agreed]

    @property
    def overwriting(self) -> list[Prepared]:
        """Return those that would replace a skill written or changed here."""
        return [skill for skill in self.skills if skill.becomes == "changed" and (skill.locked is None or skill.edited)]

    def refuse_malicious(self) -> None:
        """Raise if the security scan rates a skill as malicious."""
        for skill in self.skills:
            refuse_malicious(skill.name, skill.screened)

    def install(self, *, accepted_risk: bool = False) -> list[Prepared]:
        """Install all of them, or none, after the user agreed; return those that are new or changed."""
        self._install(accepted_risk)
        return [skill for skill in self.skills if skill.becomes != "same"]


class SkillDraft(NamedTuple):
    """A skill as typed by the user."""

    name: str
    description: str
    body: str = ""
    title: str = ""
    runtime: Runtime | None = None
    """The language of its program, which starts from a template."""

    def files(self) -> dict[str, str]:
        """Return its files by their paths."""
        if self.runtime is None:
            return {FILE: self.text()}
        files = render_files(self.name, self.description, self.runtime)
        return {**files, FILE: self.text()} if self.body.strip() else files

    def text(self) -> str:
        """Return the whole `SKILL.md`; JSON quoting is valid YAML."""
        description = msgspec.json.encode(self.description).decode()
        heading = f"# {self.title.strip() or self.name}\n\n"
        return f"---\nname: {self.name}\ndescription: {description}\n---\n\n{heading}{self.body.rstrip()}\n"


class SkillOperations:
    """All operations on the skills of a workspace, and on those its user has installed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def install_paths(self, scope: Scope = "project") -> InstallPaths:
        """Return the paths of installed skills, their lock file and their state."""
        if scope == "user":
            return user_places()
        root = self._workspace.workspace_root
        if not root.is_dir():
            raise ValidationFailed(f"there is no directory `{root}`", hint="name the directory of the project")
        return project_places(root)

    def prepare_install(
        self, source: InstallSource, skills: Sequence[str], options: InstallOptions, *, everything: bool = False
    ) -> AbstractContextManager[PreparedSkills]:
        """Prepare skills of a source."""
        return self._prepare(
            options,
            lambda work: work.install(source, skills, everything=everything, named_by_user=not options.public_only),
        )

    def prepare_locked(self, options: InstallOptions) -> AbstractContextManager[PreparedSkills]:
        """Prepare exactly what the lock file says."""
        paths = self.install_paths(options.scope)
        return self._prepare(options, lambda work: locked_skills(paths, work))

    def prepare_update(self, names: Sequence[str], options: InstallOptions) -> AbstractContextManager[PreparedSkills]:
        """Prepare the newest versions of locked skills; all if none is named."""
        return self._prepare(options, lambda work: work.update(names))

    @contextmanager
    def prepare_rollback(self, name: str, scope: Scope = "project") -> Generator[PreparedSkills]:
        """Prepare the previous version of a skill."""
        paths = self.install_paths(scope)
        version, path = find_previous_version(paths, name)
        with open_work_directory(paths) as work:
            entry = version.entry or LockEntry(source="what was here before", source_type="local")
            prepared = Preparation(paths, LocalFetcher(), work).version(name, path, entry)
            yield PreparedSkills(paths, [prepared], lambda _: roll_back(paths, work, prepared, version))

    @contextmanager
    def _prepare(self, options: InstallOptions, prepare: Prepare) -> Generator[PreparedSkills]:
        paths = self.install_paths(options.scope)
        fetcher = build_fetcher(process_environ(), allowed_hosts=options.allowed_hosts)
        finish_interrupted(paths)
        with open_work_directory(paths) as work:

            async def fetch() -> Sequence[Prepared]:
                return await prepare(Preparation(paths, fetcher, work, options.trust))

            prepared = asyncio.run(fetch())
            yield PreparedSkills(
                paths, prepared, lambda risk: install_prepared(paths, work, prepared, accepted_risk=risk)
            )

    def install_agreed(self, skills: AgreedSkills) -> dict[str, Any]:
        """Return what would be installed; with matching digests, install it, all or none."""
        root = self._workspace.workspace_root
        source = parse_source(skills.source, here=root, ref=skills.ref)
        _refuse_outside(source, root)
        options = InstallOptions(public_only=True)
        with self.prepare_install(source, skills.skills, options, everything=skills.everything) as prepared:
            preview = [
                {
                    "name": skill.name,
                    "digest": skill.hashed.digest,
                    "size": skill.hashed.size,
                    "becomes": skill.becomes,
                    **msgspec.to_builtins(skill.screened),
                }
                for skill in prepared.skills
            ]
            if not skills.digests:
                return {"installed": False, "skills": preview}
            if {skill.name: skill.hashed.digest for skill in prepared.skills} != dict(skills.digests):
                raise RequestConflict(
                    "these are not the skills that were agreed to",
                    hint="look at them again",
                    details={"skills": preview},
                )
            prepared.refuse_malicious()
            for overwritten in prepared.overwriting:
                raise RequestConflict(
                    f"the installed skill `{overwritten.name}` was written or changed here, and would be replaced",
                    hint="remove it first, or install from the command line",
                )
            prepared.install()
        return {"installed": True, "skills": preview}

    def remove(self, names: Sequence[str], *, scope: Scope = "project", unlocked_too: bool = False) -> None:
        """Remove installed skills; `prepare_rollback` restores one."""
        remove_skills(self.install_paths(scope), names, unlocked_too=unlocked_too)

    def verify(self, scope: Scope = "project") -> tuple[Installed, ...]:
        """List installed and locked skills, each compared with the lock file."""
        return verify_installed(self.install_paths(scope))

    def lock(self, scope: Scope = "project") -> tuple[Installed, ...]:
        """Write the lock file from the installed skills."""
        return write_lock_from_installed(self.install_paths(scope))

    def find(self, name: str) -> tuple[Library, Skill]:
        """Find a skill of the workspace by mention or name, including those of untrusted projects."""
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValidationFailed("this is not the name of a skill") from None
        library = load_library(self._workspace.settings(), include_untrusted=True)
        return library, find_skill(library, name)

    def describe(self, library: Library, skill: Skill) -> dict[str, Any]:
        """Return everything known about a skill."""
        directory = skill.directory
        inspected = inspect_directory(directory, mode="lenient") if directory is not None else InspectedSkill()
        properties = inspected.skill
        reason = explain_not_editable(skill, self._workspace.workspace_root)
        files = _files(directory) if directory is not None else []
        return {
            "name": skill.name,
            "mention": skill.mention.text,
            "description": skill.description,
            "namespace": skill.namespace,
            "source": skill.source_id,
            "path": skill.locator,
            "directory": str(directory) if directory is not None else None,
            "state": state_of(skill, load_library(self._workspace.settings())),
            "editable": not reason,
            "editable_reason": reason,
            "content_hash": skill.content_hash,
            "text": _text(skill),
            "front_matter": to_jsonable(properties.other) if properties else to_jsonable(skill.metadata),
            "body": inspected.body if inspected.file else library.body(skill) if directory is None else "",
            "allowed_tools": list(properties.allowed_tools) if properties else [],
            "license": properties.license if properties else None,
            "compatibility": properties.compatibility if properties else None,
            "required_env_vars": list(skill.required_env_vars),
            "files": files[:MAX_FILES],
            "files_truncated": len(files) > MAX_FILES,
            "diagnostics": msgspec.to_builtins(inspected.diagnostics),
            "security": msgspec.to_builtins(scan_directory(directory)) if directory is not None else None,
            "run": msgspec.to_builtins(skill.run) if skill.run is not None else None,
            "input_schema": _input_schema(directory) if directory is not None and skill.run is not None else None,
        }

    def create(self, draft: SkillDraft, directory: str | Path | None = None, *, trusted: bool) -> Path:
        """Write a new skill into a directory, by default that of the project's skills; return its file.

        With `trusted` it may be used at once; nothing else in the project becomes trusted.
        """
        file = write_skill(self.install_paths().skills if directory is None else directory, draft)
        if trusted:
            self._trust_store.trust_skill(file.parent)
        return file

    def trust(self, skill: Skill) -> bool:
        """Trust a single skill of the project and return whether that is new."""
        if skill.directory is None:
            raise ValidationFailed(f"`{skill.mention.text}` is no directory, so it cannot be trusted by itself")
        if state_of(skill, load_library(self._workspace.settings())) != "untrusted":
            return False
        return self._trust_store.trust_skill(skill.directory)

    @property
    def _trust_store(self) -> TrustStore:
        environ = self._workspace.settings().environment.process
        return TrustStore(resolve_discovery_paths(self._workspace.workspace_root, environ).state)

    def edit(self, skill: Skill, text: str, *, expected_digest: str) -> None:
        """Replace the text of a skill of this workspace; `expected_digest` is the digest of the replaced text.

        The result must be a valid skill with the same name.
        """
        if reason := explain_not_editable(skill, self._workspace.workspace_root):
            raise AccessRefused(
                f"`{skill.mention.text}` is not changed here: {reason}", hint="make a skill of your own"
            )
        assert skill.path is not None, "an editable skill has a file"
        data = _validate_text(skill, text)
        path = Path(os.path.realpath(skill.path))
        with _EDIT_LOCK:  # of two clients who have seen the same text only one changes it
            if _digest(path) != expected_digest:
                raise RequestConflict(f"`{skill.mention.text}` was changed meanwhile", hint="look at it again")
            try:
                write_atomic(path, data, mode=path.stat().st_mode & 0o777)
            except OSError as error:
                raise StorageFailed(f"the skill could not be written: {error.strerror}") from error

    def read_file(self, skill: Skill, parts: tuple[str, ...]) -> bytes:
        """Read the beginning of a skill's file without following links."""
        if skill.directory is None:
            raise NotFound("the skill has no files")
        try:
            with open_directory(skill.directory) as top:
                return read_below(top, parts, limit=MAX_TEXT)
        except OSError:
            raise NotFound(f"the skill has no file {'/'.join(parts)[:200]!a}") from None

    def is_editable(self, skill: Skill) -> bool:
        """Return whether the text of a skill may be changed here."""
        return not explain_not_editable(skill, self._workspace.workspace_root)


def _refuse_outside(source: InstallSource, root: Path) -> None:
    """Refuse local paths outside the workspace: a client must not read other files of this machine."""
    match source:
        case LocalSource(path=local_path):
            path = Path(local_path)
        case ArchiveSource(location=location) if "://" not in location:
            path = root / location
        case GitSource(url=url) if not url.startswith(("https://", "http://")):
            raise AccessRefused(
                "only public web addresses and what is in the workspace are sources here",
                hint="install it from the command line: `skills install`",
            )
        case _:
            return
    if not path.resolve().is_relative_to(root.resolve()):
        raise AccessRefused("what is outside the workspace is not a source here", hint="copy it into the workspace")


def write_skill(parent: str | Path, draft: SkillDraft) -> Path:
    """Create the directory of a new skill; return its file."""
    try:
        files = draft.files()
        data = files[FILE].encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the skill is not valid text", hint="correct its encoding") from None
    parsed = parse_skill(data, mode="lenient", directory_name=draft.name)
    legal = draft.name.replace("-", "").replace("_", "").isalnum() and draft.name.isascii()
    for diagnostic in parsed.diagnostics:
        if diagnostic.severity == "error":
            raise ValidationFailed(diagnostic.message, hint=diagnostic.hint, field="name")
    if not legal or draft.name != draft.name.lower() or not draft.name[0].isalnum():
        raise ValidationFailed(
            f"{draft.name[:80]!a} cannot be the name of a skill",
            hint="use small letters, digits and hyphens",
            field="name",
        )
    parent, name = Path(parent), draft.name
    path = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with stage_directory(path, mode=0o755) as staged:  # fails where something was put there meanwhile
            if os.path.lexists(path):
                raise RequestConflict(f"there is a skill `{name}` already", hint="choose another name")
            write_files(staged, files)
    except (FileExistsError, NotADirectoryError) as error:
        raise RequestConflict(f"a file is where the skill would go: {error.strerror}") from error
    except OSError as error:
        raise StorageFailed(f"the skill could not be written: {error.strerror}") from error
    return path / FILE


def explain_not_editable(skill: Skill, workspace: Path) -> str:
    """Explain why the text of a skill cannot be changed here, or return an empty text."""
    path = skill.path
    if path is None:
        return "the skill does not come from a file"
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(workspace))
    if real.is_relative_to(Path(os.path.realpath(find_bundled_skills()))):
        return "the skill comes with the runtime; copy it under another name to change it"
    if not real.is_relative_to(root):
        return "the skill is not in this workspace"
    if not os.access(real, os.W_OK):
        return "the file of the skill may not be written"
    return ""


def _validate_text(skill: Skill, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the skill is not valid text", hint="correct its encoding") from None
    parsed = parse_skill(data, mode="lenient", directory_name=skill.directory.name if skill.directory else None)
    errors = [diagnostic for diagnostic in parsed.diagnostics if diagnostic.severity == "error"]
    if errors or parsed.skill is None:
        message = errors[0].message if errors else "this is not the text of a skill"
        raise ValidationFailed(message, details={"diagnostics": msgspec.to_builtins(parsed.diagnostics)})
    if parsed.skill.name != skill.name:
        raise ValidationFailed(f"the skill must keep its name `{skill.name}`", hint="make a new skill instead")
    return data


def _digest(path: Path) -> str:
    """Return the digest of a regular file, or an empty text if it is missing or no skill text."""
    try:
        with open_directory(path.parent) as top:
            return hashlib.sha256(read_below(top, (path.name,), limit=_MAX_READ)).hexdigest()
    except OSError:
        return ""


def _text(skill: Skill) -> str:
    if skill.path is None:
        return ""
    try:
        with open(skill.path, "rb") as file:
            return file.read(MAX_TEXT).decode(errors="replace")
    except OSError:
        return ""


def _input_schema(directory: Path) -> dict[str, Any] | None:
    """Return the input schema of a skill, if it has one that is an object."""
    try:
        with open_directory(Path(os.path.realpath(directory))) as top:
            return msgspec.json.decode(read_below(top, (INPUT_SCHEMA,), limit=MAX_TEXT), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def _files(directory: Path) -> list[dict[str, Any]]:
    """List its files by name without following links, with one extra entry if there are more than shown."""
    with open_directory(directory.resolve()) as top:
        entries = walk(top, enter=lambda entry: entry.name not in _SKIPPED, on_error=lambda _, __: None)
        return [
            {"path": os.fsencode(entry.path).decode(errors="backslashreplace"), "size": entry.status.st_size}
            for entry in islice((item for item in entries if not item.is_directory), MAX_FILES + 1)
        ]


def build_fetcher(environment: Mapping[str, str], *, allowed_hosts: Collection[str] = ()) -> SkillFetcher:
    """Build a fetcher that runs git as a separate process and knows which addresses are public."""
    return SkillFetcher(environment, _run_git, classify_address, allowed_hosts=allowed_hosts)


async def _run_git(command: GitCommand) -> GitResult:
    watch = Watch(disk_path=str(command.cwd), disk_bytes=MAX_PACK_BYTES, disk_files=MAX_PACK_FILES)
    finished = await execute(
        Command(command.argv, command.cwd, command.environment, stdin=command.stdin, setup=SandboxSetup(watch=watch)),
        Limits(wall_seconds=FETCH_SECONDS, output_bytes=MAX_OUTPUT_BYTES),
    )
    return GitResult(
        exit_code=finished.exit_code,
        ended_by=finished.ended_by,
        stdout=finished.stdout.head + finished.stdout.tail,
        stderr=finished.stderr.head + finished.stderr.tail,
        is_cut=finished.stdout.left_out > 0,
    )


def classify_address(address: str) -> Reach:
    """Classify an IP address; one that cannot be parsed is `special`."""
    parsed = parse_address(address)
    return "special" if parsed is None else find_reach(parsed)
