"""Whether a version of Python is one that a script allows.

Pure; only what `requires-python` needs: released versions, compared number by number.
"""

import re

_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")

Version = tuple[int, ...]


def allows(requires: str, version: Version) -> bool | None:
    """Whether the version fits every clause; nothing where a clause cannot be understood."""
    answers = [_fits(clause.strip(), version) for clause in requires.split(",") if clause.strip()]
    return None if None in answers else all(answers)


def _fits(clause: str, version: Version) -> bool | None:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return None
    operator, wanted, series = match[1], tuple(int(part) for part in match[2].split(".")), match[3] is not None
    if operator in ("==", "===", "!="):
        same = version[: len(wanted)] == wanted if series else _padded(version, wanted) == _padded(wanted, version)
        return same is (operator != "!=")
    if series:
        return None
    ours, theirs = _padded(version, wanted), _padded(wanted, version)
    if operator == "~=":
        return len(wanted) > 1 and ours >= theirs and version[: len(wanted) - 1] == wanted[:-1]
    return {"<=": ours <= theirs, ">=": ours >= theirs, "<": ours < theirs, ">": ours > theirs}[operator]


def _padded(version: Version, other: Version) -> Version:
    return version + (0,) * (len(other) - len(version))
