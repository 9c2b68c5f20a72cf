"""The offline example of the first README, unchanged: it runs, answers, and its log is where it says."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = """\
import tempfile
from pathlib import Path

from skills_runtime.agent import Agent
from skills_runtime.llm.chat_sse import ChatStreamEvent
from skills_runtime.llm.fake import FakeChatBackend, FakeChatCall

backend = FakeChatBackend(
    calls=[
        FakeChatCall(
            events=[
                ChatStreamEvent(type="text_delta", text="离线 backend 打招呼"),
                ChatStreamEvent(type="completed", finish_reason="stop"),
            ]
        )
    ]
)

with tempfile.TemporaryDirectory() as d:
    workspace_root = Path(d).resolve()
    agent = Agent(workspace_root=workspace_root, backend=backend)
    result = agent.run("用一句话打个招呼。")
    print("final_output=", result.final_output)
    print("wal_locator=", result.wal_locator)
"""
"""The text between `BEGIN README_OFFLINE_MINIMAL` and `END`, with its indentation."""

LOOKING = '    print("there=", Path(result.wal_locator).is_file(), Path(result.wal_locator).stat().st_size > 0)\n'
"""One line more, inside the `with` block, because the log is gone behind it."""


def _run(code: str, place: Path) -> subprocess.CompletedProcess[str]:
    script = place / "example.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    return subprocess.run(command, cwd=place, capture_output=True, encoding="utf-8", check=False, timeout=60)


def test_the_example_prints_its_answer_and_its_log(tmp_path: Path) -> None:
    answer = _run(EXAMPLE, tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    first, second = answer.stdout.splitlines()
    assert first == "final_output= 离线 backend 打招呼"
    assert re.fullmatch(r"wal_locator= /.+/\.skills_runtime_sdk/runs/run_[0-9a-f]{32}/events\.jsonl", second)


def test_the_log_it_names_was_there(tmp_path: Path) -> None:
    answer = _run(EXAMPLE + LOOKING, tmp_path)
    assert answer.stdout.splitlines()[-1] == "there= True True", answer.stderr


def test_the_example_leaves_nothing_but_the_key_behind(tmp_path: Path, home: Path) -> None:
    _run(EXAMPLE, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["example.py"]
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["log.key"]
