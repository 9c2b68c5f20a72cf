"""Models behind one port: OpenAI-compatible, fake and replay."""

from skills_runtime.llm.fake import FakeChatBackend, FakeChatCall, ScriptedBackend, load_script
from skills_runtime.llm.openai import OpenAIChatBackend
from skills_runtime.llm.replay import RecordedAnswer, ReplayBackend
from skills_runtime.llm.retry import RetryingBackend, RetryPolicy

__all__ = [
    "FakeChatBackend",
    "FakeChatCall",
    "OpenAIChatBackend",
    "RecordedAnswer",
    "ReplayBackend",
    "RetryPolicy",
    "RetryingBackend",
    "ScriptedBackend",
    "load_script",
]
