"""A user's tree for each test, one where deleting is allowed, and one whose processes can be found again."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.sandbox import NoSandbox
from skills_runtime.sandbox.supervision import process_tree
from tests.support.tools import PATH, Workshop

TAG = "TEST_TAG"


class Tagging:
    """Starts commands without a fence, with a variable by which all their processes are known."""

    def __init__(self) -> None:
        self.requests: list[ProcessRequest] = []
        self._tag = uuid.uuid4().hex
        self._unfenced = NoSandbox({"PATH": PATH})

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        self.requests.append(request)
        plan = self._unfenced.plan(request)
        return msgspec.structs.replace(plan, environment={**plan.environment, TAG: self._tag})

    def alive(self) -> list[int]:
        """The processes that still live, whoever their parent is."""
        return [
            process.pid
            for process in process_tree.find_marked(process_tree.list_processes(), f"{TAG}={self._tag}".encode())
        ]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def deleting(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, delete="allow")


@pytest.fixture
def fence() -> Tagging:
    return Tagging()


@pytest.fixture
async def running(tmp_path: Path, fence: Tagging) -> AsyncIterator[Workshop]:
    """Where processes may run; when work ends, none of them is left."""
    workshop = Workshop(tmp_path, sandbox=fence)
    yield workshop
    await workshop.scope.aclose()
    assert fence.alive() == []
