"""A project does not get to choose where the user's own key is sent."""

from pathlib import Path

import pytest

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.config import resolve
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


def test_a_project_address_with_the_projects_own_key_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", ELSEWHERE)
    write(tmp_path, ".env", "OPENAI_API_KEY=k\n")

    assert isinstance(backend_for(resolve(tmp_path, environ={"HOME": str(tmp_path)})), RetryingBackend)


def test_an_address_the_user_confirmed_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "config/runtime.yaml", ELSEWHERE)
    confirmed = {"llm": {"base_url": "https://elsewhere.example/v1"}}
    environ = {"OPENAI_API_KEY": "k", "HOME": str(tmp_path)}

    backend = backend_for(resolve(tmp_path, environ=environ, session_settings=confirmed))

    assert isinstance(backend, RetryingBackend)
