"""Models behind one port: OpenAI-compatible, fake and replay; and how their answers become events."""

from skills_runtime.llm.fake import (
    FakeChatBackend,
    FakeChatCall,
    RecordedAnswer,
    ReplayBackend,
    ScriptedBackend,
    load_script,
)
from skills_runtime.llm.openai import OpenAIChatBackend, openai_backend
from skills_runtime.llm.retry import RetryingBackend, RetryPolicy
from skills_runtime.llm.transcribe import Answer, Price, Transcriber, cost_of, transcribe
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent, ToolCall

__all__ = [
    "Answer",
    "Backend",
    "ChatRequest",
    "ChatStreamEvent",
    "FakeChatBackend",
    "FakeChatCall",
    "OpenAIChatBackend",
    "Price",
    "RecordedAnswer",
    "ReplayBackend",
    "RetryPolicy",
    "RetryingBackend",
    "ScriptedBackend",
    "ToolCall",
    "Transcriber",
    "cost_of",
    "load_script",
    "openai_backend",
    "transcribe",
]
