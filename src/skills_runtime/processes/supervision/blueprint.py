"""What a fence consists of, read from the options of bubblewrap: whoever understands all of them can put it up."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

MODE = 0o755
"""Of what is made, unless something else is said."""

NAMESPACES = {
    b"--unshare-user": "user",
    b"--unshare-pid": "pid",
    b"--unshare-ipc": "ipc",
    b"--unshare-uts": "uts",
    b"--unshare-cgroup-try": "cgroup",
    b"--unshare-net": "net",
}
REQUIRED = {
    b"--die-with-parent", b"--unshare-user", b"--unshare-pid", b"--unshare-ipc", b"--unshare-uts", b"--disable-userns",
    b"--new-session", b"--cap-drop", b"--clearenv", b"--uid", b"--gid", b"--hostname", b"--chdir", b"--seccomp",
}  # fmt: skip
"""Without one of these it would be another fence, which is left to the program."""


class NotUnderstood(Exception):
    """An option that only the program knows."""


class Bind(NamedTuple):
    """Show what lies outside."""

    place: bytes
    source: bytes
    read_only: bool
    optional: bool


class Memory(NamedTuple):
    """An empty directory that is gone afterwards."""

    place: bytes
    mode: int
    size: bytes


class Directory(NamedTuple):
    """A directory of the fence itself."""

    place: bytes
    mode: int


class Link(NamedTuple):
    """A symbolic link of the fence itself."""

    place: bytes
    target: bytes


class File(NamedTuple):
    """A file of the fence itself, or one that covers another."""

    place: bytes
    mode: int
    content: bytes
    covers: bool


class Processes(NamedTuple):
    """The processes of the fence, as the kernel shows them."""

    place: bytes


class Devices(NamedTuple):
    """The few devices that every program needs."""

    place: bytes


class ReadOnly(NamedTuple):
    """Nothing can be written to what was mounted here from now on."""

    place: bytes


Step = Bind | Memory | Directory | Link | File | Processes | Devices | ReadOnly
KINDS = (Bind, Memory, Directory, Link, File, Processes, Devices, ReadOnly)


class Frame(NamedTuple):
    """What the first process of a fence is born with: namespaces, as whom it sees itself, and what many have alike."""

    namespaces: "frozenset[str]"
    user: int
    group: int
    ground: "tuple[Step, ...]" = ()
    """The steps before those that are about the workspace: they can be taken before anybody asks for a command."""


class Blueprint(NamedTuple):
    """A whole fence: its steps in their order, and what the command behind it sees."""

    frame: Frame
    steps: "tuple[Step, ...]"
    variables: "dict[bytes, bytes]"
    host: bytes
    directory: bytes


def read_blueprint(
    options: Sequence[bytes], inputs: "Mapping[int, bytes]", workspace: "Container[bytes]" = ()
) -> Blueprint:
    """The fence that these options of bubblewrap describe; raises `NotUnderstood` for any other.

    Where something of the `workspace` is mounted the steps begin that are about it alone.
    """
    reading = _Reading(options, inputs)
    steps = tuple(reading.steps())
    said = reading.said
    if not said.keys() >= REQUIRED or said[b"--cap-drop"] != b"ALL":
        raise NotUnderstood
    namespaces = frozenset(name for option, name in NAMESPACES.items() if option in said)
    alike = next((place for place, step in enumerate(steps) if step.place in workspace), 0)
    return Blueprint(
        frame=Frame(namespaces, int(said[b"--uid"]), int(said[b"--gid"]), steps[:alike]),
        steps=steps[alike:],
        variables=reading.variables,
        host=said[b"--hostname"],
        directory=said[b"--chdir"],
    )


class _Reading:
    """Words one after the other."""

    def __init__(self, options: Sequence[bytes], inputs: "Mapping[int, bytes]") -> None:
        self._words = iter(options)
        self._inputs = inputs
        self._mode: int | None = None
        self._size = b""
        self.said: dict[bytes, bytes] = {}
        self.variables: dict[bytes, bytes] = {}

    def steps(self) -> "Iterator[Step]":
        """What has to be made, in this order; what is said besides is kept."""
        makers: dict[bytes, Callable[[], Step]] = {
            b"--bind": lambda: self._bind(read_only=False, optional=False),
            b"--ro-bind": lambda: self._bind(read_only=True, optional=False),
            b"--ro-bind-try": lambda: self._bind(read_only=True, optional=True),
            b"--tmpfs": lambda: Memory(self._place(), *self._bounds()),
            b"--dir": lambda: Directory(self._place(), self._bounds()[0]),
            b"--symlink": self._link,
            b"--file": lambda: self._file(covers=False),
            b"--ro-bind-data": lambda: self._file(covers=True),
            b"--proc": lambda: Processes(self._place()),
            b"--dev": lambda: Devices(self._place()),
            b"--remount-ro": lambda: ReadOnly(self._place()),
        }
        for word in self._words:
            if maker := makers.get(word):
                yield maker()
            else:
                self._note(word)

    def _note(self, word: bytes) -> None:
        if word == b"--setenv":
            name = self._next()
            self.variables[name] = self._next()
        elif word == b"--perms":
            self._mode = int(self._next(), 8)
        elif word == b"--size":
            self._size = self._next()
        elif word in (b"--uid", b"--gid", b"--hostname", b"--chdir", b"--cap-drop", b"--seccomp"):
            self.said[word] = self._next()
        elif word in REQUIRED or word in NAMESPACES:
            self.said[word] = b""
        else:
            raise NotUnderstood(word)

    def _bind(self, *, read_only: bool, optional: bool) -> Bind:
        source = self._next()
        return Bind(self._place(), source, read_only, optional)

    def _link(self) -> Link:
        target = self._next()
        return Link(self._place(), target)

    def _file(self, *, covers: bool) -> File:
        content = self._inputs[int(self._next())]
        return File(self._place(), self._bounds()[0], content, covers)

    def _bounds(self) -> "tuple[int, bytes]":
        """What was said of this step, which is not true of the next."""
        mode, size = MODE if self._mode is None else self._mode, self._size
        self._mode, self._size = None, b""
        return mode, size

    def _place(self) -> bytes:
        place = self._next()
        if not place.startswith(b"/") or b"/../" in place + b"/":
            raise NotUnderstood(place)
        return place

    def _next(self) -> bytes:
        try:
            return next(self._words)
        except StopIteration:
            raise NotUnderstood from None
