"""Calls uv: where it is, what it may see, and what it said when it failed."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from skills_runtime.errors import ToolError
from skills_runtime.processes import Command, Limits, execute

WALL_SECONDS = 600.0
LAST_LINES = 8
_SEEN = frozenset(
    {
        "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "NETRC",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT",
    }
)  # fmt: skip
"""Variables that uv gets besides its own: how to find files and to reach the network."""


def find_uv(variables: Mapping[str, str]) -> str:
    """The program: on PATH, beside the interpreter, or in the package `uv`."""
    beside = Path(sys.executable).parent / "uv"
    found = shutil.which("uv", path=variables.get("PATH", "")) or (str(beside) if beside.is_file() else None)
    if found is None:
        try:
            from uv import find_uv_bin

            found = find_uv_bin()
        except (ImportError, FileNotFoundError):
            raise ToolError(
                "not_found",
                "the script needs packages, and `uv`, which provides them, is not installed",
                hint="install it: pip install uv",
                details={"error": {"code": "SKILL_ENVIRONMENT_UNAVAILABLE", "message": "uv is missing", "details": {}}},
            ) from None
    return found


async def call_uv(uv: str, words: Sequence[str], cwd: Path, variables: Mapping[str, str]) -> None:
    """Run uv to its end; a failure is one sentence with the last that uv said."""
    seen = {name: value for name, value in variables.items() if name in _SEEN or name.startswith("UV_")}
    environment = {**seen, "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    command = Command((uv, *words), cwd, environment)
    finished = await execute(command, Limits(wall_seconds=WALL_SECONDS))
    if finished.ended_by == "timeout":
        raise failed(f"it took longer than {WALL_SECONDS:.0f} seconds")
    if finished.exit_code != 0:
        raise failed(_last(finished.stderr.text() or finished.stdout.text()))


def failed(why: str) -> ToolError:
    """The error of an environment that cannot be made."""
    message = f"the packages that the script needs could not be provided: {why}"
    return ToolError(
        "unknown",
        message,
        hint="check the names and versions in its `dependencies`, and the network",
        details={"error": {"code": "SKILL_ENVIRONMENT_FAILED", "message": message, "details": {}}},
    )


def _last(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-LAST_LINES:]) or "uv said nothing"
