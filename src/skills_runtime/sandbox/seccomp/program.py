"""The rules of the filter: what is refused is refused with an error that programs know how to live with.

A call of another architecture ends the process: its numbers mean other calls, so nothing could be said of it.
"""

import errno
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

import msgspec

from skills_runtime.sandbox.seccomp.assembler import (
    ARCHITECTURE_OFFSET,
    JUMP_ANY_BIT,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    NUMBER_OFFSET,
    Assembler,
)
from skills_runtime.sandbox.seccomp.calls import (
    AARCH64,
    DENIED,
    EVERYWHERE,
    MODE_ARGUMENTS,
    OPENING_ARGUMENTS,
    SHARED_OBJECTS,
    X86_64,
)

Architecture = Literal["x86_64", "aarch64"]

ARCHITECTURES: Mapping[Architecture, tuple[int, Mapping[str, int]]] = {
    "x86_64": (0xC000_003E, {**X86_64, **EVERYWHERE}),
    "aarch64": (0xC000_00B7, {**AARCH64, **EVERYWHERE}),
}
"""How the kernel names a processor, and the numbers of its calls."""

ALLOW = 0x7FFF_0000
KILL_PROCESS = 0x8000_0000
FAIL = 0x0005_0000

X32_BIT = 0x4000_0000
NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000 | 0x80
"""The bits of `clone` that ask for new namespaces."""
SET_USER_OR_GROUP_ID = 0o6000
CREATES = 0o100 | 0o20000000
"""`O_CREAT` and the own bit of `O_TMPFILE`: without them a call that opens has no mode, whatever stands there."""

UNIX, INET, NETLINK, INET6 = 1, 2, 16, 10
STREAM, DATAGRAM, SEQUENCED, TYPE_BITS = 1, 2, 5, 0xF
ROUTE = 0
TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)
"""`TIOCSTI` types into a terminal, `TIOCLINUX` pastes, `TIOCCONS` and `TIOCSETD` change what it is."""
SMALL_SEGMENT = 16 << 10
"""Bytes of shared memory by number that nobody has to count."""
HARMLESS_PERSONALITIES = (0, 0xFFFF_FFFF)
"""Linux itself, and the question which one it is."""


class Permitted(msgspec.Struct, frozen=True, kw_only=True):
    """What the filter lets through besides the ordinary."""

    internet_sockets: bool = True
    """Sockets of the internet: harmless in a network of one's own that leads nowhere."""
    unix_sockets: bool = False
    """Sockets in the file system, behind which programs outside may listen."""
    shared_objects: bool = True
    """System V objects and message queues: harmless in a namespace of one's own."""
    large_segments: bool = True
    """Shared memory by number that is no file and belongs to no process: nobody counts it but a control group."""


@cache
def seccomp_program(architecture: Architecture, permitted: Permitted | None = None) -> bytes:
    """The filter as the kernel takes it."""
    permitted = permitted or Permitted()
    audit, numbers = ARCHITECTURES[architecture]
    program = Assembler()
    program.load(ARCHITECTURE_OFFSET)
    program.jump(JUMP_EQUAL, audit, then="ours")
    program.answer(KILL_PROCESS)
    program.place("ours")
    program.load(NUMBER_OFFSET)
    if architecture == "x86_64":
        program.jump(JUMP_AT_LEAST, X32_BIT, otherwise="not x32")
        program.answer(FAIL | errno.ENOSYS)
        program.place("not x32")
    denied = (*DENIED, *(() if permitted.shared_objects else SHARED_OBJECTS))
    _deny(program, (numbers[name] for name in denied if name in numbers))
    # Programs that meet these as unknown use the older call, which can be looked into.
    _deny(program, (numbers["clone3"], numbers["openat2"]), error=errno.ENOSYS)
    if not permitted.large_segments:
        _segments(program, numbers["shmget"])
    _sockets(program, numbers, permitted)
    _bits(program, numbers["clone"], 0, NAMESPACES)
    _terminal(program, numbers["ioctl"])
    _personality(program, numbers["personality"])
    for name, argument in MODE_ARGUMENTS.items():
        if name in numbers:
            _bits(program, numbers[name], argument, SET_USER_OR_GROUP_ID)
    for name, (flags, mode) in OPENING_ARGUMENTS.items():
        if name in numbers:
            _opening(program, numbers[name], flags, mode)
    program.answer(ALLOW)
    return program.assemble()


def _deny(program: Assembler, numbers: Iterable[int], *, error: int = errno.EPERM) -> None:
    listed = sorted(numbers)
    refuse, over = f"refuse {listed}", f"over {listed}"
    for number in listed[:-1]:
        program.jump(JUMP_EQUAL, number, then=refuse)
    program.jump(JUMP_EQUAL, listed[-1], otherwise=over)
    program.place(refuse)
    program.answer(FAIL | error)
    program.place(over)


