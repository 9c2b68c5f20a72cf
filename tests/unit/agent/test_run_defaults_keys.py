"""A project does not choose where conversations and keys go."""

from pathlib import Path

import pytest

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.config import ModelAddress, ModelConfirmations, resolve, state_home
from skills_runtime.errors import ConfigError
from skills_runtime.llm import RetryingBackend

ELSEWHERE = "llm: {base_url: 'https://elsewhere.example/v1'}\n"


def write(workspace: Path, name: str, text: str) -> None:
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_project_address_with_the_users_own_key_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", ELSEWHERE)

    with pytest.raises(ConfigError, match="wants your `OPENAI_API_KEY` to be sent to"):
        backend_for(resolve(tmp_path, environ={"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}))


def test_a_project_that_names_another_of_the_users_variables_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", "llm: {api_key_env: MY_TOKEN}\n")

    with pytest.raises(ConfigError, match="wants your `MY_TOKEN`"):
        backend_for(resolve(tmp_path, environ={"MY_TOKEN": "k", "HOME": str(tmp_path)}))


def test_a_project_address_with_the_projects_own_key_is_refused_too(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", ELSEWHERE)
    write(tmp_path, ".env", "OPENAI_API_KEY=k\n")

    with pytest.raises(
        ConfigError, match=r"wants every conversation to be sent to `https://elsewhere\.example/v1`"
    ) as it:
        backend_for(resolve(tmp_path, environ={"HOME": str(tmp_path)}))

    command = "skills-runtime config confirm https://elsewhere.example/v1 OPENAI_API_KEY"
    assert it.value.hint == f"if you trust it: `{command} --workspace-root {tmp_path}`"


def test_a_confirmation_counts_for_one_project_and_one_host(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}
    for name in ("one", "two"):
        write(tmp_path / name, "config/runtime.yaml", ELSEWHERE)
    address = ModelAddress("https://elsewhere.example/v2", "OPENAI_API_KEY", str(tmp_path / "one"))
    ModelConfirmations(state_home(environ)).add(address)
    assert isinstance(backend_for(resolve(tmp_path / "one", environ=environ)), RetryingBackend)
    with pytest.raises(ConfigError, match="this project wants"):
        backend_for(resolve(tmp_path / "two", environ=environ))


def test_a_confirmation_of_version_1_counts_in_every_project(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}
    path = state_home(environ) / "confirmed-models.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"version": 1, "models": [["https://elsewhere.example/v1", "OPENAI_API_KEY"]]}')
    path.chmod(0o600)
    for name in ("one", "two"):
        write(tmp_path / name, "config/runtime.yaml", ELSEWHERE)
        assert isinstance(backend_for(resolve(tmp_path / name, environ=environ)), RetryingBackend)


def test_another_value_is_confirmed_anew(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "k", "MY_TOKEN": "k", "HOME": str(tmp_path)}
    ModelConfirmations(state_home(environ)).add(ModelAddress("https://elsewhere.example/v1", "OPENAI_API_KEY"))
    for llm in (
        "{base_url: 'https://elsewhere.example:8443/v1'}",
        "{base_url: 'http://elsewhere.example/v1'}",
        "{base_url: 'https://elsewhere.example/v1', api_key_env: MY_TOKEN}",
    ):
        write(tmp_path, "config/runtime.yaml", f"llm: {llm}\n")
        with pytest.raises(ConfigError, match="this project wants"):
            backend_for(resolve(tmp_path, environ=environ))


def test_a_list_that_others_may_write_confirms_nothing(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}
    confirmed, address = ModelConfirmations(state_home(environ)), ModelAddress("https://a.example/v1", "KEY")
    assert confirmed.add(address)
    assert address in confirmed
    (state_home(environ) / "confirmed-models.json").chmod(0o622)
    assert address not in confirmed


def test_an_address_that_the_user_gives_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", ELSEWHERE)
    confirmed = {"llm": {"base_url": "https://elsewhere.example/v1"}}
    environ = {"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}

    backend = backend_for(resolve(tmp_path, environ=environ, session_settings=confirmed))

    assert isinstance(backend, RetryingBackend)
