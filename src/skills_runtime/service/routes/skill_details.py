"""One skill over HTTP: what it says, what it brings along, what is wrong with it, and another text for it."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.service.file_response import inner_path
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])

SkillName = Annotated[str, Path(min_length=1, max_length=300, description="A mention, a name, or `namespace:name`.")]


class SkillDocument(Answer):
    """Everything that is known of a skill."""

    name: str
    mention: str
    description: str
    state: str
    editable: bool
    editable_reason: str
    content_hash: str
    text: str
    body: str
    front_matter: dict[str, Any]
    files: list[dict[str, Any]]
    diagnostics: list[dict[str, Any]]
    security: dict[str, Any] | None
    run: dict[str, Any] | None
    input_schema: dict[str, Any] | None
    executable_as: str | None


class NewText(Body):
    """Another text for a skill, in the place of the one that was seen."""

    text: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    content_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="Of the text that was seen.")]


@router.get("/{name}", response_model=SkillDocument, responses=failures(*EVERYWHERE, 404))
def show_skill(request: Request, name: SkillName) -> Response:
    """One skill: its text, its files, its diagnostics, what a security scan says, and how it runs by itself."""
    return as_json(_document(request, name))


@router.put("/{name}", response_model=SkillDocument, responses=failures(*EVERYWHERE, 404, 408, 409, 413, 415))
def change_skill(request: Request, name: SkillName, body: NewText) -> Response:
    """Change the text of a skill of this workspace; needs the scope `admin`."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    skills.edit(skill, body.text, seen=body.content_hash)
    return as_json(_document(request, skill.mention.text))


@router.get(
    "/{name}/files",
    response_class=Response,
    responses={200: {"description": "The text.", "content": {"text/plain": {}}}, **failures(*EVERYWHERE, 404)},
)
def show_skill_file(
    request: Request, name: SkillName, path: Annotated[str, Query(min_length=1, max_length=4096)]
) -> Response:
    """The first megabyte of one file of a skill, as plain text."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    text = skills.read_file(skill, inner_path(path)).decode(errors="replace")
    headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "attachment"}
    return Response(text, media_type="text/plain", headers=headers)


def _document(request: Request, name: str) -> dict[str, Any]:
    runs = runs_of(request)
    library, skill = runs.skills.find(name)
    return {**runs.skills.describe(library, skill), "executable_as": runs.executions.name_of(skill)}
