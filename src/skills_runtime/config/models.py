"""All settings as one tree of frozen models; the defaults have the lowest precedence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    model_validator,
)

from skills_runtime.config.providers import DEFAULT_PROVIDER, PROVIDERS
from skills_runtime.config.secrets import SECRET_HINT, is_variable_name, url_has_credentials
from skills_runtime.errors import ValidationFailed


class Section(BaseModel):
    """A group of settings: frozen, strict about types, closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _replace_null_with_empty_section(cls, value: Any) -> Any:
        return {} if value is None else value


def _require_text(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _validate_path(value: Any) -> Any:
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise ValueError("must be the path of a file; use `null` for none")
    return value


def _validate_variable_name(value: str) -> str:
    if not is_variable_name(value):
        raise ValueError("must be the name of an environment variable")
    return value


def _validate_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        raise ValueError("must be an `http` or `https` URL")
    if url_has_credentials(value):
        raise ValueError(f"must not carry credentials; {SECRET_HINT}")
    return value


def _validate_provider(value: str) -> str:
    if value not in PROVIDERS:
        raise ValueError(f"must be one of {', '.join(PROVIDERS)}")
    return value


def _validate_inner_path(value: str) -> str:
    path = PurePosixPath(value)
    inside = path.parts and not path.is_absolute() and ".." not in path.parts
    if not inside or not value.isprintable() or value.endswith("/"):
        raise ValueError("must be a relative path of a file below `deliverables/`")
    return value


LAX = Strict(strict=False)
"""Accepts another type from a file, such as a list for a tuple; the items stay strict."""
Text = Annotated[str, AfterValidator(_require_text)]
"""Text that is not blank."""
Texts = Annotated[tuple[Text, ...], LAX]
"""A list of texts; blank ones are refused because a blank prefix matches everything."""
FilePath = Annotated[Path, LAX, BeforeValidator(_validate_path)]
"""A path; relative ones are resolved when their source is read."""
VariableName = Annotated[str, AfterValidator(_validate_variable_name)]
"""The name of an environment variable."""
WebAddress = Annotated[str, AfterValidator(_validate_url)]
"""An http or https URL without credentials."""
ProviderName = Annotated[str, AfterValidator(_validate_provider)]
"""The id of a provider preset."""
InnerPath = Annotated[str, AfterValidator(_validate_inner_path)]
"""A relative path that stays below its directory."""
Count = Annotated[int, Field(ge=0)]
"""Zero or more."""
Positive = Annotated[int, Field(ge=1)]
"""One or more."""
Seconds = Annotated[float, Field(ge=0)]
"""A span of time, fractions allowed."""


def _as_section(annotation: object) -> type[Section] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None


def iterate_keys(model: type[Section], prefix: str = "") -> Iterator[str]:
    """Yield the dotted key of every field that is not a section, in order of declaration."""
    for name, field in model.model_fields.items():
        section = _as_section(field.annotation)
        if section is None:
            yield prefix + name
        else:
            yield from iterate_keys(section, f"{prefix}{name}.")


def find_section(model: type[Section], path: Sequence[str | int]) -> type[Section] | None:
    """Return the section at a path of the tree, including sections in lists."""
    section: type[Section] | None = model
    item_section: type[Section] | None = None
    for part in path:
        if isinstance(part, int):
            section = item_section
            continue
        field = section.model_fields.get(part) if section else None
        section = _as_section(field.annotation) if field else None
        item_section = (
            next((inner for argument in get_args(field.annotation) if (inner := _as_section(argument))), None)
            if field
            else None
        )
    return section


_HOST_RULE = re.compile(
    r"(\*{1,2}\.)?"  # the names below it; those and itself
    r"(\[[0-9a-fA-F:.]+\]|[^\s\[\]/:@*\\%?#]+)"
    r"(:(\*|[0-9]{1,5}(,[0-9]{1,5})*))?"
)


def _validate_host_rule(value: str) -> str:
    if not value.isprintable() or not _HOST_RULE.fullmatch(value):
        raise ValueError("must be a host such as `example.com`, `*.example.com` or `example.com:8443`")
    return value


HostRule = Annotated[str, AfterValidator(_validate_host_rule)]
"""A host with an optional wildcard and ports; whether it exists is checked when a process starts."""
HostRules = Annotated[tuple[HostRule, ...], LAX]


class EgressSettings(Section):
    """Network access of processes: only these hosts, through a proxy that records every decision."""

    allow: HostRules = Field(
        default=(),
        description="Hosts that processes may reach: `example.com`, `*.example.com` (below it), `**.example.com`"
        " (both), with `:port` if it is not 80 or 443.",
    )
    allow_private: HostRules = Field(
        default=(), description="Hosts in a private network, such as your company's, that processes may reach."
    )
    deny: HostRules = Field(default=(), description="Hosts that are always refused, even if another rule allows them.")
    unknown: Literal["deny", "ask"] = Field(
        default="deny", description="Whether a host that no rule names is refused or asked about."
    )


DAY_MS = 24 * 60 * 60 * 1000
_ADDRESS = re.compile(r"[A-Za-z0-9.-]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")
_HOST_NAME = re.compile(r"\*|\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*(:[0-9]{1,5})?|\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?")


def is_host_name(value: str) -> bool:
    """Return whether this is a valid `Host` header, with or without a port."""
    return _HOST_NAME.fullmatch(value) is not None


def _validate_address(value: str) -> str:
    if not _ADDRESS.fullmatch(value):
        raise ValueError("must be an address such as `127.0.0.1` or `::1`")
    return value


def _validate_host_name(value: str) -> str:
    if not is_host_name(value):
        raise ValueError("must be the name of a host such as `skills.example` or `skills.example:8080`")
    return value


Milliseconds = Annotated[int, Field(ge=1, le=DAY_MS)]
"""A span of at most a day."""


class ServiceLimits(Section):
    """Limits for clients of the service."""

    body_bytes: Annotated[int, Field(ge=1024)] = Field(default=2_621_440, description="The maximum size of a request.")
    body_seconds: Annotated[float, Field(gt=0)] = Field(
        default=30.0, description="How long a client may take to send a request."
    )
    requests_per_second: Annotated[float, Field(ge=0.01)] = Field(
        default=500.0, description="The sustained number of requests per second of one caller."
    )
    burst: Positive = Field(default=2_000, description="How many requests one caller may make at once.")
    failures_per_minute: Positive = Field(
        default=30, description="How often one address may send a wrong token or key."
    )
    concurrent: Positive = Field(default=16, description="The number of skills executed at the same time.")
    waiting: Count = Field(default=64, description="The number of executions that may wait; further ones are refused.")


class ServiceExecutions(Section):
    """How long the executions of the service are kept."""

    keep_days: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Executions that ended this many days ago are removed; `null` keeps them."
    )
    keep_bytes: Positive | None = Field(
        default=None, description="The oldest executions are removed until the others fit; `null` keeps them."
    )


