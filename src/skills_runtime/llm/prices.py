"""Prices and context windows of known models, from the data that comes with `genai-prices`.

The data is loaded with the first lookup and never updated over the network.
"""

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.clock import SystemClock

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

TOKENS_PER_PRICE = 1_000_000
"""Number of tokens that a price refers to."""
_GATEWAY = "litellm"
"""A gateway offers the models of others: its own address says nothing about prices."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Price of a model in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Price of input tokens that the provider had cached; `None` means the full price."""
    long_inputs: "tuple[tuple[int, Price], ...]" = ()
    """Prices of requests with more input tokens than this, smallest first."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model; `None` is unknown."""

    price: Price | None = None
    window_tokens: int | None = None


UNKNOWN = ModelFacts()


def cost_of(price: Price, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
    """Return the cost of one answer in US dollars; cached tokens are part of the input tokens."""
    for start, long_price in price.long_inputs:
        if input_tokens > start:
            price = long_price
    cached = min(cached_tokens, input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    dollars = (input_tokens - cached) * price.input + cached * cached_price + output_tokens * price.output
    return round(dollars / TOKENS_PER_PRICE, 12)


def find_model_facts(model: str, *, base_url: str, provider: str | None = None) -> ModelFacts:
    """Return what is known of a model at this address.

    Nothing is known of a model on an own server, even if it has the name of a model that others sell.
    """
    from genai_prices.data_snapshot import get_snapshot  # loads 1.5 MB of data

    service: dict[str, Any] = (
        {"provider_id": _GATEWAY, "provider_api_url": None}
        if provider == _GATEWAY
        else {"provider_id": None, "provider_api_url": base_url}
    )
    try:
        _, info = get_snapshot().find_provider_model(model, None, **service)
    except LookupError:
        return UNKNOWN
    return ModelFacts(price=_price_of(info), window_tokens=info.context_window)


def _price_of(info: "ModelInfo") -> Price | None:
    """Return today's price of text; a model with another kind of price has none."""
    prices = info.get_prices(datetime.fromisoformat(SystemClock().now()))
    fields = [getattr(prices, name, None) for name in ("input_mtok", "output_mtok", "cache_read_mtok")]
    starts = sorted({tier.start for field in fields for tier in getattr(field, "tiers", ())})
    base, *long_prices = (_build_price(fields, start) for start in (0, *starts))
    if base is None:
        return None
    long_inputs = tuple((start, price) for start, price in zip(starts, long_prices, strict=True) if price)
    return msgspec.structs.replace(base, long_inputs=long_inputs)


def _build_price(fields: list[Any], input_tokens: int) -> Price | None:
    """Return the price of requests with more than this many input tokens."""
    dollars = [_dollars(field, input_tokens) for field in fields]
    if dollars[0] is None or dollars[1] is None:
        return None
    return Price(input=dollars[0], output=dollars[1], cached_input=dollars[2])


def _dollars(field: Any, input_tokens: int) -> float | None:
    tiers = [tier for tier in getattr(field, "tiers", ()) if tier.start <= input_tokens]
    amount = tiers[-1].price if tiers and input_tokens else getattr(field, "base", field)
    return float(amount) if isinstance(amount, Decimal) else None
