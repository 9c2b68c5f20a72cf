"""From settings to the values a run starts from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_defaults import (
    BACKENDS,
    ModelChoice,
    backend_for,
    build_defaults,
    config_summary,
    describe_models,
    model_names,
)
from skills_runtime.agent.run_inputs import run_spec
from skills_runtime.config import resolve
from skills_runtime.config.models import LlmSettings
from skills_runtime.errors import ConfigError
from skills_runtime.llm import ReplayBackend, RetryingBackend, ScriptedBackend
from skills_runtime.runs import runs_root
from skills_runtime.testing import CountingIds, says
from tests.support.agents import agent_in


def _spec(directory: Path, settings: dict[str, Any] | None = None, **request: Any) -> Any:
    return run_spec(resolve(directory, session_settings=settings), RunRequest(prompt="p", ids=CountingIds(), **request))


def test_a_run_without_a_place_lives_below_its_workspace(tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    assert spec.run_id == f"run_{1:032x}"
    assert (spec.root, spec.link) == (runs_root(tmp_path) / spec.run_id, None)


def test_the_same_request_gives_the_same_run(tmp_path: Path) -> None:
    assert _spec(tmp_path) == _spec(tmp_path)


@pytest.mark.parametrize(("name", "run_id"), [("demo-001", "demo-001"), ("odd name", f"run_{1:032x}")])
def test_a_place_names_the_run_if_it_can(tmp_path: Path, name: str, run_id: str) -> None:
    spec = _spec(tmp_path, sandbox_path=tmp_path / name)
    assert (spec.run_id, spec.root, spec.link) == (run_id, tmp_path / name, runs_root(tmp_path) / run_id)


def test_an_id_that_was_given_wins_over_the_name_of_the_place(tmp_path: Path) -> None:
    assert _spec(tmp_path, sandbox_path=tmp_path / "demo", run_id="mine").run_id == "mine"


def test_a_place_that_is_the_workspace_s_own_needs_no_link(tmp_path: Path) -> None:
    assert _spec(tmp_path, sandbox_path=runs_root(tmp_path) / "x" / ".." / "demo").link is None


def test_settings_become_the_boundaries_of_the_run(tmp_path: Path) -> None:
    settings = {
        "sandbox": {"workspace": "isolated", "delete": "allow"},
        "deliverables": {"required": ["r.md", {"path": "s.md", "description": "d"}]},
        "run": {"max_wall_time_sec": 9},
        "profile_id": "mine",
    }
    spec = _spec(tmp_path, settings)
    assert (spec.workspace_mode, spec.delete, spec.max_wall_time_sec, spec.profile_id) == (
        "isolated",
        "allow",
        9,
        "mine",
    )
    assert [required_deliverable.name for required_deliverable in spec.required_deliverables] == [
        "deliverables/r.md",
        "deliverables/s.md",
    ]


def test_a_system_prompt_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name in ("none.md", "bytes"):
        with pytest.raises(ConfigError, match=name):
            _spec(tmp_path, {"prompt": {"system_path": str(tmp_path / name)}})


def test_the_summary_names_the_key_and_never_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    summary = config_summary(resolve(tmp_path), ModelChoice("m", "m"))
    assert "sk-very-secret" not in str(summary)
    assert "OPENAI_API_KEY" in str(summary)


def test_the_summary_names_sandbox_and_approver(tmp_path: Path) -> None:
    settings = {"sandbox": {"profile": "prod"}, "safety": {"mode": "ask"}}
    summary = config_summary(resolve(tmp_path, session_settings=settings), ModelChoice("m", "m"))
    assert summary["sandbox"] == {"profile": "prod", "policy_mode": "ask"}


def test_each_backend_is_made_from_its_settings(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("calls: [{text: hello}]\n")
    run = Path(agent_in(tmp_path, [says("x")]).run("Go.").wal_locator).parent
    fake = {"llm": {"backend": "fake", "fake": {"script": str(script)}}}
    replay = {"llm": {"backend": "replay", "replay": {"run": str(run)}}}
    assert isinstance(backend_for(resolve(tmp_path, session_settings=fake)), ScriptedBackend)
    assert isinstance(backend_for(resolve(tmp_path, session_settings=replay)), ReplayBackend)
    environ = {"OPENAI_API_KEY": " sk-key\n", "HOME": str(tmp_path)}
    assert isinstance(backend_for(resolve(tmp_path, environ=environ)), RetryingBackend)


@pytest.mark.parametrize("key", ["", "  \n", "sk key", "sk-schlüssel", "sk\x00", "sk-\u200b"])
def test_a_variable_that_holds_no_key_is_refused_without_showing_it(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        backend_for(resolve(tmp_path, environ={"OPENAI_API_KEY": key, "HOME": str(tmp_path)}))
    assert not key.strip() or key not in f"{caught.value!r}{caught.value.hint}"


@pytest.mark.parametrize("backend", ["fake", "replay"])
def test_a_backend_with_missing_settings_is_refused(tmp_path: Path, backend: str) -> None:
    with pytest.raises(ConfigError, match=backend):
        backend_for(resolve(tmp_path, session_settings={"llm": {"backend": backend}}))


def test_every_backend_of_the_settings_can_be_built() -> None:
    assert set(BACKENDS) == set(get_args(LlmSettings.model_fields["backend"].annotation))


def test_a_scripted_model_has_its_own_name(tmp_path: Path) -> None:
    for text, name in (("calls: []\n", "scripted"), ("calls: []\nmodel: rehearsal\n", "rehearsal")):
        (tmp_path / "script.yaml").write_text(text)
        settings = {"model": "gpt-6.1-sol", "llm": {"backend": "fake", "fake": {"script": "script.yaml"}}}
        resolved = resolve(tmp_path, session_settings=settings)
        assert model_names(resolved, backend_for(resolved)) == ModelChoice(name, name)
        assert describe_models(resolved) == name


def test_two_models_are_both_shown(tmp_path: Path) -> None:
    assert describe_models(resolve(tmp_path, session_settings={"model": "a", "models": {"planner": "b"}})) == "b → a"


def test_the_window_is_the_one_of_the_settings_else_of_the_model_else_a_common_one(tmp_path: Path) -> None:
    def window(settings: Mapping[str, Any]) -> int:
        resolved = resolve(tmp_path, session_settings=settings, environ={"OPENAI_API_KEY": "k", "HOME": str(tmp_path)})
        return build_defaults(resolved, backend_for(resolved)).context.window_tokens

    own = {"context_recovery": {"window_tokens": 9000}}
    assert window({"model": "openai:gpt-6.1-sol", "run": own}) == 9000
    assert window({"model": "openai:gpt-6.1-sol"}) == 1_050_000
    assert window({"model": "vllm:own"}) == 128_000
