"""Configuration: many sources merged into one frozen `Settings`, with the origin of each field."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.config.confirmations import ModelAddress, ModelConfirmations
    from skills_runtime.config.environment import (
        Environment,
        config_home,
        home,
        keys_home,
        read_environment,
        state_home,
        without_dotenv,
    )
    from skills_runtime.config.files import (
        KEY_VARIABLE,
        MODEL_FILE,
        build_model_settings,
        choose_model,
        current_directory,
        delete_key,
        find_keys,
        parse_mapping,
        parse_origin,
        path_exists,
        read_mapping,
        read_stored_keys,
        read_text,
        resolve_path,
        resolve_workspace,
        store_key,
    )
    from skills_runtime.config.merge import deep_merge, nest_value, tighten
    from skills_runtime.config.models import (
        LlmSettings,
        PromptSettings,
        SandboxSettings,
        ServiceLimits,
        ServiceSection,
        Settings,
        SkillDiscovery,
        SkillSource,
        SkillSpace,
        SkillsSettings,
        check_llm_values,
        is_host_name,
    )
    from skills_runtime.config.process import preferred_language, process_environ
    from skills_runtime.config.providers import (
        DEFAULT_PROVIDER,
        PROVIDERS,
        Provider,
        build_model_choice,
        find_provider,
        is_key_required,
        is_loopback,
        split_model,
    )
    from skills_runtime.config.resolution import (
        KGENT_DEFAULTS,
        RUN_DIRECTORY_DEFAULTS,
        Defaults,
        Origin,
        Resolved,
        ResolvedRunConfig,
        explain,
        resolve,
        select_settings,
        snapshot,
    )
    from skills_runtime.config.secrets import is_secret_name, is_variable_name
    from skills_runtime.config.user_settings import set_user_setting, unset_user_setting

__getattr__ = lazy_names(
    __name__,
    {
        "confirmations": "ModelAddress ModelConfirmations",
        "environment": "Environment config_home home keys_home read_environment state_home without_dotenv",
        "files": (
            "KEY_VARIABLE MODEL_FILE build_model_settings choose_model current_directory delete_key find_keys "
            "parse_mapping parse_origin path_exists read_mapping read_stored_keys read_text resolve_path "
            "resolve_workspace store_key"
        ),
        "merge": "deep_merge nest_value tighten",
        "models": (
            "LlmSettings PromptSettings SandboxSettings ServiceLimits ServiceSection Settings SkillDiscovery "
            "SkillSource SkillSpace SkillsSettings check_llm_values is_host_name"
        ),
        "providers": (
            "DEFAULT_PROVIDER PROVIDERS Provider build_model_choice find_provider is_key_required is_loopback "
            "split_model"
        ),
        "process": "preferred_language process_environ",
        "resolution": (
            "KGENT_DEFAULTS RUN_DIRECTORY_DEFAULTS Defaults Origin Resolved ResolvedRunConfig explain resolve "
            "select_settings snapshot"
        ),
        "secrets": "is_secret_name is_variable_name",
        "user_settings": "set_user_setting unset_user_setting",
    },
)

__all__ = [
    "DEFAULT_PROVIDER",
    "KEY_VARIABLE",
    "KGENT_DEFAULTS",
    "MODEL_FILE",
    "PROVIDERS",
    "RUN_DIRECTORY_DEFAULTS",
    "Defaults",
    "Environment",
    "LlmSettings",
    "ModelAddress",
    "ModelConfirmations",
    "Origin",
    "PromptSettings",
    "Provider",
    "Resolved",
    "ResolvedRunConfig",
    "SandboxSettings",
    "ServiceLimits",
    "ServiceSection",
    "Settings",
    "SkillDiscovery",
    "SkillSource",
    "SkillSpace",
    "SkillsSettings",
    "build_model_choice",
    "build_model_settings",
    "check_llm_values",
    "choose_model",
    "config_home",
    "current_directory",
    "deep_merge",
    "delete_key",
    "explain",
    "find_keys",
    "find_provider",
    "home",
    "is_host_name",
    "is_key_required",
    "is_loopback",
    "is_secret_name",
    "is_variable_name",
    "keys_home",
    "nest_value",
    "parse_mapping",
    "parse_origin",
    "path_exists",
    "preferred_language",
    "process_environ",
    "read_environment",
    "read_mapping",
    "read_stored_keys",
    "read_text",
    "resolve",
    "resolve_path",
    "resolve_workspace",
    "select_settings",
    "set_user_setting",
    "snapshot",
    "split_model",
    "state_home",
    "store_key",
    "tighten",
    "unset_user_setting",
    "without_dotenv",
]
