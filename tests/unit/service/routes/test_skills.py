"""One skill is shown with all that is to be known of it, and changed only where it belongs to the workspace."""

import hashlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skills_runtime.config import state_home
from skills_runtime.skills import TrustStore
from skills_runtime.skills.bundled import find_bundled_skills
from skills_runtime.skills.discovery import TrustedPaths
from tests.unit.service.served import Served, serving
from tests.unit.skills.samples import make_skill

NOTES = "---\nname: notes\ndescription: Writes release notes.\nlicense: MIT\n---\n\nWrite them.\n"
COUNT = {"name": "count", "description": "Counts words", "runtime": {"type": "python"}}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    mine = tmp_path / "mine"
    (mine / "notes" / "references").mkdir(parents=True)
    (mine / "notes" / "SKILL.md").write_text(NOTES)
    (mine / "notes" / "references" / "style.md").write_text("short")
    (mine / "notes" / "references" / "link.md").symlink_to("/etc/passwd")
    (mine / "count").mkdir()
    (mine / "count" / "skill.yaml").write_text(json.dumps(COUNT))
    (mine / "count" / "run.py").write_text("print('{}')")
    (mine / "count" / "input.schema.json").write_text('{"type": "object"}')
    skills = {
        "spaces": [
            {"id": "mine", "namespace": "my:own", "sources": ["here"]},
            {"id": "web", "namespace": "web:mvp", "sources": ["bundled"]},
        ],
        "sources": [
            {"id": "here", "type": "filesystem", "options": {"root": str(mine)}},
            {"id": "bundled", "type": "filesystem", "options": {"root": str(find_bundled_skills())}},
        ],
    }
    async with serving(tmp_path, skills=skills) as running_service:
        yield running_service


async def put(service: Served, name: str, text: str, seen: str) -> tuple[int, dict[str, object]]:
    answer = await service.client.put(f"/api/v1/skills/{name}", json={"text": text, "content_hash": seen})
    return answer.status_code, answer.json()


@pytest.mark.parametrize("name", ["notes", "my:own:notes", "$[my:own].notes"])
async def test_a_skill_is_found_by_its_name_and_by_its_mention(service: Served, name: str) -> None:
    document = (await service.get(f"/skills/{name}")).json()
    assert (document["mention"], document["text"], document["body"].strip()) == (
        "$[my:own].notes",
        NOTES,
        "Write them.",
    )
    assert document["license"] == "MIT"
    assert "references/style.md" in [file["path"] for file in document["files"]]
    assert document["security"]["verdict"] == "suspicious"  # one of its files leads out of it
    assert document["security"]["findings"][0]["file"] == "references/link.md"
    assert (document["editable"], document["run"], document["state"]) == (True, None, "offered")


async def test_a_skill_that_runs_brings_the_schema_of_its_input(service: Served) -> None:
    document = (await service.get("/skills/count")).json()
    assert document["run"]["runtime"] == "python"
    assert document["input_schema"] == {"type": "object"}


async def test_a_skill_that_is_not_there_is_not_found(service: Served) -> None:
    assert (await service.get("/skills/nowhere")).status_code in (400, 404)
    assert (await service.get("/skills/$[no:such].thing")).status_code in (400, 404)


async def test_a_file_of_a_skill_is_text_and_no_link_is_followed(service: Served) -> None:
    good = await service.get("/skills/notes/files", params={"path": "references/style.md"})
    assert (good.text, good.headers["content-type"]) == ("short", "text/plain; charset=utf-8")
    for path in ("references/link.md", "../count/run.py", "/etc/passwd", "none"):
        assert (await service.get("/skills/notes/files", params={"path": path})).status_code in (400, 404)


