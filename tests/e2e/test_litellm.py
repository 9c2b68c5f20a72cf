"""LiteLLM's proxy, a real third-party server in front of a model: `init`, a run with tools, and what it refuses.

`scripts/litellm` installs it into an environment of its own. Nothing leaves this machine.
"""

import json
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skills_runtime.config import config_home, resolve
from tests.e2e.cli.programs import SCRIPTS, call, environment
from tests.support import model_server
from tests.support.model_server import ModelServer

PYTHON = Path(__file__).parents[2] / ".venv" / "litellm" / "bin" / "python"
PROXY = "from litellm import run_server; run_server()"
KEY = "sk-key-of-the-proxy-1234"
READY = "Uvicorn running on"
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "DO_NOT_TRACK": "1", "NO_PROXY": "*"}


class Proxy(NamedTuple):
    """The running proxy, and the model behind it."""

    address: str
    model: ModelServer


def answer(request: dict[str, Any]) -> model_server.Answer:
    """Pass the test of `init`; in a run, write a file and then say so."""
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    if "report_ready" in tools:
        return model_server.calls(("report_ready", {}))
    if any(message["role"] == "tool" for message in request["messages"]):
        return model_server.says("The note ", "is written.", usage=(2000, 20))
    arguments = {"path": "note.md", "content": "written through a proxy\n"}
    return model_server.calls(("file_write", arguments), text="I write it.", usage=(1000, 10))


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Generator[Proxy]:
    """LiteLLM's proxy with one model, which our own server answers for."""
    assert PYTHON.exists(), "LiteLLM's proxy is not installed: run `scripts/litellm`"
    directory = tmp_path_factory.mktemp("litellm")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with model_server.start(answer) as model:
        parameters = {"model": "openai/behind", "api_base": model.base_url, "api_key": "sk-behind"}
        config = {
            "model_list": [{"model_name": "through-proxy", "litellm_params": parameters}],
            "general_settings": {"master_key": KEY},
            "litellm_settings": {"num_retries": 0},
        }
        (directory / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
        options = ("--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False")
        with subprocess.Popen(
            [PYTHON, "-c", PROXY, *options],
            cwd=directory,
            env={"HOME": str(directory), "PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1", **OFFLINE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = list[str]()
            try:
                for line in process.stdout:
                    lines.append(line)
                    if READY in line:
                        break
                else:
                    pytest.fail("".join(lines))
                log = (directory / "proxy.log").open("w")
                drain = subprocess.Popen(["/bin/cat"], stdin=process.stdout, stdout=log)  # a full pipe would block it
                yield Proxy(f"http://127.0.0.1:{port}", model)
            finally:
                process.kill()
                process.wait()
        drain.wait()
        log.close()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    directory = tmp_path / "workspace"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def init(proxy: Proxy, workspace: Path, *arguments: str, key: str = KEY) -> subprocess.CompletedProcess[str]:
    command = [SCRIPTS / "skills-runtime", "init", "--provider", "litellm", "--base-url", proxy.address]
    return subprocess.run(
        [*command, "--key-stdin", *arguments],
        cwd=workspace,
        env=environment(NO_PROXY="127.0.0.1"),
        input=f"{key}\n",
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_with_tools_goes_through_the_proxy(proxy: Proxy, workspace: Path) -> None:
    done = init(proxy, workspace, "--model", "through-proxy")
    assert (done.returncode, "with tool calls" in done.stdout) == (0, True), done.stderr
    settings = resolve(workspace).settings
    assert (settings.llm.provider, settings.models.executor) == ("litellm", "through-proxy")

    ran = call(
        "skills-runtime", "run", "Write a note", "--set", "safety.mode=allow",
        cwd=workspace, env=environment(NO_PROXY="127.0.0.1"),
    )  # fmt: skip
    assert (ran.code, ran.out) == (0, "The note is written.\n"), ran.err
    assert (workspace / "note.md").read_text() == "written through a proxy\n"
    assert "3.0k tokens" in ran.err
    assert {request["model"] for request in proxy.model.requests} == {"behind"}


def test_the_only_model_that_it_lists_is_chosen(proxy: Proxy, workspace: Path) -> None:
    assert init(proxy, workspace).returncode == 0
    assert resolve(workspace).settings.models.planner == "through-proxy"


@pytest.mark.parametrize(
    ("model", "key", "hint"),
    [
        ("nope", KEY, "choose a model that the service lists: through-proxy"),
        ("through-proxy", "sk-wrong-1234", "check the address and the key"),
    ],
)
def test_what_it_refuses_is_not_saved(proxy: Proxy, workspace: Path, model: str, key: str, hint: str) -> None:
    done = init(proxy, workspace, "--model", model, key=key)
    assert (done.returncode, hint in done.stderr) == (23, True), done.stderr
    assert not (config_home() / "model.yaml").exists()
    assert not (config_home() / "model-keys.json").exists()
