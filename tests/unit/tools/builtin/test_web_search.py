"""web_search: what a service is asked, and what becomes of its answer, however large or odd."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.testing import FrozenClock
from skills_runtime.tools import builtin_tools
from skills_runtime.tools.builtin import SearchProvider, WebSearch
from skills_runtime.tools.invoke import invoke
from tests.support.tools import Workshop, data_of

PAGE = {"title": "A title", "url": "https://example.org/", "snippet": "What it says."}


class Service:
    """A search service that knows some pages."""

    def __init__(self, *pages: Any) -> None:
        self.queries: list[tuple[str, int | None, int]] = []
        self._pages = pages

    async def search(self, q: str, recency: int | None, limit: int) -> Sequence[Mapping[str, Any]]:
        self.queries.append((q, recency, limit))
        return self._pages


async def test_pages_are_found(workshop: Workshop) -> None:
    service: SearchProvider = Service(PAGE, {**PAGE, "title": "Another"})
    result = await workshop.call(WebSearch(service), q="what")
    assert data_of(result) == {"query": "what", "results": [PAGE, {**PAGE, "title": "Another"}]}
    assert result.stdout.startswith("A title\nhttps://example.org/\nWhat it says.\n\nAnother\n")
    assert (result.ok, result.truncated) == (True, False)


async def test_the_service_is_asked_as_the_model_wishes(workshop: Workshop) -> None:
    service = Service()
    await workshop.call(WebSearch(service), q="a")
    await workshop.call(WebSearch(service), q="b", recency=7, limit=3)
    assert service.queries == [("a", None, 10), ("b", 7, 3)]


async def test_nothing_found_is_an_answer(workshop: Workshop) -> None:
    result = await workshop.call(WebSearch(Service()), q="x")
    assert (result.ok, result.stdout, data_of(result)["results"]) == (True, "no results", [])


async def test_no_more_pages_than_asked_for_are_named(workshop: Workshop) -> None:
    result = await workshop.call(WebSearch(Service(*[PAGE] * 30)), q="x", limit=2)
    assert len(data_of(result)["results"]) == 2


async def test_a_long_page_is_cut_with_a_mark(workshop: Workshop) -> None:
    result = await workshop.call(WebSearch(Service({**PAGE, "snippet": "x" * 3000})), q="x")
    assert data_of(result)["results"][0]["snippet"] == "x" * 1999 + "…"
    assert result.truncated


async def test_an_odd_answer_of_the_service_is_made_text(workshop: Workshop) -> None:
    result = await workshop.call(
        WebSearch(Service({"title": None, "url": 7, "snippet": "a\ud800", "other": b""})), q="x"
    )
    assert data_of(result)["results"] == [{"title": "", "url": "7", "snippet": "a\ufffd"}]


async def test_without_a_service_the_model_is_told(workshop: Workshop) -> None:
    with pytest.raises(ToolError, match="no search provider is configured") as caught:
        await workshop.call(WebSearch(), q="x")
    assert caught.value.kind == "validation"


async def test_a_service_that_fails_is_reported(workshop: Workshop) -> None:
    class Broken(Service):
        async def search(self, q: str, recency: int | None, limit: int) -> Sequence[Mapping[str, Any]]:
            raise ConnectionError("unreachable")

    result = await invoke(WebSearch(Broken()), {"q": "x"}, workshop, clock=FrozenClock())
    assert (result.ok, result.stderr) == (False, "ConnectionError: unreachable")


@pytest.mark.parametrize(
    "arguments", [{"q": ""}, {"q": "x", "limit": 0}, {"q": "x", "limit": 51}, {"q": "x", "recency": 0}]
)
async def test_what_cannot_be_searched_for_is_refused(arguments: dict[str, Any], workshop: Workshop) -> None:
    service = Service()
    with pytest.raises(ToolError) as caught:
        await workshop.call(WebSearch(service), **arguments)
    assert (caught.value.kind, service.queries) == ("validation", [])


async def test_an_agent_searches_with_the_service_it_was_given(workshop: Workshop) -> None:
    service = Service(PAGE)
    tool = builtin_tools(search=service).find("web_search")
    assert tool is not None
    await tool.invoke({"q": "x"}, workshop)
    assert service.queries == [("x", None, 10)]
