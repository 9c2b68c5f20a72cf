"""Check whether a run would work here: what is configured, reachable and missing, and the command that fixes it.

Each check is a pure function of facts; `diagnose` collects the facts. No value of a key is ever part of a check.
"""

import asyncio
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.agent import configured_endpoint
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import Resolved, config_home, home, is_loopback, process_environ, state_home
from skills_runtime.engine.agent_factory import find_model_problem
from skills_runtime.errors import ConfigError, ModelError, SkillsRuntimeError
from skills_runtime.installation import exists
from skills_runtime.ledger import open_ledger
from skills_runtime.llm import Endpoint, EndpointProbe, probe_endpoint, probe_model
from skills_runtime.messages import phrase
from skills_runtime.runs import runs_root
from skills_runtime.sandbox import PROMISES, Capabilities, Gap, OsSandbox, UnavailableSandbox, build_sandbox
from skills_runtime.skills import SkillList, find_bundled_skills, is_trusted, list_skills, resolve_discovery_paths

CheckStatus = Literal["ok", "warning", "failed"]

COMMANDS = ("skills-runtime", "skills-runtime-sdk", "kgent")
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "service": ("fastapi", "h11", "prometheus_client", "uvicorn"),
    "redis": ("redis",),
    "pgsql": ("psycopg",),
    "signing": ("model_signing", "OpenSSL"),
}
"""The modules that each extra installs."""
PROBE_SECONDS = 5.0
ANSWER_SECONDS = 20.0
LOW_DISK_BYTES = 1 << 30
FULL_DISK_BYTES = 50 << 20
_INIT = "skills-runtime init"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check; its texts are phrases where they are ours, so that they can be translated."""

    name: str
    status: CheckStatus
    fact: str
    fix: str = ""
    """The next command, or what else to do."""
    details: tuple[str, ...] = ()
    """More lines about the fact, such as further problems."""

    @property
    def document(self) -> dict[str, object]:
        """Return the check as plain data."""
        fields = {name: str(getattr(self, name)) for name in ("name", "status", "fact", "fix")}
        return {**fields, "details": list(map(str, self.details))}


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all checks; those that need settings are missing where the settings are invalid."""

    checks: tuple[Check, ...]

    @property
    def can_run(self) -> bool:
        """Return whether a run would work; warnings do not count."""
        return all(check.status != "failed" for check in self.checks)

    @property
    def document(self) -> dict[str, object]:
        """Return the diagnosis as plain data."""
        return {"can_run": self.can_run, "checks": [check.document for check in self.checks]}


def diagnose(workspace: Path, load_settings: Callable[[], Resolved]) -> Diagnosis:
    """Run every check for a workspace; takes a few seconds where the model does not answer."""
    environ = process_environ()
    checks = [check_python(), check_commands(environ)]
    try:
        resolved = load_settings()
    except SkillsRuntimeError as error:
        checks.append(describe_invalid_settings(error))
    else:
        checks += [
            check_settings(resolved, home(environ)),
            *diagnose_model(resolved),
            diagnose_sandbox(resolved),
            diagnose_workspace(resolved),
            diagnose_skills(resolved),
        ]
    checks += [
        diagnose_state(state_home(environ), config_home(environ)),
        check_disk(_free_bytes((workspace, state_home(environ)))),
        check_studio(Path(__file__).parents[1] / "studio_dist"),
        check_extras([name for name, modules in EXTRAS.items() if all(map(find_spec, modules))]),
    ]
    return Diagnosis(checks=tuple(checks))


# The program


def check_python() -> Check:
    """Report the interpreter, which was new enough to come this far."""
    fact = phrase("doctor.python", "Python {version} at {path}", version=platform.python_version(), path=sys.executable)
    return Check(name="python", status="ok", fact=fact)


