"""An OpenAI-compatible service from plain values: its key, and asking again."""

from typing import Any

import pytest

from skills_runtime.errors import ConfigError
from skills_runtime.llm import RetryingBackend, RetryPolicy, openai_backend
from skills_runtime.ports import ChatRequest
from tests.support import model_server
from tests.support.model_server import refuses, says

REQUEST = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}])


def _backend(key: str, base_url: str = "http://127.0.0.1:9/v1", **more: Any) -> RetryingBackend:
    retry = RetryPolicy(max_retries=1, base_delay_sec=0)
    return openai_backend(base_url=base_url, api_key=key, timeout_sec=10, retry=retry, **more)


async def test_a_service_is_asked_with_the_key_and_asked_again() -> None:
    with model_server.start([refuses(500), says("Hello")]) as server:
        backend = _backend(" secret-key\n", server.base_url)
        events = [event.type async for event in backend.stream_chat(REQUEST)]
        await backend.aclose()
    assert events == ["retry_scheduled", "text_delta", "completed"]
    assert server.authorizations == ["Bearer secret-key"] * 2


@pytest.mark.parametrize("key", ["", "  \n"])
def test_no_key_is_refused_by_the_name_of_its_variable(key: str) -> None:
    with pytest.raises(ConfigError, match="`MY_KEY` is not set") as caught:
        _backend(key, api_key_env="MY_KEY")
    assert "skills-runtime init" in caught.value.hint


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\nb", "tab\there", "sk-\x00"])
def test_what_cannot_be_sent_as_a_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="does not contain a valid key") as caught:
        _backend(key)
    assert key not in caught.value.message
