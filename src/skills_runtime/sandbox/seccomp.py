"""The seccomp filter, assembled as classic BPF without a library.

First the system call numbers per architecture, then an assembler, then the filter.
"""

import errno
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

import msgspec

X86_64: Mapping[str, int] = {
    "open": 2, "ioctl": 16, "shmget": 29, "socket": 41, "socketpair": 53, "clone": 56, "semget": 64, "msgget": 68,
    "mkdir": 83, "creat": 85, "chmod": 90, "fchmod": 91, "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134,
    "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "_sysctl": 156, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172,
    "ioperm": 173, "create_module": 174, "init_module": 175, "delete_module": 176, "get_kernel_syms": 177,
    "query_module": 178, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227,
    "vserver": 236, "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "mq_open": 240, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256, "openat": 257, "mkdirat": 258,
    "mknodat": 259, "fchmodat": 268, "unshare": 272, "move_pages": 279, "fallocate": 285, "perf_event_open": 298,
    "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

AARCH64: Mapping[str, int] = {
    "lookup_dcookie": 18, "ioctl": 29, "mknodat": 33, "mkdirat": 34, "umount2": 39, "mount": 40, "pivot_root": 41,
    "nfsservctl": 42, "fallocate": 47, "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58,
    "quotactl": 60, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
    "setdomainname": 162,
    "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "msgget": 186, "semget": 190, "shmget": 194, "socket": 198,
    "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225,
    "mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238, "move_pages": 239,
    "perf_event_open": 241, "fanotify_init": 262, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

# Newer system calls have the same number on every architecture.
COMMON_NUMBERS: Mapping[str, int] = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "openat2": 437, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "set_mempolicy_home_node": 450,
    "fchmodat2": 452, "lsm_set_self_attr": 460, "open_tree_attr": 467, "listns": 470,
}  # fmt: skip

DENIED = (
    # other processes, and what the kernel knows about their open files
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # keys that outlive a process, and interfaces with a long history of vulnerabilities
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    # the kernel itself
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
    "get_kernel_syms", "query_module", "syslog", "reboot", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd",
    "iopl", "ioperm", "modify_ldt", "lsm_set_self_attr",
    # access to files without their path
    "open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark", "lookup_dcookie",
    # the sandbox itself is built with these
    "mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "fsopen", "fsconfig", "fsmount", "fspick",
    "open_tree", "open_tree_attr", "move_mount", "mount_setattr", "listns",
    # the machine's name and clock
    "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    # NUMA placement of memory
    "mbind", "set_mempolicy", "set_mempolicy_home_node", "get_mempolicy", "move_pages", "migrate_pages",
    # obsolete
    "nfsservctl", "vhangup", "uselib", "_sysctl", "ustat", "sysfs", "vserver",
)  # fmt: skip

# System V and POSIX shared objects: private in an IPC namespace, denied without one.
SHARED_OBJECTS = ("shmget", "msgget", "semget", "mq_open")

MODE_ARGUMENTS: Mapping[str, int] = {
    "chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1,
    "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2,
}  # fmt: skip
"""Index of the argument that is a file mode."""

OPENING_ARGUMENTS: Mapping[str, tuple[int, int]] = {"open": (1, 2), "openat": (2, 3)}
"""Indexes of the flags and mode arguments; the mode counts only if the flags create a file."""


LOAD_WORD = 0x20
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
JUMP_ANY_BIT = 0x45
RETURN = 0x06
AND = 0x54

NUMBER_OFFSET = 0
ARCHITECTURE_OFFSET = 4
ARGUMENTS_OFFSET = 16
ARGUMENT_SIZE = 8
MAX_JUMP = 255
MAX_INSTRUCTIONS = 4096

FALL_THROUGH = ""
"""The target of a jump that falls through."""


class Assembler:
    """A program being built; jump targets may be used before they are defined, but only forwards."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def load(self, offset: int) -> None:
        """Load a word of the system call data."""
        self._instructions.append((LOAD_WORD, offset, FALL_THROUGH, FALL_THROUGH))

    def load_argument(self, position: int, *, upper: bool = False) -> None:
        """Load the lower half of an argument: the kernel ignores the upper half of 32-bit types."""
        self.load(ARGUMENTS_OFFSET + ARGUMENT_SIZE * position + (ARGUMENT_SIZE // 2 if upper else 0))

    def keep_bits(self, mask: int) -> None:
        """Mask the word."""
        self._instructions.append((AND, mask, FALL_THROUGH, FALL_THROUGH))

    def jump(self, code: int, value: int, *, then: str = FALL_THROUGH, otherwise: str = FALL_THROUGH) -> None:
        """Compare the word and jump to one of two labels."""
        self._instructions.append((code, value, then, otherwise))

    def return_action(self, action: int) -> None:
        """Return an action."""
        self._instructions.append((RETURN, action, FALL_THROUGH, FALL_THROUGH))

    def label(self, name: str) -> None:
        """Define a label for the next instruction."""
        self._labels[name] = len(self._instructions)

    def assemble(self) -> bytes:
        """Return the assembled program."""
        if len(self._instructions) > MAX_INSTRUCTIONS:
            raise ValueError(f"{len(self._instructions)} instructions are more than the kernel takes")
        return b"".join(self._encode(number) for number in range(len(self._instructions)))

    def _encode(self, number: int) -> bytes:
        code, value, then, otherwise = self._instructions[number]
        distances = [self._distance(number, name) for name in (then, otherwise)]
        return struct.pack("<HBBI", code, *distances, value & 0xFFFF_FFFF)

    def _distance(self, number: int, name: str) -> int:
        if name == FALL_THROUGH:
            return 0
        distance = self._labels[name] - number - 1
        if not 0 <= distance <= MAX_JUMP:
            raise ValueError(f"`{name}` is {distance} instructions away, which a jump cannot reach")
        return distance


Architecture = Literal["x86_64", "aarch64"]

ARCHITECTURES: Mapping[Architecture, tuple[int, Mapping[str, int]]] = {
    "x86_64": (0xC000_003E, {**X86_64, **COMMON_NUMBERS}),
    "aarch64": (0xC000_00B7, {**AARCH64, **COMMON_NUMBERS}),
}
"""Kernel name and system call numbers per architecture."""

ALLOW = 0x7FFF_0000
KILL_PROCESS = 0x8000_0000
FAIL = 0x0005_0000

X32_BIT = 0x4000_0000
# CLONE_NEW* bits.
NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000 | 0x80
SET_USER_OR_GROUP_ID = 0o6000
# `O_CREAT` and the own bit of `O_TMPFILE`: without them the mode argument of an open call is undefined.
CREATES = 0o100 | 0o20000000

UNIX, INET, NETLINK, INET6 = 1, 2, 16, 10
STREAM, DATAGRAM, SEQUENCED, TYPE_BITS = 1, 2, 5, 0xF
ROUTE = 0
# `TIOCSTI` types into a terminal, `TIOCLINUX` pastes, `TIOCCONS` and `TIOCSETD` change what it is.
TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)
# `FS_IOC_RESVSP`, its 64-bit form and `FS_IOC_ZERO_RANGE`: other ways to `fallocate`, on every file system.
RESERVING_REQUESTS = (0x4030_5828, 0x4030_582A, 0x4030_5839)
SMALL_SEGMENT = 16 << 10
"""Bytes of System V shared memory that need not be counted."""
ALLOWED_PERSONALITIES = (0, 0xFFFF_FFFF)
"""Linux itself, and the query for the current personality."""


class AllowedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Optional system calls that the filter allows."""

    # Harmless in a network namespace that leads nowhere.
    internet_sockets: bool = True
    # Sockets in the file system, where programs outside may listen.
    unix_sockets: bool = False
    # Harmless in an IPC namespace.
    shared_objects: bool = True
    # System V shared memory is no file and belongs to no process: only a control group counts it.
    large_segments: bool = True


@cache
def seccomp_program(architecture: Architecture, permitted: AllowedCalls | None = None) -> bytes:
    """Build the filter in the kernel's format."""
    permitted = permitted or AllowedCalls()
    audit, numbers = ARCHITECTURES[architecture]
    program = Assembler()
    program.load(ARCHITECTURE_OFFSET)
    program.jump(JUMP_EQUAL, audit, then="ours")
    program.return_action(KILL_PROCESS)
    program.label("ours")
    program.load(NUMBER_OFFSET)
    if architecture == "x86_64":
        program.jump(JUMP_AT_LEAST, X32_BIT, otherwise="not x32")
        program.return_action(FAIL | errno.ENOSYS)
        program.label("not x32")
    denied = (*DENIED, *(() if permitted.shared_objects else SHARED_OBJECTS))
    _deny(program, (numbers[name] for name in denied if name in numbers))
    # ENOSYS makes programs fall back to the older call, whose arguments a filter can read.
    _deny(program, (numbers["clone3"], numbers["openat2"]), error=errno.ENOSYS)
    # One call could reserve the whole disk; programs fall back to writing, which is slow enough to be measured.
    _deny(program, (numbers["fallocate"],), error=errno.EOPNOTSUPP)
    if not permitted.large_segments:
        _limit_segments(program, numbers["shmget"])
    _filter_sockets(program, numbers, permitted)
    _deny_bits(program, numbers["clone"], 0, NAMESPACES)
    _filter_ioctl(program, numbers["ioctl"])
    _filter_personality(program, numbers["personality"])
    for name, argument in MODE_ARGUMENTS.items():
        if name in numbers:
            _deny_bits(program, numbers[name], argument, SET_USER_OR_GROUP_ID)
    for name, (flags, mode) in OPENING_ARGUMENTS.items():
        if name in numbers:
            _deny_mode_on_create(program, numbers[name], flags, mode)
    program.return_action(ALLOW)
    return program.assemble()


def _deny(program: Assembler, numbers: Iterable[int], *, error: int = errno.EPERM) -> None:
    ordered = sorted(numbers)
    refuse, skip = f"refuse {ordered}", f"over {ordered}"
    for number in ordered[:-1]:
        program.jump(JUMP_EQUAL, number, then=refuse)
    program.jump(JUMP_EQUAL, ordered[-1], otherwise=skip)
    program.label(refuse)
    program.return_action(FAIL | error)
    program.label(skip)


def _limit_segments(program: Assembler, number: int) -> None:
    # Programs use small segments as locks; the kernel has room for a few thousand of them.
    program.jump(JUMP_EQUAL, number, otherwise="over segments")
    program.load_argument(1)
    program.jump(JUMP_AT_LEAST, SMALL_SEGMENT + 1, then="large segment")
    program.load_argument(1, upper=True)
    program.jump(JUMP_EQUAL, 0, otherwise="large segment")
    program.return_action(ALLOW)
    program.label("large segment")
    program.return_action(FAIL | errno.ENOMEM)
    program.label("over segments")


def _deny_bits(program: Assembler, number: int, argument: int, bits: int) -> None:
    """Deny a call whose argument has one of these bits."""
    skip, fine = f"over {number}", f"fine {number}"
    program.jump(JUMP_EQUAL, number, otherwise=skip)
    program.load_argument(argument)
    program.jump(JUMP_ANY_BIT, bits, otherwise=fine)
    program.return_action(FAIL | errno.EPERM)
    program.label(fine)
    program.return_action(ALLOW)
    program.label(skip)


def _deny_mode_on_create(program: Assembler, number: int, flags: int, mode: int) -> None:
    skip, fine = f"over {number}", f"fine {number}"
    program.jump(JUMP_EQUAL, number, otherwise=skip)
    program.load_argument(flags)
    program.jump(JUMP_ANY_BIT, CREATES, otherwise=fine)
    program.load_argument(mode)
    program.jump(JUMP_ANY_BIT, SET_USER_OR_GROUP_ID, otherwise=fine)
    program.return_action(FAIL | errno.EPERM)
    program.label(fine)
    program.return_action(ALLOW)
    program.label(skip)


def _filter_ioctl(program: Assembler, number: int) -> None:
    program.jump(JUMP_EQUAL, number, otherwise="over ioctl")
    program.load_argument(1)
    for request in TERMINAL_REQUESTS:
        program.jump(JUMP_EQUAL, request, then="refuse ioctl")
    for request in RESERVING_REQUESTS:
        program.jump(JUMP_EQUAL, request, then="unsupported ioctl")
    program.return_action(ALLOW)
    program.label("unsupported ioctl")
    program.return_action(FAIL | errno.EOPNOTSUPP)
    program.label("refuse ioctl")
    program.return_action(FAIL | errno.EPERM)
    program.label("over ioctl")


def _filter_personality(program: Assembler, number: int) -> None:
    program.jump(JUMP_EQUAL, number, otherwise="over personality")
    program.load_argument(0)
    for harmless in ALLOWED_PERSONALITIES:
        program.jump(JUMP_EQUAL, harmless, then="fine personality")
    program.return_action(FAIL | errno.EPERM)
    program.label("fine personality")
    program.return_action(ALLOW)
    program.label("over personality")


def _filter_sockets(program: Assembler, numbers: Mapping[str, int], permitted: AllowedCalls) -> None:
    """Allow only named families: no raw sockets, and no vsock to the machine's host."""
    program.jump(JUMP_EQUAL, numbers["socket"], otherwise="over socket")
    program.load_argument(0)
    if permitted.unix_sockets:
        program.jump(JUMP_EQUAL, UNIX, then="fine socket")
    if permitted.internet_sockets:
        program.jump(JUMP_EQUAL, INET, then="internet")
        program.jump(JUMP_EQUAL, INET6, then="internet")
        program.jump(JUMP_EQUAL, NETLINK, then="netlink")
    program.return_action(FAIL | errno.EAFNOSUPPORT)
    if permitted.internet_sockets:
        program.label("internet")
        program.load_argument(1)
        program.keep_bits(TYPE_BITS)
        program.jump(JUMP_EQUAL, STREAM, then="fine socket")
        program.jump(JUMP_EQUAL, DATAGRAM, then="fine socket")
        program.return_action(FAIL | errno.EPERM)
        program.label("netlink")
        program.load_argument(2)
        program.jump(JUMP_EQUAL, ROUTE, then="fine socket")
        program.return_action(FAIL | errno.EPERM)
    program.label("fine socket")
    program.return_action(ALLOW)
    program.label("over socket")
    _filter_socket_pairs(program, numbers["socketpair"], permitted)


def _filter_socket_pairs(program: Assembler, number: int, permitted: AllowedCalls) -> None:
    """Allow only connected pairs: a datagram socket could send to names in the file system."""
    program.jump(JUMP_EQUAL, number, otherwise="over pair")
    program.load_argument(0)
    program.jump(JUMP_EQUAL, UNIX, then="unix pair")
    program.return_action(FAIL | errno.EAFNOSUPPORT)
    program.label("unix pair")
    if not permitted.unix_sockets:
        program.load_argument(1)
        program.keep_bits(TYPE_BITS)
        program.jump(JUMP_EQUAL, STREAM, then="fine pair")
        program.jump(JUMP_EQUAL, SEQUENCED, then="fine pair")
        program.return_action(FAIL | errno.EPERM)
        program.label("fine pair")
    program.return_action(ALLOW)
    program.label("over pair")
