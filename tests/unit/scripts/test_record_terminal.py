"""The recording of a terminal: what stays on the screen, and when it appeared."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from scripts.record_terminal import COLORS, DIM, Screen, main, record, render


def screen_with(*pieces: str) -> Screen:
    screen = Screen()
    for at, piece in enumerate(pieces):
        screen.write(piece, float(at))
    return screen


def test_lines_that_are_erased_or_overwritten_leave_only_their_last_text() -> None:
    screen = screen_with("working\r\n", "\x1b[1A\x1b[2K\rdone\r\n", "50 %\r100 %\r\n")
    assert [line.text for line in screen.lines] == ["done", "100 %", ""]
    assert [line.printed_at for line in screen.lines] == [1.0, 2.0, 0.0]


def test_colors_become_attributes_and_text_is_escaped() -> None:
    svg = render(screen_with("\x1b[1;31ma < b\x1b[0m \x1b[2mdim\x1b[0m\r\n"), "program --x")
    assert f'<tspan fill="{COLORS[1]}" font-weight="bold">a &lt; b</tspan>' in svg
    assert f'<tspan fill="{DIM}">dim</tspan>' in svg
    assert ElementTree.fromstring(svg).get("aria-label") == "program --x"


def test_lines_appear_in_the_order_in_which_they_were_printed() -> None:
    svg = render(screen_with("first\r\n", "second\r\n"), "program")
    assert svg.index("@keyframes l1{") < svg.index("@keyframes l2{")


def test_recording_a_command_writes_what_it_prints_on_a_terminal(tmp_path: Path) -> None:
    main([str(tmp_path / "out.svg"), "sh", "-c", "test -t 1 && printf '\\346\\212\\245\\345\\221\\212\\n'"])
    assert "报告" in (tmp_path / "out.svg").read_text(encoding="utf-8")


def test_command_that_fails_is_not_recorded() -> None:
    with pytest.raises(SystemExit, match="`false` failed"):
        record(["false"])


def test_an_approval_is_given() -> None:
    screen = record(["sh", "-c", "printf 'allow? '; read answer; echo got $answer"])
    assert [line.text for line in screen.lines] == ["allow? y", "got y", ""]
