"""The values of a streamed chat, at the import path users of the seed know."""

from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall

__all__ = ["ChatRequest", "ChatStreamEvent", "ToolCall"]
