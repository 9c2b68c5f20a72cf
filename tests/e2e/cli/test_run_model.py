"""A project chooses its model only once the user has confirmed it: at the terminal, or by a command."""

from pathlib import Path

from skills_runtime.config import ModelAddress, ModelConfirmations, state_home
from tests.e2e.cli.programs import call, environment, invoke
from tests.e2e.cli.terminals import on_a_terminal

ADDRESS = ModelAddress("http://127.0.0.1:9/v1", "PROJECT_KEY")
QUESTION = "Trust this project to send PROJECT_KEY to 127.0.0.1:9? [y/N] "


def write_project(workspace: Path) -> None:
    """A project with a model and a key of its own; nothing answers there."""
    (workspace / "kgent.yaml").write_text(
        f"llm: {{base_url: '{ADDRESS.base_url}', api_key_env: {ADDRESS.api_key_env}, retry: {{max_retries: 0}}}}\n"
    )
    (workspace / ".env").write_text(f"{ADDRESS.api_key_env}=of-the-project\n")


def test_without_a_terminal_the_command_that_confirms_is_named(workspace: Path) -> None:
    write_project(workspace)
    refused = call("skills-runtime", "run", "do it", cwd=workspace)
    assert (refused.code, "wants every conversation to be sent to" in refused.err) == (20, True), refused.err
    assert f"skills-runtime config confirm {ADDRESS.base_url} {ADDRESS.api_key_env}" in refused.err


def test_the_command_confirms_exactly_one_address(workspace: Path) -> None:
    write_project(workspace)
    confirmed = invoke("config", "confirm", ADDRESS.base_url, ADDRESS.api_key_env)
    assert confirmed.out == f"{workspace} is now trusted to send PROJECT_KEY to {ADDRESS.base_url}\n"
    tried = call("skills-runtime", "run", "do it", cwd=workspace, env=environment(NO_PROXY="127.0.0.1"))
    assert "wants" not in tried.err
    assert tried.code != 20


def test_a_user_at_the_terminal_is_asked_once(workspace: Path) -> None:
    write_project(workspace)
    with on_a_terminal("skills-runtime", "run", "do it", cwd=workspace) as screen:
        screen.expect(f"`{ADDRESS.api_key_env}` to {ADDRESS.base_url}.\n{QUESTION}")
        screen.type("y\n")
        screen.end()
    assert ADDRESS._replace(project=str(workspace)) in ModelConfirmations(state_home())
    assert ADDRESS._replace(project=str(workspace.parent)) not in ModelConfirmations(state_home())
    with on_a_terminal("skills-runtime", "run", "do it", cwd=workspace) as screen:
        screen.end()
    assert QUESTION not in screen.text


def test_a_no_sends_nothing_and_is_not_remembered(workspace: Path) -> None:
    write_project(workspace)
    with on_a_terminal("skills-runtime", "run", "do it", cwd=workspace) as screen:
        screen.expect(QUESTION)
        screen.type("n\n")
        assert screen.end() == 20
    assert ADDRESS._replace(project=str(workspace)) not in ModelConfirmations(state_home())
