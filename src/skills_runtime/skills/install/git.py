"""Fetch one commit of a git repository, without its history and without running any of its code.

Git runs with our configuration only and in a clean environment. The caller passes a callable that starts the process,
since this package knows nothing of processes.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, ToolError, ValidationFailed
from skills_runtime.skills.archives import split_safe_path
from skills_runtime.skills.install.sources import GitSource, checked_ref
from skills_runtime.text import one_line

MAX_REPOSITORY_FILES = 50_000
MAX_REPOSITORY_BYTES = 512 << 20
MAX_PACK_BYTES = 2 << 30
MAX_PACK_FILES = 200_000
"""Disk limits of a fetch; enforced by the caller that starts git."""
FETCH_SECONDS = 300
MAX_OUTPUT_BYTES = 128 << 20
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=true",
    "core.autocrlf=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "transfer.bundleURI=false",
    "http.followRedirects=initial",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_SSH = "ssh -oBatchMode=yes -oForwardAgent=no -oClearAllForwardings=yes -oPermitLocalCommand=no"


class GitCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One git command; the caller stops it after `FETCH_SECONDS` or at the disk limits."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment of the process."""
    stdin: bytes = b""


class GitResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a git command."""

    exit_code: int | None
    ended_by: str
    """`exit`, `timeout`, `resource_limit` or another reason."""
    stdout: bytes
    stderr: bytes
    is_cut: bool = False
    """Whether standard output was truncated."""

    @property
    def last_words(self) -> str:
        """The last two lines of standard error, or the reason why git ended."""
        lines = [line for line in self.stderr.decode(errors="replace").splitlines() if line.strip()]
        return one_line(" ".join(lines[-2:]))[:300] or f"it ended by {self.ended_by}"


RunGit = Callable[[GitCommand], Awaitable[GitResult]]


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """The checked-out files of one commit."""

    commit: str
    trees: Mapping[str, str]
    """Git tree ids by directory path."""


async def fetch_repository(
    source: GitSource,
    commit: str | None,
    into: Path,
    environment: Mapping[str, str],
    run: RunGit,
    *,
    settings: Sequence[str] = (),
) -> Checkout:
    """Write the files of one commit into a new directory; `settings` are added to our git configuration."""
    into.mkdir(mode=0o700)
    git = _Git(
        into.with_name(f"{into.name}.git"), _clean_environment(source, into, environment), run, (*_SETTINGS, *settings)
    )
    await git.call("init", "--quiet", "--bare", "--template=", str(git.directory), inside=False)
    await git.fetch(source, commit)
    version = (await git.call("rev-parse", "--verify", "FETCH_HEAD^{commit}")).decode().strip()
    if commit is not None and version != commit:
        raise ValidationFailed(f"the repository gave version {version} instead of {commit}", hint="try again")
    files, trees = await git.list_files(source.path)
    await git.call("read-tree", version)
    tree = f"--work-tree={into}"
    await git.call(tree, "checkout-index", "--quiet", "--force", "-z", "--stdin", stdin=b"".join(files))
    return Checkout(commit=version, trees=trees)


class _Git:
    """A bare repository and the commands that run on it."""

    def __init__(self, directory: Path, environment: Mapping[str, str], run: RunGit, settings: Sequence[str]) -> None:
        self.directory = directory
        self._settings = settings
        self._environment = environment
        self._run_git = run

    async def fetch(self, source: GitSource, commit: str | None) -> None:
        """Fetch one commit without its history."""
        ref = checked_ref(commit or source.ref or "HEAD")
        arguments = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", source.url, ref)
        result = await self._run(arguments)
        repository = f"`{one_line(source.url)[:200]}`"
        if result.ended_by == "resource_limit":
            raise ValidationFailed(
                "the repository is too large to be fetched", hint="fetch it yourself, install its path"
            )
        if result.exit_code == 0:
            return
        if result.ended_by == "timeout":
            raise ToolError(
                "timeout", f"{repository} did not answer within {FETCH_SECONDS} seconds", hint="try again later"
            )
        reason = result.last_words
        if "couldn't find remote ref" in reason or "not our ref" in reason:
            raise NotFound(
                f"{repository} has no version `{one_line(ref)[:80]}`", hint="check the branch, tag or commit"
            )
        raise NotFound(
            f"{repository} cannot be fetched: {reason}",
            hint="check the address; use ssh for a private repository, since git cannot ask for a password",
        )

    async def list_files(self, within: str | None) -> tuple[list[bytes], dict[str, str]]:
        """List the files to write, each NUL-terminated, and the git tree ids by directory path."""
        data = await self.call("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", "FETCH_HEAD")
        root = (await self.call("rev-parse", "--verify", "FETCH_HEAD^{tree}")).decode().strip()
        files: list[bytes] = []
        trees, size = {"": root}, 0
        inside = "/".join(split_safe_path(within)) + "/" if within else ""
        for line in data.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            _, kind, object_id, length = about.split()
            path = os.fsdecode(name)
            if kind == b"tree":
                trees[path] = object_id.decode()
            elif kind == b"blob" and path.startswith(inside):
                files.append(name + b"\0")
                size += int(length)
        if len(files) > MAX_REPOSITORY_FILES or size > MAX_REPOSITORY_BYTES:
            raise ValidationFailed(
                f"the repository has {len(files)} files and {size >> 20} MiB, which is too large to search",
                hint="name the directory of the skill in it, such as `owner/repo/skills/name`",
            )
        if inside and not files:
            raise NotFound(f"there is no directory `{one_line(within or '')}` in the repository", hint="check its path")
        return files, trees

    async def call(self, *arguments: str, stdin: bytes = b"", inside: bool = True) -> bytes:
        """Run git and return its standard output; raise if it fails."""
        result = await self._run(arguments, stdin=stdin, inside=inside)
        if result.exit_code != 0:
            raise ToolError("unknown", f"git failed: {result.last_words}", hint="`git --version` must be 2.30 or later")
        if result.is_cut:
            raise ValidationFailed("the repository has too many files to be listed", hint="use a smaller one")
        return result.stdout

    async def _run(self, arguments: Sequence[str], *, stdin: bytes = b"", inside: bool = True) -> GitResult:
        settings = [argument for setting in self._settings for argument in ("-c", setting)]
        git_dir = [f"--git-dir={self.directory}"] if inside else []
        argv = ("git", *git_dir, *settings, *arguments)
        command = GitCommand(argv=argv, cwd=self.directory.parent, environment=self._environment, stdin=stdin)
        return await self._run_git(command)


def _clean_environment(source: GitSource, into: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of git: only `PATH` and, for ssh, the agent's socket come from the user."""
    chosen = {
        "PATH": environment.get("PATH", os.defpath),
        "HOME": f"{into}.git",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_SSH_COMMAND": _SSH,
        "GIT_CEILING_DIRECTORIES": "/",
    }
    if not source.url.startswith(("http", "file")) and "SSH_AUTH_SOCK" in environment:
        chosen["SSH_AUTH_SOCK"] = environment["SSH_AUTH_SOCK"]
    return chosen