def check_commands(environ: Mapping[str, str]) -> Check:
    """Check whether a shell finds the commands."""
    missing = [name for name in COMMANDS if shutil.which(name, path=environ.get("PATH", "")) is None]
    if not missing:
        fact = phrase("doctor.commands", "{names} are on the PATH", names=", ".join(COMMANDS))
        return Check(name="commands", status="ok", fact=fact)
    directories = (home(environ) / ".local/bin", Path(sys.executable).parent)
    directory = next((path for path in directories if exists(path / COMMANDS[0])), None)
    fix = f'export PATH={shlex.quote(str(directory))}:"$PATH"' if directory else "make install"
    fact = phrase("doctor.commands_missing", "not on the PATH: {names}", names=", ".join(missing))
    return Check(name="commands", status="warning", fact=fact, fix=fix)


def check_extras(installed: Sequence[str]) -> Check:
    """Report the optional packages."""
    missing = [name for name in EXTRAS if name not in installed]
    fact = phrase(
        "doctor.extras",
        "installed: {names}{missing, select, none {} other {; not installed: {missing}}}",
        names=", ".join(installed),
        missing=", ".join(missing),
    )
    return Check(name="extras", status="ok", fact=fact)


def check_studio(directory: Path) -> Check:
    """Check whether the web app was built and its server is installed."""
    if not all(map(find_spec, EXTRAS["service"])):
        fix = "pip install 'skills-runtime[service]'"
        fact = phrase("doctor.service_missing", "the packages of the HTTP service are missing")
        return Check(name="studio", status="warning", fact=fact, fix=fix)
    if exists(directory / "index.html"):
        return Check(
            name="studio", status="ok", fact=phrase("doctor.studio", "built; `skills-runtime studio` opens it")
        )
    is_checkout = exists(directory.parents[2] / "studio/package.json")
    command = f"make -C {shlex.quote(str(directory.parents[2]))} studio"
    fix = command if is_checkout else phrase("doctor.studio_fix", "install a wheel with Studio")
    return Check(name="studio", status="warning", fact=phrase("doctor.studio_missing", "not built"), fix=fix)


# Settings


def check_settings(resolved: Resolved, user_home: Path) -> Check:
    """Report which files were read."""
    root = resolved.workspace_root
    names = [_short_path(path, root, user_home) for path in resolved.overlay_paths]
    fact = phrase(
        "doctor.settings",
        "valid; {names, select, none {no configuration files, only defaults} other {read {names}}}",
        names=", ".join(names),
    )
    if not resolved.notices:
        return Check(name="configuration", status="ok", fact=fact)
    fix = "skills-runtime config show --origin"
    return Check(name="configuration", status="warning", fact=fact, fix=fix, details=resolved.notices)


def describe_invalid_settings(error: SkillsRuntimeError) -> Check:
    """Describe settings that cannot be loaded, with all problems."""
    problems: Sequence[str] = error.details.get("problems", ()) if isinstance(error, ConfigError) else ()
    return Check(name="configuration", status="failed", fact=error.message, fix=error.hint, details=tuple(problems[1:]))


def _short_path(path: Path, root: Path, user_home: Path) -> str:
    if path.is_relative_to(root):
        return str(path.relative_to(root))
    return f"~/{path.relative_to(user_home)}" if path.is_relative_to(user_home) else str(path)


# Model


def diagnose_model(resolved: Resolved) -> list[Check]:
    """Check the model, its key, its address and its name."""
    llm = resolved.settings.llm
    if llm.backend != "openai":
        return [check_offline_model(llm.backend, find_model_problem(resolved))]
    if (address := resolved.unconfirmed_model) is not None:
        command = f"skills-runtime config confirm {shlex.quote(address.base_url)} {address.api_key_env}"
        chosen = "this project chose {url}, which you have not confirmed; it was not contacted"
        fact = phrase("doctor.model_unconfirmed", chosen, url=address.base_url)
        return [Check(name="model", status="failed", fact=fact, fix=command)]
    endpoint, key = configured_endpoint(resolved)
    key_problem = find_model_problem(resolved)
    probe = asyncio.run(probe_endpoint(endpoint.url, "" if key_problem else key, timeout_sec=PROBE_SECONDS))
    checks = [
        check_key(llm.api_key_env, resolved.environment.origin(llm.api_key_env), key_problem),
        check_address(endpoint.url, endpoint.source, probe),
    ]
    if key_problem or probe.status is None:
        return checks
    for model in dict.fromkeys((resolved.settings.models.executor, resolved.settings.models.planner)):
        error = None if probe.has_model(model) else _find_model_error(endpoint, key, model)
        checks.append(check_model(model, probe, error))
    return checks


