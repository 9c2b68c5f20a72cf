"""What could not be put in its place in a workspace is no matter for a program that follows links."""

import errno

import pytest

from skills_runtime.processes.supervision.mounts import ChangedMeanwhile, Mount, check_misled

MOUNTS: list[Mount] = [
    (b"/project", b"/project", b"/project"),
    (b"/project/.git", b"/project/.git", b"/project/.git"),
    (b"/project/.agent", b"/project/.agent", b""),
    (b"/opt/tool", b"/opt/tool", b""),
]


def _refused(number: int, where: "bytes | str | None") -> OSError:
    return OSError(number, "refused", where)


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (errno.ELOOP, b"/project/.git"),
        (errno.ELOOP, b"/project/.agent"),
        (errno.ENOTDIR, b"/project/sub/.env"),
        (errno.ENOENT, b"/project/.git"),
        (errno.ENOENT, b"/project"),
    ],
)
def test_a_link_or_a_gap_in_the_workspace_is_a_change(number: int, where: bytes) -> None:
    with pytest.raises(ChangedMeanwhile):
        check_misled(MOUNTS, _refused(number, where))


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (errno.ELOOP, b"/opt/tool"),
        (errno.ELOOP, b"/projects/.git"),
        (errno.ENOENT, b"/project/.agent"),
        (errno.ENOENT, b"/no/such/place"),
        (errno.EPERM, b"/project/.git"),
        (errno.ELOOP, b""),
        (errno.ENOTDIR, "/proc/1/mountinfo"),
        (errno.EMFILE, None),
    ],
)
def test_anything_else_is_left_to_the_program(number: int, where: "bytes | str | None") -> None:
    check_misled(MOUNTS, _refused(number, where))
