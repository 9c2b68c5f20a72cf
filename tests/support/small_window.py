"""A model with a small window: it refuses what is too long, sums up when asked, and remembers everything."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from skills_runtime.errors import ModelError
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent

ENOUGH = 20
SUMMARY = "The sea was looked at, and it is blue."


class SmallWindow:
    """Gives scripted answers to requests that are not too long.

    `refusals` are the numbers of requests, from 0, that are refused however short they are; `window_chars` refuses
    those that are longer. `summaries` are the answers to requests for a summary, `None` for one that fails.
    """

    def __init__(
        self,
        answers: Iterable[FakeChatCall],
        *,
        window_chars: int = 1_000_000,
        refusals: Iterable[int] = (),
        summaries: Sequence[str | None] = (SUMMARY,),
        usage: Mapping[str, int] | None = None,
    ) -> None:
        self.requests: list[ChatRequest] = []
        """Requests for an answer, the refused ones too."""
        self.compactions: list[ChatRequest] = []
        """Requests for a summary."""
        self._answers = list(answers)
        self._window = window_chars
        self._refusals = set(refusals)
        self._summaries = summaries
        self._usage = usage

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Answer, sum up or refuse."""
        for event in self._summary(request) if request.purpose == "compaction" else self._answer(request):
            yield event

    def _answer(self, request: ChatRequest) -> Iterable[ChatStreamEvent]:
        number = len(self.requests)
        self.requests.append(request)
        if number in self._refusals or length_of(request) > self._window:
            raise ModelError("the conversation is too long", kind="context_length_exceeded")
        return self._answers[request.answered].events

    def _summary(self, request: ChatRequest) -> Iterable[ChatStreamEvent]:
        text = self._summaries[min(len(self.compactions), len(self._summaries) - 1)]
        self.compactions.append(request)
        assert len(self.compactions) < ENOUGH, "the run compacts for ever"
        if text is None:
            raise ModelError("no summary today", kind="server_error", retryable=True)
        end = ChatStreamEvent(type="completed", finish_reason="stop", usage=self._usage)
        return [ChatStreamEvent(type="text_delta", text=text), end]


def length_of(request: ChatRequest) -> int:
    """How many characters the conversation has."""
    return sum(len(str(message)) for message in request.messages)


def spoken_to(request: ChatRequest) -> list[Any]:
    """The contents of what the user said, in order."""
    return [message["content"] for message in request.messages if message["role"] == "user"]
