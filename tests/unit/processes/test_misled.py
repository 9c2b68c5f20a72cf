"""What could not be put in its place in a workspace is no matter for a program that follows links."""

import errno

import pytest

from skills_runtime.processes.supervision.mounts import ChangedMeanwhile, Mount, check_misled

MOUNTS: list[Mount] = [
    (b"/work", b"/work", b"/work"),
    (b"/work/.git", b"/work/.git", b"/work/.git"),
    (b"/work/.agent", b"/work/.agent", b""),
    (b"/opt/tool", b"/opt/tool", b""),
]


def _refused(number: int, where: "bytes | str | None") -> OSError:
    return OSError(number, "refused", where)


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (errno.ELOOP, b"/work/.git"),
        (errno.ELOOP, b"/work/.agent"),
        (errno.ENOTDIR, b"/work/sub/.env"),
        (errno.ENOENT, b"/work/.git"),
        (errno.ENOENT, b"/work"),
    ],
)
def test_a_link_or_a_gap_in_the_workspace_is_a_change(number: int, where: bytes) -> None:
    with pytest.raises(ChangedMeanwhile):
        check_misled(MOUNTS, _refused(number, where))


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (errno.ELOOP, b"/opt/tool"),
        (errno.ELOOP, b"/workshop/.git"),
        (errno.ENOENT, b"/work/.agent"),
        (errno.ENOENT, b"/no/such/place"),
        (errno.EPERM, b"/work/.git"),
        (errno.ELOOP, b""),
        (errno.ENOTDIR, "/proc/1/mountinfo"),
        (errno.EMFILE, None),
    ],
)
def test_anything_else_is_left_to_the_program(number: int, where: "bytes | str | None") -> None:
    check_misled(MOUNTS, _refused(number, where))
