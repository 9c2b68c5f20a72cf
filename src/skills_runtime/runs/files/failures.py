"""What the operating system answered, as an error of ours."""

import errno

from skills_runtime.errors import (
    AccessRefused,
    NotFound,
    PathEscape,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
)
from skills_runtime.runs.files.paths import shown

_MEANING: dict[int, tuple[type[SkillsRuntimeError], str, str]] = {
    errno.ENOENT: (NotFound, "does not exist", "list the directory to see what is there"),
    errno.ENOTDIR: (NotFound, "goes through something that is not a directory", "list the directory above"),
    errno.EACCES: (AccessRefused, "may not be accessed by this user", "change its permissions or use another path"),
    errno.EPERM: (AccessRefused, "may not be changed by this user", "change its permissions or use another path"),
    errno.EROFS: (AccessRefused, "is on a read-only file system", "use another path"),
    errno.ETXTBSY: (AccessRefused, "is a program that is running", "wait until it ends"),
    errno.EXDEV: (PathEscape, "leads out of the workspace", "use a path whose links stay inside"),
    errno.ELOOP: (PathEscape, "leads through links that cannot be followed safely", "name the file itself"),
    errno.EAGAIN: (PathEscape, "kept changing while it was looked at", "try again when nothing else changes it"),
    errno.ENAMETOOLONG: (ValidationFailed, "is too long for the file system", "shorten it"),
    errno.EISDIR: (ValidationFailed, "is a directory", "name a file"),
    errno.EEXIST: (ValidationFailed, "already exists", "choose another name"),
    errno.ENXIO: (ValidationFailed, "is not a regular file", "name a regular file"),
}


def refusal(error: OSError, path: object) -> SkillsRuntimeError:
    """The error to raise when the system refused an operation on `path`."""
    known = _MEANING.get(error.errno or 0)
    if known is None:
        return StorageFailed(f"`{shown(path)}` could not be stored or read: {error.strerror or error}")
    family, what, hint = known
    return family(f"`{shown(path)}` {what}", hint=hint)
