"""Prices and windows from the data that comes with the program."""

import subprocess
import sys

import pytest

from skills_runtime.llm import Price, cost_of, find_model_facts

OPENAI = "https://api.openai.com/v1"


def test_a_model_of_a_provider_has_price_and_window() -> None:
    facts = find_model_facts("gpt-6.1-sol", base_url=OPENAI)
    assert facts.price is not None
    assert (facts.price.input, facts.price.output, facts.window_tokens) == (2.0, 10.0, 1_050_000)


def test_long_inputs_have_their_own_price() -> None:
    price = find_model_facts("gpt-6.1-sol", base_url=OPENAI).price
    assert price is not None
    ((start, long_price),) = price.long_inputs
    assert cost_of(price, start, 0) == start * price.input / 1_000_000
    assert cost_of(price, start + 1, 10) == pytest.approx(  # pyright: ignore[reportUnknownMemberType]
        ((start + 1) * long_price.input + 10 * long_price.output) / 1_000_000
    )


@pytest.mark.parametrize(
    ("model", "address", "provider"),
    [
        ("gpt-6.1-sol", "http://127.0.0.1:8000/v1", "vllm"),
        ("gpt-6.1-sol", "https://models.example/v1", None),
        ("no-such-model", OPENAI, "openai"),
        ("my-alias", "http://127.0.0.1:4000/v1", "litellm"),
        ("", OPENAI, "openai"),
    ],
)
def test_nothing_is_known_of_other_models(model: str, address: str, provider: str | None) -> None:
    facts = find_model_facts(model, base_url=address, provider=provider)
    assert (facts.price, facts.window_tokens) == (None, None)


def test_a_gateway_offers_the_models_of_others() -> None:
    facts = find_model_facts("anthropic/claude-sonnet-5-5", base_url="http://127.0.0.1:4000/v1", provider="litellm")
    assert facts.price == Price(input=2.0, output=10.0, cached_input=0.1)


def test_the_data_is_loaded_only_when_it_is_used_and_never_updated() -> None:
    code = (
        "import sys\n"
        "from skills_runtime.agent import Agent\n"
        "from skills_runtime.llm import find_model_facts\n"
        "print('genai_prices' in sys.modules)\n"
        "find_model_facts('gpt-6.1-sol', base_url='https://api.openai.com/v1')\n"
        "import threading\n"
        "from genai_prices.data_snapshot import get_snapshot\n"
        "print(get_snapshot().from_auto_update, threading.active_count())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nFalse 1\n"
