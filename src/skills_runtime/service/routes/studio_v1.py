"""The Studio v1 API besides sessions: skills of a session, approvals by key, and the `/studio/api/v1` prefix."""

import asyncio
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from skills_runtime.engine import ApprovalAnswer, SkillDraft, build_source_settings
from skills_runtime.errors import NotFound, RequestConflict, ValidationFailed
from skills_runtime.ports import DecisionKind, InboxMessage
from skills_runtime.service.access.peers import PEER, Peer
from skills_runtime.service.responses import json_response
from skills_runtime.service.routes import events, sessions
from skills_runtime.service.routes.sessions import sessions_of
from skills_runtime.service.run_documents import Answer, RunId, SessionId, studio_failures
from skills_runtime.service.state import caller_of, runs_of
from skills_runtime.skills import is_bundled, load_library

paths = APIRouter(tags=["studio"])

REFUSALS = studio_failures(400, 401, 403, 404, 409, 413, 415, 429, 500, 503)
ApprovalKey = Annotated[str, Path(min_length=1, max_length=200)]
router = APIRouter()


class SessionSkills(Answer):
    """The skills of a session."""

    filesystem_sources: list[str]
    disabled_paths: list[str]
    skills: list[dict[str, Any]]


class NewSkill(BaseModel):
    """A skill to create."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    body_markdown: Annotated[str, Field(max_length=500_000)] = ""
    title: Annotated[str, Field(max_length=200)] | None = None
    target_source: Annotated[str, Field(max_length=4096)] | None = None


class WrittenSkill(Answer):
    """The path of the new skill."""

    ok: bool
    filesystem_source: str
    skill_dir: str
    skill_md: str


class PendingList(Answer):
    """The pending approval requests of a run."""

    run_id: str
    approvals: list[dict[str, Any]]


class Decide(BaseModel):
    """A decision on an approval request."""

    decision: Annotated[str, Field(pattern="^(approved|approved_for_session|denied|abort)$")]


class Done(Answer):
    """The request succeeded."""

    ok: bool


class HealthDocument(Answer):
    """The service is available."""

    ok: bool
    env_loaded: bool
    workspace_root: str | None
    env_file: str | None


@paths.get("/health", response_model=HealthDocument, responses=studio_failures(400, 403, 500))
async def health(request: Request) -> Response:
    """Return that the service is available; paths are shown only to its own user and to callers who may read."""
    peer: Peer | None = getattr(request.state, PEER, None)
    is_known = caller_of(request).has_scope("read") or (peer is not None and peer.is_own_user)
    workspace = runs_of(request).workspace
    return json_response(
        {
            "ok": True,
            "env_loaded": workspace.env_file is not None,
            "workspace_root": str(workspace.workspace_root) if is_known else None,
            "env_file": str(workspace.env_file) if is_known and workspace.env_file is not None else None,
        }
    )


@paths.get("/sessions/{session_id}/skills", response_model=SessionSkills, responses=REFUSALS)
def list_session_skills(request: Request, session_id: SessionId) -> Response:
    """List the skills in a session's directories."""
    sources = sessions_of(request).get(session_id).filesystem_sources
    workspace = runs_of(request).workspace
    resolved = workspace.settings(build_source_settings(sources, workspace.settings().settings.skills))
    skills = [
        {
            "name": skill.name,
            "description": skill.description,
            "path": skill.locator,
            "enabled": True,
            "dependencies": {"env_vars": skill.required_env_vars},
            "mention": skill.mention.text,
        }
        for skill in load_library(resolved).all()
        if not is_bundled(skill)
    ]
    return json_response({"filesystem_sources": sources, "disabled_paths": [], "skills": skills})


@paths.post("/sessions/{session_id}/skills", status_code=201, response_model=WrittenSkill, responses=REFUSALS)
def create_session_skill(request: Request, session_id: SessionId, body: NewSkill) -> Response:
    """Create a skill in one of a session's directories."""
    sources = sessions_of(request).get(session_id).filesystem_sources
    if not sources:
        raise ValidationFailed("filesystem sources not configured for session", details={"session_id": session_id})
    target = (body.target_source or "").strip() or sources[0]
    if target not in sources:
        raise ValidationFailed("target_source must be one of session filesystem_sources")
    draft = SkillDraft(body.name, body.description, body.body_markdown, body.title or "")
    file = runs_of(request).skills.create(draft, target, trusted=False)  # the session names its directories itself
    return json_response(
        {"ok": True, "filesystem_source": target, "skill_dir": str(file.parent), "skill_md": str(file)}, 201
    )


@paths.get("/runs/{run_id}/approvals/pending", response_model=PendingList, responses=REFUSALS)
def list_pending(request: Request, run_id: RunId) -> Response:
    """List the pending approval requests of a run."""
    waiting = [approval for approval in runs_of(request).approvals_of(run_id) if approval.sent_decision is None]
    return json_response({"run_id": run_id, "approvals": [approval.document() for approval in waiting]})


@paths.post("/runs/{run_id}/approvals/{approval_key}", response_model=Done, responses=REFUSALS)
async def decide_by_key(request: Request, run_id: RunId, approval_key: ApprovalKey, body: Decide) -> Response:
    """Decide on the request with this key, which identifies exactly what was shown."""
    runs, caller_name = runs_of(request), caller_of(request).name

    def send_decision() -> InboxMessage:
        approvals = [
            approval for approval in runs.approvals_of(run_id) if approval.pending.approval_key == approval_key
        ]
        waiting = [approval for approval in approvals if approval.sent_decision is None]
        if approvals and not waiting:
            raise RequestConflict("the request has already been decided")
        if not waiting:
            raise NotFound("approval not found", details={"run_id": run_id, "approval_key": approval_key})
        return runs.decide(
            waiting[0], ApprovalAnswer(decision=cast("DecisionKind", body.decision), decided_by=caller_name)
        )

    message = await asyncio.to_thread(send_decision)
    await runs.proceed(message.run_id)
    return json_response({"ok": True})


router.include_router(paths, prefix="/api/v1")
for again in (paths, sessions.paths):
    router.include_router(again, prefix="/studio/api/v1", include_in_schema=False)
router.include_router(events.run_events, prefix="/studio", include_in_schema=False)
