"""Secrets pushed through every tool, in every encoding that tools make, reach no file of the run but its blobs."""

import base64
import json
import random
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from skills_runtime.agent import Agent
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Decision
from skills_runtime.safety import CallbackApprovals
from skills_runtime.testing import says
from tests.support.agents import Streaming, calls, payloads_of

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + "-_+/=.:!#%&'\"\\ <>ä中"
SEEDS = range(3)
SETTINGS = {
    "safety": {"mode": "ask"},
    "sandbox": {"default_policy": "none", "delete": "allow"},
    "run": {"max_steps": 200},
}


def secret_of(seed: int) -> str:
    chance = random.Random(seed)
    inner = "".join(chance.choice(ALPHABET) for _ in range(chance.randint(12, 40)))
    return f"k{inner}9Z"


def spellings(secret: str) -> dict[str, str]:
    """The secret in every form that tools produce."""
    data = secret.encode()
    return {
        "plain": secret,
        "json": json.dumps(secret)[1:-1],
        "json-unicode": json.dumps(secret, ensure_ascii=False)[1:-1],
        "url": quote(secret, safe=""),
        "form": quote_plus(secret),
        "base64": base64.b64encode(data).decode(),
        "base64url": base64.urlsafe_b64encode(data).decode().rstrip("="),
        "shifted": base64.b64encode(b"x" + data + b"yz").decode(),
        "hex": data.hex(),
    }


def leaks(root: Path, secret: str) -> list[str]:
    """Where the secret, or one of its forms, stands in a file that is not a private blob."""
    needles = {form: text.encode() for form, text in spellings(secret).items() if form != "shifted"}
    twice = {f"{form}, escaped": json.dumps(text)[1:-1].encode() for form, text in spellings(secret).items()}
    results: list[str] = []
    for path in sorted(root.parent.rglob("*")):  # the runs of sub-agents too
        inner = path.relative_to(root.parent).parts[1:]
        if not path.is_file() or inner[0] in ("blobs", "workspace", "deliverables") or "trash" in inner:
            continue
        data = path.read_bytes()
        results += [f"{form} in {path.name}" for form, needle in (needles | twice).items() if needle in data]
    return results


def every_call(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    """One call of every tool that could show the text."""
    return [
        ("file_write", {"path": "a.txt", "content": f"before {text} after"}),
        ("file_read", {"path": "a.txt"}),
        ("read_file", {"file_path": "a.txt"}),
        ("grep_files", {"pattern": "before"}),
        ("list_dir", {"dir_path": "."}),
        ("shell_exec", {"argv": ["cat", "a.txt"]}),
        ("shell", {"command": ["cat", "a.txt"]}),
        ("shell_command", {"command": "cat a.txt; cat a.txt >&2; printenv SHOWN", "env": {"SHOWN": text}}),
        ("exec_command", {"cmd": "cat a.txt", "yield_time_ms": 2000}),
        ("shell_exec", {"argv": ["echo", text]}),
        ("update_plan", {"plan": [{"step": text, "status": "pending"}]}),
        ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: b.txt\n+{text.splitlines()[0]}\n*** End Patch"}),
        ("file_write", {"path": f"{text}.txt", "content": "x"}),
        ("file_read", {"path": f"no/{text}"}),
        ("no_such_tool", {"value": text}),
        ("web_search", {"q": text}),
        ("spawn_agent", {"message": text}),
        ("file_delete", {"path": "a.txt"}),
    ]


def agent_with(directory: Path, secret: str, backend: Any) -> Agent:
    return Agent(
        workspace_root=directory,
        backend=backend,
        session_settings=SETTINGS,
        env_vars={"MY_API_TOKEN": secret},
        approval_provider=CallbackApprovals(lambda _: Decision(decision="approved", note=f"ok {secret}")),
    )


def run_in(directory: Path, secret: str, script: list[FakeChatCall], task: str = "Go.") -> Path:
    from skills_runtime.llm import ScriptedBackend

    result = agent_with(directory, secret, ScriptedBackend(script)).run(task)
    assert result.status == "completed", result.final_output
    return Path(result.wal_locator).parent


@pytest.mark.parametrize("form", sorted(spellings("x" * 20)))
@pytest.mark.parametrize("seed", SEEDS)
def test_no_tool_brings_a_secret_into_a_file(tmp_path: Path, seed: int, form: str) -> None:
    secret = secret_of(seed)
    text = spellings(secret)[form]
    script = [calls((name, arguments), ids=[f"c{n}"]) for n, (name, arguments) in enumerate(every_call(text))]
    root = run_in(tmp_path, secret, [*script, says("done")])
    assert leaks(root, secret) == []
    assert len(payloads_of(str(root / "events.jsonl"), "tool_call_finished")) == len(script)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_secret_in_task_or_answer_is_not_kept(tmp_path: Path, seed: int) -> None:
    secret = secret_of(seed)
    root = run_in(tmp_path, secret, [says(f"it is {secret}, I think")], task=f"What is {secret}?")
    assert leaks(root, secret) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_secret_that_comes_in_pieces_is_not_kept(tmp_path: Path, seed: int) -> None:
    secret = secret_of(seed)

    async def stream(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        for kind in ("reasoning_delta", "text_delta"):
            for piece in pieces(f"so {secret} it is", seed):
                yield ChatStreamEvent(type=kind, text=piece)
        yield ChatStreamEvent(type="completed", finish_reason="stop")

    result = agent_with(tmp_path, secret, Streaming(stream)).run("Go.")
    assert result.final_output == "so <redacted> it is"
    assert leaks(Path(result.wal_locator).parent, secret) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_an_unnamed_key_is_not_written(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    key = "sk-" + "".join(chance.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(40))
    (tmp_path / "notes.txt").write_text(f"token: {key}\n")
    script = [calls(("shell_exec", {"argv": ["cat", "notes.txt"]})), calls(("file_read", {"path": "notes.txt"}))]
    root = run_in(tmp_path, "unrelated-secret-1", [*script, says(f"found {key}")])
    assert leaks(root, key) == []


def test_a_terminal_that_says_a_secret_in_two_readings_shows_neither_half(tmp_path: Path) -> None:
    secret = "kV7-half-and-half-Q9Z"
    (tmp_path / "say.sh").write_text(f"stty -echo; printf %s '{secret[:9]}'; read line; printf '%s\\n' '{secret[9:]}'")
    typed = {"session_id": 1, "chars": "\n", "yield_time_ms": 5000}
    script = [
        calls(("exec_command", {"cmd": "sh say.sh", "yield_time_ms": 1000}), ids=["c1"]),
        calls(("write_stdin", typed), ids=["c2"]),
    ]
    root = run_in(tmp_path, secret, [*script, says("done")])
    first, second = payloads_of(str(root / "events.jsonl"), "tool_call_finished")
    assert secret[:9] not in json.dumps(first.result)
    assert "<redacted>" in second.result["stdout"]
    assert leaks(root, secret) == []


def test_what_runs_is_exact_although_nothing_shows_it(tmp_path: Path) -> None:
    secret = secret_of(1)
    root = run_in(tmp_path, secret, [calls(("file_write", {"path": "a.txt", "content": secret})), says("done")])
    assert (tmp_path / "a.txt").read_text() == secret
    assert leaks(root, secret) == []


def pieces(text: str, seed: int) -> Iterator[str]:
    chance = random.Random(seed)
    while text:
        size = chance.randint(1, 5)
        yield text[:size]
        text = text[size:]
