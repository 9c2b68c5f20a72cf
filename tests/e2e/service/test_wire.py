"""The skill service as its clients know it: paths, fields, words and statuses, byte for byte."""

from typing import Any

import pytest

from tests.e2e.service.servers import Service


def test_health_has_the_bytes_that_clients_know(service: Service) -> None:
    with service.client() as client:
        answer = client.get("/api/health")
    assert (answer.status_code, answer.content) == (200, b'{"status": "ok"}')
    assert answer.headers["content-type"] == "application/json"


def test_skills_are_listed_by_directory_with_three_fields_each(service: Service) -> None:
    with service.client() as client:
        answer = client.get("/api/skills").json()
    assert answer.keys() == {"skills", "errors"}
    assert [skill["name"] for skill in answer["skills"]] == sorted(path.name for path in service.skills.iterdir())
    assert answer["skills"][0] == {"name": "chinese", "description": "chinese for a test", "runtime": "python"}
    assert answer["errors"] == []


@pytest.mark.parametrize("skill", ["echo", "shell", "node"])
def test_every_runtime_gets_json_and_answers_json(service: Service, skill: str) -> None:
    answer = service.execute(skill, {"a": [1, "二"]})
    expected = {"a": [1, "二"]}
    assert answer.status_code == 200, answer.text
    assert answer.json()["output"] == ({"got": expected} if skill == "echo" else expected)


def test_success_has_its_five_fields_first(service: Service) -> None:
    body = service.execute("echo", {"a": 1}).json()
    assert list(body)[:5] == ["success", "executionId", "output", "artifacts", "stderr"]
    assert (body["success"], body["artifacts"], body["stderr"], body["exitCode"]) == (True, [], None, 0)
    assert body["executionId"].startswith("exec-")
    assert len(body["executionId"]) == len("exec-") + 12
    assert body["durationMs"] >= 0


def test_an_answer_is_ascii(service: Service) -> None:
    answer = service.execute("chinese")
    assert b'"text": "\\u6280\\u80fd"' in answer.content


def test_what_a_skill_says_aside_comes_with_success(service: Service) -> None:
    assert service.execute("loud").json()["stderr"] == "note\n"


def test_artifacts_are_named_from_the_directory_of_artifacts(service: Service) -> None:
    body = service.execute("writes", {"text": "hello"}).json()
    assert body["artifacts"] == [f"artifacts/{body['executionId']}/artifacts/out.txt"]
    directory = service.artifacts / body["executionId"]
    assert (directory / "artifacts" / "out.txt").read_text() == "hello"
    assert {"stdout.txt", "stderr.txt", "output.json"} <= {path.name for path in directory.iterdir()}


@pytest.mark.parametrize("given", [0, "", [], False, None])
def test_an_empty_input_is_an_empty_object(service: Service, given: Any) -> None:
    assert service.execute("echo", given).json()["output"] == {"got": {}}


@pytest.mark.parametrize("given", [[1], "text", 5, True])
def test_an_input_need_not_be_an_object(service: Service, given: Any) -> None:
    assert service.execute("echo", given).json()["output"] == {"got": given}


@pytest.mark.parametrize(
    ("skill", "error", "code"),
    [
        ("exit-three", "Skill exited with code 3", "exit_code"),
        ("killed", "Skill exited with code -9", "exit_code"),
        ("silent", "Skill returned empty output", "empty_output"),
        ("null", "Skill returned empty output", "empty_output"),
        ("no-json", "Invalid JSON output: Expecting value: line 1 column 1 (char 0)", "invalid_output"),
        ("two-documents", "Invalid JSON output: Extra data: line 1 column 4 (char 3)", "invalid_output"),
    ],
)
def test_a_skill_that_fails_is_a_500_with_the_known_words(service: Service, skill: str, error: str, code: str) -> None:
    answer = service.execute(skill)
    body = answer.json()
    assert (answer.status_code, body["success"], body["error"], body["code"]) == (500, False, error, code)
    assert list(body)[:4] == ["success", "executionId", "error", "stderr"]