async def test_the_text_of_a_skill_is_changed_if_it_is_what_was_seen(service: Served, tmp_path: Path) -> None:
    content_hash = (await service.get("/skills/notes")).json()["content_hash"]
    assert content_hash == hashlib.sha256(NOTES.encode()).hexdigest()
    changed = NOTES.replace("Write them.", "Write them well.")
    status, shown = await put(service, "notes", changed, content_hash)
    assert (status, shown["text"]) == (200, changed), shown
    assert (tmp_path / "mine" / "notes" / "SKILL.md").read_text() == changed
    status, problem = await put(service, "notes", NOTES, content_hash)
    assert (status, problem["kind"]) == (409, "conflict")


@pytest.mark.parametrize(
    "text", ["no front matter", NOTES.replace("name: notes", "name: other"), "---\nname: [\n---\n"]
)
async def test_an_invalid_skill_text_changes_nothing(service: Served, tmp_path: Path, text: str) -> None:
    content_hash = (await service.get("/skills/notes")).json()["content_hash"]
    status, problem = await put(service, "notes", text, content_hash)
    assert (status, problem["kind"]) == (400, "validation")
    assert (tmp_path / "mine" / "notes" / "SKILL.md").read_text() == NOTES


async def test_a_bundled_skill_is_not_changed(service: Served) -> None:
    document = (await service.get("/skills/article-writer")).json()
    assert document["editable"] is False
    assert document["editable_reason"]
    status, problem = await put(service, "article-writer", document["text"], document["content_hash"])
    assert (status, problem["kind"]) == (403, "permission")


async def test_the_list_is_searched_by_words(service: Served) -> None:
    everything = (await service.get("/skills")).json()
    assert everything["total"] == len(everything["skills"]) > 2
    document = (await service.get("/skills", params={"query": "RELEASE not"})).json()
    assert [skill["name"] for skill in document["skills"]] == ["notes"]
    first = (await service.get("/skills", params={"query": "count", "limit": 1})).json()
    assert [(skill["name"], skill["runnable"], skill["editable"]) for skill in first["skills"]] == [
        ("count", True, True)
    ]


async def create(service: Served, **fields: object) -> dict[str, object]:
    body = {"name": "counter", "description": "Counts words.", **fields}
    answer = await service.post("/skills", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_who_creates_a_skill_trusts_it_and_nothing_else_of_the_project(service: Served, tmp_path: Path) -> None:
    make_skill(tmp_path / ".agents/skills", "cloned")
    await create(service, runtime="python")
    document = (await service.get("/skills/counter")).json()
    assert (document["state"], document["executable_as"]) == ("offered", "counter")
    assert document["input_schema"]["required"] == ["text"]
    assert (await service.get("/skills/cloned")).json()["state"] == "untrusted"


async def test_a_created_skill_may_have_a_program_and_its_own_text(service: Served, tmp_path: Path) -> None:
    await create(service, runtime="shell", body="Do it *my* way.")
    directory = tmp_path / ".agents/skills/counter"
    assert "Do it *my* way." in (directory / "SKILL.md").read_text()
    assert (directory / "run.sh").stat().st_mode & 0o111


async def test_an_untrusted_skill_is_shown_and_trusted_by_one_request(service: Served, tmp_path: Path) -> None:
    for name in ("cloned", "other"):
        make_skill(tmp_path / ".agents/skills", name)
    listed = {skill["name"]: skill["state"] for skill in (await service.get("/skills")).json()["skills"]}
    assert (listed["cloned"], listed["notes"]) == ("untrusted", "offered")
    trusted = await service.post("/skills/$[project].cloned/trust", {})
    assert (trusted.status_code, trusted.json()["state"]) == (200, "offered")
    listed = {skill["name"]: skill["state"] for skill in (await service.get("/skills")).json()["skills"]}
    assert (listed["cloned"], listed["other"]) == ("offered", "untrusted")


async def test_a_skill_that_needs_no_trust_stays_as_it_is(service: Served) -> None:
    for name in ("notes", "article-writer"):
        assert (await service.post(f"/skills/{name}/trust", {})).status_code == 200
    read = TrustStore(state_home()).read()
    assert read == TrustedPaths()
