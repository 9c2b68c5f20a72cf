"""Read files that settings refer to: those in the workspace without leaving it through links, and never secrets."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from skills_runtime.errors import ConfigError
from skills_runtime.storage import open_root, read_at_most, select_opener
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from skills_runtime.config import PromptSettings, Resolved

MAX_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_workspace_file(root: Path, path: Path, setting: str) -> bytes | None:
    """Read a file of the workspace without following links out of it; return `None` if it lies outside."""
    if not path.is_relative_to(root):
        return None
    try:
        top = open_root(root)
        try:
            file = select_opener()(top, path.relative_to(root).parts, _FLAGS, 0)
        finally:
            os.close(top)
    except FileNotFoundError:
        raise ConfigError(f"`{one_line(str(path))}` does not exist", hint=f"fix `{setting}`") from None
    except OSError as error:
        raise _unusable(path, setting, (error.strerror or "it cannot be read").lower()) from error
    # Loads the sandbox code, and few runs read such files.
    from skills_runtime.sandbox import is_secret

    try:
        if is_secret(Path("/", *file.parts)):
            raise _unusable(path, setting, "it is a file that holds secrets")
        if not stat.S_ISREG(os.fstat(file.fd).st_mode):
            raise _unusable(path, setting, "it is not a regular file")
        data = read_at_most(file.fd, MAX_BYTES + 1)
    finally:
        os.close(file.fd)
    if len(data) > MAX_BYTES:
        raise _unusable(path, setting, f"it is larger than {MAX_BYTES} bytes")
    return data


def with_workspace_texts(resolved: "Resolved", prompt: "PromptSettings") -> "PromptSettings":
    """Return the prompt settings with the texts of files in the workspace filled in."""
    texts: dict[str, str] = {}
    for name in ("system", "developer"):
        path: Path | None = getattr(prompt, f"{name}_path")
        if path is None or getattr(prompt, f"{name}_text") is not None:
            continue
        setting = f"prompt.{name}_path"
        data = read_workspace_file(resolved.workspace_root, path, setting)
        if data is not None:
            try:
                texts[f"{name}_text"] = data.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise _unusable(path, setting, f"byte {error.start} is not UTF-8") from error
    return prompt.model_copy(update=texts) if texts else prompt


def _unusable(path: Path, setting: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the file of `{setting}` cannot be used: {one_line(str(path))}: {reason}", hint="check the path"
    )
