"""Attempts to read what is not meant for a command, and to reach what is outside by a socket."""

import os
import socket

from tests.e2e.sandbox.arena import SECRET, Arena
from tests.e2e.sandbox.attempt import Attempt, heard, leaked


def _reads(name: str, code: str) -> Attempt:
    return Attempt(name, "secrets", code, leaked)


def _with_victim(arena: Arena) -> None:
    arena.victim()


def _with_key(arena: Arena) -> None:
    (arena.workspace / ".ssh").mkdir()
    (arena.workspace / ".ssh/id").write_text(SECRET)
    (arena.workspace / ".netrc").write_text(SECRET)


def _with_linked_secret(arena: Arena) -> None:
    (arena.workspace / ".env.linked").symlink_to("src/.env.production")


SECRETS = [
    *(_reads(f"read {name}", f"print(read('{name}'))") for name in (".env", ".env.local", "src/.env.production")),
    _reads("read secrets by a copy", "subprocess.run(['cp', '.env', 'copy']); print(read('copy'))"),
    _reads("read secrets by a hard link", "os.link('.env', 'l'); print(read('l'))"),
    _reads("read secrets by a link", "os.symlink('.env', 'l'); print(read('l'))"),
    _reads("read secrets under another directory", "os.rename('src', 's'); print(read('s/.env.production'))"),
    _reads("read secrets after renaming them", "os.rename('.env', 'e'); print(read('e'))"),
    _reads("read secrets by the root of another process", "print(read('/proc/1/root' + os.getcwd() + '/.env'))"),
    _reads("read secrets after taking the mask away",
           "libc.umount2(b'.env', 2); print(read('.env'))"),
    _reads("read a key at home", "print(read(arena['outside'] + '/home/.ssh/id'))"),
    _reads("read the runtime's secret", "print(read('.skills_runtime_sdk/runtime/server.json'))"),
    _reads("search the whole tree",
           "subprocess.run(['grep', '-r', 'canary', arena['workspace'], arena['outside'], '/proc/1/environ'])"),
    _reads("read the variables of the first process", "print(read('/proc/1/environ'))"),
    _reads("read the variables of the parent", "print(read(f'/proc/{os.getppid()}/environ'))"),
    Attempt("read the variables of a process outside", "secrets", "print(read(f\"/proc/{arena['victim']}/environ\"))",
            leaked, _with_victim),
    Attempt("read the variables of every process", "secrets",
            "for n in os.listdir('/proc'):\n  if n.isdigit():\n    try: print(read(f'/proc/{n}/environ'))\n"
            "    except OSError: pass", leaked, _with_victim),
    Attempt("read a key in the workspace", "secrets", "print(read('.ssh/id'))", leaked, _with_key),
    Attempt("read a password file in the workspace", "secrets", "print(read('.netrc'))", leaked, _with_key),
    Attempt("read secrets where a link leads", "secrets", "print(read('.env.linked'))", leaked, _with_linked_secret),
    Attempt("read the passwords of the system", "secrets",
            "for n in ('/etc/shadow', '/etc/gshadow', '/proc/1/root/etc/shadow'):\n"
            "  try: reached(read(n))\n  except OSError: pass"),
    Attempt("read the users of the machine", "secrets",
            "import pwd\nif len(pwd.getpwall()) > 3 or 'daemon' in read('/etc/passwd'): reached()"),
]  # fmt: skip

TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM


def _tcp(arena: Arena) -> None:
    arena.listen("tcp", socket.AF_INET, TCP, ("127.0.0.1", 0))


def _tcp6(arena: Arena) -> None:
    arena.listen("tcp", socket.AF_INET6, TCP, ("::1", 0))


def _udp(arena: Arena) -> None:
    arena.listen("udp", socket.AF_INET, UDP, ("127.0.0.1", 0))


def _unix_inside(arena: Arena) -> None:
    arena.listen("unix", socket.AF_UNIX, TCP, str(arena.workspace / "s"))


def _unix_outside(arena: Arena) -> None:
    arena.listen("unix", socket.AF_UNIX, TCP, str(arena.outside / "s"))


def _unix_datagram(arena: Arena) -> None:
    arena.listen("unix", socket.AF_UNIX, UDP, str(arena.workspace / "d"))


def _abstract(arena: Arena) -> None:
    arena.listen("unix", socket.AF_UNIX, TCP, f"\0escape-{os.getpid()}")


def _socket(name: str, family: int, kind: str = "SOCK_STREAM", protocol: int = 0) -> Attempt:
    code = f"socket.socket({family}, socket.{kind}, {protocol}); reached()"
    return Attempt(f"open a socket of {name}", "network", code)


_SEND_ON_PAIR = """
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendto(b"x", arena["unix"])
"""

NETWORK = [
    Attempt("connect to a port outside", "network", "socket.create_connection(arena['tcp'][:2], 3)", heard("tcp"),
            _tcp),
    Attempt("connect to a port outside by IPv6", "network", "socket.create_connection(arena['tcp'][:2], 3)",
            heard("tcp"), _tcp6),
    Attempt("connect to a port outside by any address", "network",
            "socket.create_connection(('0.0.0.0', arena['tcp'][1]), 3)", heard("tcp"), _tcp),
    Attempt("send a datagram outside", "network",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', tuple(arena['udp']))", heard("udp"), _udp),
    Attempt("connect to a far address", "network", "socket.create_connection(('192.0.2.1', 80), 1); reached()"),
    Attempt("send to a far address", "network",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53)); reached()"),
    Attempt("resolve a name", "network", "socket.getaddrinfo('example.com', 80); reached()"),
    Attempt("connect to a socket in the workspace", "network",
            "socket.socket(socket.AF_UNIX).connect(arena['unix']); reached()", heard("unix"), _unix_inside),
    Attempt("connect to a socket outside", "network",
            "socket.socket(socket.AF_UNIX).connect(arena['unix']); reached()", heard("unix"), _unix_outside),
    Attempt("connect to an abstract socket", "network",
            "socket.socket(socket.AF_UNIX).connect(arena['unix'].encode('latin-1')); reached()", heard("unix"),
            _abstract),
    Attempt("send from a pair to a socket in the workspace", "network", _SEND_ON_PAIR, heard("unix"), _unix_datagram),
    Attempt("talk to the docker daemon", "network",
            "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock'); reached()"),
    _socket("the virtual machine", 40),
    _socket("raw packets", 17, "SOCK_RAW"),
    _socket("raw internet", 2, "SOCK_RAW", 1),
    _socket("raw internet by IPv6", 10, "SOCK_RAW", 58),
    _socket("the crypto interface", 38, "SOCK_SEQPACKET"),
    _socket("the audit interface", 16, "SOCK_RAW", 9),
    _socket("the packet filter", 16, "SOCK_RAW", 12),
    _socket("bluetooth", 31, "SOCK_RAW", 1),
    _socket("keys", 15, "SOCK_RAW", 2),
    _socket("express data", 44, "SOCK_RAW"),
    Attempt("add an address", "network",
            "subprocess.run(['ip', 'link', 'add', 'd0', 'type', 'dummy'], check=True); reached()"),
]  # fmt: skip

ATTEMPTS = [*SECRETS, *NETWORK]
