"""The seals are plain HMAC-SHA256 by the documented rule, so that anybody with the key can check a log."""

import hmac
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.runs.log.chain import Chain, split_line, tag
from tests.support.runs import filled_run, keys_in, lines_of


@given(secret=st.binary(min_size=1, max_size=64), bodies=st.lists(st.binary(max_size=300), max_size=5))
def test_a_seal_is_hmac_sha256_over_the_seal_before_and_the_body(secret: bytes, bodies: list[bytes]) -> None:
    chain, before = Chain(secret), b"0" * 32
    for body in bodies:
        before = hmac.digest(secret, before + body, "sha256")[:16].hex().encode()
        assert chain.seal(body) == before


def test_a_whole_log_can_be_checked_with_nothing_but_hmac(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    secret = keys_in(tmp_path).current().secret
    seal = "0" * 32
    for line in lines_of(paths):
        body, _, rest = line.rpartition(b',"mac":"')
        seal = hmac.digest(secret, seal.encode() + body, "sha256")[:16].hex()
        assert rest == f'{seal}"}}\n'.encode()
    assert len(lines_of(paths)) == 15


def test_asking_for_a_seal_changes_nothing() -> None:
    chain = Chain(b"secret")
    assert chain.seal_after(chain.head, b"body") == chain.seal_after(chain.head, b"body")
    assert chain.seal(b"body") == Chain(b"secret").seal(b"body")


def test_another_key_another_body_or_another_past_give_another_seal() -> None:
    seals = {Chain(b"a").seal(b"x"), Chain(b"b").seal(b"x"), Chain(b"a").seal(b"y"), Chain(b"a", b"1" * 32).seal(b"x")}
    assert len(seals) == 4


def test_a_line_splits_into_what_is_sealed_and_its_seal() -> None:
    line = b'{"a":1,"mac":"' + b"f" * 32 + b'"}'
    assert split_line(line) == (b'{"a":1', b"f" * 32)


def test_what_has_not_the_form_of_a_line_does_not_split() -> None:
    good = b'{"a":1,"mac":"' + b"f" * 32 + b'"}'
    for bad in (b"", b"{}", good[1:], good[:-1], good + b" ", good.replace(b"mac", b"mad"), b'{"mac":"' + b"f" * 34):
        assert split_line(bad) is None


def test_a_tag_belongs_to_its_domain() -> None:
    assert tag(b"k", "checkpoint", b"data") == hmac.digest(b"k", b"checkpoint\ndata", "sha256")[:16].hex()
    assert tag(b"k", "checkpoint", b"data") != tag(b"k", "snapshot", b"data")
