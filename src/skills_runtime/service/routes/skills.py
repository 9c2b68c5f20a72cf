"""Skills over HTTP: list, show, validate, create, edit, install and route them."""

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
from skills_runtime.service.state import caller_of, runs_of
from skills_runtime.skills import Skill, is_bundled, load_library, parse_skill, resolve_mentions, route_skills

router = APIRouter(prefix="/api/v1/skills", tags=["skills"])

REFUSALS = failure_responses(*COMMON_STATUSES, 404, 409, 413, 415, 503)
Name = Annotated[str, Field(min_length=1, max_length=64)]


class Catalog(Answer):
    """The skills of the workspace, and the problems found in others."""

    skills: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    total: int


class SkillFile(Body):
    """The text of a `SKILL.md`."""

    text: Annotated[str, Field(max_length=1_000_000)]
    name: Name | None = None
    mode: Literal["strict", "lenient"] = "strict"


class Validated(Answer):
    """Whether a skill conforms to the specification."""

    valid: bool
    diagnostics: list[dict[str, Any]]


class NewSkill(Body):
    """A skill to create."""

    name: Name
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    body: Annotated[str, Field(max_length=500_000)] = ""
    runtime: Literal["python", "node", "shell"] | None = None
    """With a language, the skill gets a working program with schemas and a test."""


class Written(Answer):
    """The path of the new skill."""

    name: str
    path: str


class Install(Body):
    """Skills to install; `agreed` maps the names of reviewed skills to their digests."""

    source: Annotated[str, Field(min_length=1, max_length=2000)]
    skills: Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=100)] = []
    everything: bool = False
    ref: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    agreed: dict[str, str] = {}


class Installation(Answer):
    """The installed skills, or those that would be installed."""

    installed: bool
    skills: list[dict[str, Any]]


class Task(Body):
    """A task to find skills for."""

    task: Annotated[str, Field(min_length=1, max_length=100_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class Routing(Answer):
    """The skills for a task, best first, and the rule that chose them."""

    decided_by: str
    considered: int
    choices: list[dict[str, Any]]


@router.get("", response_model=Catalog, responses=failure_responses(*COMMON_STATUSES))
def list_skills(
    request: Request,
    query: Annotated[str | None, Query(max_length=200, description="Words in the name or the description.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
) -> Response:
    """List the skills of the workspace: offered to runs, built in, shadowed by a nearer one, or untrusted."""
    runs = runs_of(request)
    library = load_library(runs.workspace.settings())
    mentions = {skill.mention for skill in library.usable()}
    untrusted = library.untrusted()
    matches = find_matching(sorted((*library.all(), *untrusted), key=is_bundled), query or "")

    def state(skill: Skill) -> str:
        if skill in untrusted:
            return "untrusted"
        if skill.mention not in mentions:
            return "shadowed"
        return "built-in" if is_bundled(skill) else "offered"

    skills = [
        {
            "name": skill.name,
            "mention": skill.mention.text,
            "description": skill.description,
            "namespace": skill.namespace,
            "source": skill.source_id,
            "path": skill.locator,
            "state": state(skill),
            "runnable": skill.run is not None,
            "runtime": skill.run.runtime if skill.run is not None else None,
            "editable": runs.skills.is_editable(skill),
        }
        for skill in matches[:limit]
    ]
    problems: list[dict[str, Any]] = msgspec.to_builtins(library.problems()) if query is None else []
    return json_response({"skills": skills, "problems": problems, "total": len(matches)})


def find_matching(skills: Sequence[Skill], query: str) -> list[Skill]:
    """Return the skills that contain every word, those whose names start with the first word first."""
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
    """Validate the text of a skill and report problems by line."""
    parsed = parse_skill(_encode(body.text), mode=body.mode, directory_name=body.name)
    valid = all(diagnostic.severity != "error" for diagnostic in parsed.diagnostics)
    return json_response({"valid": valid, "diagnostics": parsed.diagnostics})


@router.post("", status_code=201, response_model=Written, responses=REFUSALS)
def create_skill(request: Request, body: NewSkill) -> Response:
    """Create a skill in the project's skill directory; the owner who creates it trusts it by that."""
    draft = SkillDraft(body.name, body.description, body.body, runtime=body.runtime)
    file = runs_of(request).skills.create(draft, trusted=caller_of(request).kind == "token")
    return json_response({"name": body.name, "path": str(file)}, 201)


@router.post("/install", response_model=Installation, responses=REFUSALS)
def install(request: Request, body: Install) -> Response:
    """Preview an installation; with the digests from the preview, install exactly that."""
    skills = AgreedSkills(
        source=body.source, skills=tuple(body.skills), everything=body.everything, ref=body.ref, digests=body.agreed
    )
    return json_response(runs_of(request).skills.install_agreed(skills))


@router.post("/route", response_model=Routing, responses=REFUSALS)
def route_task(request: Request, body: Task) -> Response:
    """Return the skills that a run would choose for a task, and why."""
    _encode(body.task)
    library = load_library(runs_of(request).workspace.settings())
    resolve_mentions(body.task, library)  # an exact mention of an unknown skill is an error here too
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
        raise ValidationFailed("the text is not valid Unicode", hint="correct its encoding") from None


SkillName = Annotated[str, Path(min_length=1, max_length=300, description="A mention, a name, or `namespace:name`.")]


class SkillDocument(Answer):
    """All details of a skill."""

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
    """A new text for a skill, replacing the one that was shown."""

    text: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    content_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="Hash of the text that was shown.")]


@router.get("/{name}", response_model=SkillDocument, responses=failure_responses(*COMMON_STATUSES, 404))
def show_skill(request: Request, name: SkillName) -> Response:
    """Return a skill: its text, files, diagnostics, security scan, and how it runs on its own."""
    return json_response(_document(request, name))


@router.put(
    "/{name}", response_model=SkillDocument, responses=failure_responses(*COMMON_STATUSES, 404, 408, 409, 413, 415)
)
def change_skill(request: Request, name: SkillName, body: NewText) -> Response:
    """Change the text of a skill in this workspace; needs the scope `admin`."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    skills.edit(skill, body.text, expected_digest=body.content_hash)
    return json_response(_document(request, skill.mention.text))


@router.post(
    "/{name}/trust", response_model=SkillDocument, responses=failure_responses(*COMMON_STATUSES, 404, 409, 413, 415)
)
def trust_skill(request: Request, name: SkillName) -> Response:
    """Trust one skill of an untrusted project, so that runs may use it; needs the owner's token."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    skills.trust(skill)
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
    """Return the first megabyte of a skill's file as plain text."""
    skills = runs_of(request).skills
    _, skill = skills.find(name)
    text = skills.read_file(skill, parse_inner_path(path)).decode(errors="replace")
    headers = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "attachment"}
    return Response(text, media_type="text/plain", headers=headers)


def _document(request: Request, name: str) -> dict[str, Any]:
    runs = runs_of(request)
    library, skill = runs.skills.find(name)
    return {**runs.skills.describe(library, skill), "executable_as": runs.executions.name_of(skill)}
