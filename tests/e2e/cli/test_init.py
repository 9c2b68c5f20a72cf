"""`init` attaches a model: nothing is written unless it answers, and everything is written at once."""

import os
import stat
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from skills_runtime.config import config_home, resolve
from tests.e2e.cli.programs import SCRIPTS, Answer, call, environment
from tests.e2e.cli.terminals import on_a_terminal
from tests.support import model_server
from tests.support.model_server import ModelServer

KEY = "sk-good-key-1234567890"
MODELS = ("m-one", "m-two")


def answer(request: dict[str, Any]) -> model_server.Answer:
    """Call the tool of a test, and otherwise answer in words."""
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    if "report_ready" in tools:
        return model_server.calls(("report_ready", {}))
    return model_server.says("the answer of ", request["model"], usage=(1000, 10))


@pytest.fixture
def server() -> Generator[ModelServer]:
    """A service with two models and one key."""
    with model_server.start(answer, models=MODELS, key=KEY) as running:
        yield running


def init(workspace: Path, *arguments: str, stdin: str = "", **variables: str) -> Answer:
    """Run `init` without a terminal."""
    done = subprocess.run(
        [SCRIPTS / "skills-runtime", "init", *arguments],
        cwd=workspace,
        env=environment(NO_PROXY="127.0.0.1", **variables),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def other(server: ModelServer, *arguments: str) -> tuple[str, ...]:
    return ("--provider", "other", "--base-url", server.base_url, *arguments)


def assert_nothing_written() -> None:
    assert not config_home().exists() or not any(config_home().iterdir())


def test_a_stored_key_and_a_model_are_used_by_the_next_run(workspace: Path, server: ModelServer) -> None:
    done = init(workspace, *other(server, "--model", "m-one", "--key-stdin", "--trust", "--skill"), stdin=f"{KEY}\n")
    assert done.code == 0, done.err
    assert "with tool calls" in done.out
    assert done.out.splitlines()[-1].startswith("next: skills-runtime run ")
    keys = config_home() / "model-keys.json"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert KEY not in (config_home() / "model.yaml").read_text()
    assert (workspace / ".agents/skills/daily-note/SKILL.md").is_file()
    ran = call("skills-runtime", "run", "hello", cwd=workspace, env=environment(NO_PROXY="127.0.0.1"))
    assert (ran.code, ran.out) == (0, "the answer of m-one\n"), ran.err
    (run,) = (workspace / ".skills_runtime_sdk" / "runs").iterdir()
    shown = call("skills-runtime", "runs", "show", run.name, cwd=workspace).out
    assert "m-one · profile" in shown
    assert "cost unknown" in shown
    assert set(server.authorizations) == {f"Bearer {KEY}"}


def test_only_the_name_of_a_variable_is_stored(workspace: Path, server: ModelServer) -> None:
    assert init(workspace, *other(server, "--model", "m-two", "--key-env", "MY_KEY"), MY_KEY=KEY).code == 0
    saved = yaml.safe_load((config_home() / "model.yaml").read_text())
    expected = {"provider": "other", "base_url": server.base_url, "api_key_env": "MY_KEY", "backend": "openai"}
    assert saved == {"llm": expected, "model": "m-two"}
    assert not (config_home() / "model-keys.json").exists()
    assert [path.name for path in workspace.iterdir()] == []


def test_the_project_is_never_written(workspace: Path, server: ModelServer) -> None:
    (workspace / "config").mkdir()
    project = workspace / "config" / "runtime.yaml"
    project.write_text("model: of-the-project\n")
    done = init(workspace, *other(server, "--model", "m-one", "--key-env", "MY_KEY"), MY_KEY=KEY)
    assert done.code == 0
    assert "`models.planner` comes from yaml:overlay:" in done.err
    assert project.read_text() == "model: of-the-project\n"


def test_an_address_without_v1_is_completed(workspace: Path, server: ModelServer) -> None:
    address = server.base_url.removesuffix("/v1")
    done = init(workspace, "--provider", "other", "--base-url", address, "--model", "m-one", "--key-stdin", stdin=KEY)
    assert done.code == 0, done.err
    assert resolve(workspace).settings.llm.base_url == server.base_url


def test_a_second_time_it_shows_what_is_set(workspace: Path, server: ModelServer) -> None:
    init(workspace, *other(server, "--model", "m-one", "--key-stdin"), stdin=KEY)
    before = (config_home() / "model.yaml").read_bytes()
    again = init(workspace)
    assert (again.code, "m-one at" in again.out, "key MODEL_API_KEY stored" in again.out) == (0, True, True)
    assert (config_home() / "model.yaml").read_bytes() == before


def test_a_stored_key_is_used_again_for_another_model(workspace: Path, server: ModelServer) -> None:
    init(workspace, *other(server, "--model", "m-one", "--key-stdin"), stdin=KEY)
    again = init(workspace, *other(server, "--model", "m-two"))
    assert (again.code, "key     MODEL_API_KEY: stored\n" in again.out) == (0, True), again.err
    assert resolve(workspace).settings.models.executor == "m-two"


def test_a_run_names_the_model_that_answered_and_its_price(workspace: Path) -> None:
    with model_server.start(answer) as server:
        settings = ("--set", f"llm.base_url={server.base_url}", "--set", "safety.mode=allow")
        arguments = ("run", "hello", "--model", "litellm:gpt-6.1-sol", "--max-cost", "1", *settings)
        ran = call("skills-runtime", *arguments, cwd=workspace, env=environment(NO_PROXY="127.0.0.1"))
    assert (ran.code, ran.out) == (0, "the answer of gpt-6.1-sol\n"), ran.err
    assert "hello · gpt-6.1-sol · shared workspace" in ran.err
    assert "1.0k tokens · $0.0021" in ran.err


def test_a_cost_limit_says_that_a_price_is_unknown(workspace: Path) -> None:
    refused = call("skills-runtime", "run", "hello", "--model", "vllm:own", "--max-cost", "1", cwd=workspace)
    assert refused.code == 20
    assert "`run.max_cost_usd` cannot be checked: the price of `own` is unknown" in refused.err


# What does not work


def test_a_wrong_key_writes_nothing(workspace: Path, server: ModelServer) -> None:
    done = init(workspace, *other(server, "--model", "m-one", "--key-stdin"), stdin="sk-wrong-key-1234567890")
    assert done.code == 23
    assert "error: nothing was saved: `m-one` does not work: the model at `http://127.0.0.1:" in done.err
    assert "refused the key in `MODEL_API_KEY`" in done.err
    assert "OPENAI_API_KEY" not in done.err
    assert "check the key in `MODEL_API_KEY`" in done.err
    assert_nothing_written()


def test_a_missing_key_names_the_two_ways(workspace: Path, server: ModelServer) -> None:
    done = init(workspace, *other(server, "--model", "m-one"))
    assert done.code == 23
    assert "requires a key, and `MODEL_API_KEY` is not set" in done.err
    assert "set `MODEL_API_KEY`, or store a key with `skills-runtime init --key-stdin`" in done.err
    assert_nothing_written()


def test_a_provider_that_needs_a_key_is_not_called_without_one(workspace: Path) -> None:
    done = init(workspace, "--provider", "deepseek")
    assert done.code == 20
    assert "the environment variable `DEEPSEEK_API_KEY` is not set" in done.err
    assert "`skills-runtime init` (in scripts: `--key-stdin`)" in done.err


def test_an_unknown_model_names_those_that_exist(workspace: Path, server: ModelServer) -> None:
    done = init(workspace, *other(server, "--model", "nope", "--key-env", "MY_KEY"), MY_KEY=KEY)
    assert done.code == 23
    assert (
        "hint: choose a model that the service lists: m-one, m-two, or save it without a test: `--no-test`" in done.err
    )
    assert_nothing_written()


def test_without_a_model_those_that_exist_are_named(workspace: Path, server: ModelServer) -> None:
    done = init(workspace, *other(server, "--key-env", "MY_KEY"), MY_KEY=KEY)
    assert (done.code, "name the model: `--model NAME`; the service lists m-one, m-two" in done.err) == (2, True)


def test_a_dead_host_writes_nothing_unless_it_is_not_tested(workspace: Path) -> None:
    arguments = ("--provider", "ollama", "--base-url", "http://127.0.0.1:9/v1", "--model", "qwen3:8b")
    done = init(workspace, *arguments)
    reason = "`qwen3:8b` does not work: could not reach the model at `http://127.0.0.1:9/v1`: Connection refused"
    assert (done.code, reason in done.err) == (23, True), done.err
    assert_nothing_written()
    untested = init(workspace, *arguments, "--no-test")
    assert (untested.code, "not tested" in untested.out) == (0, True)
    assert resolve(workspace).settings.models.planner == "qwen3:8b"


def test_a_server_that_streams_nothing_writes_nothing(workspace: Path) -> None:
    with model_server.start(lambda _: model_server.Answer()) as empty:
        done = init(workspace, *other(empty, "--model", "m-one"))
    assert (done.code, "nothing was saved" in done.err) == (23, True), done.err
    assert_nothing_written()


def test_a_configuration_that_cannot_be_written_is_one_sentence(workspace: Path, server: ModelServer) -> None:
    config_home().parent.mkdir(parents=True, exist_ok=True)
    config_home().write_text("a file is in the way")
    done = init(workspace, *other(server, "--model", "m-one", "--key-stdin"), stdin=KEY)
    assert done.code != 0
    assert "cannot be written" in done.err
    assert "hint: make it writable, or set `XDG_CONFIG_HOME`" in done.err
    assert "Traceback" not in done.err
    assert config_home().read_text() == "a file is in the way"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "without a terminal, name the provider"),
        (("--provider", "nobody"), "there is no provider 'nobody'; choose one of openai,"),
        (("--provider", "azure"), "Azure OpenAI needs an address"),
        (("--provider", "other", "--base-url", "ftp://x"), "`base_url` must be an `http` or `https` URL"),
        (("--provider", "openai", "--key-env", "not a name"), "must be the name of an environment variable"),
        (("--key-env", "A", "--key-stdin"), "exclude each other"),
        (("--provider", "openai", "--key-stdin"), "stdin holds no key"),
    ],
)
def test_bad_arguments_are_one_sentence(workspace: Path, arguments: tuple[str, ...], problem: str) -> None:
    done = init(workspace, *arguments)
    assert done.code in (2, 20), done.err
    assert problem in done.err
    assert_nothing_written()


