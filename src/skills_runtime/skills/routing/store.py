"""Keeps the terms of skills in files, one for each set of skills; such a file may be lost or deleted at any time.

Whatever is wrong with a file, or with the disk, the answer is to read the skills again.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from skills_runtime.skills.routing.documents import Document
from skills_runtime.skills.routing.kept import unpacked
from skills_runtime.skills.skill import Skill

MAX_BYTES = 256 << 20
MAX_FILES = 32
"""How many sets of skills are remembered; those that were not written for the longest time are forgotten."""
_SUFFIX = ".terms"


def file_for(directory: Path, skills: Sequence[Skill]) -> Path:
    """The file of a set of skills, which is the same when one of them changes."""
    names = "\n".join(sorted(f"{skill.mention.text} {skill.locator}" for skill in skills))
    return directory / (hashlib.sha256(names.encode(errors="surrogatepass")).hexdigest()[:32] + _SUFFIX)


def load(file: Path) -> Mapping[str, Document]:
    """What the file holds; nothing where there is none that can be read."""
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
                return {}
            return unpacked(opened.read())
    except OSError:
        return {}


def save(file: Path, data: bytes) -> None:
    """Put the file in place as a whole; a disk that does not let us keeps nothing."""
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=file.parent)  # for its owner alone
        try:
            with open(descriptor, "wb") as opened:
                opened.write(data)
            Path(draft).replace(file)
        except OSError:
            Path(draft).unlink()
            return
        _forget_the_oldest(file.parent)


def _forget_the_oldest(directory: Path) -> None:
    files = sorted(directory.glob(f"*{_SUFFIX}"), key=lambda one: -one.stat().st_mtime_ns)
    for one in files[MAX_FILES:]:
        one.unlink(missing_ok=True)


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe in the place of a file must not hold us up before we can see what it is.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
