"""Attempts against other processes, terminals, privileges, devices and the kernel itself."""

import platform

from tests.e2e.sandbox.arena import Arena, Outcome
from tests.e2e.sandbox.attempt import Attempt, leaked

ON_X86_64 = platform.machine() == "x86_64"


def _with_victim(arena: Arena) -> None:
    arena.victim()


def _killed(arena: Arena, outcome: Outcome) -> bool:
    return not arena.victim_lives or outcome.reached


def _hurts(name: str, code: str) -> Attempt:
    return Attempt(name, "processes", code, _killed, _with_victim)


def _with_memory(arena: Arena) -> None:
    arena.shared_memory()


_ATTACH = """
libc.shmat.restype = ctypes.c_void_p
number = call(29, arena["shared_memory"], 4096, 0)
print(ctypes.string_at(libc.shmat(number, None, 0), 100))
"""

PROCESSES = [
    _hurts("kill a process outside", "os.kill(arena['victim'], 9); reached()"),
    _hurts("kill everybody", "os.kill(-1, 0); os.kill(arena['victim'], 9)"),
    _hurts("kill by a descriptor", "signal.pidfd_send_signal(os.pidfd_open(arena['victim']), 9); reached()"),
    _hurts("trace a process outside", "call(101, 16, arena['victim'], 0, 0); reached()"),
    _hurts("slow a process outside down", "os.setpriority(os.PRIO_PROCESS, arena['victim'], 19); reached()"),
    _hurts("limit a process outside", "import resource; resource.prlimit(arena['victim'], 7, (0, 0)); reached()"),
    _hurts("read the memory of a process outside", "open(f\"/proc/{arena['victim']}/mem\", 'rb'); reached()"),
    _hurts("see a process outside", "os.stat(f\"/proc/{arena['victim']}\") and reached("
           "read(f\"/proc/{arena['victim']}/cmdline\"))"),
    Attempt("see the runtime", "processes", "'pytest' in read(f\"/proc/{arena['host_pid']}/cmdline\") and reached()"),
    Attempt("count the processes of the machine", "processes",
            "if len([n for n in os.listdir('/proc') if n.isdigit()]) > 6: reached()"),
    Attempt("write to the memory of the first process", "processes", "open('/proc/1/mem', 'r+b'); reached()"),
    Attempt("attach shared memory of the machine", "processes", _ATTACH, leaked, _with_memory),
    Attempt("take a descriptor of another process", "processes",
            "call(438, os.pidfd_open(os.getppid()), 0, 0); reached()"),
    Attempt("read another process", "processes", "call(310, os.getppid(), 0, 0, 0, 0, 0); reached()"),
    Attempt("compare with another process", "processes", "call(312, os.getpid(), os.getppid(), 2, 0, 0); reached()"),
]  # fmt: skip

TERMINAL = [
    Attempt("open a terminal", "terminal", "os.open('/dev/tty', os.O_RDWR); reached()"),
    Attempt("open the console", "terminal", "os.open('/dev/console', os.O_RDWR); reached()"),
    Attempt("type into a terminal", "terminal",
            "import fcntl, pty\nm, s = pty.openpty()\nfcntl.ioctl(s, 0x5412, b'x'); reached()"),
    Attempt("type into a terminal with high bits set", "terminal",
            "import pty\nm, s = pty.openpty()\ncall(16, s, 0x5412 | 1 << 40, b'x'); reached()"),
    Attempt("paste into a terminal", "terminal", "call(16, 0, 0x541C, b'\\x03'); reached()"),
]  # fmt: skip


def _kernel(name: str, code: str) -> Attempt:
    """Reached, unless the kernel said that it is not permitted, is unknown, or that nothing like it exists."""
    wrapped = f"""
try:
    {code}
except OSError as error:
    if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EROFS, errno.ENOENT):
        reached(error)
else:
    reached()
"""
    return Attempt(name, "privileges", wrapped)