def _find_model_error(endpoint: Endpoint, key: str, model: str) -> ModelError | None:
    try:
        asyncio.run(probe_model(endpoint, key, model, timeout_sec=ANSWER_SECONDS))
    except ModelError as error:
        return error
    return None


def check_offline_model(backend: str, problem: str) -> Check:
    """Check a scripted or replayed model."""
    if problem:
        return Check(name="model", status="failed", fact=problem, fix=_INIT)
    text = "`llm.backend: {backend}`: answers come from a file, not from a model"
    fact = phrase("doctor.model_offline", text, backend=backend)
    return Check(name="model", status="warning", fact=fact, fix=_INIT)


def check_key(variable: str, origin: str | None, problem: str) -> Check:
    """Check whether there is a usable key, if one is needed; only its variable is named."""
    if problem:
        unset = phrase("doctor.key_unset", "`{variable}` is not set", variable=variable)
        fact = unset if origin is None else problem
        return Check(name="key", status="failed", fact=fact, fix=_INIT)
    if origin is None:
        unneeded = phrase(
            "doctor.key_unneeded", "`{variable}` is not set, and this address needs no key", variable=variable
        )
        return Check(name="key", status="ok", fact=unneeded)
    fact = phrase(
        "doctor.key",
        "`{variable}`, {origin, select, process {from the environment} dotenv {from `.env`}"
        " other {stored for this address}}",
        variable=variable,
        origin=origin,
    )
    return Check(name="key", status="ok", fact=fact)


def check_address(base_url: str, origin: str, probe: EndpointProbe) -> Check:
    """Check whether something answers at the address of the model."""
    if probe.status is None:
        fact = phrase(
            "doctor.address_dead",
            "could not reach {url} (llm.base_url from {origin}): {problem}",
            url=base_url,
            origin=origin,
            problem=probe.problem,
        )
        fix = phrase(
            "doctor.address_fix",
            "{place, select, local {start the server} other {check network and proxy}}, or: {command}",
            place="local" if is_loopback(base_url) else "remote",
            command=_INIT,
        )
        return Check(name="address", status="failed", fact=fact, fix=fix)
    answers = "{url} (llm.base_url from {origin}) answers"
    return Check(name="address", status="ok", fact=phrase("doctor.address", answers, url=base_url, origin=origin))


def check_model(model: str, probe: EndpointProbe, error: ModelError | None) -> Check:
    """Check whether the provider has a model: it lists it, or the model began to answer a request."""
    if error is not None:
        names = _similar_names(model, probe.models)
        listed = tuple(phrase("doctor.model_similar", "it has {name}", name=name) for name in names)
        return Check(name="model", status="failed", fact=error.message, fix=_INIT, details=listed)
    how = "{model} is {how, select, listed {listed} other {answering}}"
    fact = phrase("doctor.model", how, model=model, how="listed" if probe.has_model(model) else "answering")
    return Check(name="model", status="ok", fact=fact)