class ServiceSection(Section):
    """The HTTP service."""

    host: Annotated[str, AfterValidator(_validate_address)] = Field(
        default="127.0.0.1", description="The address to listen on; clients on other machines need a key."
    )
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(
        default=8000, description="The port to listen on; 0 chooses a free one."
    )
    allowed_hosts: Annotated[tuple[Annotated[str, AfterValidator(_validate_host_name)], ...], LAX] = Field(
        default=(), description="Additional host names under which the service is reached."
    )
    skill_service: Literal["open", "user", "closed"] = Field(
        default="user",
        description="Who may list and execute skills without a token: `open` every user of this machine, `user` only"
        " the service's own user, `closed` no one.",
    )
    skills_dir: FilePath | None = Field(
        default=None, description="Serve only the skills in this directory; `null` serves all that `skills list` shows."
    )
    artifacts_dir: FilePath | None = Field(
        default=None, description="Where executions are stored; `null` means `artifacts` in the workspace."
    )
    default_timeout_ms: Milliseconds = Field(
        default=10_000, description="The timeout of an execution if neither the request nor the skill sets one."
    )
    max_timeout_ms: Milliseconds = Field(
        default=600_000, description="The longest timeout that a request or a skill may set."
    )
    grace_seconds: Seconds = Field(
        default=10.0, description="How long work may continue after the service is asked to stop."
    )
    limits: ServiceLimits = Field(default_factory=ServiceLimits, description="Limits for clients.")
    executions: ServiceExecutions = Field(
        default_factory=ServiceExecutions, description="How long executions are kept."
    )


