"""What an answer costs; prices come from configuration, none are built in."""

import msgspec

PER = 1_000_000
"""Tokens a price is for."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a model costs in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """For the part of the request that the provider had cached; nothing means the full price."""


def cost_of(price: Price, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
    """The cost of one answer in US dollars; cached tokens are a part of the input tokens."""
    cached = min(cached_tokens, input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (input_tokens - cached) * price.input + cached * cached_price + output_tokens * price.output
    return round(dollars / PER, 12)
