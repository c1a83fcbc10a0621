"""The page of what people change again and again: how often it came, week by week, and that the sidebar counts what is open."""

from django.test import Client

from tests.support.drivers.console_client import page_of, page_words
from tests.support.factories.lessons import make_cluster
from tests.support.worlds.world import World


def test_the_weeks_are_plotted_and_told(world: World, operator: Client) -> None:
    cluster = make_cluster(world)
    page = operator.get(page_of(cluster))
    content, text = page.content.decode(), page_words(page)
    assert content.count('<rect class="pc-bar-0"') == 1, "all of its drafts are of this week"
    assert 'height="100"' in content
    assert "Drafts by week the last 12, each from its Monday" in text
    # A table as wide as twelve weeks was pushed aside in a narrow window, and stood under other bars than its own.
    assert content.count('<th scope="row">') >= 12
    assert "this week" in text
    assert "Edits 1" in text
