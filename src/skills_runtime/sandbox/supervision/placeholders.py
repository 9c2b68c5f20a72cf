"""Empty files that stand where nothing may come to be while a command runs, and are gone afterwards.

All names in a directory are links to one file, which costs far less than a file or directory for each. Several commands
may share them: each holds a lock on the file, and the last one removes the names. The sticky bit on an empty file tells
one that a killed supervisor left behind from one that somebody made.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

MODE = 0o1444
DIRECTORY_MODE = 0o1755
KEPT_MODE = 0o755

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)
"""Where this user cannot make anything the command cannot either."""
_NO_LINKS = (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV)
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Named = tuple[int, str]
"""A directory that is open, and a name in it."""


class Placeholders:
    """Those of one command."""

    def __init__(self) -> None:
        self._parents: dict[str, int] = {}
        self._files: dict[int, list[Named]] = {}
        self._directories: dict[int, Named] = {}

    def hold(self, files: Iterable[str], directories: Iterable[str]) -> None:
        """Make each, or share it; what exists otherwise is left alone, unless it is a link."""
        for path in files:
            self._where_permitted(path, self._hold_file)
        for path in directories:
            self._where_permitted(path, self._hold_directory)

    def release(self) -> None:
        """Remove those that nobody else holds and nobody has put anything into; what refuses to go is left."""
        for descriptor, names in self._files.items():
            if _alone(descriptor):
                for named in names:
                    _remove(named, lambda named, held=descriptor: _unlink(named, held))
            os.close(descriptor)
        for descriptor, named in self._directories.items():
            if _alone(descriptor) and not _remove(named, lambda named: os.rmdir(named[1], dir_fd=named[0])):
                with suppress(OSError):  # somebody uses it: then it is theirs
                    os.fchmod(descriptor, KEPT_MODE)
            os.close(descriptor)
        for descriptor in self._parents.values():
            os.close(descriptor)
        self._files, self._directories, self._parents = {}, {}, {}

    def _where_permitted(self, path: str, hold: Callable[[int, str], None]) -> None:
        parent, name = os.path.split(path)
        try:
            hold(self._parent(parent), name)
        except OSError as error:
            if error.errno not in _FORBIDDEN:
                raise

    def _parent(self, path: str) -> int:
        if path not in self._parents:
            descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if os.readlink(f"/proc/self/fd/{descriptor}") != path:  # noqa: PTH115 - nothing more is imported here
                os.close(descriptor)
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            self._parents[path] = descriptor
        return self._parents[path]

    def _hold_file(self, parent: int, name: str) -> None:
        while not (self._link(parent, name) or self._create(parent, name)):
            if not _is_placeholder(parent, name, stat.S_IFREG | MODE) or self._known(parent, name):
                return
            if (descriptor := _share(parent, name, os.O_RDONLY)) is not None:
                self._files[descriptor] = [(parent, name)]
                return

    def _known(self, parent: int, name: str) -> bool:
        """Another name of a file that is held already: a second lock on it would be in the way of the first."""
        for descriptor, names in self._files.items():
            if _is_still(parent, name, descriptor):
                names.append((parent, name))
                return True
        return False

    def _link(self, parent: int, name: str) -> bool:
        """Another name for a file that stands in the same directory already."""
        for names in self._files.values():
            if names[0][0] == parent:
                try:
                    os.link(names[0][1], name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
                except OSError as error:
                    if error.errno in _NO_LINKS:
                        continue
                    if error.errno in (errno.EEXIST, errno.ENOENT):
                        return False
                    raise
                names.append((parent, name))
                return True
        return False

    def _create(self, parent: int, name: str) -> bool:
        mask = os.umask(0)
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CREAT | os.O_EXCL | _OPEN, MODE, dir_fd=parent)
        except FileExistsError:
            return False
        finally:
            os.umask(mask)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        self._files[descriptor] = [(parent, name)]
        return True

    def _hold_directory(self, parent: int, name: str) -> None:
        while True:
            mask = os.umask(0)
            try:
                os.mkdir(name, DIRECTORY_MODE, dir_fd=parent)
            except FileExistsError:
                if not _is_placeholder(parent, name, stat.S_IFDIR | DIRECTORY_MODE):
                    return
            finally:
                os.umask(mask)
            if (descriptor := _share(parent, name, os.O_DIRECTORY)) is not None:
                self._directories[descriptor] = (parent, name)
                return


def _share(parent: int, name: str, flags: int) -> "int | None":
    """A lock on what stands under this name; nothing when its last holder has just removed it."""
    try:
        descriptor = os.open(name, flags | _OPEN, dir_fd=parent)
    except FileNotFoundError:
        return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if _is_still(parent, name, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _is_still(parent: int, name: str, descriptor: int) -> bool:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _alone(descriptor: int) -> bool:
    """Whether nobody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(named: Named, remove: "Callable[[Named], None]") -> bool:
    """Remove a name, if need be from a directory that the command has closed; it is closed again afterwards."""
    try:
        remove(named)
    except PermissionError:
        return _remove_from_closed(named, remove)
    except OSError:  # what cannot be removed now is known by its mode, and the next command removes it
        return False
    return True


def _remove_from_closed(named: Named, remove: "Callable[[Named], None]") -> bool:
    place = f"/proc/self/fd/{named[0]}"
    try:
        mode = stat.S_IMODE(os.fstat(named[0]).st_mode)
        os.chmod(place, mode | stat.S_IRWXU)  # noqa: PTH101 - nothing more is imported here
        try:
            remove(named)
        finally:
            os.chmod(place, mode)  # noqa: PTH101 - see above
    except OSError:
        return False
    return True


def _unlink(named: Named, descriptor: int) -> None:
    parent, name = named
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return
    if os.path.samestat(found, os.fstat(descriptor)):
        os.unlink(name, dir_fd=parent)


def _is_placeholder(parent: int, name: str, mode: int) -> bool:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return True  # gone again: it can be made now
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found.st_mode == mode and (stat.S_ISDIR(mode) or not found.st_size)
