"""Commands inside the text of a skill stay text: only a call that the gate can judge runs anything."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.llm.chat_sse import ChatStreamEvent
from skills_runtime.llm.fake import FakeChatBackend, FakeChatCall
from tests.unit.skills.samples import library_at, make_skill, skill_text


@pytest.mark.parametrize("line", ["!`touch {}`", "```!\ntouch {}\n```", "Now: !`sh -c 'touch {}'` is it"])
async def test_a_command_in_the_text_of_a_skill_is_not_run(line: str, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    body = line.format(proof) + "\n"
    make_skill(tmp_path / "skills", "writer", text=skill_text(body=body))
    answer = FakeChatCall([ChatStreamEvent(type="text_delta", text="Done."), ChatStreamEvent(type="completed")])
    (tmp_path / "work").mkdir()
    agent = Agent(
        workspace_root=tmp_path / "work",
        backend=FakeChatBackend([answer]),
        skills_manager=library_at(tmp_path / "skills"),
    )

    result = await agent.run_async("$[web:mvp].writer go")

    assert result.status == "completed"
    blobs = [path.read_bytes() for path in Path(result.wal_locator).parent.glob("blobs/**/*") if path.is_file()]
    assert any(line.split("\n")[0].format(proof).encode() in blob for blob in blobs), "the model sees it as text"
    assert not proof.exists()
