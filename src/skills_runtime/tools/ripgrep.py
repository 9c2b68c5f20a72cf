"""ripgrep as a sieve: it tells which of many files cannot match, so that these need not be read.

It decides nothing. It is given the very files that the walk under the run's policy has found, behind the run's own
fence, and what it lets pass is read and searched by us like any other file. Where it is not installed, not allowed,
late or in doubt, every file passes.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import LogError, SkillsRuntimeError
from skills_runtime.ports import ToolContext
from skills_runtime.processes import Limits, execute_plan
from skills_runtime.runs.files import RunFiles
from skills_runtime.runs.files.paths import parse_path
from skills_runtime.tools.networks import Network
from skills_runtime.tools.processes import Work, plan_for

PLACES = ("/usr/local/bin/rg", "/usr/bin/rg", "/opt/homebrew/bin/rg")
"""Where only an administrator puts programs: one that a project brings along is not started by a tool that reads."""
MAX_WORDS_BYTES = 512 * 1024
"""Of the names given to one process."""
OUTPUT_BYTES = 2 << 20
GRACE_SECONDS = 0.2
NOTHING_FOUND = 1

_OPTIONS = (
    "--no-config", "--no-ignore", "--no-messages", "--color=never", "--engine=default", "--encoding=none", "--text",
    "--no-mmap", "--files-with-matches", "--null",
)  # fmt: skip
_ANYTHING = r"(?:[^\n]{1,4})"
"""Whatever is one character to us is one to four bytes."""
_TOKEN = re.compile(
    r"""
    (?P<group> \( (?: \?: | (?!\?) ) )
  | (?P<syntax> [|)] | [*+?] \?? | \{ \d+ (?: ,\d* )? \} \?? )
  | (?P<edge> [\^$] | \\ [bBAz] )
  | (?P<kind> \. | \\ [wdsWDS] | \[ \^? (?: \\ [^xpPQE\d] | [^\\\[\]] )+ \] )
  | \\ (?P<escaped> [.*+?()\[\]{}|^$\\/-] )
  | (?P<plain> [^\\.*+?()\[\]{}|^$\n] )
    """,
    re.VERBOSE,
)
_FOLDED = re.compile(r"\(\?i\)")


class Sifted(msgspec.Struct, frozen=True):
    """The files that may match, and what the fence of the sieve promises."""

    paths: frozenset[str]
    evidence: Mapping[str, Any]


def weakened(pattern: str) -> str | None:
    """A pattern for bytes that ripgrep finds wherever ours matches, and elsewhere too; nothing when we know none."""
    folded = _FOLDED.match(pattern)
    place, words = folded.end() if folded else 0, list[str]()
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            return None
        words.append(_weakened(token, folded=folded is not None))
        place = token.end()
    return f"(?-u){''.join(words)}"


async def sifted(paths: Sequence[str], pattern: str, context: ToolContext, *, seconds: float) -> Sifted | None:
    """The files that may match, or nothing when ripgrep cannot tell."""
    files, weak = context.files, weakened(pattern)
    program = next((place for place in PLACES if os.access(place, os.X_OK)), None)
    if program is None or weak is None or not isinstance(files, RunFiles):
        return None
    real = {os.fsencode(_real(files, path)): path for path in paths}
    passed, evidence = set[str](), dict[str, Any]()
    now = asyncio.get_running_loop().time
    deadline = now() + seconds
    for names in _portions(list(real)):
        argv = (program, *_OPTIONS, "-e", weak, "--", *map(os.fsdecode, names))
        try:
            plan = plan_for(Work(argv=argv), context)
            left = max(0.0, deadline - now())
            limits = Limits(wall_seconds=left, output_bytes=OUTPUT_BYTES, grace_seconds=GRACE_SECONDS)
            done = await execute_plan(plan, limits, Network(context).doorman)
        except LogError:
            raise
        except SkillsRuntimeError:
            return None
        if done.ended_by != "exit" or done.exit_code not in (0, NOTHING_FOUND) or done.stdout.left_out:
            return None
        found = (done.stdout.head + done.stdout.tail).split(b"\0")[:-1]
        passed.update(real[name] for name in found if name in real)
        evidence = dict(plan.evidence)
    return Sifted(frozenset(passed), evidence)


def _weakened(token: "re.Match[str]", *, folded: bool) -> str:
    match token.lastgroup:
        case "group":
            return "(?:"
        case "syntax":
            return token[0]
        case "edge":
            return "(?:)"
        case "kind":
            return _ANYTHING
        case _:
            return _literal(token["escaped"] or token["plain"], folded=folded)


def _literal(character: str, *, folded: bool) -> str:
    if folded and not (character.isascii() and character not in "kKsS"):
        return _ANYTHING  # these have other cases far away
    if folded and character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    exact = "".join(f"\\x{byte:02x}" for byte in character.encode())
    return f"(?:{exact})"


def _real(files: RunFiles, path: str) -> Path:
    place = parse_path(files.policy, path)
    return files.policy.root(place.mount).joinpath(*place.parts)


def _portions(names: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The names in as many parts as one command line each takes."""
    portion, size = list[bytes](), 0
    for name in names:
        if portion and size + len(name) > MAX_WORDS_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(name)
        size += len(name) + 1
    if portion:
        yield portion