def _segments(program: Assembler, number: int) -> None:
    """Small ones are what programs keep a lock in; the kernel has room for a few thousand of them."""
    program.jump(JUMP_EQUAL, number, otherwise="over segments")
    program.load_argument(1)
    program.jump(JUMP_AT_LEAST, SMALL_SEGMENT + 1, then="large segment")
    program.load_argument(1, upper=True)
    program.jump(JUMP_EQUAL, 0, otherwise="large segment")
    program.answer(ALLOW)
    program.place("large segment")
    program.answer(FAIL | errno.ENOMEM)
    program.place("over segments")


def _bits(program: Assembler, number: int, argument: int, bits: int) -> None:
    """Refuse a call whose argument has one of these bits."""
    over, fine = f"over {number}", f"fine {number}"
    program.jump(JUMP_EQUAL, number, otherwise=over)
    program.load_argument(argument)
    program.jump(JUMP_ANY_BIT, bits, otherwise=fine)
    program.answer(FAIL | errno.EPERM)
    program.place(fine)
    program.answer(ALLOW)
    program.place(over)


def _opening(program: Assembler, number: int, flags: int, mode: int) -> None:
    over, fine = f"over {number}", f"fine {number}"
    program.jump(JUMP_EQUAL, number, otherwise=over)
    program.load_argument(flags)
    program.jump(JUMP_ANY_BIT, CREATES, otherwise=fine)
    program.load_argument(mode)
    program.jump(JUMP_ANY_BIT, SET_USER_OR_GROUP_ID, otherwise=fine)
    program.answer(FAIL | errno.EPERM)
    program.place(fine)
    program.answer(ALLOW)
    program.place(over)


def _terminal(program: Assembler, number: int) -> None:
    program.jump(JUMP_EQUAL, number, otherwise="over ioctl")
    program.load_argument(1)
    for request in TERMINAL_REQUESTS:
        program.jump(JUMP_EQUAL, request, then="refuse ioctl")
    program.answer(ALLOW)
    program.place("refuse ioctl")
    program.answer(FAIL | errno.EPERM)
    program.place("over ioctl")


def _personality(program: Assembler, number: int) -> None:
    program.jump(JUMP_EQUAL, number, otherwise="over personality")
    program.load_argument(0)
    for harmless in HARMLESS_PERSONALITIES:
        program.jump(JUMP_EQUAL, harmless, then="fine personality")
    program.answer(FAIL | errno.EPERM)
    program.place("fine personality")
    program.answer(ALLOW)
    program.place("over personality")


def _sockets(program: Assembler, numbers: Mapping[str, int], permitted: Permitted) -> None:
    """Only named families; a raw socket is none of them, nor one that talks to the machine's host."""
    program.jump(JUMP_EQUAL, numbers["socket"], otherwise="over socket")
    program.load_argument(0)
    if permitted.unix_sockets:
        program.jump(JUMP_EQUAL, UNIX, then="fine socket")
    if permitted.internet_sockets:
        program.jump(JUMP_EQUAL, INET, then="internet")
        program.jump(JUMP_EQUAL, INET6, then="internet")
        program.jump(JUMP_EQUAL, NETLINK, then="netlink")
    program.answer(FAIL | errno.EAFNOSUPPORT)
    if permitted.internet_sockets:
        program.place("internet")
        program.load_argument(1)
        program.keep_bits(TYPE_BITS)
        program.jump(JUMP_EQUAL, STREAM, then="fine socket")
        program.jump(JUMP_EQUAL, DATAGRAM, then="fine socket")
        program.answer(FAIL | errno.EPERM)
        program.place("netlink")
        program.load_argument(2)
        program.jump(JUMP_EQUAL, ROUTE, then="fine socket")
        program.answer(FAIL | errno.EPERM)
    program.place("fine socket")
    program.answer(ALLOW)
    program.place("over socket")
    _pairs(program, numbers["socketpair"], permitted)


def _pairs(program: Assembler, number: int, permitted: Permitted) -> None:
    """Two sockets that know only each other, as only connected ones do: others could send to names in a file system."""
    program.jump(JUMP_EQUAL, number, otherwise="over pair")
    program.load_argument(0)
    program.jump(JUMP_EQUAL, UNIX, then="unix pair")
    program.answer(FAIL | errno.EAFNOSUPPORT)
    program.place("unix pair")
    if not permitted.unix_sockets:
        program.load_argument(1)
        program.keep_bits(TYPE_BITS)
        program.jump(JUMP_EQUAL, STREAM, then="fine pair")
        program.jump(JUMP_EQUAL, SEQUENCED, then="fine pair")
        program.answer(FAIL | errno.EPERM)
        program.place("fine pair")
    program.answer(ALLOW)
    program.place("over pair")
