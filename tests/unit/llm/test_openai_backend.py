"""An OpenAI-compatible service from plain values: its key, and asking again."""

from typing import Any

import pytest

from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm import Endpoint, RetryingBackend, RetryPolicy, openai_backend
from skills_runtime.ports import ChatRequest
from tests.support import model_server
from tests.support.model_server import Answer, packets, redirects, refuses, says

REQUEST = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}])


def _backend(
    key: str, base_url: str = "http://127.0.0.1:9/v1", api_key_env: str = "OPENAI_API_KEY", **more: Any
) -> RetryingBackend:
    endpoint = Endpoint(url=base_url, key_variable=api_key_env)
    retry = RetryPolicy(max_retries=1, base_delay_sec=0)
    return openai_backend(endpoint, api_key=key, timeout_sec=10, retry=retry, **more)


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
    for way in ("`skills-runtime init`", "`export MY_KEY=…`", "`.env`", "`skills-runtime demo`"):
        assert way in caught.value.hint


async def test_a_dead_address_is_named_with_what_configured_it() -> None:
    retry = RetryPolicy(max_retries=0)
    source = "~/.config/skills_runtime/model.yaml"
    endpoint = Endpoint(url="http://127.0.0.1:9/v1?key=x", source=source)
    backend = openai_backend(endpoint, api_key="k", timeout_sec=10, retry=retry)
    with pytest.raises(ModelError) as caught:
        _ = [event async for event in backend.stream_chat(REQUEST)]
    await backend.aclose()
    assert caught.value.message == (
        f"could not reach the model at `http://127.0.0.1:9/v1` (`llm.base_url` from {source}): Connection refused"
    )
    assert "`skills-runtime init`" in caught.value.hint
    assert "`skills-runtime doctor`" in caught.value.hint


@pytest.mark.parametrize(
    ("refusal", "sentence", "command"),
    [
        (refuses(401), "refused the key in `MY_KEY`", "skills-runtime init"),
        (refuses(403, "no budget"), "refused access: no budget", "skills-runtime doctor"),
        (refuses(404, "no such path"), "answered 404: no such path", "skills-runtime config show llm"),
        (refuses(404, "model 'm' not found"), "does not have this model: model 'm' not found", "skills-runtime init"),
        (refuses(400, "Invalid model name passed in"), "does not have this model", "skills-runtime doctor"),
        (refuses(400, "no", code="model_not_found"), "does not have this model", "skills-runtime doctor"),
        (packets(b"\n"), "sent an empty stream", "skills-runtime doctor"),
        (redirects(308, "http://127.0.0.1:9/"), "answered 308", "skills-runtime config set llm.base_url"),
    ],
)
async def test_a_refusal_names_the_address_and_the_next_command(refusal: Answer, sentence: str, command: str) -> None:
    with model_server.start([refusal]) as server:
        endpoint = Endpoint(url=server.base_url, source="the variable X", key_variable="MY_KEY")
        retry = RetryPolicy(max_retries=0)
        backend = openai_backend(endpoint, api_key="k", timeout_sec=10, retry=retry)
        with pytest.raises(ModelError) as caught:
            _ = [event async for event in backend.stream_chat(REQUEST)]
        await backend.aclose()
    start = f"the model at `{server.base_url}` (`llm.base_url` from the variable X) {sentence}"
    assert caught.value.message.startswith(start)
    assert f"`{command}" in caught.value.hint


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\nb", "tab\there", "sk-\x00"])
def test_what_cannot_be_sent_as_a_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="does not contain a valid key") as caught:
        _backend(key)
    assert key not in caught.value.message