def test_at_a_terminal_everything_is_asked(
    workspace: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    with on_a_terminal("skills-runtime", "init", cwd=workspace) as screen:
        screen.expect("Which provider?")
        screen.expect("Provider [1]: ")
        screen.type("other\n")
        screen.expect("Address, such as https://models.example/v1: ")
        screen.type(f"{server.base_url}\n")
        screen.expect("only its name is stored")
        screen.expect("2  m-two\n")
        screen.expect("Model (number or name): ")
        screen.type("2\n")
        screen.expect("Trust the skills in")
        screen.type("n\n")
        screen.expect("Create an example skill? [Y/n]: ")
        screen.type("\n")
        screen.expect("next: skills-runtime run")
        assert screen.end() == 0
    assert resolve(workspace).settings.models.executor == "m-two"
    assert os.listdir(workspace) == [".agents"]  # noqa: PTH208 - names are enough


def test_a_local_server_may_need_a_key_all_the_same(workspace: Path, server: ModelServer) -> None:
    with on_a_terminal("skills-runtime", "init", "--no-trust", "--no-skill", cwd=workspace) as screen:
        screen.expect("Provider [1]: ")
        screen.type("litellm\n")
        screen.expect("Address")
        screen.type(f"{server.base_url}\n")
        screen.expect("Key (empty if the server needs none): ")
        screen.type(f"{KEY}\n")
        screen.expect("2  m-two\n")
        screen.expect("Model (number or name)")
        screen.type("1\n")
        screen.expect("next: skills-runtime run")
        assert screen.end() == 0
    assert resolve(workspace).environment.get("LITELLM_API_KEY") == KEY


def test_a_key_typed_at_the_terminal_is_not_shown(workspace: Path) -> None:
    with on_a_terminal("skills-runtime", "init", "--no-test", "--no-trust", "--no-skill", cwd=workspace) as screen:
        screen.expect("Provider [1]: ")
        screen.type("deepseek\n")
        screen.expect("DEEPSEEK_API_KEY is not set. Get a key at https://platform.deepseek.com/api_keys.")
        screen.expect("readable by you alone): ")
        screen.type(f"{KEY}\n")
        screen.expect("Model (number or name) [deepseek-v4-pro]: ")
        screen.type("\n")
        assert screen.end() == 0
    assert KEY not in screen.text
    assert resolve(workspace).environment.get("DEEPSEEK_API_KEY") == KEY