class SkillVersioning(Section):
    """Versions of skills."""

    enabled: bool = Field(default=False, description="Whether versions of skills are distinguished.")
    strategy: str = Field(default="", description="How a version is chosen.")


class SkillStrictness(Section):
    """What is an error."""

    unknown_mention: Literal["error"] = Field(
        default="error", description="How a mention of an unknown skill is treated."
    )
    duplicate_name: Literal["error"] = Field(
        default="error", description="How two skills with the same name are treated."
    )
    mention_format: Literal["strict"] = Field(default="strict", description="How exactly a mention must be written.")


class SkillSpace(Section):
    """A namespace and the sources that fill it."""

    id: Text = Field(description="The name of the space.")
    namespace: Text = Field(description="The namespace its skills are mentioned under.")
    sources: Texts = Field(default=(), description="The ids of its sources.")
    enabled: bool = Field(default=True, description="Whether the space is used.")


class SkillSource(Section):
    """A source of skills."""

    id: Text = Field(description="The name of the source.")
    type: Literal["filesystem", "in-memory", "redis", "pgsql", "packages"] = Field(
        description="The type of the source."
    )
    options: dict[str, Any] = Field(default_factory=dict, description="The options of this type of source.")


class SkillScan(Section):
    """How directories are searched for skills."""

    ignore_dot_entries: bool = Field(default=True, description="Whether hidden directories are left out.")
    max_depth: Count = Field(default=99, description="How deep to search.")
    max_dirs_per_root: Positive = Field(default=100_000, description="How many directories of one root to visit.")
    max_frontmatter_bytes: Positive = Field(default=65_536, description="How long a skill's front matter may be.")
    refresh_policy: Literal["always", "ttl", "manual"] = Field(
        default="always", description="When directories are searched again."
    )
    ttl_sec: Count = Field(default=300, description="How long a search stays valid under `ttl`.")


class SkillDiscovery(Section):
    """Where skills are discovered; a project may only disable and lower these settings."""

    enabled: bool = Field(default=True, description="Whether skills are discovered in the usual directories.")
    project: bool = Field(default=True, description="Whether to search the project, once it is trusted.")
    user: bool = Field(default=True, description="Whether to search the user's directories.")
    system: bool = Field(default=True, description="Whether to search the system directory.")
    packages: bool = Field(default=False, description="Whether to search installed Python packages.")
    plugins: bool = Field(default=True, description="Whether to search plugins.")
    other_clients: bool = Field(
        default=True, description="Whether to search directories of other programs, such as `.claude/skills`."
    )
    directory: FilePath = Field(
        default=Path(".skills_runtime_sdk/skills"), description="A skill directory in addition to `.agents/skills`."
    )
    admin_directory: FilePath = Field(
        default=Path("/etc/skills_runtime/skills"), description="The directory of the system administrator."
    )
    max_depth: Count = Field(default=6, description="How deep to search.")
    max_dirs_per_root: Positive = Field(default=2000, description="How many directories of one root to visit.")
    max_entries_per_root: Positive = Field(default=20_000, description="How many entries of one root to read.")


class SkillInjection(Section):
    """How much of a skill is injected into the prompt."""

    max_bytes: Positive | None = Field(
        default=None, description="The maximum size of a skill body; `null` means no limit."
    )


class SkillCatalog(Section):
    """The list of skills in the prompt."""

    share: Annotated[float, Field(gt=0, le=0.5)] = Field(
        default=0.02, description="The share of the context window that the list may use."
    )
    max_tokens: Positive | None = Field(
        default=None, description="The maximum number of tokens of the list; `null` uses `share`."
    )


