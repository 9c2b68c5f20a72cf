"""A service without a directory of skills serves the one library; with one it serves just that."""

from collections.abc import Iterator

import pytest

from skills_runtime.skills.create import create_skill
from tests.e2e.service.servers import Service, serving, write_python

BUNDLED = ["get-available-resources", "list-installed-tools", "text-statistics"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("library")
    user = tmp_path_factory.mktemp("user")  # one whose own skills are not those of the workspace
    write_python(home / ".agents" / "skills", "cloned", "print(json.dumps(given))")
    write_python(home / "skills", "aside", "print(json.dumps(given))")
    with serving(home, home / ".agents" / "skills", SKILLS_DIR="", HOME=str(user)) as running:
        yield running


def test_everything_that_is_listed_can_be_executed(service: Service) -> None:
    with service.client() as client:
        listing = client.get("/api/skills").json()
        names = {skill["name"] for skill in listing["skills"]}
        assert {*BUNDLED} <= names  # others may have been created by the other tests
        assert "cloned" not in names
        assert "cloned: not trusted; review it, then run `skills trust cloned`" in listing["errors"]
        for name in BUNDLED:
            answer = service.execute(name, {"text": "one two"})
            assert answer.status_code == 200, answer.text
            assert answer.json()["success"] is True


def test_an_untrusted_skill_is_refused_with_the_command_and_an_unknown_one_as_ever(service: Service) -> None:
    refused = service.execute("cloned")
    assert refused.status_code == 403
    message = "the skill `cloned` is not trusted; review it, then run `skills trust cloned`"
    assert refused.json() == {"success": False, "error": message, "code": "permission"}
    unknown = service.execute("nothing")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "Skill not found")


def test_a_skill_that_only_instructs_a_model_says_that_it_has_no_program(service: Service) -> None:
    answer = service.execute("article-writer")
    assert answer.status_code == 400
    assert "`skill.yaml`" in answer.json()["error"]


def test_a_created_skill_is_executed_over_http(service: Service) -> None:
    with service.client(token=True) as client:
        body = {"name": "counter", "description": "Counts words.", "runtime": "python"}
        assert client.post("/api/v1/skills", json=body).status_code == 201
    assert service.execute("counter", {"text": "one two"}).json()["output"]["words"] == 2


def test_a_key_creates_a_skill_that_only_the_owner_can_trust(service: Service) -> None:
    with service.client(token=True) as owner, service.client() as client:
        key = owner.post("/api/v1/keys", json={"name": "ci", "scopes": ["read", "admin"]}).json()["secret"]
        headers = {"Authorization": f"Bearer {key}"}
        body = {"name": "by-key", "description": "Counts words.", "runtime": "python"}
        assert client.post("/api/v1/skills", json=body, headers=headers).status_code == 201
        assert client.get("/api/v1/skills/by-key", headers=headers).json()["state"] == "untrusted"
        assert client.post("/api/v1/skills/by-key/trust", json={}, headers=headers).status_code == 403
        assert owner.post("/api/v1/skills/by-key/trust", json={}).json()["state"] == "offered"


def test_an_ignored_directory_of_skills_is_noted(service: Service) -> None:
    stderr = (service.artifacts.parent / "stderr.txt").read_text()
    assert "are not served; serve only them with `--skills-dir" in stderr


def test_with_a_directory_only_that_is_served(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("own")
    create_skill("elsewhere", home / ".agents/skills", runtime="python")
    write_python(home / "skills", "only", "print(json.dumps(given))")
    with serving(home, home / "skills") as running, running.client() as client:
        listing = client.get("/api/skills").json()
        assert ([skill["name"] for skill in listing["skills"]], listing["errors"]) == (["only"], [])
        assert running.execute("elsewhere").status_code == 404
        assert running.execute("text-statistics").status_code == 404
