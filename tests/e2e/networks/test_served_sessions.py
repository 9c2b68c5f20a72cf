"""Sessions of the runtime server reach what the settings allow, and say what came of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.processes.server.directory import RuntimeDirectory
from skills_runtime.sandbox import build_sandbox
from tests.e2e.networks.conftest import PATIENCE, VISIT, Web
from tests.unit.processes.server.conftest import Served


@pytest.fixture
async def served(tmp_path: Path, web: Web) -> AsyncIterator[Served]:
    root = tmp_path.resolve() / "w"
    root.mkdir()
    (root / "visit.py").write_text(VISIT)
    settings = SandboxSettings.model_validate({"egress": {"allow": [f"127.0.0.2:{web.port}"], "unknown": "ask"}})
    with RuntimeDirectory.open(root, create=True) as place:
        server = Served(place, build_sandbox(settings, workspace=root, variables={"XDG_STATE_HOME": f"{root}-state"}))
        yield await server.up()
        await server.down()


async def test_a_session_reaches_what_is_allowed_and_says_so(served: Served, web: Web) -> None:
    number = await served.spawn(f"python3 -I visit.py {web.url('127.0.0.2')} http://evil.test/")
    async with asyncio.timeout(PATIENCE):
        said = await served.rest(number)
    assert said["stdout"] == "hello\r\n403 not_allowed\r\n"
    assert (said["sandbox"]["network"]["allowed"], said["sandbox"]["network"]["denied"]) == (1, 1)


async def test_a_closed_session_has_no_proxy_any_more(served: Served, web: Web) -> None:
    number = await served.spawn(f"python3 -I visit.py {web.url('127.0.0.2', 'never')}")
    assert await asyncio.to_thread(web.arrived.acquire, timeout=PATIENCE)
    said = await served.call("exec.close", session_id=number)
    assert said["sandbox"]["network"]["allowed"] == 1
    assert "egress proxy" not in {task.get_name() for task in asyncio.all_tasks()}
