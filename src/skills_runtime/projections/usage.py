"""What a run used: requests and tokens, per model."""

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import LlmRequestStarted, LlmUsage


class ModelUsage(msgspec.Struct):
    """Requests and tokens of one model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class UsageTotals(msgspec.Struct):
    """Usage by model name."""

    models: dict[str, ModelUsage] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case LlmRequestStarted(model=model):
                self.models.setdefault(model, ModelUsage()).requests += 1
            case LlmUsage() as used:
                total = self.models.setdefault(used.model, ModelUsage())
                total.input_tokens += used.input_tokens
                total.output_tokens += used.output_tokens
                total.cached_tokens += used.cached_tokens
            case _:
                pass
