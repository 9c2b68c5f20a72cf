"""All settings as one tree of frozen models; the defaults here are the lowest layer."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from skills_runtime.config.egress_models import EgressSettings
from skills_runtime.config.section import (
    LAX,
    Count,
    FilePath,
    InnerPath,
    Positive,
    Seconds,
    Section,
    Text,
    Texts,
    VariableName,
    WebAddress,
)
from skills_runtime.config.service_models import ServiceSection
from skills_runtime.config.skill_models import PromptSettings, SkillsSettings

Dollars = Annotated[float, Field(ge=0)]

CONFIG_VERSION = 1
"""The newest `config_version` this program understands."""


class ContextRecovery(Section):
    """What happens when the model's context is full."""

    mode: Literal["compact_first", "ask_first", "fail_fast"] = Field(
        default="compact_first", description="What to do first when the context is full."
    )
    window_tokens: Positive = Field(default=128_000, description="How many tokens the model takes in one request.")
    compact_at: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.8, description="The share of the window at which a run compacts by itself."
    )
    max_compactions_per_run: Count = Field(default=0, description="How often a run may compact; 0 means any number.")
    ask_first_fallback_mode: Literal["compact_first", "fail_fast"] = Field(
        default="compact_first", description="What `ask_first` does when nobody can be asked."
    )
    compaction_history_max_chars: Annotated[int, Field(ge=1000)] = Field(
        default=24_000, description="How many characters of history a compaction reads."
    )
    skills_max_chars: Annotated[int, Field(ge=0)] = Field(
        default=100_000, description="How much text of active skills a compaction keeps; the newest stay."
    )
    compaction_keep_last_messages: Count = Field(
        default=6, description="How many of the latest messages a compaction leaves as they are."
    )
    increase_budget_extra_steps: Count = Field(
        default=20, description="Steps added when the user chooses to increase the budget."
    )
    increase_budget_extra_wall_time_sec: Count = Field(
        default=600, description="Seconds added when the user chooses to increase the budget."
    )


class RunSettings(Section):
    """Limits of one run and how it continues."""

    max_steps: Positive = Field(default=40, description="How many tool calls a run may execute.")
    max_wall_time_sec: Positive | None = Field(
        default=1800, description="How many seconds a run may take; `null` means no limit."
    )
    max_tool_calls: Positive | None = Field(
        default=None, description="How many tool calls a run and its sub-agents may make together."
    )
    max_tokens: Positive | None = Field(
        default=None, description="How many tokens a run and its sub-agents may use together."
    )
    max_cost_usd: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="How much a run and its sub-agents may cost; needs `llm.prices`."
    )
    on_limit: Literal["fail", "park"] = Field(
        default="fail", description="Whether a run that reaches a limit fails or waits to be given more."
    )
    review: Literal["none", "required"] = Field(
        default="none", description="Whether somebody must approve the result before the run is completed."
    )
    output_schema: dict[str, Any] | None = Field(
        default=None, description="The JSON schema the final answer must match; `null` means any text."
    )
    human_timeout_ms: Positive | None = Field(
        default=None, description="How long to wait for a person's answer; `null` means as long as it takes."
    )
    resume_strategy: Literal["summary", "replay"] = Field(
        default="replay", description="Whether a resumed run gets a summary of its past or all of it."
    )
    context_recovery: ContextRecovery = Field(
        default_factory=ContextRecovery, description="What happens when the model's context is full."
    )


class SafetySettings(Section):
    """The gate: which calls pass, which are asked about, which are refused."""

    mode: Literal["allow", "ask", "deny"] = Field(
        default="ask", description="What happens to a call that no rule decides."
    )
    allowlist: Texts = Field(default=(), description="Command prefixes that pass without being asked about.")
    denylist: Texts = Field(default=(), description="Command prefixes that are always refused.")
    tool_allowlist: Texts = Field(default=(), description="Tool names that pass without being asked about.")
    tool_denylist: Texts = Field(default=(), description="Tool names that are always refused.")
    rule_files: Annotated[tuple[FilePath, ...], LAX] = Field(
        default=(),
        description="Rule files that hold besides your own `rules.yaml` and the project's `config/rules.yaml`.",
    )
    approval_timeout_ms: Positive = Field(
        default=60_000, description="How long an approval is waited for before it counts as denied."
    )
    approval_expires_sec: Positive = Field(
        default=7 * 24 * 3600, description="How long a request can be decided from elsewhere before it is asked anew."
    )
    skill_tools: Literal["preapprove", "ignore", "enforce"] = Field(
        default="preapprove",
        description="What `allowed-tools` of an active skill means: its calls pass unasked if the skill is trusted,"
        " nothing, or besides that no other call is made.",
    )


class Seatbelt(Section):
    """The macOS adapter."""

    profile: Text = Field(default="(version 1) (allow default)", description="The profile text given to the sandbox.")


