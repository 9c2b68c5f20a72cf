"""The tool boundary: whatever a tool does, one result comes back; only what stops the run passes through."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import PathEscape, SandboxError, StorageFailed, ToolError
from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.ports.tools import Parked
from skills_runtime.testing import FrozenClock
from skills_runtime.tools.invoke import LIMIT, failure_result, invoke
from tests.support.tools import Workshop, data_of

Work = Callable[[], Awaitable[Any]]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


class Doing:
    """A tool that does what the test says."""

    def __init__(self, work: Work, *, timeout_sec: float | None = None) -> None:
        self.spec = ToolSpec(name="do", description="Does it.", parameters={"type": "object"}, timeout_sec=timeout_sec)
        self._work = work

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        return await self._work()


def giving(outcome: Any) -> Work:
    """Work that returns or raises one thing."""

    async def work() -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return work


async def result_of(outcome: Any, workshop: Workshop) -> ToolResult:
    return await invoke(Doing(giving(outcome)), {}, workshop, clock=FrozenClock())


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        (KeyError("broken"), "unknown", "KeyError: 'broken'"),
        (ValueError("half \ud800"), "unknown", "ValueError: half \ufffd"),
        (ToolError("not_found", "nothing there", hint="look elsewhere"), "not_found", "nothing there (look elsewhere)"),
        (PathEscape("it leads out"), "path_escape", "it leads out"),
        (SandboxError("no fence"), "sandbox_denied", "no fence"),
        (TimeoutError("its own"), "timeout", "TimeoutError: its own"),
        (None, "unknown", "the tool returned `NoneType` instead of a `ToolResult`"),
        ({"ok": True}, "unknown", "the tool returned `dict` instead of a `ToolResult`"),
    ],
)
async def test_whatever_goes_wrong_is_a_result(outcome: Any, kind: str, text: str, workshop: Workshop) -> None:
    result = await result_of(outcome, workshop)
    assert (result.ok, result.error_kind, result.stderr) == (False, kind, text)


async def test_data_that_is_not_json_is_the_mistake_of_the_tool(workshop: Workshop) -> None:
    result = await result_of(ToolResult(ok=True, data={"thing": object()}), workshop)
    assert (result.ok, result.error_kind) == (False, "unknown")


async def test_text_that_is_none_is_made_text(workshop: Workshop) -> None:
    assert (await result_of(ToolResult(ok=True, stdout="caf\udce9 \ud83d\ude00"), workshop)).stdout == "caf\ufffd 😀"


async def test_data_comes_back_as_plain_json(workshop: Workshop) -> None:
    result = await result_of(ToolResult(ok=True, data={"path": ("a", "b")}), workshop)
    assert data_of(result) == {"path": ["a", "b"]}


@pytest.mark.parametrize("error", [StorageFailed("disk full"), Parked(), asyncio.CancelledError(), KeyboardInterrupt()])
async def test_what_stops_the_run_passes_through(error: BaseException, workshop: Workshop) -> None:
    with pytest.raises(type(error)) as caught:
        await result_of(error, workshop)
    assert caught.value is error


async def test_a_call_has_the_time_its_tool_says(workshop: Workshop) -> None:
    let_go = asyncio.Event()

    async def hang() -> ToolResult:
        try:
            return await asyncio.Future[ToolResult]()
        finally:
            let_go.set()

    result = await invoke(Doing(hang, timeout_sec=0.01), {}, workshop, clock=FrozenClock())
    assert (result.ok, result.error_kind, result.stderr) == (False, "timeout", "the call took longer than 0.01 s")
    assert let_go.is_set()


async def test_a_cancelled_call_is_cancelled_and_not_late(workshop: Workshop) -> None:
    begun = asyncio.Event()

    async def hang() -> ToolResult:
        begun.set()
        return await asyncio.Future[ToolResult]()

    call = asyncio.create_task(invoke(Doing(hang, timeout_sec=1000), {}, workshop, clock=FrozenClock()))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_how_long_it_took_is_noted_whatever_the_tool_says(workshop: Workshop) -> None:
    clock = FrozenClock()

    async def work() -> ToolResult:
        clock.advance(1.5)
        return ToolResult(ok=True, duration_ms=7)

    assert (await invoke(Doing(work), {}, workshop, clock=clock)).duration_ms == 1500


async def test_big_output_is_kept_as_a_blob(workshop: Workshop) -> None:
    text = "x" * (LIMIT + 1)
    result = await result_of(ToolResult(ok=True, stdout=text), workshop)
    assert result.truncated
    assert workshop.blobs[data_of(result)["spilled"]["stdout"]["blob"]].decode() == text


async def test_a_big_complaint_is_kept_as_a_blob_too(workshop: Workshop) -> None:
    result = await result_of(ValueError("x" * LIMIT), workshop)
    assert len(result.stderr.encode()) <= LIMIT
    assert workshop.blobs[data_of(result)["spilled"]["stderr"]["blob"]].decode() == "ValueError: " + "x" * LIMIT


async def test_a_blob_that_cannot_be_kept_stops_the_run(tmp_path: Path) -> None:
    class Full(Workshop):
        def keep(self, data: bytes) -> str:
            raise StorageFailed("disk full")

    with pytest.raises(StorageFailed):
        await result_of(ToolResult(ok=True, stdout="x" * (LIMIT + 1)), Full(tmp_path))


def test_a_refusal_is_text() -> None:
    assert failure_result("permission", "no \udcff") == ToolResult(
        ok=False, error_kind="permission", stderr="no \ufffd"
    )
