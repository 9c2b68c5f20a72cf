"""The types of a streamed chat, at the import path that existing users rely on."""

from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

__all__ = ["ChatRequest", "ChatStreamEvent", "ToolCall"]
