"""Places that programs outside the fence obey, wherever a home directory lies: to write there would be a way out.

Pure.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from skills_runtime.sandbox.protected import READ_ONLY

IS_OBEYED = "programs outside the sandbox obey what is there"

PLACES = (
    ".config/autostart", ".config/autostart-scripts", ".config/systemd", ".config/environment.d", ".config/fish",
    ".config/git", ".config/nvim", ".config/emacs", ".config/Code", ".config/Cursor", ".config/pip", ".config/uv",
    ".config/zsh", ".config/plasma-workspace", ".config/claude", ".config/codex", ".config/gemini", ".config/opencode",
    ".config/aider", ".config/goose", ".config/zed", ".local/bin", ".local/lib", ".local/share/applications",
    ".local/share/systemd", ".local/share/dbus-1", ".local/share/nvim", ".local/share/uv", ".local/share/pipx",
    ".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".rustup", ".pyenv", ".nvm", ".rbenv", ".asdf",
    ".sdkman", ".volta", ".bun/bin", ".deno/bin", ".npm-global", ".oh-my-zsh", ".antigen", ".zsh", ".vim", ".vimrc",
    ".emacs", ".emacs.d", ".tmux.conf", ".screenrc", ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".Xresources",
    ".pam_environment", ".pip", ".pydistutils.cfg", ".condarc", ".irbrc", ".pryrc", ".gdbinit", ".lldbinit", ".curlrc",
    ".wgetrc", ".mailcap", ".pythonrc", ".pythonstartup", ".ipython", ".jupyter", ".direnvrc", ".envrc", ".continue",
    ".windsurf", ".aider.conf.yml", ".opencode", ".crontab", "Library/LaunchAgents", "Library/LaunchDaemons",
    "Library/Application Scripts", "Library/Preferences",
)  # fmt: skip
"""What sessions, shells, editors, agents and package managers of a user run or read when they start."""

_ABOVE = tuple(
    "/".join(place.split("/")[:depth])
    for place in PLACES
    for depth in range(1, place.count("/") + 1)
    if place.startswith(".")
)
_PROGRAMS_OF_A_HOME = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root)/(?:go/|\.[^/]+/(?:.*/)?)?s?bin(?:/.*)?")
"""Where a user keeps programs that are found by their name."""


def is_obeyed(path: Path, *, within: Path | None = None, programs: Iterable[Path] = ()) -> bool:
    """Whether to write there would change what programs do; above a workspace its own place says nothing."""
    inside = path.relative_to(within) if within is not None and path.is_relative_to(within) else path
    if any(part.casefold() in READ_ONLY for part in inside.parts):
        return True
    if any(path.is_relative_to(place) or place.is_relative_to(path) for place in programs):
        return True
    if _PROGRAMS_OF_A_HOME.fullmatch(str(path)) and inside is path:
        return True
    text = f"/{'/'.join(part for part in inside.parts if part != '/')}/"
    return any(f"/{place}/" in text for place in PLACES) or holds(text.rstrip("/"), _ABOVE)


def holds(path: str, endings: Iterable[str]) -> bool:
    """Whether the path is one of these places, whatever lies above it."""
    return any(path.endswith(f"/{ending}") for ending in endings)


def program_directories(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where this user's programs are found by name."""
    return tuple(Path(place) for place in variables.get("PATH", "").split(":") if place.startswith("/"))
