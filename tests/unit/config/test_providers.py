"""Provider presets, and the shorthands that expand to them."""

from typing import TYPE_CHECKING

import pytest

from skills_runtime.config import PROVIDERS, Provider, find_provider, is_key_required, split_model
from skills_runtime.errors import ConfigError
from skills_runtime.llm import find_model_facts
from tests.support import ROOT

if TYPE_CHECKING:
    from tests.unit.config.conftest import ConfigDirs

PRICED = ("openai", "anthropic", "gemini", "deepseek", "moonshot", "zhipu")


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
def test_every_provider_has_an_address_and_a_row_in_the_documentation(provider: Provider) -> None:
    page = (ROOT / "docs/how-to/models.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{provider.id}` |"))
    assert bool(provider.base_url) != bool(provider.url_example)
    shown = (provider.title, provider.base_url, provider.model, provider.key_env if provider.needs_key else "")
    assert [text for text in shown if text not in row] == []


@pytest.mark.parametrize("name", PRICED)
def test_price_and_window_of_a_default_model_are_in_the_data(name: str) -> None:
    provider = PROVIDERS[name]
    facts = find_model_facts(provider.model, base_url=provider.base_url, provider=name)
    assert facts.price is not None
    assert facts.price.output > facts.price.input > 0
    assert (facts.window_tokens or 0) >= 200_000


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [
        ("gpt-6.1-sol", None, "gpt-6.1-sol"),
        ("deepseek:deepseek-v4-pro", "deepseek", "deepseek-v4-pro"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("qwen3:8b", None, "qwen3:8b"),
        ("openai:", None, "openai:"),
    ],
)
def test_a_prefix_counts_only_if_it_is_a_provider(text: str, provider: str | None, name: str) -> None:
    preset, rest = split_model(text)
    assert (preset.id if preset else None, rest) == (provider, name)


@pytest.mark.parametrize(
    ("provider", "address", "required"),
    [
        ("openai", "https://api.openai.com/v1", True),
        (None, "https://models.example/v1", True),
        (None, "http://127.0.0.1:4000/v1", False),
        (None, "http://localhost:4000/v1", False),
        ("openai", "http://[::1]:4000", False),
        ("vllm", "http://10.0.0.7:8000/v1", False),
        (None, "http://10.0.0.7:8000/v1", True),
    ],
)
def test_local_servers_and_some_gateways_need_no_key(provider: str | None, address: str, required: bool) -> None:
    assert is_key_required(provider, address) is required


def test_one_line_chooses_provider_and_model(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "model: deepseek:deepseek-v4-pro\n")
    resolved = config_dirs.resolve()
    llm, models = resolved.settings.llm, resolved.settings.models
    assert (llm.provider, llm.base_url, llm.api_key_env) == (
        "deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY",
    )  # fmt: skip
    assert (models.planner, models.executor) == ("deepseek-v4-pro", "deepseek-v4-pro")
    assert resolved.sources["models.planner"].endswith("kgent.yaml#model")
    assert resolved.unconfirmed_model is not None


def test_a_purpose_overrides_the_model_of_the_same_file_only(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "model: small\nmodels: {planner: big}\n")
    models = config_dirs.resolve().settings.models
    assert (models.planner, models.executor) == ("big", "small")
    models = config_dirs.resolve(session={"model": "given"}).settings.models
    assert (models.planner, models.executor) == ("given", "given")


def test_a_model_of_the_configured_provider_keeps_its_address(config_dirs: "ConfigDirs") -> None:
    own = {"provider": "litellm", "base_url": "http://10.0.0.7:4000/v1", "api_key_env": "TEAM_KEY"}
    config_dirs.write("user.yaml", f"llm: {own}\n")
    llm = config_dirs.resolve("user.yaml", session={"model": "litellm:team-model"}).settings.llm
    assert (llm.base_url, llm.api_key_env) == ("http://10.0.0.7:4000/v1", "TEAM_KEY")
    llm = config_dirs.resolve("user.yaml", session={"model": "openai:gpt-6.1-sol"}).settings.llm
    assert (llm.base_url, llm.api_key_env) == ("https://api.openai.com/v1", "OPENAI_API_KEY")


def test_an_address_without_a_provider_is_not_taken_for_the_earlier_one(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {base_url: 'https://elsewhere.example/v1'}\n")
    assert config_dirs.resolve().settings.llm.provider is None
    assert find_provider("https://api.openai.com/v1/") is PROVIDERS["openai"]


def test_an_unknown_provider_names_those_that_exist(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {provider: nobody}\n")
    with pytest.raises(ConfigError, match="must be one of openai, anthropic"):
        config_dirs.resolve()
