"""Every version that was installed, kept by its digest, so that it can be put back without asking anybody.

The store may be deleted, and whatever is read from it is checked: a version that was changed is no version.
"""

import os
import shutil
import string
from pathlib import Path

from skills_runtime.skills.install.durable import remove_whole, sync_tree, write_whole
from skills_runtime.skills.install.hashing import Hashed, hash_directory

_HEX = frozenset(string.hexdigits.lower())
_DIGEST_LENGTH = 64


class VersionStore:
    """Directories of skills by digest."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, skill: Path, hashed: Hashed) -> None:
        """Keep a version, and remember which public hash it has."""
        place = self._place(hashed.digest)
        if not self._holds(place, hashed.digest):
            remove_whole(place)
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = self._root / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
            try:
                shutil.copytree(skill, draft, symlinks=True)
                sync_tree(draft)
                draft.rename(place)
            except FileExistsError:  # another process kept the same version meanwhile
                remove_whole(draft)
            except OSError:
                remove_whole(draft)
                if not self._holds(place, hashed.digest):
                    raise
        write_whole(self._root / "by-hash" / hashed.computed_hash, hashed.digest.encode(), mode=0o600)

    def get(self, digest: str) -> Path | None:
        """The directory of a version, or nothing where it is not kept or not what it was."""
        if len(digest) != _DIGEST_LENGTH or not _HEX.issuperset(digest):
            return None
        place = self._place(digest)
        return place if self._holds(place, digest) else None

    def find(self, computed_hash: str) -> Path | None:
        """The directory of the version with a public hash."""
        if len(computed_hash) != _DIGEST_LENGTH or not _HEX.issuperset(computed_hash):
            return None
        try:
            digest = (self._root / "by-hash" / computed_hash).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        place = self.get(digest)
        return place if place is not None and hash_directory(place).computed_hash == computed_hash else None

    def _place(self, digest: str) -> Path:
        return self._root / digest

    def _holds(self, place: Path, digest: str) -> bool:
        try:
            return place.is_dir() and not place.is_symlink() and hash_directory(place).digest == digest
        except OSError:
            return False