class Bubblewrap(Section):
    """The bubblewrap adapter of Linux."""

    bwrap_path: Text = Field(default="bwrap", description="The bubblewrap program: a name to look up or a path.")
    unshare_net: bool = Field(default=True, description="Whether processes are cut off from the network.")


class OsSandbox(Section):
    """Which adapter of the operating system does the isolation."""

    mode: Literal["auto", "none", "seatbelt", "bubblewrap"] = Field(
        default="auto", description="The adapter to use; `auto` takes the best one this machine has."
    )
    seatbelt: Seatbelt = Field(default_factory=Seatbelt, description="The macOS adapter.")
    bubblewrap: Bubblewrap = Field(default_factory=Bubblewrap, description="The bubblewrap adapter of Linux.")


class SandboxSettings(Section):
    """The fence: what a process that was allowed to start can reach."""

    profile: Literal["dev", "balanced", "prod"] = Field(
        default="dev", description="A preset for the fields of this section that nobody set."
    )
    default_policy: Literal["none", "restricted"] = Field(
        default="restricted", description="The isolation of a process that asks for none in particular."
    )
    os: OsSandbox = Field(
        default_factory=OsSandbox, description="Which adapter of the operating system does the isolation."
    )
    workspace: Literal["shared", "isolated"] = Field(
        default="shared", description="Whether tools work in the user's tree or in the run's own directory."
    )
    delete: Literal["disabled", "allow"] = Field(default="disabled", description="Whether tools may delete files.")
    egress: EgressSettings = Field(default_factory=EgressSettings, description="The network of processes.")


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
    """What a model costs, in US dollars for a million tokens."""

    model: Text = Field(description="The name of the model.")
    input: Dollars = Field(description="What the request costs.")
    cached_input: Dollars | None = Field(
        default=None, description="What the part costs that the provider had kept; `null` means the same."
    )
    output: Dollars = Field(description="What the answer costs.")


class ToolSettings(Section):
    """Which tools a model is told of."""

    compat: bool = Field(
        default=False,
        description="Tell the model of `shell`, `shell_exec`, `file_read`, `request_user_input` and `skill_ref_read`"
        " too; they can be called in any case.",
    )


class LlmSettings(Section):
    """Where the model is and how it is called."""

    backend: Literal["openai", "fake", "replay"] = Field(default="openai", description="Who answers.")
    base_url: WebAddress = Field(
        default="https://api.openai.com/v1", description="The address of an OpenAI-compatible service."
    )
    api_key_env: VariableName = Field(
        default="OPENAI_API_KEY", description="The name of the environment variable that holds the key."
    )
    timeout_sec: Positive = Field(default=60, description="How long to wait for the service to react.")
    retry: Retry = Field(default_factory=Retry, description="How a failed request is repeated.")
    prices: Annotated[tuple[ModelPrice, ...], LAX] = Field(default=(), description="What models cost.")
    fake: FakeBackend = Field(default_factory=FakeBackend, description="The scripted backend.")
    replay: ReplayBackend = Field(default_factory=ReplayBackend, description="The backend that repeats a run.")


class ModelNames(Section):
    """Which model does what."""

    planner: Text = Field(default="gpt-4", description="The model that plans.")
    executor: Text = Field(default="gpt-4", description="The model that acts.")


class Deliverable(Section):
    """One file the run has to hand over."""

    path: InnerPath = Field(description="Where the file must be, relative to `deliverables/`.")
    media_type: str | None = Field(default=None, description="What kind of file it is.")
    description: str | None = Field(default=None, description="What it is for.")

    @model_validator(mode="before")
    @classmethod
    def _text_is_a_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Deliverables(Section):
    """What the run has to hand over."""

    required: Annotated[tuple[Deliverable, ...], LAX] = Field(
        default=(), description="Files without which the run counts as failed."
    )


class Settings(Section):
    """Everything that can be configured."""

    config_version: Positive = Field(default=CONFIG_VERSION, description="The version of this format.")
    profile_id: Text = Field(default="default_agent", description="The agent profile a run belongs to.")
    run: RunSettings = Field(default_factory=RunSettings, description="Limits of one run and how it continues.")
    safety: SafetySettings = Field(default_factory=SafetySettings, description="The gate.")
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings, description="The fence.")
    tools: ToolSettings = Field(default_factory=ToolSettings, description="Which tools a model is told of.")
    llm: LlmSettings = Field(default_factory=LlmSettings, description="Where the model is and how it is called.")
    models: ModelNames = Field(default_factory=ModelNames, description="Which model does what.")
    skills: SkillsSettings = Field(default_factory=SkillsSettings, description="Where skills come from.")
    prompt: PromptSettings = Field(default_factory=PromptSettings, description="How the prompt is put together.")
    deliverables: Deliverables = Field(default_factory=Deliverables, description="What the run has to hand over.")
    service: ServiceSection = Field(default_factory=ServiceSection, description="The HTTP service.")
