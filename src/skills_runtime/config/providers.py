"""Presets of model providers: address, key variable and a current model of each, as data.

Every address speaks OpenAI's chat completions API.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """How to reach one provider, and what to suggest for it."""

    id: str
    title: str
    base_url: str = ""
    """Empty if every customer has an own address."""
    url_example: str = ""
    """What an address looks like, where there is no common one."""
    key_env: str
    needs_key: bool = True
    model: str = ""
    """A current model for agents; empty if it depends on what the server has loaded."""
    key_page: str = ""
    """Where to get a key, or where to read how to start the server."""


_PRESETS = (
    Provider(
        id="openai",
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        model="gpt-6.1-sol",
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        id="anthropic",
        title="Anthropic",
        base_url="https://api.anthropic.com/v1",
        key_env="ANTHROPIC_API_KEY",
        model="claude-sonnet-5-5",
        key_page="https://platform.claude.com/settings/keys",
    ),
    Provider(
        id="gemini",
        title="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_env="GEMINI_API_KEY",
        model="gemini-3.8-flash",
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        id="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_env="DEEPSEEK_API_KEY",
        model="deepseek-v4-pro",
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        id="qwen",
        title="Qwen (DashScope)",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env="DASHSCOPE_API_KEY",
        model="qwen-plus",
        key_page="https://bailian.console.aliyun.com/?tab=model#/api-key",
    ),
    Provider(
        id="moonshot",
        title="Moonshot (Kimi)",
        base_url="https://api.moonshot.cn/v1",
        key_env="MOONSHOT_API_KEY",
        model="kimi-k3",
        key_page="https://platform.moonshot.cn/console/api-keys",
    ),
    Provider(
        id="zhipu",
        title="Zhipu (GLM)",
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_env="ZHIPUAI_API_KEY",
        model="glm-5.3",
        key_page="https://open.bigmodel.cn/usercenter/apikeys",
    ),
    Provider(
        id="siliconflow",
        title="SiliconFlow",
        base_url="https://api.siliconflow.cn/v1",
        key_env="SILICONFLOW_API_KEY",
        model="deepseek-ai/DeepSeek-V3.2",
        key_page="https://cloud.siliconflow.cn/account/ak",
    ),
    Provider(
        id="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        model="openrouter/auto",
        key_page="https://openrouter.ai/settings/keys",
    ),
    Provider(
        id="azure",
        title="Azure OpenAI",
        url_example="https://RESOURCE.openai.azure.com/openai/v1",
        key_env="AZURE_OPENAI_API_KEY",
        key_page="https://ai.azure.com",
    ),
    Provider(
        id="ollama",
        title="Ollama (local)",
        base_url="http://127.0.0.1:11434/v1",
        key_env="OLLAMA_API_KEY",
        needs_key=False,
        key_page="https://docs.ollama.com/quickstart",
    ),
    Provider(
        id="vllm",
        title="vLLM (local)",
        base_url="http://127.0.0.1:8000/v1",
        key_env="VLLM_API_KEY",
        needs_key=False,
        key_page="https://docs.vllm.ai/en/latest/serving/openai_compatible_server/",
    ),
    Provider(
        id="lmstudio",
        title="LM Studio (local)",
        base_url="http://127.0.0.1:1234/v1",
        key_env="LMSTUDIO_API_KEY",
        needs_key=False,
        key_page="https://lmstudio.ai/docs/developer",
    ),
    Provider(
        id="litellm",
        title="LiteLLM proxy",
        base_url="http://127.0.0.1:4000/v1",
        key_env="LITELLM_API_KEY",
        needs_key=False,
        key_page="https://docs.litellm.ai/docs/simple_proxy",
    ),
    Provider(
        id="other",
        title="Another OpenAI-compatible service",
        url_example="https://models.example/v1",
        key_env="MODEL_API_KEY",
        needs_key=False,
    ),
)

PROVIDERS: Mapping[str, Provider] = {provider.id: provider for provider in _PRESETS}
"""The presets by id, in the order of menus."""
DEFAULT_PROVIDER = PROVIDERS["openai"]


def split_model(name: str) -> tuple[Provider | None, str]:
    """Split `provider:name`; a prefix that is no provider, as in `llama3.2:3b`, belongs to the name."""
    prefix, separator, rest = name.partition(":")
    provider = PROVIDERS.get(prefix) if separator and rest else None
    return (provider, rest) if provider else (None, name)


def build_model_choice(name: str) -> dict[str, Any]:
    """Return the settings that use one model for everything; `name` may be `provider:name`."""
    plain = split_model(name)[1]
    return {"model": name, "models": {"planner": plain, "executor": plain}}


def is_key_required(provider: str | None, base_url: str) -> bool:
    """Return whether requests need a key: local servers and some gateways work without one."""
    preset = PROVIDERS.get(provider or "")
    return not is_loopback(base_url) and (preset is None or preset.needs_key)


def is_loopback(url: str) -> bool:
    """Return whether an address leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False


def find_provider(base_url: str) -> Provider | None:
    """Return the provider with this address."""
    address = base_url.rstrip("/")
    return next((provider for provider in _PRESETS if provider.base_url and provider.base_url == address), None)


def expand_model(data: Mapping[str, Any], configured: str | None) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """Replace the shorthands of one source by the settings they stand for.

    `model` sets `models`; `llm.provider`, or the prefix of `model`, sets address and key variable, unless an earlier
    source has configured the same provider. What the source sets itself stays. Returns the settings, the shorthand
    behind each added field, and the provider after this source.
    """
    llm, models = dict(data.get("llm") or {}), dict(data.get("models") or {})
    origins: dict[str, str] = {}
    prefix, name = split_model(data.get("model") or "")
    if prefix:
        llm["provider"], origins["llm.provider"] = prefix.id, "model"
    for field in ("planner", "executor") if name else ():
        if field not in models:
            models[field], origins[f"models.{field}"] = name, "model"
    if "base_url" in llm and llm.get("provider") is None:
        preset = find_provider(llm["base_url"])
        llm["provider"], origins["llm.provider"] = preset.id if preset else None, "llm.base_url"
    elif llm.get("provider") not in (None, configured):
        preset = PROVIDERS[llm["provider"]]
        added = {"base_url": preset.base_url, "api_key_env": preset.key_env, "backend": "openai"}
        for field, value in added.items():
            if value and field not in llm:
                llm[field], origins[f"llm.{field}"] = value, "model" if prefix else "llm.provider"
    sections = {"llm": llm, "models": models}
    return (
        {**data, **{key: value for key, value in sections.items() if value}},
        origins,
        llm.get("provider", configured),
    )
