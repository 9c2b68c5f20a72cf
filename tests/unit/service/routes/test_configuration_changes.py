"""Keys, storage and the model over HTTP: for those who may, and without ever showing a secret."""

import stat
from pathlib import Path

import pytest

from skills_runtime.config import PROVIDERS, config_home, resolve
from skills_runtime.config.files import KEYS_FILE, read_stored_keys
from skills_runtime.engine.disk_usage import ScanBudget, measure_storage
from tests.support import model_server
from tests.unit.service.open_app import open_app

KEY = "sk-test-0123456789abcdef"


async def test_a_key_is_shown_once_used_and_revoked(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        response = await app.client.post("/api/v1/keys", json={"name": "ci", "scopes": ["read", "run"]})
        assert response.status_code == 201, response.text
        key, secret = response.json()["key"], response.json()["secret"]
        text = (await app.client.get("/api/v1/keys")).text
        assert secret not in text
        assert "digest" not in text
        bearer = {"Authorization": f"Bearer {secret}"}
        assert (await app.client.get("/api/v1/runs", headers=bearer)).status_code == 200
        gone = await app.client.delete(f"/api/v1/keys/{key['id']}")
        assert gone.json()["key"]["revoked_at"]
        assert (await app.client.get("/api/v1/runs", headers=bearer)).status_code == 401
        assert (await app.client.delete(f"/api/v1/keys/{key['id']}")).status_code == 404


async def test_two_keys_of_one_name_are_a_conflict(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        body = {"name": "ci", "scopes": ["read"]}
        await app.client.post("/api/v1/keys", json=body)
        again = await app.client.post("/api/v1/keys", json=body)
        assert (again.status_code, again.json()["kind"]) == (409, "conflict")
        odd = await app.client.post("/api/v1/keys", json={"name": "x y", "scopes": ["read"]})
        unknown = await app.client.post("/api/v1/keys", json={"name": "xy", "scopes": ["root"]})
        assert (odd.status_code, unknown.status_code) == (400, 400)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/v1/keys"), ("POST", "/api/v1/keys"), ("GET", "/api/v1/model"), ("GET", "/api/v1/doctor"),
     ("POST", "/api/v1/model/test"),
     ("DELETE", "/api/v1/keys/0123456789ab"), ("PUT", "/api/v1/skills/x")],
)  # fmt: skip
async def test_what_belongs_to_the_owner_needs_the_scope_admin(tmp_path: Path, method: str, path: str) -> None:
    async with open_app(tmp_path) as app, app.with_key("read", "run", "approve", "execute") as other:
        answer = await other.request(method, path, json={} if method in ("POST", "PUT") else None)
        assert (answer.status_code, answer.json()["kind"]) == (403, "scope_missing")


async def test_storage_counts_runs_executions_and_caches(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        run = tmp_path / ".skills_runtime_sdk" / "runs" / "run_1"
        run.mkdir(parents=True)
        (run / "events.jsonl").write_bytes(b"x" * 10_000)
        document = (await app.client.get("/api/v1/storage")).json()
    runs = {part["name"]: part for part in document["parts"]}["runs"]
    assert (runs["count"], runs["files"], runs["complete"]) == (1, 1, True)
    assert runs["bytes"] >= 10_000
    assert document["largest_runs"][0]["run_id"] == "run_1"
    assert document["disk"]["free"] > 0


def test_counting_stops_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / f"{number}").write_text("x")
    monkeypatch.setattr("skills_runtime.engine.disk_usage.ScanBudget", lambda: ScanBudget(max_files=5))
    storage = measure_storage(tmp_path, tmp_path, tmp_path, tmp_path)
    assert not all(part.complete for part in storage.parts)


