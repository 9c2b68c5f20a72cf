"""Match paths and the names of tools, skills and hosts with patterns: strictly to allow, loosely to deny.

Path patterns work as in a `.gitignore` at the top of the workspace: one without a slash matches at any depth, `*`
matches a part of a name and `**` any directories, and a match of a directory includes everything below it. Patterns
that begin with `/` or `~/` are absolute; `./` anchors one in the workspace.

Pure: links are not followed and no file is read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from skills_runtime.text import fold_name

_SEPARATORS = re.compile(r"[\s'\"`()=:,;@<>|&]+")
_GLOB = re.compile(r"[*?\[]")
_QUOTES_AND_VARIABLES = re.compile(r"\$\{?(HOME|PWD)\b\}?|['\"\\]")
MAX_CHARS = 4096
"""No system has longer file names."""

MAX_LETTERS = 3
"""How many short options in one word are skipped."""

Parts = tuple[str, ...]
Segment = Callable[[str, str], bool]


class Anchor(msgspec.Struct, frozen=True):
    """The base of relative paths and of `~`; empty when unknown."""

    root: str = ""
    home: str = ""


class NormalizedPath(msgspec.Struct, frozen=True):
    """A normalized path, relative to the workspace or absolute."""

    parts: Parts
    inside: bool


def path_matches(pattern: str, path: str, base: Anchor) -> bool:
    """Return whether a path certainly matches a pattern; `..` never does, since links may lead it anywhere."""
    if ".." in path.split("/") or "\0" in path:
        return False
    target, anchored = normalize_path(path, base), _anchor_pattern(pattern, base)
    if target is None or anchored is None:
        return False
    if target.inside and not anchored.inside and base.root:
        target = NormalizedPath((*_split(base.root), *target.parts), inside=False)
    if target.inside != anchored.inside:
        return False
    # Behind a directory there must be something: `src/**` does not mean `src` itself.
    segments = (*anchored.parts[:-1], "*") if anchored.parts[-1:] == ("**",) else anchored.parts
    return _matches_prefix(segments, target.parts, fnmatchcase)


def path_may_match(pattern: str, path: str, base: Anchor) -> bool:
    """Return whether a path could match the pattern in any spelling."""
    anchored = _anchor_folded_pattern(pattern, base)
    return any(
        candidate.inside == anchored.inside and _matches_prefix(anchored.parts, candidate.parts, _segment_may_match)
        for candidate in _spellings(path, base)
    )


@lru_cache(maxsize=4096)
def _anchor_folded_pattern(pattern: str, base: Anchor) -> NormalizedPath:
    anchored = _anchor_pattern(pattern, base)
    if anchored is None:
        anchored = NormalizedPath(("**", *_split(pattern.removeprefix("~"))), inside=True)
    parts = anchored.parts[:-1] if anchored.parts[-1:] == ("**",) else anchored.parts
    return NormalizedPath(tuple(map(fold_name, parts)), anchored.inside)


def normalize_path(path: str, base: Anchor) -> NormalizedPath | None:
    """Return where a path leads if no part of it is a link; None when that is unknown."""
    if path.startswith("~"):
        if not base.home or path[1:2] not in ("", "/"):
            return None
        path = base.home + path[1:]
    absolute = path.startswith("/")
    if not absolute and base.root:
        absolute, path = True, f"{base.root}/{path}"
    parts: list[str] = []
    for part in _split(path):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        elif not absolute:
            return None
    root = _split(base.root)
    if absolute and root and tuple(parts[: len(root)]) == root:
        return NormalizedPath(tuple(parts[len(root) :]), inside=True)
    return NormalizedPath(tuple(parts), inside=not absolute)


@lru_cache(maxsize=1024)
def absolute_parts(path: str, base: Anchor) -> Parts | None:
    """Return the folded names from the root of the file system; None when they are unknown."""
    normalized = normalize_path(path, base)
    if normalized is None or (normalized.inside and not base.root):
        return None
    return tuple(map(fold_name, (*_split(base.root), *normalized.parts) if normalized.inside else normalized.parts))


def path_tokens(word: str) -> Iterator[str]:
    """Return everything in a word that may be a path, as in `--file=a/b`, `-oa/b` or `HEAD:a/b`."""
    if len(word) <= MAX_CHARS:
        yield word
        # What may be the value of a short option, which others may stand before.
        for length in range(2, min(len(word), MAX_LETTERS + 2)) if word.startswith("-") else ():
            if not word[length - 1].isalnum():
                break
            yield word[length:]
    pieces = _SEPARATORS.split(word)
    if len(pieces) > 1:
        yield from (piece for piece in pieces if piece and len(piece) <= MAX_CHARS)


def literal_words(text: str) -> list[str]:
    """Return the words of a command as written, without quotes and with certain variables expanded."""
    return _QUOTES_AND_VARIABLES.sub(lambda match: {"HOME": "~", "PWD": "."}.get(match[1] or "", ""), text).split()


def resolve_proc_aliases(path: str) -> Iterator[str]:
    """Yield the path without the `/proc` aliases of the working directory and of the root."""
    if "proc" not in path:
        return
    parts: list[str] = []
    names = _split(path)
    resolved = None
    for index, name in enumerate(names, 1):
        if name != "..":
            parts.append(name)
        elif parts:
            parts.pop()
        if parts[:1] == ["proc"] and name in ("cwd", "root") and len(parts) in (3, 5):
            parts = []
            resolved = ("." if name == "cwd" else "", *names[index:])
    if resolved is not None:
        yield "/".join(resolved) or "/"


def has_glob(text: str) -> bool:
    """Return whether a shell would expand the text as a pattern."""
    return _GLOB.search(text) is not None


def _split(path: str) -> Parts:
    return tuple(part for part in path.split("/") if part not in ("", "."))


@lru_cache(maxsize=4096)
def _anchor_pattern(pattern: str, base: Anchor) -> NormalizedPath | None:
    """Anchor a pattern and split it into parts; None when it needs an unknown home directory."""
    below = ("**",) if pattern.endswith("/") else ()
    if pattern.startswith(("~", "/")):
        normalized = normalize_path(pattern, base)
        return NormalizedPath((*normalized.parts, *below), normalized.inside) if normalized else None
    anchored = "/" in pattern.rstrip("/")
    return NormalizedPath((*(() if anchored else ("**",)), *_split(pattern), *below), inside=True)


@lru_cache(maxsize=8192)
def _spellings(path: str, base: Anchor) -> tuple[NormalizedPath, ...]:
    """Return the path and those it could mean if a parent directory has a second name, all folded."""
    return tuple(
        NormalizedPath(tuple(map(fold_name, candidate.parts)), candidate.inside)
        for candidate in _candidate_paths(path, base)
    )


def _candidate_paths(path: str, base: Anchor) -> Iterator[NormalizedPath]:
    normalized = normalize_path(path, base)
    if normalized is not None:
        yield normalized
        if normalized.inside:
            if base.root:
                yield NormalizedPath((*_split(base.root), *normalized.parts), inside=False)
            return
    parts = normalized.parts if normalized is not None else tuple(part for part in _split(path) if part != "..")
    name = tuple(map(fold_name, _split(base.root)[-1:]))
    for start in range(len(parts)):
        if not name or (start and (fold_name(parts[start - 1]),) == name):
            yield NormalizedPath(parts[start:], inside=True)


def _segment_may_match(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or (has_glob(name) and fnmatchcase(pattern, name))


def _matches_prefix(pattern: Sequence[str], parts: Parts, matches: Segment) -> bool:
    """Return whether some prefix of the path matches the whole pattern, in time proportional to their product."""
    states = _skip_double_stars(pattern, {0})
    if not pattern:
        return True
    for part in parts:
        states = _skip_double_stars(
            pattern,
            {
                index if pattern[index] == "**" else index + 1
                for index in states
                if index < len(pattern) and (pattern[index] == "**" or matches(part, pattern[index]))
            },
        )
        if len(pattern) in states:
            return True
        if not states:
            return False
    return False


def _skip_double_stars(pattern: Sequence[str], states: set[int]) -> set[int]:
    """Add the states after every `**` that matches nothing."""
    reached = set(states)
    for index in states:
        following = index
        while following < len(pattern) and pattern[following] == "**":
            following += 1
            reached.add(following)
    return reached


# Names of the same tool: a rule for one of them applies to all.
TOOL_ALIASES = (
    frozenset({"shell_command", "shell", "shell_exec"}),
    frozenset({"read_file", "file_read"}),
    frozenset({"ask_human", "request_user_input"}),
    frozenset({"read_skill_file", "skill_ref_read"}),
)


def tool_aliases(tool: str) -> frozenset[str]:
    """Return every name of the tool with this name."""
    return next((names for names in TOOL_ALIASES if tool in names), frozenset({tool}))


def matches_tool(patterns: Iterable[str], tool: str) -> bool:
    """Return whether a tool, by any of its names, matches one of the patterns."""
    names = tool_aliases(tool)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def matches_name(patterns: Iterable[str], name: str) -> bool:
    """Return whether a name matches one of the patterns; `*` stands for any characters."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def matches_host(patterns: Iterable[str], host: str) -> bool:
    """Return whether a host matches a pattern; `*.example.com` matches subdomains only."""
    plain = normalize_host(host)
    return bool(plain) and any(
        pattern in ("*", plain) or (pattern.startswith("*.") and plain.endswith(pattern[1:]) and plain != pattern[1:])
        for pattern in map(normalize_host, patterns)
    )


def normalize_host(host: str) -> str:
    """Return the host in lower case, without user, port and final dot."""
    name = host.strip().rpartition("@")[2].casefold()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    if name.count(":") == 1:
        name = name.partition(":")[0]
    return name.rstrip(".")