class SkillBundles(Section):
    """Limits of skill bundles."""

    max_bytes: Positive = Field(default=1_048_576, description="The maximum size of a bundle.")
    cache_dir: FilePath = Field(
        default=Path(".skills_runtime_sdk/bundles"), description="The directory into which bundles are unpacked."
    )
    max_extracted_bytes: Positive | None = Field(
        default=None, description="The maximum size of an unpacked bundle; `null` means 16 times `max_bytes`."
    )
    max_files: Positive | None = Field(
        default=None, description="The maximum number of files of a bundle; `null` means 4096."
    )
    max_single_file_bytes: Positive | None = Field(
        default=None, description="The maximum size of a file in a bundle; `null` means 8 times `max_bytes`."
    )


class SkillActions(Section):
    """Actions of skills."""

    enabled: bool = Field(
        default=True, description="Whether runs may execute programs of skills; policy and sandbox check each one."
    )


class SkillReferences(Section):
    """Reference files of skills."""

    enabled: bool = Field(default=False, description="Whether reference files of skills may be read.")
    allow_assets: bool = Field(default=False, description="Whether assets may be read too.")
    default_max_bytes: Positive = Field(default=65_536, description="How much of a reference file is read.")


class SkillsSettings(Section):
    """Where skills come from and what they may do."""

    env_var_missing_policy: Literal["fail_fast", "ask_human", "skip_skill"] = Field(
        default="ask_human", description="What happens when a skill needs a variable that is not set."
    )
    versioning: SkillVersioning = Field(default_factory=SkillVersioning, description="Versions of skills.")
    strictness: SkillStrictness = Field(default_factory=SkillStrictness, description="What is an error.")
    spaces: Annotated[tuple[SkillSpace, ...], LAX] = Field(
        default=(), description="Namespaces and the sources that fill them."
    )
    sources: Annotated[tuple[SkillSource, ...], LAX] = Field(default=(), description="The sources of skills.")
    scan: SkillScan = Field(default_factory=SkillScan, description="How directories are searched for skills.")
    discovery: SkillDiscovery = Field(default_factory=SkillDiscovery, description="Where skills are discovered.")
    injection: SkillInjection = Field(
        default_factory=SkillInjection, description="How much of a skill is injected into the prompt."
    )
    catalog: SkillCatalog = Field(default_factory=SkillCatalog, description="The list of skills in the prompt.")
    bundles: SkillBundles = Field(default_factory=SkillBundles, description="Limits of skill bundles.")
    actions: SkillActions = Field(default_factory=SkillActions, description="Actions of skills.")
    references: SkillReferences = Field(default_factory=SkillReferences, description="Reference files of skills.")


class PromptSkillInjection(Section):
    """Which skills are injected into the prompt, and in which form."""

    mode: Literal["all", "explicit_only", "none"] | None = Field(
        default=None, description="Which mentioned skills are injected; `null` uses the profile."
    )
    render: Literal["body", "method_only", "summary", "none"] | None = Field(
        default=None, description="How much of a skill is injected; `null` uses the profile."
    )


class PromptHistory(Section):
    """How much history is sent."""

    mode: Literal["none", "compacted", "full"] | None = Field(
        default=None, description="Which past messages are sent; `null` uses the profile."
    )
    max_messages: Positive = Field(default=40, description="The maximum number of messages sent.")
    max_chars: Positive = Field(default=120_000, description="The maximum number of characters sent.")


class PromptTools(Section):
    """Which tools the model is offered."""

    exposure: Literal["none", "explicit_only", "all"] | None = Field(
        default=None, description="Which tools are offered; `null` uses the profile."
    )


