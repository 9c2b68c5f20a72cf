"""file_delete: refused unless allowed, and never lost."""

from pathlib import Path

import pytest

from skills_runtime.errors import DeleteDisabled, NotFound, ValidationFailed
from skills_runtime.tools.builtin import FileDelete
from tests.support.tools import Workshop, data_of


async def test_deleting_is_refused_by_default(workshop: Workshop) -> None:
    path = workshop.write("a", "x")
    with pytest.raises(DeleteDisabled) as caught:
        await workshop.call(FileDelete(), path="a")
    assert caught.value.kind == "delete_disabled"
    assert path.read_text() == "x"


async def test_a_deleted_file_is_in_the_trash(deleting: Workshop, tmp_path: Path) -> None:
    path = deleting.write("a", "x")
    result = await deleting.call(FileDelete(), path="a")
    assert (result.stdout, data_of(result)) == ("deleted a", {"path": "a"})
    assert not path.exists()
    assert [kept.read_text() for kept in (tmp_path / "run" / "logs" / "trash").iterdir()] == ["x"]


async def test_a_directory_is_not_deleted(deleting: Workshop) -> None:
    deleting.write("d/a", "x")
    with pytest.raises(ValidationFailed):
        await deleting.call(FileDelete(), path="d")


async def test_a_missing_file_is_not_found(deleting: Workshop) -> None:
    with pytest.raises(NotFound):
        await deleting.call(FileDelete(), path="a")


def test_a_call_that_was_interrupted_is_not_repeated() -> None:
    assert FileDelete().spec.effect == "effectful"
