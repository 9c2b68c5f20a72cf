"""Wait for a claim on a workspace: commands wait for each other, but never for a session.

See `storage.claims` for what may be alive at the same time.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path

from skills_runtime.errors import SandboxError
from skills_runtime.ports import SandboxPlan
from skills_runtime.storage import Claim, ClaimKind, Conflict, try_claim

CLAIM_TIMEOUT_SECONDS = 30.0
"""How long a command waits for conflicting ones."""
POLL_SECONDS = 0.02
COMMAND = "a command"

_held_claim: ContextVar[Claim | None] = ContextVar("held_claim", default=None)


async def claim_workspace(
    kind: ClaimKind,
    holder: str,
    *,
    workspace: Path,
    paths: Iterable[Path | str],
    files: Iterable[Path | str] = (),
    lasting: bool = False,
) -> Claim:
    """Claim a workspace as soon as no claim conflicts; raises `SandboxError` if that may take too long."""
    now = asyncio.get_running_loop().time
    deadline = now() + CLAIM_TIMEOUT_SECONDS
    paths, files = tuple(paths), tuple(files)
    while True:
        claim = try_claim(kind, holder, workspace=workspace, paths=paths, files=files, lasting=lasting)
        if isinstance(claim, Claim):
            return claim
        if claim.lasting or now() > deadline:
            raise _refusal(kind, claim)
        await asyncio.sleep(POLL_SECONDS)


async def claim_plan(plan: SandboxPlan, holder: str, *, lasting: bool = False) -> Claim | None:
    """Claim the writable paths of a planned command; None without a sandbox or under a held claim."""
    if plan.file_access is None or is_claim_held():
        return None
    access = plan.file_access
    return await claim_workspace(
        "sandboxed", holder, workspace=access.workspace, paths=access.writable, lasting=lasting
    )


@asynccontextmanager
async def plan_claim(plan: SandboxPlan) -> AsyncGenerator[None]:
    """Hold the claim of a command while it runs."""
    claim = await claim_plan(plan, COMMAND)
    try:
        yield
    finally:
        if claim is not None:
            claim.release()


@contextmanager
def hold_claim(claim: Claim) -> Generator[None]:
    """Run the commands started in this context under `claim` instead of their own."""
    token = _held_claim.set(claim)
    try:
        yield
    finally:
        _held_claim.reset(token)


def is_claim_held() -> bool:
    """Return whether commands started in this context run under a held claim."""
    return _held_claim.get() is not None


def _refusal(kind: ClaimKind, conflict: Conflict) -> SandboxError:
    holder = conflict.holder or "another process of Skills Runtime"
    location = "outside the sandbox" if conflict.kind == "outside" else "in the sandbox"
    requester = "a sandboxed command" if kind == "sandboxed" else "what needs more rights than the sandbox gives"
    hint = "end it, or wait for its end, and call again"
    if conflict.lasting:
        hint = f"end {holder} first (write_stdin can type \\u0003 or \\u0004 into it), and call again"
    return SandboxError(f"{holder} is running {location} here, and {requester} may not run beside it", hint=hint)
