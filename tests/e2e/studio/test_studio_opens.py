"""The first look at Studio."""

from playwright.sync_api import expect

from tests.e2e.studio.conftest import Open


def test_the_printed_link_opens_the_list_of_runs(studio: Open) -> None:
    with studio() as page:
        expect(page.get_by_role("navigation").first).to_be_visible()
