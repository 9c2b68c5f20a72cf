"""Reading a command: the way in, which costs nothing before it is used."""

from collections.abc import Mapping, Sequence

from skills_runtime.safety.guard.facts import Reading

_NOTHING: Mapping[str, str] = {}


def read_line(line: str, environment: Mapping[str, str] = _NOTHING) -> Reading:
    """What a line or a script of shell would do; `environment` holds variables whose values are known."""
    from skills_runtime.safety.guard.reader import read_text

    return read_text(line, environment)


def read_argv(argv: Sequence[str], environment: Mapping[str, str] = _NOTHING) -> Reading:
    """What a program would do that is started without a shell."""
    from skills_runtime.safety.guard.reader import read_words

    return read_words(argv, environment)
