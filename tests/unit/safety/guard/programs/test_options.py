"""Hosts are found in the words of programs that use the network, also without a scheme."""

import pytest

from skills_runtime.safety.guard import read_line


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("curl a.example/x", ("a.example",)),
        ("curl -o out.txt -H 'X: y.z' --retry 3 a.example", ("a.example",)),
        ("curl --url=A.example", ("a.example",)),
        ("curl intranet/x", ("intranet",)),
        ("curl http:/a.example/x", ("a.example",)),
        ("curl http://b.example@c@a.example/x", ("a.example",)),
        ("curl [::1]:80/x", ("::1",)),
        ("curl file:///x", ()),
        ("curl -x p.example:80 a.example", ("p.example", "a.example")),
        ("curl -sxp.example:80 a.example", ("p.example", "a.example")),
        ("curl --proxy socks5://u@p.example:80 a.example", ("p.example", "a.example")),
        ("curl --connect-to ::b.example:1 a.example", ("b.example", "a.example")),
        ("curl --resolve a.example:443:192.0.2.1 a.example", ("a.example", "192.0.2.1")),
        ("wget -q -O out.txt a.example", ("a.example",)),
        ("ping -c 3 box", ("box",)),
        ("dig +short @ns.example a.example", ("ns.example", "a.example")),
        ("sftp a.example", ("a.example",)),
        ("ssh -J j.example a.example", ("a.example", "j.example")),
        ("ssh -L 80:b.example:80 a.example", ("a.example", "b.example")),
        ("git clone box:x.git", ("box",)),
        ("git push a.example:x.git HEAD:main", ("a.example",)),
        ("git show HEAD:a.txt", ()),
        ("docker pull a.example/x:1", ("a.example",)),
        ("psql -ha.example", ("a.example",)),
        ("cat a.example", ()),
    ],
)
def test_hosts_without_a_scheme_are_collected(line: str, hosts: tuple[str, ...]) -> None:
    assert read_line(line).hosts == hosts


def test_a_host_that_is_many_is_reported_as_it_is_written_and_in_its_parts() -> None:
    assert read_line("curl '{a.example,b.example}/x'").hosts == ("{a.example,b.example}", "a.example", "b.example")