PRIVILEGES = [
    _kernel("make a user namespace", "call(272, 0x10000000)"),
    _kernel("make a mount namespace", "call(272, 0x00020000)"),
    _kernel("make a network namespace", "call(272, 0x40000000)"),
    _kernel("start a process in a user namespace", "call(56, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)"),
    _kernel("start a process by the newer call", "call(435, ctypes.create_string_buffer(88), 88)"),
    _kernel("mount something", "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)"),
    _kernel("bind the root somewhere", "call(165, b'/', b'/tmp', 0, 4096, 0)"),
    _kernel("make the system writable", "call(165, b'none', b'/usr', 0, 32, 0)"),
    _kernel("take a mask away", "call(166, b'.skills_runtime_sdk', 2)"),
    _kernel("take a cover of the kernel away", "call(166, b'/proc', 2)"),
    _kernel("change the root", "call(161, b'/tmp')"),
    _kernel("exchange the root", "call(155, b'/tmp', b'/tmp')"),
    _kernel("enter a namespace", "call(308, os.open('/proc/1/ns/mnt', 0), 0)"),
    _kernel("rename the machine", "call(170, b'x', 1)"),
    Attempt("become the administrator", "privileges", "os.setuid(0); reached()"),
    _kernel("become another group", "os.setgroups([0])"),
    _kernel("write the name for dumps", "open('/proc/sys/kernel/core_pattern', 'r+')"),
    _kernel("write a setting of the kernel", "open('/proc/sys/vm/overcommit_memory', 'r+')"),
    _kernel("trigger the kernel", "open('/proc/sysrq-trigger', 'w')"),
    _kernel("move interrupts", "open('/proc/irq/default_smp_affinity', 'r+')"),
    _kernel("map users anew", "open('/proc/self/uid_map', 'w').write('0 0 1')"),
    _kernel("change the personality", "call(135, 0x0040000)"),
    _kernel("make a program that changes the user", "os.chmod('file.txt', 0o4755)"),
    _kernel("make a program that changes the group", "os.chmod('file.txt', 0o2755)"),
    _kernel("create a program that changes the user", "os.open('suid', os.O_CREAT | os.O_WRONLY, 0o4755)"),
    _kernel("create one by the newer call",
            "call(437, -100, b'suid2', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)"),
    Attempt("have capabilities", "privileges",
            "if any(int(l.split()[1], 16) for l in open('/proc/self/status') if l.startswith('Cap')): reached()"),
    Attempt("gain privileges by programs", "privileges",
            "if 'NoNewPrivs:\\t1' not in read('/proc/self/status'): reached()"),
    Attempt("be unfiltered", "privileges", "if 'Seccomp:\\t2' not in read('/proc/self/status'): reached()"),
    Attempt("use sudo", "privileges",
            "if subprocess.run(['sudo', '-n', 'true']).returncode == 0: reached()"),
    Attempt("use su", "privileges",
            "if subprocess.run(['su', '-c', 'true'], stdin=subprocess.DEVNULL).returncode == 0: reached()"),
    Attempt("write to the system's directory as its owner", "privileges", "os.mkdir('/escape'); reached()"),
    Attempt("fill a directory of devices", "privileges", "write('/dev/escape'); reached()"),
]  # fmt: skip

SYSTEM_CALLS = [
    _kernel("load a program into the kernel", "call(321, 5, ctypes.create_string_buffer(128), 128)"),
    _kernel("count events", "call(298, ctypes.create_string_buffer(struct.pack('IIQ', 1, 112, 0), 112), 0, -1, -1, 0)"),
    _kernel("add a key", "call(248, b'user', b'k', b'v', 1, -2)"),
    _kernel("ask for a key", "call(249, b'user', b'k', 0, 0)"),
    _kernel("use keys", "call(250, 0, -3, 0)"),
    _kernel("handle faults", "call(323, 1)"),
    _kernel("make a ring", "call(425, 4, ctypes.create_string_buffer(120))"),
    _kernel("load another kernel", "call(246, 0, 0, 0, 0)"),
    _kernel("load a module", "call(175, 0, 0, b'')"),
    _kernel("load a module from a file", "call(313, 0, b'', 0)"),
    _kernel("remove a module", "call(176, b'none', 0)"),
    _kernel("open a file by its handle", "call(304, -100, ctypes.create_string_buffer(64), 0)"),
    _kernel("get the handle of a file", "call(303, -100, b'/', ctypes.create_string_buffer(128), 0, 0)"),
    _kernel("read the kernel's messages", "call(103, 10, 0, 0)"),
    _kernel("watch the file system", "call(300, 0, 0)"),
    _kernel("account for processes", "call(163, 0)"),
    _kernel("swap to a file", "call(167, b'file.txt', 0)"),
    _kernel("set the clock", "call(227, 0, ctypes.create_string_buffer(16))"),
    _kernel("adjust the clock", "call(159, ctypes.create_string_buffer(256))"),
    _kernel("set quotas", "call(179, 0x800007, 0, 0, 0)"),
    _kernel("restart the machine with wrong words", "call(169, 1, 2, 3, 0)"),
    _kernel("move pages", "call(279, 0, 0, 0, 0, 0, 0)"),
    _kernel("bind memory", "call(237, 0, 0, 0, 0, 0, 0)"),
    _kernel("reach ports of the machine", "call(172, 3)"),
    _kernel("change segments", "call(154, 0, ctypes.create_string_buffer(16), 16)"),
    _kernel("open a file system", "call(430, b'tmpfs', 0)"),
    _kernel("copy a mount", "call(428, -100, b'/', 1)"),
    _kernel("change a mount", "call(442, -100, b'/usr', 0, ctypes.create_string_buffer(32), 32)"),
    _kernel("use the calls of the x32 world", "call(0x40000000 | 39)"),
    Attempt("use the calls of a 32-bit world", "privileges", """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))
got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
reached() if got > 0 else None
""", signal_is_an_answer=True),
]  # fmt: skip

DEVICES = [
    *(
        Attempt(f"open {path}", "devices", f"os.open('{path}', os.O_RDONLY); reached()")
        for path in ("/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/loop-control", "/dev/kvm")
    ),
    _kernel("make a device in the workspace", "os.mknod('disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))"),
    _kernel("make a device in the private directory", "os.mknod('/tmp/disk', 0o600 | stat.S_IFCHR, os.makedev(1, 1))"),
]

ATTEMPTS = [*PROCESSES, *TERMINAL, *PRIVILEGES, *(SYSTEM_CALLS if ON_X86_64 else []), *DEVICES]