class PromptSettings(Section):
    """How the prompt is built."""

    profile: Literal["default_agent", "generation_direct", "structured_transform"] = Field(
        default="default_agent", description="A preset for the fields of this section that are `null`."
    )
    template: Text = Field(default="default", description="The name of the built-in template.")
    system_text: str | None = Field(default=None, description="The system text; takes precedence over `system_path`.")
    developer_text: str | None = Field(
        default=None, description="The developer text; takes precedence over `developer_path`."
    )
    system_path: FilePath | None = Field(default=None, description="A file with the system text.")
    developer_path: FilePath | None = Field(default=None, description="A file with the developer text.")
    include_skills_list: bool | None = Field(
        default=None, description="Whether available skills are listed; `null` uses the profile."
    )
    include_cwd_tree: bool = Field(
        default=False, description="Whether the directory tree of the workspace is included."
    )
    skill_injection: PromptSkillInjection = Field(
        default_factory=PromptSkillInjection, description="Which skills are injected into the prompt."
    )
    history: PromptHistory = Field(default_factory=PromptHistory, description="How much history is sent.")
    tools: PromptTools = Field(default_factory=PromptTools, description="Which tools the model is offered.")


Dollars = Annotated[float, Field(ge=0)]

CONFIG_VERSION = 1
"""The newest `config_version` this program understands."""


class ContextRecovery(Section):
    """What happens when the model's context is full."""

    mode: Literal["compact_first", "ask_first", "fail_fast"] = Field(
        default="compact_first", description="What to do first when the context is full."
    )
    window_tokens: Positive | None = Field(
        default=None,
        description="The context window of the model in tokens; `null` means the model's known window, or 128000.",
    )
    compact_at: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.8, description="The share of the window at which a run compacts automatically."
    )
    max_compactions_per_run: Count = Field(default=0, description="How often a run may compact; 0 means no limit.")
    ask_first_fallback_mode: Literal["compact_first", "fail_fast"] = Field(
        default="compact_first", description="What `ask_first` does when no user can be asked."
    )
    compaction_history_max_chars: Annotated[int, Field(ge=1000)] = Field(
        default=24_000, description="How many characters of history a compaction reads."
    )
    skills_max_chars: Annotated[int, Field(ge=0)] = Field(
        default=100_000, description="How many characters of active skills a compaction keeps, newest first."
    )
    compaction_keep_last_messages: Count = Field(
        default=6, description="How many of the latest messages a compaction keeps."
    )
    increase_budget_extra_steps: Count = Field(
        default=20, description="Steps added when the user chooses to increase the budget."
    )
    increase_budget_extra_wall_time_sec: Count = Field(
        default=600, description="Seconds added when the user chooses to increase the budget."
    )


class RunSettings(Section):
    """Limits of one run and how it continues."""

    max_steps: Positive = Field(default=40, description="The maximum number of tool calls of a run.")
    max_wall_time_sec: Positive | None = Field(
        default=1800, description="The maximum duration of a run in seconds; `null` means no limit."
    )
    max_tool_calls: Positive | None = Field(
        default=None, description="The maximum number of tool calls of a run and its sub-agents together."
    )
    max_tokens: Positive | None = Field(
        default=None, description="The maximum number of tokens of a run and its sub-agents together."
    )
    max_cost_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="The maximum cost of a run and its sub-agents; needs known prices."
    )
    on_limit: Literal["fail", "park"] = Field(
        default="fail", description="Whether a run that reaches a limit fails or waits for an increase."
    )
    review: Literal["none", "required"] = Field(
        default="none", description="Whether the result must be approved before the run is completed."
    )
    output_schema: dict[str, Any] | None = Field(
        default=None, description="The JSON schema the final answer must match; `null` means any text."
    )
    human_timeout_ms: Positive | None = Field(
        default=None, description="How long to wait for a user's answer; `null` means no limit."
    )
    resume_strategy: Literal["summary", "replay"] = Field(
        default="replay", description="Whether a resumed run gets a summary of its history or all of it."
    )
    context_recovery: ContextRecovery = Field(
        default_factory=ContextRecovery, description="What happens when the model's context is full."
    )


