"""One skill is shown with all that is to be known of it, and changed only where it belongs to the workspace."""

import hashlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skills_runtime.skills.bundled import find_bundled_skills
from tests.unit.service.served import Served, serving

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