def test_stderr_of_a_failed_skill_is_text_even_if_it_is_empty(service: Service) -> None:
    assert service.execute("exit-three").json()["stderr"] == "gone\n"
    assert service.execute("silent").json()["stderr"] == ""


def test_too_much_output_is_refused_and_too_many_remarks_are_cut(service: Service) -> None:
    refused, cut = service.execute("much-stdout", {"bytes": 1_000_001}), service.execute("much-stderr")
    assert (refused.status_code, refused.json()["error"]) == (500, "stdout exceeded limit")
    assert (cut.status_code, len(cut.json()["stderr"])) == (200, 1_000_000)


def test_the_time_limit_of_the_request_is_reported_with_two_decimals(service: Service) -> None:
    answer = service.execute("sleep", timeoutMs=700)
    assert (answer.status_code, answer.json()["error"]) == (500, "Execution timed out after 0.70s")


def test_the_time_limit_of_the_skill_holds_where_the_request_has_none(service: Service) -> None:
    for nothing in (None, 0, "", False):
        assert service.execute("declared-slow", timeoutMs=nothing).json()["error"] == "Execution timed out after 0.30s"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "Invalid JSON body"),
        (b"{", "Invalid JSON body"),
        (b"{}", "Invalid JSON body"),
        (b"[]", "Invalid JSON body"),
        (b'"text"', "Invalid JSON body"),
        (b"\xff", "Invalid JSON body"),
        (b'{"skillName": NaN}', "Invalid JSON body"),
        (b"[" * 100_000, "Invalid JSON body"),
        (b'{"input": {}}', "skillName is required"),
        (b'{"skillName": ""}', "skillName is required"),
        (b'{"skillName": ["echo"]}', "skillName is required"),
        (b'{"skillName": {"a": 1}}', "skillName is required"),
        (b'{"skillName": "echo", "options": [1]}', "options must be an object"),
        (b'{"skillName": "echo", "options": "x"}', "options must be an object"),
    ],
)
def test_a_request_that_is_invalid_is_a_400(service: Service, body: bytes, error: str) -> None:
    with service.client() as client:
        answer = client.post("/api/skills/execute", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["success"], answer.json()["error"]) == (400, False, error)


def test_a_form_and_a_body_of_unknown_length_are_no_json(service: Service) -> None:
    with service.client() as client:
        form = client.post("/api/skills/execute", data={"skillName": "echo"})
        pieces = client.post(
            "/api/skills/execute",
            content=iter([b'{"skillName": "echo"}']),
            headers={"Content-Type": "application/json"},
        )
    assert (form.status_code, form.json()["error"]) == (400, "Invalid JSON body")
    assert (pieces.status_code, pieces.json()["error"]) == (400, "Invalid JSON body")


def test_a_program_that_names_no_content_type_is_understood(service: Service) -> None:
    with service.client() as client:
        answer = client.post("/api/skills/execute", content=b'{"skillName": "echo"}')
    assert answer.status_code == 200


@pytest.mark.parametrize("name", ["nope", "../echo", "/etc/passwd", "echo/../echo", "e\u0000cho"])
def test_an_unknown_skill_is_a_404(service: Service, name: str) -> None:
    answer = service.execute(name)
    assert (answer.status_code, answer.json()["error"]) == (404, "Skill not found")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/skills/execute", 405),
        ("HEAD", "/api/health", 405),
        ("POST", "/api/health", 405),
        ("DELETE", "/api/skills", 405),
        ("GET", "/api/nope", 404),
        ("GET", "/api/skills/", 404),
        ("GET", "/api/health/", 404),
        ("GET", "/nope", 404),
    ],
)
def test_a_missing_resource_is_answered_in_json(service: Service, method: str, path: str, status: int) -> None:
    with service.client() as client:
        answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"].endswith("json")
    if status == 405:
        assert answer.headers["allow"] in ("GET", "POST")
