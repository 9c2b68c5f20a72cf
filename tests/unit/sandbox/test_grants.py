"""Grants widen a policy under a new name, and never open what nobody may open."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Egress, Grant, RaisedLimit
from skills_runtime.sandbox.grants import apply_grant, combine_grants, why_not_host, why_not_path
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy

POLICY = SandboxPolicy(profile="workspace-write", workspace=Path("/project"), limits=CAREFUL)
HOME = "/".join(("", "home", "somebody"))
CONTROL = (Path(f"{HOME}/.config/skills_runtime"), Path(f"{HOME}/.local/state/skills_runtime/keys"))


def widened(grant: Grant, policy: SandboxPolicy = POLICY) -> SandboxPolicy:
    return apply_grant(policy, grant, control=CONTROL, resolve=str)


def test_a_path_becomes_writable_under_a_new_digest() -> None:
    policy = widened(Grant(writable=("/data/out",)))
    assert (policy.writable, policy.opened) == ((Path("/data/out"),), (Path("/data/out"),))
    assert policy.digest != POLICY.digest


def test_a_path_becomes_readable_under_a_new_digest() -> None:
    policy = widened(Grant(readable=("/data/in",)))
    assert (policy.readable, policy.writable) == ((Path("/data/in"),), ())
    assert policy.digest != POLICY.digest


def test_the_same_grant_twice_is_the_same_policy() -> None:
    grant = Grant(writable=("/data/out",), hosts=("example.com:443",))
    assert widened(grant, widened(grant)) == widened(grant)


def test_a_host_turns_no_network_into_an_allow_list() -> None:
    policy = widened(Grant(hosts=("Example.com:443",)))
    assert policy.network == "allow-list"
    assert policy.egress == Egress(allow=("example.com:443",))
    assert policy.digest != POLICY.digest


def test_a_host_is_added_to_those_there_are() -> None:
    before = msgspec.structs.replace(POLICY, network="allow-list", egress=Egress(allow=("a.org",), deny=("b.org",)))
    policy = widened(Grant(hosts=("c.org:443",)), before)
    assert policy.egress == Egress(allow=("a.org", "c.org:443"), deny=("b.org",))


def test_a_limit_only_goes_up() -> None:
    higher = widened(Grant(limits=(RaisedLimit("memory_bytes", 1 << 40), RaisedLimit("processes", 1))))
    assert higher.limits.memory_bytes == 1 << 40
    assert higher.limits.processes == CAREFUL.processes


def test_where_there_is_no_limit_none_is_set() -> None:
    free = msgspec.structs.replace(POLICY, limits=msgspec.structs.replace(CAREFUL, memory_bytes=None))
    assert widened(Grant(limits=(RaisedLimit("memory_bytes", 5),)), free).limits.memory_bytes is None


def test_what_is_open_already_changes_nothing() -> None:
    assert widened(Grant(writable=("/project/sub",), readable=("/project/sub",))) == POLICY


def test_an_empty_grant_changes_nothing() -> None:
    assert widened(Grant()) == POLICY
    assert not Grant()


def test_grants_of_several_denials_are_one() -> None:
    one = Grant(writable=("/a/b",), limits=(RaisedLimit("processes", 5),))
    two = Grant(writable=("/a/b",), readable=("/c/d",), limits=(RaisedLimit("processes", 9),))
    assert combine_grants((one, two)) == Grant(
        writable=("/a/b",), readable=("/c/d",), limits=(RaisedLimit("processes", 9),)
    )


def test_a_grant_goes_through_json() -> None:
    grant = Grant(writable=("/a/b",), hosts=("a.org:443",), limits=(RaisedLimit("processes", 5),))
    assert msgspec.json.decode(msgspec.json.encode(grant), type=Grant) == grant
    assert len({grant, msgspec.json.decode(msgspec.json.encode(grant), type=Grant)}) == 1


NEVER = [
    "/", "/home", HOME, "/root", f"{HOME}/.ssh", f"{HOME}/.ssh/id_rsa", f"{HOME}/.aws/credentials",
    f"{HOME}/.gnupg", f"{HOME}/.netrc", f"{HOME}/.kube/config", "/data/.env", "/data/app/.env.production",
    "/data/server.key", "/data/cert.pem", f"{HOME}/.config/gcloud", f"{HOME}/.config/gh/hosts.yml", "/etc/shadow",
    "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private", "/proc/1/mem", "/sys/kernel", "/dev/sda", "/run/docker.sock",
    "/boot", "/other/.skills_runtime_sdk/runs", f"{HOME}/.config/skills_runtime/config.yaml", f"{HOME}/.config",
    f"{HOME}/.local/state/skills_runtime/keys", f"{HOME}/.local", "relative", "", "/a/../etc", "/a//b", "/a/./b",
    "/a/b/", "//etc", "/project", "/nul\0", f"{HOME}/.bash_history", f"{HOME}/.docker/config.json", f"{HOME}/.npmrc",
]  # fmt: skip


@pytest.mark.parametrize("path", NEVER)
@pytest.mark.parametrize("way", ["writable", "readable"])
def test_what_holds_secrets_or_everything_is_never_opened(path: str, way: str) -> None:
    with pytest.raises(SandboxError) as refused:
        widened(Grant(writable=(path,)) if way == "writable" else Grant(readable=(path,)))
    assert refused.value.kind == "sandbox_denied"
    assert refused.value.details == {"target": path, "grantable": False}


@pytest.mark.parametrize(
    "path", ["/usr/local/bin", "/etc/hosts", "/bin/x", "/lib64", "/sbin/y", "/var/lib/x", "/nix/a"]
)
def test_the_system_is_never_opened_for_writing(path: str) -> None:
    with pytest.raises(SandboxError, match="belongs to the system"):
        widened(Grant(writable=(path,)))


def test_what_belongs_to_the_system_may_be_read() -> None:
    assert widened(Grant(readable=("/etc/hosts", "/opt/tool"))).readable == (Path("/etc/hosts"), Path("/opt/tool"))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:80", "localhost:80", "10.1.2.3:443", "192.168.0.1:443", "172.16.0.9:80", "169.254.169.254:80",
        "metadata.google.internal:80", "[::1]:80", "[fd00::1]:443", "100.64.0.1:80", "0.0.0.0:80", "224.0.0.1:80",
        "db.internal:5432", "printer.local:80", "intranet:80", "*.example.com:443", "**.example.com", "*", "",
        "a b:80", "user@host:80", "example.com:0", "example.com:99999", "exa\0mple.com:80", "[::ffff:10.0.0.1]:80",
        "0x7f000001:80", "2130706433:80", "host.localhost:80", "168.63.129.16:80",
    ],
)  # fmt: skip
def test_networks_within_are_never_opened(host: str) -> None:
    with pytest.raises(SandboxError):
        widened(Grant(hosts=(host,)))


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(SandboxError, match="cannot be 0"):
        widened(Grant(limits=(RaisedLimit("memory_bytes", 0),)))


def test_a_path_through_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(SandboxError, match="a link is on the way"):
        apply_grant(POLICY, Grant(writable=(str(tmp_path / "link"),)))


def test_where_the_workspace_lies_is_not_opened() -> None:
    inner = msgspec.structs.replace(POLICY, workspace=Path("/data/project/work"))
    with pytest.raises(SandboxError, match="the workspace lies in it"):
        widened(Grant(readable=("/data/project",)), inner)


@given(st.text(max_size=40))
def test_no_text_is_a_path_by_accident(text: str) -> None:
    reason = why_not_path(text, writing=True, control=CONTROL)
    assert reason is not None or (text.startswith("/") and ".." not in text.split("/"))


@given(st.text(max_size=40))
def test_no_text_breaks_the_check_of_hosts(text: str) -> None:
    assert why_not_host(text) is None or isinstance(why_not_host(text), str)
