"""What holds in the workspace can be asked, and nothing is changed or executed by asking."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from skills_runtime.testing import says
from tests.unit.service.served import Served, serving

SKILL = "---\nname: notes\ndescription: Writes release notes from a list of changes.\n---\n\nWrite them.\n"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    async with serving(tmp_path, [says("done")]) as running_service:
        yield running_service


async def test_settings_are_shown_with_where_they_come_from(service: Served) -> None:
    document = (await service.get("/config")).json()
    assert document["settings"]["safety"]["mode"] == "allow"
    (origin,) = [entry for entry in document["origins"] if entry["key"] == "safety.mode"]
    assert origin["source"].startswith("session_settings")


async def test_the_doctor_says_which_sandboxes_work(service: Served) -> None:
    document = (await service.get("/sandbox/doctor")).json()
    assert isinstance(document["required_promises_kept"], bool)
    assert {"bubblewrap", "landlock"} & {adapter["adapter"] for adapter in document["adapters"]}


async def test_the_rules_need_approval_a_command(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], safety={"mode": "ask"}) as service:
        document = (await service.post("/policy/check", {"line": "rm -rf /"})).json()
        assert document["verdict"] in ("ask", "deny")
        words = (await service.post("/policy/check", {"argv": ["git", "push", "--force"]})).json()
        assert words["verdict"] in ("ask", "deny")
        assert (await service.post("/policy/check", {})).status_code == 400
        assert (await service.post("/policy/check", {"line": "a", "argv": ["a"]})).status_code == 400


async def test_the_rules_need_approval_a_call_of_a_tool(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], safety={"mode": "ask"}) as service:
        call = {"tool": "file_write", "arguments": {"path": "notes.md", "content": "x"}}
        document = (await service.post("/policy/check", call)).json()
        assert document["verdict"] == "ask"
        assert document["explanation"]["parts"][0]["text"] == "notes.md"
        assert "./notes.md" in document["rules"][0]["text"]
        modes = {mode["mode"]: mode["verdict"] for mode in document["modes"]}
        assert modes == {"auto": "allow", "ask": "ask", "allow": "allow", "deny": "deny"}
        assert [mode["mode"] for mode in document["modes"] if mode["current"]] == ["ask"]
        wrong = await service.post("/policy/check", {"tool": "file_write", "arguments": {"path": 1}})
        assert (wrong.status_code, wrong.json()["kind"]) == (400, "validation")
        assert not (tmp_path / "notes.md").exists()


async def test_no_rule_is_offered_for_a_call_that_is_denied_or_of_high_risk(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], safety={"mode": "ask", "denylist": ["git push"]}) as service:
        denied = (await service.post("/policy/check", {"line": "git push --force"})).json()
        assert (denied["verdict"], denied["rules"]) == ("deny", [])
        assert denied["explanation"]["verdict"]["rule"] == "safety.denylist: git push"
        assert {mode["verdict"] for mode in denied["modes"]} == {"deny"}
        risky = (await service.post("/policy/check", {"line": "rm -rf /"})).json()
        assert (risky["rules"], bool(risky["no_rule"])) == ([], True)


async def test_a_skill_is_validated(service: Served) -> None:
    good = (await service.post("/skills/validate", {"text": SKILL, "name": "notes"})).json()
    assert good["valid"] is True
    bad = (await service.post("/skills/validate", {"text": "no front matter"})).json()
    assert bad["valid"] is False
    assert bad["diagnostics"]


async def test_a_skill_is_written_for_the_project_once(service: Served, tmp_path: Path) -> None:
    body = {"name": "notes", "description": "Writes release notes.", "body": "Write them."}
    response = await service.post("/skills", body)
    assert response.status_code == 201, response.text
    assert (tmp_path / ".agents" / "skills" / "notes" / "SKILL.md").is_file()
    assert (await service.post("/skills", body)).json()["kind"] == "conflict"


async def test_skills_are_installed_only_as_they_were_shown(service: Served, tmp_path: Path) -> None:
    source = tmp_path / "elsewhere" / "notes"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text(SKILL)
    body = {"source": "./elsewhere/notes", "everything": True}
    document = (await service.post("/skills/install", body)).json()
    assert document["installed"] is False
    (skill,) = document["skills"]
    assert not (tmp_path / ".agents" / "skills" / "notes").exists()
    (source / "SKILL.md").write_text(SKILL + "And something else.\n")
    changed = await service.post("/skills/install", {**body, "agreed": {"notes": skill["digest"]}})
    assert (changed.status_code, changed.json()["kind"]) == (409, "conflict")
    (source / "SKILL.md").write_text(SKILL)
    response = await service.post("/skills/install", {**body, "agreed": {"notes": skill["digest"]}})
    assert response.json()["installed"] is True, response.text
    assert (tmp_path / ".agents" / "skills" / "notes" / "SKILL.md").read_text() == SKILL


async def test_nothing_is_installed_from_elsewhere_on_the_machine(
    service: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("other")
    (elsewhere / "SKILL.md").write_text(SKILL)
    answer = await service.post("/skills/install", {"source": str(elsewhere), "everything": True})
    assert (answer.status_code, answer.json()["kind"]) == (403, "permission")


@pytest.mark.parametrize(
    "address", ["file://{path}", "git+file://{path}", "ssh://git@github.com/a/b", "git@github.com:a/b"]
)
async def test_a_repository_over_http_is_a_web_address(service: Served, tmp_path: Path, address: str) -> None:
    answer = await service.post("/skills/install", {"source": address.format(path=tmp_path), "everything": True})
    assert (answer.status_code, answer.json()["kind"]) == (403, "permission"), answer.text


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:{port}/a.git", "http://127.0.0.1:{port}/a.zip", "http://localhost:{port}/"]
)
async def test_no_host_of_the_own_network_is_asked_for_skills(service: Served, address: str) -> None:
    answer = await service.post("/skills/install", {"source": address.format(port=service.port), "everything": True})
    assert answer.json()["details"]["code"] == "SKILL_FETCH_PRIVATE_ADDRESS", answer.text


async def test_a_task_is_routed_to_the_skill_it_calls_for(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "notes"
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(SKILL)
    skills = {
        "spaces": [{"id": "mine", "namespace": "my:own", "sources": ["here"]}],
        "sources": [{"id": "here", "type": "filesystem", "options": {"root": str(tmp_path / "mine")}}],
    }
    async with serving(tmp_path, [says("done")], skills=skills) as service:
        listed = (await service.get("/skills")).json()["skills"]
        own = [(item["mention"], item["state"]) for item in listed if item["state"] != "built-in"]
        assert own == [("$[my:own].notes", "offered")]
        document = (await service.post("/skills/route", {"task": "write release notes for the changes"})).json()
        assert [choice["name"] for choice in document["choices"]] == ["notes"]


async def test_the_diagnosis_has_every_check_and_its_fix(service: Served) -> None:
    document = (await service.get("/doctor")).json()
    checks = {check["name"]: check for check in document["checks"]}
    assert document["can_run"] is False
    assert checks["key"]["status"] == "failed"
    assert checks["key"]["fix"] == "skills-runtime init"
    assert {"sandbox", "workspace", "skills", "state", "disk", "studio"} < checks.keys()


async def test_all_faults_of_a_file_are_in_the_details(service: Served, tmp_path: Path) -> None:
    (tmp_path / "kgent.yaml").write_text("run:\n  max_step: 3\nsaftey: {}\n")
    response = await service.get("/config")
    problem = response.json()
    assert (response.status_code, problem["kind"]) == (400, "config_error")
    first, second = problem["details"]["problems"]
    assert first == problem["detail"]
    assert "(line 2, column 3)" in first
    assert "(line 3, column 1)" in second