class SafetySettings(Section):
    """Policy and approvals: which calls are allowed, need approval, or are denied."""

    mode: Literal["auto", "ask", "allow", "deny"] = Field(
        default="auto",
        description="What happens to a call that no rule decides: `auto` passes what the sandbox contains and can be"
        " undone, and asks about the rest; `ask` asks; `allow` passes all but high risk; `deny` refuses.",
    )
    allowlist: Texts = Field(default=(), description="Command prefixes that are allowed without approval.")
    denylist: Texts = Field(default=(), description="Command prefixes that are always denied.")
    tool_allowlist: Texts = Field(default=(), description="Tools that are allowed without approval.")
    tool_denylist: Texts = Field(default=(), description="Tools that are always denied.")
    rule_files: Annotated[tuple[FilePath, ...], LAX] = Field(
        default=(),
        description="Rule files in addition to your own `rules.yaml` and the project's `config/rules.yaml`.",
    )
    approval_timeout_ms: Positive = Field(
        default=60_000,
        description="How long to wait for an answer to an approval request before the run parks; nothing is denied.",
    )
    approval_expires_sec: Positive = Field(
        default=7 * 24 * 3600, description="How long a parked request can be decided before it must be requested again."
    )
    skill_tools: Literal["preapprove", "ignore", "enforce"] = Field(
        default="preapprove",
        description="What `allowed-tools` of an active skill means: `preapprove` allows these calls if the skill is"
        " trusted, `ignore` does nothing, `enforce` also denies all other calls.",
    )


class Seatbelt(Section):
    """The macOS adapter."""

    profile: Text = Field(default="(version 1) (allow default)", description="The text of the sandbox profile.")


class Bubblewrap(Section):
    """The bubblewrap adapter for Linux."""

    bwrap_path: Text = Field(default="bwrap", description="The bubblewrap program: a name to look up or a path.")
    unshare_net: bool = Field(default=True, description="Whether processes have no direct network access.")


class OsSandbox(Section):
    """The isolation adapter of the operating system."""

    mode: Literal["auto", "none", "seatbelt", "bubblewrap"] = Field(
        default="auto", description="The adapter to use; `auto` chooses the best one available."
    )
    seatbelt: Seatbelt = Field(default_factory=Seatbelt, description="The macOS adapter.")
    bubblewrap: Bubblewrap = Field(default_factory=Bubblewrap, description="The bubblewrap adapter for Linux.")


class SandboxSettings(Section):
    """The sandbox: what processes can access."""

    profile: Literal["dev", "balanced", "prod"] = Field(
        default="dev", description="A preset for the fields of this section that are not set."
    )
    default_policy: Literal["none", "restricted"] = Field(
        default="restricted", description="The isolation of a process that requests none in particular."
    )
    os: OsSandbox = Field(default_factory=OsSandbox, description="The isolation adapter of the operating system.")
    workspace: Literal["shared", "isolated"] = Field(
        default="shared", description="Whether tools work in the workspace or in the run's own directory."
    )
    delete: Literal["disabled", "allow"] = Field(default="disabled", description="Whether tools may delete files.")
    egress: EgressSettings = Field(default_factory=EgressSettings, description="Network access of processes.")
    allow_home: bool = Field(
        default=False, description="Whether a home directory, or a parent of one, may be a workspace."
    )


class Retry(Section):
    """How a failed request to the model is repeated."""

    max_retries: Count = Field(default=3, description="How often a request is repeated; 0 means never.")
    base_delay_sec: Seconds = Field(default=0.5, description="The first delay, doubled each time.")
    cap_delay_sec: Seconds = Field(default=8.0, description="The longest delay.")
    jitter_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="The share of a delay that is random."
    )


class FakeBackend(Section):
    """The scripted backend."""

    script: FilePath | None = Field(default=None, description="The file with the scripted answers.")


class ReplayBackend(Section):
    """The backend that repeats a recorded run."""

    run: FilePath | None = Field(default=None, description="The directory of the run to repeat.")


class ModelPrice(Section):
    """The price of a model, in US dollars per million tokens."""

    model: Text = Field(description="The name of the model.")
    input: Dollars = Field(description="The price of input.")
    cached_input: Dollars | None = Field(
        default=None, description="The price of cached input; `null` means the same as `input`."
    )
    output: Dollars = Field(description="The price of output.")


