"""Skills over HTTP: list, validate, write, install and choose them; show one, its files, and change its text."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.engine import AgreedSkills, SkillDraft
from skills_runtime.errors import ValidationFailed
from skills_runtime.service.file_response import parse_inner_path
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import Answer, Body
from skills_runtime.service.state import runs_of
from skills_runtime.skills import Skill, load_library, parse_skill, resolve_mentions, route_skills

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])

REFUSALS = failure_responses(*COMMON_STATUSES, 404, 409, 413, 415, 503)
Name = Annotated[str, Field(min_length=1, max_length=64)]


class Catalog(Answer):
    """The skills of the workspace, and what is wrong with others."""

    skills: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    total: int


class SkillFile(Body):
    """The text of a `SKILL.md`."""

    text: Annotated[str, Field(max_length=1_000_000)]
    name: Name | None = None
    mode: Literal["strict", "lenient"] = "strict"


class Validated(Answer):
    """Whether a skill is what the specification asks for."""

    valid: bool
    diagnostics: list[dict[str, Any]]


class NewSkill(Body):
    """A skill to write."""

    name: Name
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    body: Annotated[str, Field(max_length=500_000)] = ""


class Written(Answer):
    """Where a skill was written."""

    name: str
    path: str


class Install(Body):
    """Skills from elsewhere; `agreed` has the digests of those that were looked at, by name."""

    source: Annotated[str, Field(min_length=1, max_length=2000)]
    skills: Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=100)] = []
    everything: bool = False
    ref: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    agreed: dict[str, str] = {}


class Installation(Answer):
    """What was installed, or what would be."""

    installed: bool
    skills: list[dict[str, Any]]


class Task(Body):
    """What somebody wants to have done."""

    task: Annotated[str, Field(min_length=1, max_length=100_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class Routing(Answer):
    """The skills a task calls for, the best first, and by which rule."""

    decided_by: str
    considered: int
    choices: list[dict[str, Any]]


@router.get("", response_model=Catalog, responses=failure_responses(*COMMON_STATUSES))
def list_skills(
    request: Request,
    query: Annotated[str | None, Query(max_length=200, description="Words of the name or the description.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
) -> Response:
    """Every skill of the workspace: offered to runs, or shadowed by a nearer one."""
    runs = runs_of(request)
    library = load_library(runs.workspace.settings())
    mentions = {skill.mention for skill in library.list()}
    matches = find_matching(library.all(), query or "")
    skills = [
        {
            "name": skill.name,
            "mention": skill.mention.text,
            "description": skill.description,
            "namespace": skill.namespace,
            "source": skill.source_id,
            "path": skill.locator,
            "state": "offered" if skill.mention in mentions else "shadowed",
            "runnable": skill.run is not None,
            "runtime": skill.run.runtime if skill.run is not None else None,
            "editable": runs.skills.is_editable(skill),
        }
        for skill in matches[:limit]
    ]
    problems: list[dict[str, Any]] = msgspec.to_builtins(library.problems()) if query is None else []
    return json_response({"skills": skills, "problems": problems, "total": len(matches)})


def find_matching(skills: Sequence[Skill], query: str) -> list[Skill]:
    """The skills that have every word, those whose names begin with the first one before the others."""
    terms = query.casefold().split()
    if not terms:
        return list(skills)
    matches = [
        skill
        for skill in skills
        if all(term in f"{skill.mention.text} {skill.description}".casefold() for term in terms)
    ]
    return sorted(
        matches, key=lambda skill: (not skill.name.casefold().startswith(terms[0]), terms[0] not in skill.name)
    )


@router.post("/validate", response_model=Validated, responses=failure_responses(*COMMON_STATUSES, 413, 415))
def validate_skill(body: SkillFile) -> Response:
    """Say what is wrong with the text of a skill, line by line."""
    parsed = parse_skill(_encode(body.text), mode=body.mode, directory_name=body.name)
    valid = all(diagnostic.severity != "error" for diagnostic in parsed.diagnostics)
    return json_response({"valid": valid, "diagnostics": parsed.diagnostics})


@router.post("", status_code=201, response_model=Written, responses=REFUSALS)
def create_skill(request: Request, body: NewSkill) -> Response:
    """Write a new skill into the directory of the project's skills."""
    file = runs_of(request).skills.create(SkillDraft(body.name, body.description, body.body))
    return json_response({"name": body.name, "path": str(file)}, 201)


@router.post("/install", response_model=Installation, responses=REFUSALS)
def install(request: Request, body: Install) -> Response:
    """Show what would be installed; with the digests that were shown, install exactly that."""
    skills = AgreedSkills(
        source=body.source, skills=tuple(body.skills), everything=body.everything, ref=body.ref, digests=body.agreed
    )
    return json_response(runs_of(request).skills.install_agreed(skills))


@router.post("/route", response_model=Routing, responses=REFUSALS)
def route_task(request: Request, body: Task) -> Response:
    """Which skills a task calls for, as a run would choose them, and why."""
    _encode(body.task)
    library = load_library(runs_of(request).workspace.settings())
    resolve_mentions(body.task, library)  # an exact mention that names nothing is an error here too
    routing = route_skills(body.task, library.list(), limit=body.limit)
    choices = [
        {
            "name": choice.skill.name,
            "mention": choice.skill.mention.text,
            "rule": choice.rule,
            "score": choice.score,
            "reason": choice.reason,
        }
        for choice in routing.choices
    ]
    return json_response({"decided_by": routing.decided_by, "considered": routing.considered, "choices": choices})


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed("what was sent is not valid text", hint="correct its encoding") from None


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


@router.get("/{name}", response_model=SkillDocument, responses=failure_responses(*COMMON_STATUSES, 404))
def show_skill(request: Request, name: SkillName) -> Response:
    """One skill: its text, its files, its diagnostics, what a security scan says, and how it runs by itself."""
    return json_response(_document(request, name))


@router.put(
    "/{name}", response_model=SkillDocument, responses=failure_responses(*COMMON_STATUSES, 404, 408, 409, 413, 415)
)
def change_skill(request: Request, name: SkillName, body: NewText) -> Response:
    """Change the text of a skill of this workspace; needs the scope `admin`."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    skills.edit(skill, body.text, expected_digest=body.content_hash)
    return json_response(_document(request, skill.mention.text))


@router.get(
    "/{name}/files",
    response_class=Response,
    responses={
        200: {"description": "The text.", "content": {"text/plain": {}}},
        **failure_responses(*COMMON_STATUSES, 404),
    },
)
def show_skill_file(
    request: Request, name: SkillName, path: Annotated[str, Query(min_length=1, max_length=4096)]
) -> Response:
    """The first megabyte of one file of a skill, as plain text."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    text = skills.read_file(skill, parse_inner_path(path)).decode(errors="replace")
    headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "attachment"}
    return Response(text, media_type="text/plain", headers=headers)


def _document(request: Request, name: str) -> dict[str, Any]:
    runs = runs_of(request)
    library, skill = runs.skills.find(name)
    return {**runs.skills.describe(library, skill), "executable_as": runs.executions.name_of(skill)}
