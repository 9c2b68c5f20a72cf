"""The cache of environments: one directory each, complete or not there at all.

An environment is made aside and put in place by one rename; whoever needs the same one meanwhile waits for it. What was
resolved is kept beside it, so that one that is made again has the same packages.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skills_runtime.tools.skill_environments.needs import Need, interpreter
from skills_runtime.tools.skill_environments.uv import call_uv, failed, find_uv

LOCK_FILE = "requirements.txt"
WAIT_SECONDS = 0.05
"""How often somebody who waits for an environment looks again."""


class Environments:
    """Environments below one directory of the user's cache."""

    def __init__(self, place: Path | None = None, variables: Mapping[str, str] | None = None) -> None:
        self._place = place
        self._variables = variables

    def directory(self, need: Need) -> Path:
        """Where the environment is, or will be."""
        return self._root / need.key

    def python(self, need: Need) -> Path:
        """Its interpreter."""
        return self.directory(need) / "venv" / "bin" / "python"

    def is_ready(self, need: Need) -> bool:
        """Whether it is there; then nothing has to be downloaded."""
        return self.directory(need).is_dir()

    async def provide(self, need: Need) -> None:
        """Make the environment unless it is there."""
        if self.is_ready(need):
            return
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            async with _alone(self._root / f"{need.key}.busy"):
                for left in self._root.glob(f".{need.key}.*"):  # of a process that was killed
                    _clear(left)
                if not self.is_ready(need):
                    await self._make(need)
        except OSError as error:
            raise failed(f"{error.strerror or error} ({self._root})") from error

    @property
    def _root(self) -> Path:
        if self._place is None:
            self._place = _cache_home(self._environ()) / "skills_runtime" / "environments"
        return self._place

    def _environ(self) -> Mapping[str, str]:
        if self._variables is None:
            from skills_runtime.config.environment import process_environ

            self._variables = process_environ()
        return self._variables

    async def _make(self, need: Need) -> None:
        uv = find_uv(self._environ())
        aside = Path(tempfile.mkdtemp(prefix=f".{need.key}.", dir=self._root))
        try:
            await self._lock(uv, need, aside)
            await self._install(uv, aside)
            _clear(aside / "given")
            aside.chmod(0o755)  # commands behind the fence may be of another user
            aside.rename(self.directory(need))
        finally:
            _clear(aside)

    async def _lock(self, uv: str, need: Need, aside: Path) -> None:
        """Put the exact versions, with their digests, into the environment's lock file."""
        known, lock, given = self._root / f"{need.key}.{LOCK_FILE}", aside / LOCK_FILE, aside / "given"
        given.mkdir()
        if known.is_file():
            shutil.copyfile(known, lock)
            return
        wanted = given / "requirements.in"
        if need.lock:
            (given / "run.py").write_bytes(need.script)
            (given / "run.py.lock").write_bytes(need.lock)
            await self._call(uv, given, "export", "--script", "run.py", "--frozen", "--no-header", "-o", str(lock))
            if "--hash=" not in lock.read_text(encoding="utf-8"):  # a lock for a directory of packages has none
                lock.rename(wanted)
                await self._resolve(uv, need, wanted, lock)
        else:
            wanted.write_text("".join(f"{one}\n" for one in need.metadata.dependencies), encoding="utf-8")
            await self._resolve(uv, need, wanted, lock)
        kept = aside / "kept"
        shutil.copyfile(lock, kept)
        kept.replace(known)

    async def _resolve(self, uv: str, need: Need, wanted: Path, lock: Path) -> None:
        newer = ("--exclude-newer", need.metadata.exclude_newer) if need.metadata.exclude_newer else ()
        options = ("--generate-hashes", "--no-build", "--no-header", "--no-annotate", *newer)
        python = ("--python", str(interpreter()))
        await self._call(uv, wanted.parent, "pip", "compile", *options, *python, "-o", str(lock), str(wanted))

    async def _install(self, uv: str, aside: Path) -> None:
        python = aside / "venv" / "bin" / "python"
        made_from = ("--python", str(interpreter()))
        await self._call(uv, aside, "venv", "--no-project", "--relocatable", *made_from, str(aside / "venv"))
        # Copies, not links into uv's own cache: nothing that a script can reach is shared with other programs.
        options = ("--require-hashes", "--no-build", "--link-mode", "copy", "--python", str(python))
        await self._call(uv, aside, "pip", "sync", *options, str(aside / LOCK_FILE))

    async def _call(self, uv: str, cwd: Path, *words: str) -> None:
        await call_uv(uv, ("--quiet", *words), cwd, self._environ())


@asynccontextmanager
async def _alone(path: Path) -> AsyncGenerator[None]:
    """Hold a lock that the system takes back when this process dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(WAIT_SECONDS)
        yield
    finally:
        os.close(fd)


def _clear(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _cache_home(environ: Mapping[str, str]) -> Path:
    from skills_runtime.config.environment import home

    named = environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else home(environ) / ".cache"
