"""The page of an agent: how it runs, in words."""

import pytest
from django.test import Client

from tests.support.drivers.console_client import page_of, page_words
from tests.support.factories.notes import enable_notebook
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


def test_it_says_whether_a_notebook_is_kept(world: World, operator: Client) -> None:
    assert "Notebook none" in page_words(operator.get(page_of(world.agent)))
    enable_notebook(world)
    assert "Notebook kept; each session is given the open notes" in page_words(operator.get(page_of(world.agent)))
