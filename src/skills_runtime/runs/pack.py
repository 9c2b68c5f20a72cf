"""One archive file of a run; apart from the rest, because only an export needs these modules."""

import gzip
import os
import tarfile
from pathlib import Path

from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, SUBDIRECTORIES


def pack(root: Path, names: list[str], output: Path, *, prefix: str) -> None:
    """One gzip-ed tar whose bytes depend on the run alone."""
    draft = output.with_name(f".{output.name[:100]}.{os.urandom(4).hex()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        with (
            open(fd, "wb") as file,
            gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w") as tar,
        ):
            for name in SUBDIRECTORIES:  # an empty one belongs to the run as well
                tar.addfile(_member(f"{prefix}/{name}", DIRECTORY_MODE, kind=tarfile.DIRTYPE))
            for name in names:
                member = _member(f"{prefix}/{name}", FILE_MODE, size=(root / name).stat().st_size)
                with (root / name).open("rb") as content:
                    tar.addfile(member, content)
        draft.rename(output)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _member(name: str, mode: int, *, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.size = mode, kind, size
    return member
