"""The texts a user writes for the prompt: given as they are, or as the file they are in."""

import os
import stat
from pathlib import Path

from skills_runtime.errors import ConfigError
from skills_runtime.text import one_line

MAX_BYTES = 1 << 20


def text_of(text: str | None, path: Path | None, setting: str) -> str | None:
    """The text, else what is in the file, else nothing."""
    if text is not None or path is None:
        return text
    try:
        data = _read(path)
    except OSError as error:
        raise _unusable(path, setting, (error.strerror or "it cannot be read").lower()) from error
    if len(data) > MAX_BYTES:
        raise _unusable(path, setting, f"it is larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable(path, setting, f"byte {error.start} is not UTF-8") from error


def _read(path: Path) -> bytes:
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file")
        return file.read(MAX_BYTES + 1)


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe in the place of a file must not hold us up before we can see what it is.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _unusable(path: Path, setting: str, why: str) -> ConfigError:
    return ConfigError(f"the file of `{setting}` cannot be used: {one_line(str(path))}: {why}", hint="check the path")
