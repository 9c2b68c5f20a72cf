"""Environments for scripts that need packages (PEP 723): resolved once, locked, cached, created by uv.

Nothing is created before the call is approved; a cached environment is used without network access.
"""

import asyncio
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.skills import (
    InlineMetadata,
    Skill,
    UnusableMetadata,
    failure,
    is_python_allowed,
    parse_inline_metadata,
    read_script,
)
from skills_runtime.storage import remove_tree, stage_directory, try_lock, write_atomic


class EnvironmentNeed(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs that define an environment."""

    metadata: InlineMetadata
    script: bytes
    lock: bytes = b""
    """The lock file of the skill, as `uv lock --script` writes it; without one, versions are resolved once."""
    key: str


def parse_need(script: bytes, lock: bytes = b"", *, name: str = "the script") -> EnvironmentNeed | None:
    """Return the environment that a script needs, or None if it needs no packages."""
    try:
        metadata = parse_inline_metadata(script)
    except UnusableMetadata as error:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"the packages of `{name}` cannot be provided: {error}",
            hint="write `dependencies` as a list of package names with versions",
        ) from error
    if metadata is None:
        return None
    required = metadata.requires_python
    fits = is_python_allowed(required, sys.version_info[:3])
    if fits is None:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"the `requires-python` of `{name}` is not understood: {required[:80]!a}",
            hint="write it as `>=3.11`",
        )
    if not fits:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"`{name}` needs Python {required[:80]}, and this is {platform.python_version()}",
            hint="run skills-runtime with that Python",
        )
    if not metadata.dependencies:
        return None
    return EnvironmentNeed(metadata=metadata, script=script, lock=lock, key=_key(metadata, lock))


@cache
def interpreter() -> Path:
    """Return the Python for environments: the runtime's own, which is visible in the sandbox, too."""
    major, minor = sys.version_info[:2]
    return Path(sys.base_prefix) / "bin" / f"python{major}.{minor}"


def _key(metadata: InlineMetadata, lock: bytes) -> str:
    parts = (
        metadata.requires_python,
        metadata.exclude_newer,
        *sorted(metadata.dependencies),
        hashlib.sha256(lock).hexdigest() if lock else "",
        str(interpreter()),
        platform.python_version(),
        platform.machine(),
        sys.platform,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


WALL_SECONDS = 600.0
LAST_LINES = 8
_PASSED_VARIABLES = frozenset(
    {
        "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "NETRC",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT",
    }
)  # fmt: skip
"""Variables passed to uv besides its own: how to find files and to reach the network."""


def find_uv(variables: Mapping[str, str]) -> str:
    """Find uv: on PATH, beside the interpreter, or in the package `uv`."""
    beside = Path(sys.executable).parent / "uv"
    path = shutil.which("uv", path=variables.get("PATH", "")) or (str(beside) if beside.is_file() else None)
    if path is None:
        try:
            from uv import find_uv_bin

            path = find_uv_bin()
        except (ImportError, FileNotFoundError):
            raise ToolError(
                "not_found",
                "the script needs packages, and `uv`, which provides them, is not installed",
                hint="install it: pip install uv",
                details={"error": {"code": "SKILL_ENVIRONMENT_UNAVAILABLE", "message": "uv is missing", "details": {}}},
            ) from None
    return path


async def call_uv(uv: str, arguments: Sequence[str], cwd: Path, variables: Mapping[str, str]) -> None:
    """Run uv to its end; raise with its last lines if it fails."""
    passed = {name: value for name, value in variables.items() if name in _PASSED_VARIABLES or name.startswith("UV_")}
    environment = {**passed, "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    command = Command((uv, *arguments), cwd, environment)
    finished = await execute(command, Limits(wall_seconds=WALL_SECONDS))
    if finished.ended_by == "timeout":
        raise environment_failed(f"it took longer than {WALL_SECONDS:.0f} seconds")
    if finished.exit_code != 0:
        text = finished.stderr.text() or finished.stdout.text()
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        raise environment_failed("\n".join(lines[-LAST_LINES:]) or "uv said nothing")


def environment_failed(reason: str) -> ToolError:
    """Return the error for an environment that cannot be created."""
    message = f"the packages that the script needs could not be provided: {reason}"
    return ToolError(
        "unknown",
        message,
        hint="check the names and versions in its `dependencies`, and the network",
        details={"error": {"code": "SKILL_ENVIRONMENT_FAILED", "message": message, "details": {}}},
    )


LOCK_FILE = "requirements.txt"
WAIT_SECONDS = 0.05
"""How often a waiting process checks for an environment."""


class ScriptEnvironments:
    """Environments below a directory of the user's cache."""

    def __init__(self, path: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._variables = variables

    def directory(self, need: EnvironmentNeed) -> Path:
        """Return the path of an environment, which may not exist yet."""
        return self._root / need.key

    def python(self, need: EnvironmentNeed) -> Path:
        """Return the interpreter of an environment."""
        return self.directory(need) / "venv" / "bin" / "python"

    def is_ready(self, need: EnvironmentNeed) -> bool:
        """Return whether the environment exists, so that nothing has to be downloaded."""
        return self.directory(need).is_dir()

    async def provide(self, need: EnvironmentNeed) -> None:
        """Create the environment unless it exists."""
        if self.is_ready(need):
            return
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            async with _exclusive_lock(self._root / f"{need.key}.busy"):
                for path in self._root.glob(f".{need.key}.*"):  # of a process that was killed
                    remove_tree(path, ignore_errors=True)
                if not self.is_ready(need):
                    await self._make(need)
        except OSError as error:
            raise environment_failed(f"{error.strerror or error} ({self._root})") from error

    @property
    def _root(self) -> Path:
        if self._path is None:
            environ = self._environ()
            from skills_runtime.config import home

            cache_home = environ.get("XDG_CACHE_HOME", "")
            self._path = (
                (Path(cache_home) if Path(cache_home).is_absolute() else home(environ) / ".cache")
                / "skills_runtime"
                / "environments"
            )
        return self._path

    def _environ(self) -> Mapping[str, str]:
        if self._variables is None:
            from skills_runtime.config import process_environ

            self._variables = process_environ()
        return self._variables

    async def _make(self, need: EnvironmentNeed) -> None:
        uv = find_uv(self._environ())
        # Sandboxed commands may be of another user.
        with stage_directory(self.directory(need), mode=0o755) as staging:
            await self._lock(uv, need, staging)
            await self._install(uv, staging)
            remove_tree(staging / "given", ignore_errors=True)

    async def _lock(self, uv: str, need: EnvironmentNeed, staging: Path) -> None:
        """Write the exact versions with their digests to the environment's lock file."""
        saved_lock, lock, path = self._root / f"{need.key}.{LOCK_FILE}", staging / LOCK_FILE, staging / "given"
        path.mkdir()
        if saved_lock.is_file():
            shutil.copyfile(saved_lock, lock)
            return
        requirements = path / "requirements.in"
        if need.lock:
            (path / "run.py").write_bytes(need.script)
            (path / "run.py.lock").write_bytes(need.lock)
            await self._call(uv, path, "export", "--script", "run.py", "--frozen", "--no-header", "-o", str(lock))
            # Locks of local package directories have no hashes.
            if "--hash=" not in lock.read_text(encoding="utf-8"):
                lock.rename(requirements)
                await self._resolve(uv, need, requirements, lock)
        else:
            requirements.write_text(
                "".join(f"{dependency}\n" for dependency in need.metadata.dependencies), encoding="utf-8"
            )
            await self._resolve(uv, need, requirements, lock)
        write_atomic(saved_lock, lock.read_bytes(), mode=0o644, durable=False)

    async def _resolve(self, uv: str, need: EnvironmentNeed, path: Path, lock: Path) -> None:
        newer = ("--exclude-newer", need.metadata.exclude_newer) if need.metadata.exclude_newer else ()
        options = ("--generate-hashes", "--no-build", "--no-header", "--no-annotate", *newer)
        python = ("--python", str(interpreter()))
        await self._call(uv, path.parent, "pip", "compile", *options, *python, "-o", str(lock), str(path))

    async def _install(self, uv: str, staging: Path) -> None:
        python = staging / "venv" / "bin" / "python"
        python_option = ("--python", str(interpreter()))
        await self._call(uv, staging, "venv", "--no-project", "--relocatable", *python_option, str(staging / "venv"))
        # Copies, not links into uv's own cache: nothing that a script can reach is shared with other programs.
        options = ("--require-hashes", "--no-build", "--link-mode", "copy", "--python", str(python))
        await self._call(uv, staging, "pip", "sync", *options, str(staging / LOCK_FILE))

    async def _call(self, uv: str, cwd: Path, *arguments: str) -> None:
        await call_uv(uv, ("--quiet", *arguments), cwd, self._environ())


@asynccontextmanager
async def _exclusive_lock(path: Path) -> AsyncGenerator[None]:
    """Hold a lock that the system releases if this process dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not try_lock(fd):
            await asyncio.sleep(WAIT_SECONDS)
        yield
    finally:
        os.close(fd)


PYTHONS = ("python", "python3")


def find_need(skill: Skill, argv: tuple[str, ...]) -> EnvironmentNeed | None:
    """Return the needs of the script that a command starts, by Python or as the program itself."""
    program, *arguments = argv
    path = Path(arguments[0] if arguments and program in PYTHONS else program)
    inside = skill.directory is not None and path.is_absolute() and path.is_relative_to(skill.directory)
    if not inside or path.suffix != ".py":
        return None
    lock = read_script(skill, path.with_name(f"{path.name}.lock"))
    return parse_need(read_script(skill, path), lock, name=path.name)


def with_packages(argv: tuple[str, ...], python: Path) -> tuple[str, ...]:
    """Return the command with the interpreter of an environment."""
    return (str(python), *(argv[1:] if argv[0] in PYTHONS else argv))
