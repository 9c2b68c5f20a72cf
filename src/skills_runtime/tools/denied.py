"""What is told of a command that the fence stopped: what it was, and the least that somebody would have to allow."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from skills_runtime.ports import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills_runtime.ports import Grant, Sandbox
    from skills_runtime.processes import Finished
    from skills_runtime.sandbox.denials import Denial, ProcessOutcome


@runtime_checkable
class Explaining(Protocol):
    """A fence that can tell what it stopped."""

    def denials(self, outcome: "ProcessOutcome", grant: "Grant | None" = None) -> "tuple[Denial, ...]":
        """What it stopped of a command that has ended, and that had this grant."""
        ...


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The command as it was asked for."""

    argv: tuple[str, ...]
    cwd: Path
    grant: "Grant | None" = None


def with_denials(
    result: ToolResult, finished: "Finished", asked: Asked, fence: "Sandbox", *, grantable: bool = True
) -> ToolResult:
    """The result of a command that failed, as `sandbox_denied` where the fence is the reason or seems to be.

    What would help is told only where the same call could be made with it.
    """
    if result.ok or result.error_kind == "timeout" or not isinstance(fence, Explaining):
        return result
    from skills_runtime.sandbox.denials import ProcessOutcome
    from skills_runtime.sandbox.grants import combined

    outcome = ProcessOutcome(
        cwd=asked.cwd,
        argv=asked.argv,
        exit_code=finished.exit_code,
        signal=finished.signal,
        stdout=finished.stdout.text(),
        stderr=finished.stderr.text(),
        exceeded=finished.exceeded,
        counted=finished.counted,
    )
    denials = fence.denials(outcome, asked.grant)
    if not denials:
        return result
    if not grantable:
        denials = tuple(msgspec.structs.replace(one, grant=None) for one in denials)
    grant = combined(one.grant for one in denials if one.grant is not None)
    facts: dict[str, Any] = {"denials": [_told(one) for one in denials]}
    if grant:
        facts["grant"] = as_arguments(combined([*([asked.grant] if asked.grant else []), grant]))
    note = f"[the sandbox: {' '.join(one.sentence for one in denials)}{_way(grant)}]"
    return msgspec.structs.replace(
        result,
        stderr=f"{result.stderr.rstrip()}\n{note}".lstrip(),
        error_kind="sandbox_denied",
        data={**(result.data or {}), **facts},
    )


def as_arguments(grant: "Grant") -> "Mapping[str, Any]":
    """A grant as a call asks for it."""
    plain: dict[str, Any] = msgspec.to_builtins(grant)
    if grant.limits:
        plain["limits"] = {limit.name: limit.value for limit in grant.limits}
    return plain


def _told(denial: "Denial") -> dict[str, Any]:
    told: dict[str, Any] = {
        "what": denial.what,
        "target": denial.target,
        "certainty": denial.certainty,
        "sentence": denial.sentence,
    }
    return told | ({"grant": as_arguments(denial.grant)} if denial.grant else {})


def _way(grant: "Grant") -> str:
    if not grant:
        return ""
    return f" To {grant}, call again with the `grant` of this result; a person is asked."
