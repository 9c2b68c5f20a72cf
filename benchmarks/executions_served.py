"""Measure a service with busy skills: its latency while 16 of them spin, and its memory while one prints a lot."""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.fixture import directory
from benchmarks.measure import Number, report

SPINNING = 16
ASKED = 300
APART_SECONDS = 0.02
SKILLS = {
    "spin": "while True:\n    pass\n",
    "loud": "import os\nfor _ in range(200):\n    os.write(1, b'x' * 1_000_000)\n",
}
_LINK = re.compile(r"Open http://127\.0\.0\.1:(\d+)/")


def main() -> None:
    with directory() as base:
        for name, code in SKILLS.items():
            skill_directory = base / "skills" / name
            skill_directory.mkdir(parents=True)
            (skill_directory / "run.py").write_text(code)
            (skill_directory / "skill.yaml").write_text(json.dumps({"name": name, "runtime": {"type": "python"}}))
        with _server(base) as server:
            try:
                assert server.stdout is not None
                port = int(next(match[1] for line in server.stdout if (match := _LINK.match(line))))
                numbers = asyncio.run(_measured(port, server.pid))
            finally:
                server.terminate()
    report(*numbers)


def _server(base: Path) -> "subprocess.Popen[str]":
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(base),
        "XDG_STATE_HOME": str(base / "state"),
        "SKILLS_DIR": str(base / "skills"),
        "ARTIFACTS_DIR": str(base / "artifacts"),
    }
    command = [Path(sys.executable).with_name("skills-runtime"), "serve", "--listen", "127.0.0.1:0"]
    return subprocess.Popen(command, cwd=base, env=given, stdout=subprocess.PIPE, text=True)


async def _measured(port: int, pid: int) -> list[Number]:
    before = _memory(pid, "VmRSS")
    loud = await _execute(port, "loud", {})
    if loud.get("code") != "stdout_limit":
        raise SystemExit(f"{loud}")
    grown = _memory(pid, "VmHWM") - before
    quiet = await _health(port)
    spinning = [asyncio.create_task(_execute(port, "spin", {})) for _ in range(SPINNING)]
    while await _running(port) < SPINNING:
        await asyncio.sleep(0.1)
    busy = await _health(port)
    if await _running(port) != SPINNING:
        raise SystemExit("they did not spin all the time")
    for task in spinning:
        task.cancel()  # the service cancels executions without a waiting client
    await asyncio.wait(spinning)
    return [
        Number("health, nothing to do, p95", quiet, "ms", 20, "at most"),
        Number("health, 16 skills that spin, p95", busy, "ms", 20, "at most"),
        Number("200 MB on standard output, the server grows by", grown, "MB", 50, "at most"),
    ]


async def _health(port: int) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took: list[float] = []
    for _ in range(ASKED):
        start = time.perf_counter()
        writer.write(f"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head[:20]:
            raise SystemExit(head.decode())
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]))
        took.append(time.perf_counter() - start)
        await asyncio.sleep(APART_SECONDS)
    writer.close()
    return statistics.quantiles(took, n=20)[-1] * 1000


async def _running(port: int) -> int:
    answer = await _asked(port, "GET /readyz")
    return answer["executions"]["running"]


async def _execute(port: int, skill: str, given: Any) -> dict[str, Any]:
    body = {"skillName": skill, "input": given, "options": {"timeoutMs": 60_000}}
    return await _asked(port, "POST /api/skills/execute", json.dumps(body))


async def _asked(port: int, what: str, body: str = "") -> dict[str, Any]:
    """Return the response of the service, on a connection of its own that is closed if the call is cancelled."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        about = f"Host: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        writer.write(f"{what} HTTP/1.0\r\n{about}\r\n\r\n{body}".encode())
        answer = await reader.read(-1)
    finally:
        writer.close()
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def _memory(pid: int, name: str) -> float:
    """Return the current or peak memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