class ToolSettings(Section):
    """Which tools are offered to the model."""

    compat: bool = Field(
        default=False,
        description="Also offer `shell`, `shell_exec`, `file_read`, `request_user_input` and `skill_ref_read` to the"
        " model; they can be called in any case.",
    )


class LlmSettings(Section):
    """Where the model is and how it is called."""

    backend: Literal["openai", "fake", "replay"] = Field(default="openai", description="The backend that answers.")
    provider: ProviderName | None = Field(
        default=DEFAULT_PROVIDER.id,
        description="The provider; it sets `base_url` and `api_key_env` where the same file does not.",
    )
    base_url: WebAddress = Field(
        default=DEFAULT_PROVIDER.base_url, description="The address of an OpenAI-compatible service."
    )
    api_key_env: VariableName = Field(
        default=DEFAULT_PROVIDER.key_env,
        description="The name of the environment variable that holds the key; local servers need none.",
    )
    timeout_sec: Positive = Field(default=60, description="How long to wait for the service to respond, in seconds.")
    retry: Retry = Field(default_factory=Retry, description="How a failed request is repeated.")
    prices: Annotated[tuple[ModelPrice, ...], LAX] = Field(
        default=(), description="The prices of models; they override the known ones."
    )
    fake: FakeBackend = Field(default_factory=FakeBackend, description="The scripted backend.")
    replay: ReplayBackend = Field(default_factory=ReplayBackend, description="The backend that repeats a run.")


def check_llm_values(values: Mapping[str, str | None]) -> None:
    """Refuse invalid values of `llm`; those that are `None` are not checked."""
    try:
        LlmSettings.model_validate({field: value for field, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        problem = first["msg"].removeprefix("Value error, ")
        raise ValidationFailed(f"`{'.'.join(map(str, first['loc']))}` {problem}") from None


class ModelNames(Section):
    """The models for each purpose, if they differ; `model` sets both."""

    planner: Text = Field(default=DEFAULT_PROVIDER.model, description="The model of the first turn, which plans.")
    executor: Text = Field(default=DEFAULT_PROVIDER.model, description="The model of all later turns.")


class Deliverable(Section):
    """One file that the run must deliver."""

    path: InnerPath = Field(description="Where the file must be, relative to `deliverables/`.")
    media_type: str | None = Field(default=None, description="The media type of the file.")
    description: str | None = Field(default=None, description="What it is for.")

    @model_validator(mode="before")
    @classmethod
    def _wrap_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Deliverables(Section):
    """The files that the run must deliver."""

    required: Annotated[tuple[Deliverable, ...], LAX] = Field(
        default=(), description="Files without which the run fails."
    )


class Settings(Section):
    """Everything that can be configured."""

    config_version: Positive = Field(default=CONFIG_VERSION, description="The version of this format.")
    profile_id: Text = Field(default="default_agent", description="The agent profile a run belongs to.")
    run: RunSettings = Field(default_factory=RunSettings, description="Limits of one run and how it continues.")
    safety: SafetySettings = Field(default_factory=SafetySettings, description="Policy and approvals.")
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings, description="The sandbox.")
    tools: ToolSettings = Field(default_factory=ToolSettings, description="Which tools are offered to the model.")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="Where the model is and how it is called.")
    model: Text | None = Field(
        default=None,
        description="One model for everything: `NAME` or `provider:NAME`; `models` in the same file overrides it.",
    )
    models: ModelNames = Field(default_factory=ModelNames, description="The models for each purpose.")
    skills: SkillsSettings = Field(default_factory=SkillsSettings, description="Where skills come from.")
    prompt: PromptSettings = Field(default_factory=PromptSettings, description="How the prompt is built.")
    deliverables: Deliverables = Field(default_factory=Deliverables, description="The files that the run must deliver.")
    service: ServiceSection = Field(default_factory=ServiceSection, description="The HTTP service.")
