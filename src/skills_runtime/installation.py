"""How this copy of the package was installed, and the commands that add what it lacks.

The package is not on an index, so `pip install 'skills-runtime[redis]'` would not work: a command names the source that
this copy was installed from.
"""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from importlib.metadata import Distribution

DISTRIBUTION = "skills-runtime"
_RECEIPTS: Mapping[str, "Installer"] = {"uv-receipt.toml": "uv tool", "pipx_metadata.json": "pipx"}
"""Files by which the programs that manage whole environments recognize their own."""
_NODE = "install Node 20 or newer, then run"

Installer = Literal["pip", "uv", "uv tool", "pipx"]


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the package came from and what put it there."""

    python: str
    installer: Installer = "pip"
    source: str = ""
    """A URL as in a requirement; empty for a package from an index."""
    checkout: Path | None = None
    """The source tree that the package runs from."""
    made_from: Path | None = None
    """The source tree that `make install` installed."""

    def extra_command(self, extra: str) -> str:
        """Return the command that installs an optional part of the package."""
        if self.checkout is not None:
            return shlex.join([self.python, "-m", "pip", "install", "--editable", f"{self.checkout}[{extra}]"])
        return self._install(extra)

    def studio_hint(self) -> str:
        """Return how to get the web app into this installation."""
        if self.checkout is not None:
            return f"`{shlex.join(['make', '-C', str(self.checkout), 'studio'])}` builds and starts it"
        if self.made_from is not None:
            return f"{_NODE} `{shlex.join(['make', '-C', str(self.made_from), 'install'])}`"
        if not self.source or self.source.partition("#")[0].endswith(".whl"):
            return "install a wheel that includes it: `make wheel` in a clone of the repository builds one"
        return f"{_NODE} `{self._install('service', again=True)}`"

    def _install(self, extra: str, *, again: bool = False) -> str:
        requirement = f"{DISTRIBUTION}[{extra}]" + (f" @ {self.source}" if self.source else "")
        match self.installer:
            case "uv tool":
                command = ["uv", "tool", "install", "--reinstall" if again else "--force", requirement]
            case "pipx":
                command = ["pipx", "install", "--force", requirement]
            case "uv":
                options = [f"--reinstall-package={DISTRIBUTION}"] if again else []
                command = ["uv", "pip", "install", "--python", self.python, *options, requirement]
            case "pip":
                options = ["--force-reinstall", "--no-cache-dir"] if again else []
                command = [self.python, "-m", "pip", "install", *options, requirement]
        return shlex.join(command)


def exists(path: Path) -> bool:
    """Return whether a path exists; False where this user may not look."""
    try:
        return path.exists()
    except PermissionError:
        return False


def studio_directory() -> Path:
    """Return the directory of the built web app."""
    return Path(__file__).resolve().parent / "studio_dist"


@cache
def find_installation() -> Installation:
    """Find out how the running copy was installed."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import, and rarely needed

    python, checkout = sys.executable, Path(__file__).resolve().parents[2]
    if exists(checkout / "pyproject.toml") and exists(checkout / "Makefile"):
        return Installation(python, checkout=checkout)
    try:
        package = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return Installation(python)
    return describe_installation(package, python, Path(sys.prefix))


def describe_installation(package: "Distribution", python: str, prefix: Path) -> Installation:
    """Derive an installation from the metadata of its package and the receipts in its environment."""
    source = _source_of(package.read_text("direct_url.json"))
    directory = Path(unquote(urlsplit(source).path)) if source.startswith("file:") else None
    is_made = prefix.parent.name == "environments" and prefix.parent.parent.name == DISTRIBUTION
    installer: Installer = "uv" if (package.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    for name, manager in _RECEIPTS.items():
        if exists(prefix / name):
            installer = manager
    return Installation(python, installer, source, made_from=directory if is_made else None)


def _source_of(recorded: str | None) -> str:
    """Return the URL of PEP 610 as a requirement names it."""
    try:
        record: Any = json.loads(recorded or "{}")
        url = str(record.get("url", ""))
        if vcs := record.get("vcs_info"):
            revision = vcs.get("requested_revision")
            return f"{vcs['vcs']}+{url}" + (f"@{revision}" if revision else "")
    except (ValueError, AttributeError, KeyError):
        return ""
    return url
