"""What an attempt to escape is: code that runs inside, and the truth about it as the host sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.sandbox.arena import ORIGINAL, SECRET, Arena, Outcome

Truth = Callable[[Arena, Outcome], bool]


def says_so(arena: Arena, outcome: Outcome) -> bool:
    """The attempt itself knows: it got an answer from the kernel that nobody outside can see."""
    del arena
    return outcome.reached


def leaked(arena: Arena, outcome: Outcome) -> bool:
    """The secret came out."""
    del arena
    return SECRET in outcome.stdout or SECRET in outcome.stderr


def heard(name: str) -> Truth:
    """Somebody outside was reached."""
    return lambda arena, outcome: name in arena.received or outcome.reached


def changed(path: str) -> Truth:
    """A file around the workspace is not as it was."""

    def truth(arena: Arena, outcome: Outcome) -> bool:
        del outcome
        file = arena.base / path
        return not file.is_file() or file.read_text() != ORIGINAL

    return truth


def exists(path: str) -> Truth:
    """Something is there that nobody but the attempt could have made."""

    def truth(arena: Arena, outcome: Outcome) -> bool:
        del outcome
        return (arena.base / path).exists() or (arena.base / path).is_symlink()

    return truth


@dataclass(frozen=True)
class Attempt:
    """One way out that must be closed."""

    name: str
    category: str
    code: str
    escaped: Truth = says_so
    prepare: Callable[[Arena], None] | None = None
    signal_is_an_answer: bool = False
    """The kernel may end the attempt before it says that it began."""


def snapshot(place: Path) -> dict[str, str]:
    """Every file below a directory with its content, and every link with where it leads."""
    found: dict[str, str] = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_text(errors="replace") if path.is_file() else "directory"
    return found