async def test_a_model_is_chosen_and_its_key_never_shown(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        before = (await app.client.get("/api/v1/model")).json()
        assert (before["key_present"], before["ready"]) == (False, False)
        body = {"base_url": "http://127.0.0.1:9/v1", "model": "small", "api_key": KEY}
        answer = await app.client.put("/api/v1/model", json=body)
        assert answer.status_code == 200, answer.text
        assert KEY not in answer.text
        after = answer.json()
        assert (after["base_url"], after["model"], after["key_origin"]) == ("http://127.0.0.1:9/v1", "small", "stored")
        assert (after["ready"], after["overridden"]) == (True, [])
        assert KEY not in (await app.client.get("/api/v1/config")).text
        document = (await app.client.put("/api/v1/model", json={"remove_key": True})).json()
        assert (document["key_present"], document["model"]) == (False, "small")


async def test_a_stored_key_is_private_and_counts_below_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(tmp_path) as app:
        await app.client.put("/api/v1/model", json={"api_key": KEY, "api_key_env": "MY_MODEL_KEY"})
    file = config_home() / KEYS_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_stored_keys(config_home()) == {"MY_MODEL_KEY": (KEY, "https://api.openai.com:443")}
    assert resolve(tmp_path).environment.get("MY_MODEL_KEY") == KEY
    monkeypatch.setenv("MY_MODEL_KEY", "from the process")
    assert resolve(tmp_path).environment.get("MY_MODEL_KEY") == "from the process"


async def test_sources_that_override_the_choice_are_named(tmp_path: Path) -> None:
    (tmp_path / "kgent.yaml").write_text("models: {planner: theirs, executor: theirs}\n")
    async with open_app(tmp_path) as app:
        answer = (await app.client.put("/api/v1/model", json={"model": "mine"})).json()
    assert answer["model"] == "theirs"
    (over,) = answer["overridden"]
    assert over["field"] == "model"
    assert "kgent.yaml" in over["by"]


@pytest.mark.parametrize(
    "body",
    [{"base_url": "ftp://x"}, {"base_url": "http://a:b@c/v1"}, {"api_key_env": "not a name"}, {"api_key": "two words"},
     {"api_key": KEY, "remove_key": True}, {"model": "\n"}, {"unknown": 1}],
)  # fmt: skip
async def test_an_invalid_choice_changes_nothing(tmp_path: Path, body: dict[str, str]) -> None:
    async with open_app(tmp_path) as app:
        answer = await app.client.put("/api/v1/model", json=body)
        assert answer.status_code == 400
        assert KEY not in answer.text
    assert not (config_home() / "model.yaml").exists()


async def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        await app.client.put("/api/v1/model", json={"api_key": KEY})
        (config_home() / KEYS_FILE).chmod(0o644)
        answer = await app.client.get("/api/v1/model")
    assert (answer.status_code, answer.json()["kind"]) == (403, "permission")


@pytest.mark.parametrize("how", [{"rule": "user"}, {"rule": "folder"}, {"scope": "folder"}, {"scope": "always"}])
async def test_a_rule_that_outlives_its_run_needs_the_scope_admin(tmp_path: Path, how: dict[str, str]) -> None:
    body = {"decision": "approved", "approval_key": "0" * 64, **how}
    async with open_app(tmp_path) as app, app.with_key("read", "approve") as other:
        answer = await other.post("/api/v1/approvals/approval_1", json=body)
        assert (answer.status_code, answer.json()["kind"]) == (403, "permission")
        for_run = await other.post("/api/v1/approvals/approval_1", json={**body, "scope": None, "rule": "run"})
        assert (for_run.status_code, for_run.json()["kind"]) == (409, "approval_stale")


ELSEWHERE = "https://elsewhere.example/v1"


@pytest.mark.parametrize(
    "body", [{"base_url": ELSEWHERE}, {"api_key_env": "OTHER_KEY"}, {"base_url": ELSEWHERE, "remove_key": True}]
)
async def test_another_address_needs_its_key(tmp_path: Path, body: dict[str, object]) -> None:
    async with open_app(tmp_path) as app:
        await app.client.put("/api/v1/model", json={"api_key": KEY})
        answer = await app.client.put("/api/v1/model", json=body)
        assert (answer.status_code, answer.json()["kind"]) == (400, "validation")
        assert (await app.client.get("/api/v1/model")).json()["base_url"] != ELSEWHERE


async def test_another_path_of_the_same_host_keeps_its_key(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        await app.client.put("/api/v1/model", json={"base_url": ELSEWHERE, "api_key": KEY})
        answer = await app.client.put("/api/v1/model", json={"base_url": "https://elsewhere.example/v2"})
        assert (answer.status_code, answer.json()["ready"]) == (200, True)


async def test_a_variable_of_the_service_is_not_sent_to_a_chosen_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_SECRET", "of the service")
    async with open_app(tmp_path) as app:
        body = {"base_url": ELSEWHERE, "api_key": KEY, "api_key_env": "SERVICE_SECRET"}
        answer = await app.client.put("/api/v1/model", json=body)
    assert (answer.status_code, answer.json()["kind"]) == (400, "validation")


async def test_a_stored_key_is_for_the_host_it_was_stored_for(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        await app.client.put("/api/v1/model", json={"base_url": ELSEWHERE, "api_key": KEY})
    assert resolve(tmp_path).environment.get("SKILLS_RUNTIME_MODEL_KEY") == KEY
    other = resolve(tmp_path, session_settings={"llm": {"base_url": "https://third.example/v1"}})
    assert other.environment.get("SKILLS_RUNTIME_MODEL_KEY") is None


async def test_only_the_owner_chooses_directories_of_skills(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app, app.with_key("read", "run", "approve", "execute", "admin") as other:
        answer = await other.post("/api/v1/sessions", json={"filesystem_sources": ["skills"]})
        assert (answer.status_code, answer.json()["detail"]["kind"]) == (403, "permission")
        assert (await other.post("/api/v1/sessions", json={})).status_code == 201


async def test_the_presets_are_those_of_the_command_line(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        providers = (await app.client.get("/api/v1/model/providers")).json()["providers"]
    assert [provider["id"] for provider in providers] == list(PROVIDERS)
    assert providers[0]["base_url"] == PROVIDERS["openai"].base_url


async def test_a_local_model_without_a_key_is_chosen_and_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with model_server.start([model_server.says("ready")], models=["local"]) as server:
        chosen = {"base_url": server.base_url, "api_key_env": "OLLAMA_API_KEY", "model": "local"}
        async with open_app(tmp_path) as app:
            changed = await app.client.put("/api/v1/model", json=chosen)
            assert (changed.status_code, changed.json()["ready"]) == (200, True), changed.text
            tested = (await app.client.post("/api/v1/model/test")).json()
    assert (tested["ok"], tested["calls_tools"], tested["models"]) == (True, False, ["local"])
    assert server.authorizations == [""]


async def test_a_test_of_a_wrong_model_names_those_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with model_server.start([], models=["local"]) as server:
        chosen = {"base_url": server.base_url, "api_key_env": "OLLAMA_API_KEY", "model": "nope"}
        async with open_app(tmp_path) as app:
            await app.client.put("/api/v1/model", json=chosen)
            tested = (await app.client.post("/api/v1/model/test")).json()
    assert tested["ok"] is False
    assert tested["problem"].endswith("choose a model that the service lists: local")
