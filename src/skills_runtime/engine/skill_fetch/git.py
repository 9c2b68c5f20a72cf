"""Git repositories, fetched by the `git` program in an environment in which nothing of the repository can act.

No configuration but ours, no hooks, no filters, no submodules, no questions. Only the files of one version are written,
and only after their list has been looked at.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, ToolError, ValidationFailed
from skills_runtime.ports.sandbox import Enclosure, Watch
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.skills.archives import safe_parts
from skills_runtime.skills.install.fetching import Fetched
from skills_runtime.skills.install.sources import GitSource, checked_ref
from skills_runtime.text import one_line

MAX_FILES = 50_000
MAX_BYTES = 512 << 20
MAX_PACK_BYTES = 2 << 30
MAX_DISK_FILES = 200_000
FETCH_SECONDS = 300
_LIST_BYTES = 64 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
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


class _Listed(msgspec.Struct, frozen=True):
    """The list of a version: its files, and the names of its directories."""

    files: tuple[bytes, ...]
    trees: Mapping[str, str]


async def fetch_repository(
    source: GitSource, commit: str | None, into: Path, environment: Mapping[str, str]
) -> Fetched:
    """The files of one version of a repository below a new directory."""
    into.mkdir(mode=0o700)
    git = _Git(into.with_name(f"{into.name}.git"), environment, uses_ssh=not source.url.startswith(("http", "file")))
    await git.call("init", "--quiet", "--bare", "--template=", str(git.directory), inside=False)
    await git.fetch(source, commit)
    version = (await git.call("rev-parse", "--verify", "FETCH_HEAD^{commit}")).decode().strip()
    if commit is not None and version != commit:
        raise ValidationFailed(f"the repository gave version {version} instead of {commit}", hint="try again")
    listed = await git.listed(source.path)
    await git.call("read-tree", version)
    tree = f"--work-tree={into}"
    await git.call(tree, "checkout-index", "--quiet", "--force", "-z", "--stdin", stdin=b"".join(listed.files))
    return Fetched(root=into, commit=version, trees=listed.trees)


class _Git:
    """A bare repository, and the program that works on it."""

    def __init__(self, directory: Path, environment: Mapping[str, str], *, uses_ssh: bool) -> None:
        self.directory = directory
        self._environment = _clean(environment, directory, uses_ssh=uses_ssh)

    async def fetch(self, source: GitSource, commit: str | None) -> None:
        """Bring one version and nothing of its history."""
        wanted = checked_ref(commit or source.ref or "HEAD")
        arguments = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", source.url, wanted)
        finished = await self._run(arguments)
        if finished.ended_by == "resource_limit":
            raise ValidationFailed(
                "the repository is too large to be fetched", hint="fetch it yourself, install its path"
            )
        if finished.exit_code != 0:
            raise _not_fetched(source, wanted, finished)

    async def listed(self, within: str | None) -> _Listed:
        """What is in the version; a list that is too long, or has a name that is not safe, is refused."""
        data = await self.call("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", "FETCH_HEAD")
        root = (await self.call("rev-parse", "--verify", "FETCH_HEAD^{tree}")).decode().strip()
        files: list[bytes] = []
        trees, size = {"": root}, 0
        inside = "/".join(safe_parts(within)) + "/" if within else ""
        for line in data.split(b"\0")[:-1]:
            about, _, name = line.partition(b"\t")
            _, kind, object_id, length = about.split()
            path = os.fsdecode(name)
            if kind == b"tree":
                trees[path] = object_id.decode()
            elif kind == b"blob" and path.startswith(inside):
                files.append(name + b"\0")
                size += int(length)
        if len(files) > MAX_FILES or size > MAX_BYTES:
            raise ValidationFailed(
                f"the repository has {len(files)} files and {size >> 20} MiB, which is too much to look through",
                hint="name the directory of the skill in it, such as `owner/repo/skills/name`",
            )
        if inside and not files:
            raise NotFound(f"there is no directory `{one_line(within or '')}` in the repository", hint="check its path")
        return _Listed(tuple(files), trees)

    async def call(self, *arguments: str, stdin: bytes = b"", inside: bool = True) -> bytes:
        """What git answers; raises when it fails."""
        finished = await self._run(arguments, stdin=stdin, inside=inside)
        if finished.exit_code != 0:
            raise ToolError("unknown", f"git failed: {_said(finished)}", hint="`git --version` must be 2.30 or later")
        if finished.stdout.left_out:
            raise ValidationFailed("the repository has too many files to be listed", hint="use a smaller one")
        return finished.stdout.head + finished.stdout.tail

    async def _run(self, arguments: Sequence[str], *, stdin: bytes = b"", inside: bool = True) -> Finished:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        where = [f"--git-dir={self.directory}"] if inside else []
        command = Command(
            argv=("git", *where, *settings, *arguments),
            cwd=self.directory.parent,
            environment=self._environment,
            stdin=stdin,
            enclosure=_bounded(self.directory.parent),
        )
        return await execute(command, Limits(wall_seconds=FETCH_SECONDS, output_bytes=2 * _LIST_BYTES))


def _bounded(directory: Path) -> Enclosure:
    """Git is ended when it fills a directory with more than anybody needs."""
    return Enclosure(watch=Watch(disk_path=str(directory), disk_bytes=MAX_PACK_BYTES, disk_files=MAX_DISK_FILES))


def _clean(environment: Mapping[str, str], directory: Path, *, uses_ssh: bool) -> dict[str, str]:
    """The whole environment of git: nothing of the user but where programs are and, for ssh, who holds their keys."""
    chosen = {
        "PATH": environment.get("PATH", os.defpath),
        "HOME": str(directory),
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
    if uses_ssh and "SSH_AUTH_SOCK" in environment:
        chosen["SSH_AUTH_SOCK"] = environment["SSH_AUTH_SOCK"]
    return chosen


def _not_fetched(source: GitSource, wanted: str, finished: Finished) -> NotFound | ToolError:
    said = _said(finished)
    where = f"`{one_line(source.url)[:200]}`"
    if finished.ended_by == "timeout":
        return ToolError("timeout", f"{where} did not answer within {FETCH_SECONDS} seconds", hint="try again later")
    if "couldn't find remote ref" in said or "not our ref" in said:
        return NotFound(f"{where} has no version `{one_line(wanted)[:80]}`", hint="check the branch, tag or commit")
    return NotFound(
        f"{where} cannot be fetched: {said}",
        hint="check the address; for a repository that is not public use ssh, since nobody is asked for a password",
    )


def _said(finished: Finished) -> str:
    text = (finished.stderr.head + finished.stderr.tail).decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(" ".join(lines[-2:]))[:300] or f"it ended by {finished.ended_by}"
