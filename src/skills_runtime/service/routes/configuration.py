"""What holds in the workspace, over HTTP: settings and where they come from, the fence, and what the rules say."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.config import explain
from skills_runtime.engine.policy_check import judged
from skills_runtime.sandbox import Fence, fence_for
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of

router = APIRouter(prefix="/api/v1", tags=["configuration"])


class ConfigDocument(Answer):
    """The settings, and where each comes from."""

    settings: dict[str, Any]
    origins: list[dict[str, str]]
    notices: list[str]


class DoctorDocument(Answer):
    """Which fences work here."""

    adapters: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    required_promises_kept: bool


class PlannedCommand(Body):
    """A call that nobody makes: a line of shell, a program and its arguments, or the arguments of a tool."""

    tool: Annotated[str, Field(min_length=1, max_length=200)] = "shell_command"
    line: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    argv: Annotated[list[Annotated[str, Field(max_length=100_000)]], Field(min_length=1, max_length=1000)] | None = None
    arguments: dict[str, Any] | None = None


class JudgementDocument(Answer):
    """What the rules say, how the call was understood, what each policy mode would say, and a rule that allows it."""

    verdict: str
    explanation: dict[str, Any]
    facts: dict[str, Any]
    modes: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    no_rule: str
    notices: list[str]


@router.get("/config", response_model=ConfigDocument, responses=failures(*EVERYWHERE))
def show_config(request: Request) -> Response:
    """The settings that hold for new runs, and where each comes from; keys are named, never shown."""
    resolved = runs_of(request).workspace.settings()
    return as_json(
        {
            "settings": resolved.settings.model_dump(mode="json"),
            "origins": [asdict(one) for one in explain(resolved)],
            "notices": resolved.notices,
        }
    )


@router.get("/sandbox/doctor", response_model=DoctorDocument, responses=failures(*EVERYWHERE, 503))
async def sandbox_doctor(request: Request) -> Response:
    """Which fences work on this machine for the settings of the workspace, and what is missing."""
    home = runs_of(request).workspace

    def looked_at() -> dict[str, Any]:
        resolved = home.settings()
        fence = fence_for(
            resolved.settings.sandbox, workspace=home.workspace_root, variables=resolved.environment.process
        )
        capabilities, gaps, kept = fence.state() if isinstance(fence, Fence) else ((), (), False)
        return {"adapters": capabilities, "gaps": gaps, "required_promises_kept": kept}

    return as_json(await asyncio.to_thread(looked_at))


@router.post("/policy/check", response_model=JudgementDocument, responses=failures(*EVERYWHERE, 413, 415))
async def check_policy(request: Request, body: PlannedCommand) -> Response:
    """Whether a run may make a call, and which rule says so; nothing is executed."""
    settings = await asyncio.to_thread(runs_of(request).workspace.settings)
    return as_json(await judged(settings, body.tool, body.line, body.argv, body.arguments))
