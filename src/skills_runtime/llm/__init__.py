"""Model backends behind one port (OpenAI-compatible, fake, replay), and the recorder that turns answers into events."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.llm.event_recorder import Answer, EventRecorder, record_answer
from skills_runtime.llm.failures import Endpoint
from skills_runtime.llm.fake import (
    SCRIPTED,
    FakeChatBackend,
    FakeChatCall,
    RecordedAnswer,
    ReplayBackend,
    ScriptedBackend,
    load_script,
)
from skills_runtime.llm.prices import ModelFacts, Price, cost_of, find_model_facts
from skills_runtime.llm.retry import RetryingBackend, RetryPolicy
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, ToolCall

if TYPE_CHECKING:
    from skills_runtime.llm.openai import OpenAIChatBackend, check_key, openai_backend
    from skills_runtime.llm.probe import EndpointProbe, ModelProbe, probe_endpoint, probe_model

__getattr__ = lazy_names(
    __name__,
    {
        "openai": "OpenAIChatBackend check_key openai_backend",
        "probe": "EndpointProbe ModelProbe probe_endpoint probe_model",
    },
)

__all__ = [
    "SCRIPTED",
    "Answer",
    "Backend",
    "ChatRequest",
    "ChatStreamEvent",
    "Endpoint",
    "EndpointProbe",
    "EventRecorder",
    "FakeChatBackend",
    "FakeChatCall",
    "ModelFacts",
    "ModelProbe",
    "OpenAIChatBackend",
    "Price",
    "RecordedAnswer",
    "ReplayBackend",
    "RetryPolicy",
    "RetryingBackend",
    "ScriptedBackend",
    "ToolCall",
    "check_key",
    "cost_of",
    "find_model_facts",
    "load_script",
    "openai_backend",
    "probe_endpoint",
    "probe_model",
    "record_answer",
]
