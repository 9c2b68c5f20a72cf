"""Assess the risk of a call: commands, files, and tools that only declare their effect."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from skills_runtime.ports import Effect, FileTouch, Intent, ToolSpec
from skills_runtime.safety.guard.facts import LEVELS, Facts, Level, Reading, Risk
from skills_runtime.safety.guard.known_programs import assess_variable

_NO_VARIABLES: Mapping[str, str] = {}


def read_line(line: str, environment: Mapping[str, str] = _NO_VARIABLES) -> Reading:
    """Analyze a shell line or script; `environment` holds variables with known values."""
    # Loads the parser of shell, which is slow.
    from skills_runtime.safety.guard.reader import read_text

    return read_text(line, environment)


def read_argv(argv: Sequence[str], environment: Mapping[str, str] = _NO_VARIABLES) -> Reading:
    """Analyze a program that is started without a shell."""
    from skills_runtime.safety.guard.reader import read_words  # as above

    return read_words(argv, environment)


MANY_FILES = 25
MANY_DELETED = 5
LARGE_DIFF = 200_000
"""Characters; longer diffs are not analyzed."""

# For tools that declare only their effect: idempotent calls are low risk, all others ask.
_BY_EFFECT: Mapping[Effect, tuple[Level, str]] = {
    "read": ("low", ""),
    "idempotent": ("low", ""),
    "effectful": ("medium", "the tool declares that it changes something"),
}

_CONTROL_KEYS = re.compile(r"(?:[\x00-\x1f\x7f]|\x1b\[[0-9;]*[A-Za-z~])*")
"""Keys that end, interrupt, leave or resume a program."""


def assess(spec: ToolSpec, intent: Intent | None) -> Facts:
    """Collect everything the rules need to know about one call."""
    if intent is None:
        return Facts(
            tool=spec.name,
            effect=spec.effect,
            approval=spec.approval,
            contained=spec.contained,
            risk=_declared_risk(spec),
        )
    reading = _read_commands(intent)
    risks = [reading.risk, *map(_file_risk, intent.files), *_variable_risks(intent.environment)]
    if intent.line is None and not intent.argv and intent.typed is None and not intent.files:
        risks.append(_declared_risk(spec))
    risks += _size_risks(intent)
    if intent.escalated:
        risks.append(
            Risk(level="medium", reason="asks for more than the sandbox allows", part=intent.justification[:120])
        )
    if reading.unclear:
        risks.append(Risk(level="medium", reason=reading.unclear))
    return Facts(
        tool=spec.name,
        effect=spec.effect,
        commands=reading.commands,
        writes=reading.writes,
        reads=reading.reads,
        files=intent.files,
        hosts=tuple(dict.fromkeys((*intent.hosts, *reading.hosts))),
        skill=intent.skill,
        skill_digest=intent.skill_digest,
        is_built_in=intent.is_built_in,
        directory=intent.directory,
        variables=tuple(sorted(intent.environment)),
        escalated=intent.escalated,
        approval=spec.approval,
        contained=spec.contained and not _is_typed_outside(intent),
        unclear=reading.unclear,
        risk=worst_risk(*risks),
    )


def _is_typed_outside(intent: Intent) -> bool:
    """Return whether text is typed into a terminal that has more rights than the sandbox of the run gives."""
    return bool(intent.typed) and bool(intent.fence) and ("granted" in intent.fence or not intent.fence.get("active"))


def worst_risk(*risks: Risk) -> Risk:
    """Return the first of the worst risks."""
    return max(risks, key=lambda risk: LEVELS.index(risk.level), default=Risk())


def _declared_risk(spec: ToolSpec) -> Risk:
    level, reason = _BY_EFFECT[spec.effect]
    return Risk(level=level, reason=reason, part=spec.name if reason else "")


def _read_commands(intent: Intent) -> Reading:
    """Analyze everything that a call would run, as one reading."""
    readings: list[Reading] = []
    if intent.line is not None:
        readings.append(read_line(intent.line, intent.environment))
    if intent.argv:
        readings.append(read_argv(intent.argv, intent.environment))
    if intent.typed is not None:
        readings.append(_read_typed(intent.typed))
    if len(readings) == 1:
        return readings[0]
    return Reading(
        commands=tuple(command for reading in readings for command in reading.commands),
        writes=tuple(path for reading in readings for path in reading.writes),
        reads=tuple(path for reading in readings for path in reading.reads),
        hosts=tuple(dict.fromkeys(host for reading in readings for host in reading.hosts)),
        unclear=next((reading.unclear for reading in readings if reading.unclear), ""),
        risk=worst_risk(*(reading.risk for reading in readings)),
    )


def _read_typed(text: str) -> Reading:
    # Input for a running program: it may or may not be a shell, so it is analyzed as shell code.
    if _CONTROL_KEYS.fullmatch(text):
        return Reading()
    reason = "is typed into a program that is not known"
    reading = read_line(re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "\n", text))
    risk = worst_risk(reading.risk, Risk(level="medium", reason=reason, part=text[:120], span=(0, len(text))))
    return msgspec.structs.replace(reading, unclear=reading.unclear or reason, risk=risk)


def _variable_risks(environment: Mapping[str, str]) -> Iterator[Risk]:
    for name, value in environment.items():
        if risk := assess_variable(name, value):
            yield Risk(level=risk[0], reason=risk[1], part=name)


def _file_risk(touch: FileTouch) -> Risk:
    """Assess what a file tool accesses, and how."""
    from skills_runtime.safety.guard.paths import (  # its expressions are slow to compile
        CONTROL,
        assess_read,
        assess_write,
    )

    level, reason = "low", ""
    if "\0" in touch.path:
        level, reason = "high", "names a path that cannot be"
    elif touch.touch in ("read", "list"):
        secret = assess_read(touch.path)
        if secret and (touch.touch == "read" or secret[1] == CONTROL):
            level, reason = secret
    else:
        level, reason = assess_write(touch.path)
        if touch.touch == "delete":
            reason = reason.replace("writes", "deletes", 1)
        elif level == "medium" and reason == "writes a file":
            created = touch.touch == "create"
            level, reason = ("low", "") if created else ("medium", "changes a file that is already there")
    return Risk(level=level, reason=reason, part=touch.path if reason else "")


def _size_risks(intent: Intent) -> Iterator[Risk]:
    changed = [touch for touch in intent.files if touch.touch not in ("read", "list")]
    deleted = sum(touch.touch == "delete" for touch in changed)
    if len(changed) > MANY_FILES:
        yield Risk(level="high", reason="changes many files at once", part=f"{len(changed)} files")
    elif sum(len(touch.diff) for touch in changed) > LARGE_DIFF:
        yield Risk(level="high", reason="changes too much to review", part=changed[0].path)
    elif deleted > MANY_DELETED:
        yield Risk(level="high", reason="deletes many files at once", part=f"{deleted} files")
