"""The settings of skills and of the prompt they go into."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from skills_runtime.config.section import LAX, Count, FilePath, Positive, Section, Text, Texts


class SkillVersioning(Section):
    """Versions of skills."""

    enabled: bool = Field(default=False, description="Whether versions of skills are told apart.")
    strategy: str = Field(default="", description="How a version is chosen.")


class SkillStrictness(Section):
    """What is an error."""

    unknown_mention: Literal["error"] = Field(default="error", description="What a mention of an unknown skill is.")
    duplicate_name: Literal["error"] = Field(default="error", description="What two skills of the same name are.")
    mention_format: Literal["strict"] = Field(default="strict", description="How exactly a mention must be written.")


class SkillSpace(Section):
    """A namespace and the sources that fill it."""

    id: Text = Field(description="The name of the space.")
    namespace: Text = Field(description="The namespace its skills are mentioned under.")
    sources: Texts = Field(default=(), description="The ids of its sources.")
    enabled: bool = Field(default=True, description="Whether the space is used.")


class SkillSource(Section):
    """A place skills are read from."""

    id: Text = Field(description="The name of the source.")
    type: Literal["filesystem", "in-memory", "redis", "pgsql", "packages"] = Field(
        description="What kind of place it is."
    )
    options: dict[str, Any] = Field(default_factory=dict, description="What this kind of place needs to know.")


class SkillScan(Section):
    """How directories are searched for skills."""

    ignore_dot_entries: bool = Field(default=True, description="Whether hidden directories are left out.")
    max_depth: Count = Field(default=99, description="How deep to look.")
    max_dirs_per_root: Positive = Field(default=100_000, description="How many directories of one root to visit.")
    max_frontmatter_bytes: Positive = Field(default=65_536, description="How long a skill's front matter may be.")
    refresh_policy: Literal["always", "ttl", "manual"] = Field(
        default="always", description="When directories are searched again."
    )
    ttl_sec: Count = Field(default=300, description="How long a search stays good under `ttl`.")


class SkillDiscovery(Section):
    """Where skills are found without being named; a project may only switch off and lower what is here."""

    enabled: bool = Field(default=True, description="Whether skills are found without being named.")
    project: bool = Field(default=True, description="Whether those of the project count, once it is trusted.")
    user: bool = Field(default=True, description="Whether those of the user count.")
    system: bool = Field(default=True, description="Whether those of the machine count.")
    packages: bool = Field(default=False, description="Whether those of installed Python packages count.")
    plugins: bool = Field(default=True, description="Whether those of plugins count.")
    other_clients: bool = Field(
        default=True, description="Whether the directories of other programs count, such as `.claude/skills`."
    )
    directory: FilePath = Field(
        default=Path(".skills_runtime_sdk/skills"), description="A directory of skills besides `.agents/skills`."
    )
    admin_directory: FilePath = Field(
        default=Path("/etc/skills_runtime/skills"), description="The directory of whoever looks after the machine."
    )
    max_depth: Count = Field(default=6, description="How deep to look.")
    max_dirs_per_root: Positive = Field(default=2000, description="How many directories of one root to visit.")
    max_entries_per_root: Positive = Field(default=20_000, description="How many names of one root to look at.")


class SkillInjection(Section):
    """How much of a skill goes into the prompt."""

    max_bytes: Positive | None = Field(default=None, description="The longest skill body; `null` means any length.")


class SkillCatalog(Section):
    """The list of skills that a model is told of."""

    share: Annotated[float, Field(gt=0, le=0.5)] = Field(
        default=0.02, description="The part of the model's window that the list may take."
    )
    max_tokens: Positive | None = Field(
        default=None, description="The most tokens of the list; `null` leaves it to `share`."
    )


class SkillBundles(Section):
    """Limits of skill bundles."""

    max_bytes: Positive = Field(default=1_048_576, description="The largest bundle.")
    cache_dir: FilePath = Field(
        default=Path(".skills_runtime_sdk/bundles"), description="The directory bundles are unpacked into."
    )
    max_extracted_bytes: Positive | None = Field(
        default=None, description="The largest unpacked bundle; `null` means 16 times `max_bytes`."
    )
    max_files: Positive | None = Field(default=None, description="The most files of a bundle; `null` means 4096.")
    max_single_file_bytes: Positive | None = Field(
        default=None, description="The largest file of a bundle; `null` means 8 times `max_bytes`."
    )


class SkillActions(Section):
    """Actions of skills."""

    enabled: bool = Field(default=False, description="Whether skills may offer actions.")


class SkillReferences(Section):
    """Reference files of skills."""

    enabled: bool = Field(default=False, description="Whether reference files of skills may be read.")
    allow_assets: bool = Field(default=False, description="Whether assets may be read as well.")
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
    sources: Annotated[tuple[SkillSource, ...], LAX] = Field(default=(), description="Places skills are read from.")
    scan: SkillScan = Field(default_factory=SkillScan, description="How directories are searched for skills.")
    discovery: SkillDiscovery = Field(
        default_factory=SkillDiscovery, description="Where skills are found without being named."
    )
    injection: SkillInjection = Field(
        default_factory=SkillInjection, description="How much of a skill goes into the prompt."
    )
    catalog: SkillCatalog = Field(
        default_factory=SkillCatalog, description="The list of skills that a model is told of."
    )
    bundles: SkillBundles = Field(default_factory=SkillBundles, description="Limits of skill bundles.")
    actions: SkillActions = Field(default_factory=SkillActions, description="Actions of skills.")
    references: SkillReferences = Field(default_factory=SkillReferences, description="Reference files of skills.")


class PromptSkillInjection(Section):
    """Which skills go into the prompt, and in which form."""

    mode: Literal["all", "explicit_only", "none"] | None = Field(
        default=None, description="Which mentioned skills are injected; `null` leaves it to the profile."
    )
    render: Literal["body", "method_only", "summary", "none"] | None = Field(
        default=None, description="How much of a skill is shown; `null` leaves it to the profile."
    )


class PromptHistory(Section):
    """How much of the past goes into the prompt."""

    mode: Literal["none", "compacted", "full"] | None = Field(
        default=None, description="Which past messages are sent; `null` leaves it to the profile."
    )
    max_messages: Positive = Field(default=40, description="The most messages sent.")
    max_chars: Positive = Field(default=120_000, description="The most characters sent.")


class PromptTools(Section):
    """Which tools the model is offered."""

    exposure: Literal["none", "explicit_only", "all"] | None = Field(
        default=None, description="Which tools are offered; `null` leaves it to the profile."
    )


class PromptSettings(Section):
    """How the prompt is put together."""

    profile: Literal["default_agent", "generation_direct", "structured_transform"] = Field(
        default="default_agent", description="A preset for the fields of this section that are `null`."
    )
    template: Text = Field(default="default", description="The name of the built-in template.")
    system_text: str | None = Field(default=None, description="The system text; it beats `system_path`.")
    developer_text: str | None = Field(default=None, description="The developer text; it beats `developer_path`.")
    system_path: FilePath | None = Field(default=None, description="A file with the system text.")
    developer_path: FilePath | None = Field(default=None, description="A file with the developer text.")
    include_skills_list: bool | None = Field(
        default=None, description="Whether available skills are listed; `null` leaves it to the profile."
    )
    include_cwd_tree: bool = Field(default=False, description="Whether the tree of the workspace is shown.")
    skill_injection: PromptSkillInjection = Field(
        default_factory=PromptSkillInjection, description="Which skills go into the prompt."
    )
    history: PromptHistory = Field(default_factory=PromptHistory, description="How much of the past is sent.")
    tools: PromptTools = Field(default_factory=PromptTools, description="Which tools the model is offered.")