def _similar_names(model: str, names: Sequence[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(model, names, n=3, cutoff=0.3) or list(names[:3])


# Sandbox, workspace and skills


def diagnose_sandbox(resolved: Resolved) -> Check:
    """Build and probe the sandbox that the settings ask for."""
    try:
        sandbox = build_sandbox(
            resolved.settings.sandbox, workspace=resolved.workspace_root, variables=resolved.environment.process
        )
        if isinstance(sandbox, OsSandbox):
            return check_sandbox(*sandbox.state())
    except SkillsRuntimeError as error:
        return Check(name="sandbox", status="failed", fact=error.message, fix=error.hint)
    if isinstance(sandbox, UnavailableSandbox):
        fix = "skills-runtime config set sandbox.os.mode auto"
        fact = phrase("doctor.sandbox_none", "no adapter is chosen: every command is refused")
        return Check(name="sandbox", status="failed", fact=fact, fix=fix)
    fix = "skills-runtime config set sandbox.default_policy restricted"
    fact = phrase("doctor.sandbox_off", "off: commands run with all your rights")
    return Check(name="sandbox", status="warning", fact=fact, fix=fix)


def check_sandbox(capabilities: Sequence[Capabilities], gaps: Sequence[Gap], is_ready: bool) -> Check:  # noqa: FBT001 - as `OsSandbox.state` returns them
    """Check whether an adapter works and keeps the required promises."""
    working = next((item for item in capabilities if item.works), None)
    if working is None:
        details = tuple(f"{item.adapter}: {item.problem}" for item in capabilities[1:])
        first = capabilities[0]
        fact = phrase(
            "doctor.sandbox_broken",
            "{adapter} does not work: {problem}; every command is refused",
            adapter=first.adapter,
            problem=first.problem,
        )
        return Check(name="sandbox", status="failed", fact=fact, fix=first.fix, details=details)
    name = f"{working.adapter} {working.version.removeprefix(working.adapter).strip()}".rstrip()
    if not is_ready:
        missing = tuple(f"{gap.promise}: {gap.text}; {gap.fix}" for gap in gaps)
        weak = "{adapter} does not keep what the settings require; every command is refused"
        fact = phrase("doctor.sandbox_weak", weak, adapter=name)
        return Check(name="sandbox", status="failed", fact=fact, fix="skills-runtime sandbox doctor", details=missing)
    kept = len(PROMISES) - len({gap.promise for gap in gaps})
    fact = phrase(
        "doctor.sandbox",
        "{adapter} keeps {kept} of {all} promises, all that is required; `skills-runtime sandbox doctor`"
        "{gaps, plural, =0 {} other { lists them}}",
        adapter=name,
        kept=kept,
        all=len(PROMISES),
        gaps=len(gaps),
    )
    return Check(name="sandbox", status="ok", fact=fact)


def diagnose_workspace(resolved: Resolved) -> Check:
    """Check whether runs can be created in the workspace, and whether it is trusted."""
    root = resolved.workspace_root
    is_folder_trusted = is_trusted(resolve_discovery_paths(root, resolved.environment.process))
    return check_workspace(root, find_write_problem(runs_root(root)), is_folder_trusted=is_folder_trusted)


def check_workspace(root: Path, problem: str, *, is_folder_trusted: bool) -> Check:
    """Check a workspace from whether it can be written."""
    if problem:
        text = "no run can be created in {path}: {problem}"
        fact = phrase("doctor.workspace_closed", text, path=str(root), problem=problem)
        fix = phrase("doctor.workspace_fix", "change to a directory that you can write")
        return Check(name="workspace", status="failed", fact=fact, fix=fix)
    fact = phrase(
        "doctor.workspace",
        "{path}, {trust, select, trusted {trusted} other {not trusted: skills of this folder are not used}}",
        path=str(root),
        trust="trusted" if is_folder_trusted else "untrusted",
    )
    return Check(name="workspace", status="ok", fact=fact)


def diagnose_skills(resolved: Resolved) -> Check:
    """Search all skills."""
    try:
        return check_skills(list_skills(resolved), find_bundled_skills())
    except SkillsRuntimeError as error:
        return Check(name="skills", status="failed", fact=error.message, fix=error.hint)


def check_skills(skills: SkillList, bundled: Path) -> Check:
    """Count skills; untrusted and broken ones, and missing bundled ones, are worth a warning."""
    own = [skill for skill in skills.skills if not Path(skill.path).is_relative_to(bundled)]
    untrusted = sum(skill.state == "untrusted" for skill in own)
    broken = sum(skill.state == "broken" for skill in own)
    built_in = len(list(bundled.glob("*/SKILL.md"))) if exists(bundled) else 0
    fact = phrase(
        "doctor.skills",
        "{own} found, {built_in} built in{untrusted, plural, =0 {} other {, {untrusted} not trusted}}"
        "{broken, plural, =0 {} other {, {broken} broken}}{problems, plural, =0 {} other {, {problems} with problems}}",
        own=str(len(own)),
        built_in=str(built_in),
        untrusted=str(untrusted),
        broken=str(broken),
        problems=str(len(skills.problems)),
    )
    if not built_in:
        details = (phrase("doctor.bundled", "the built-in skills are missing at {path}", path=str(bundled)),)
        fix = phrase("doctor.bundled_fix", "install skills-runtime again")
        return Check(name="skills", status="warning", fact=fact, fix=fix, details=details)
    if untrusted:
        return Check(name="skills", status="warning", fact=fact, fix="skills-runtime skills trust")
    if broken or skills.problems:
        return Check(name="skills", status="warning", fact=fact, fix="skills-runtime skills list")
    return Check(name="skills", status="ok", fact=fact)


# State and disk


def diagnose_state(state: Path, configuration: Path) -> Check:
    """Check whether state and configuration can be written, and whether the ledger opens if it exists."""
    problem = find_write_problem(state)
    if not problem and exists(state / "ledger.db"):
        try:
            open_ledger(state, clock=SystemClock(), ids=RandomIds()).close()
        except SkillsRuntimeError as error:
            return Check(name="state", status="failed", fact=error.message, fix=error.hint)
    return check_state(state, problem, configuration, find_write_problem(configuration))


def check_state(state: Path, problem: str, configuration: Path, configuration_problem: str) -> Check:
    """Check the user's directories from whether they can be written."""
    if problem:
        text = "the ledger and keys cannot be written to {path}: {problem}"
        fact = phrase("doctor.state_closed", text, path=str(state), problem=problem)
        fix = phrase(
            "doctor.state_fix",
            "{command}, or set XDG_STATE_HOME to a directory that you can write",
            command=f"chmod u+rwx {shlex.quote(str(state))}",
        )
        return Check(name="state", status="failed", fact=fact, fix=fix)
    if configuration_problem:
        fact = phrase(
            "doctor.configuration_closed",
            "{path} can be written, your configuration in {configuration} cannot: {problem}",
            path=str(state),
            configuration=str(configuration),
            problem=configuration_problem,
        )
        fix = phrase("doctor.configuration_fix", "set XDG_CONFIG_HOME to a directory that you can write")
        return Check(name="state", status="warning", fact=fact, fix=fix)
    return Check(name="state", status="ok", fact=phrase("doctor.state", "ledger and keys in {path}", path=str(state)))


def find_write_problem(directory: Path) -> str:
    """Return why nothing can be written into a directory, or could not be once it is created; leaves nothing."""
    while not os.path.lexists(directory) and directory != directory.parent:
        directory = directory.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".skills-runtime-", dir=directory) as created:
            (Path(created) / "probe").write_bytes(b"x" * 4096)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _free_bytes(paths: Sequence[Path]) -> Mapping[Path, int]:
    """Return the free bytes of the file systems that hold these directories."""
    free: dict[Path, int] = {}
    for path in paths:
        existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
        with suppress(OSError):
            free[existing] = shutil.disk_usage(existing).free
    return free


def check_disk(free: Mapping[Path, int]) -> Check:
    """Check the free space of the file system that has the least."""
    if not free:
        return Check(name="disk", status="warning", fact=phrase("doctor.disk_unknown", "free space is unknown"))
    path, number = min(free.items(), key=lambda item: item[1])
    status: CheckStatus = "ok" if number >= LOW_DISK_BYTES else "warning" if number >= FULL_DISK_BYTES else "failed"
    size = f"{number / (1 << 30):.1f} GiB" if number >= LOW_DISK_BYTES else f"{number >> 20} MiB"
    fix = phrase("doctor.disk_fix", "free some space; `skills-runtime runs list` shows old runs")
    fact = phrase("doctor.disk", "{size} free at {path}", size=size, path=str(path))
    return Check(name="disk", status=status, fact=fact, fix="" if status == "ok" else fix)
