"""A day of an agent with daily review, and the moment at which it is over."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.learning.reflection.models import Reflection
from apps.learning.reflection.pipeline import reflect_on_latest_day
from apps.llm.model_backend import ModelBackend
from apps.tenants.actions import amend_agent
from tests.support.worlds.world import World, make_conversation


def enable_reflection(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, has_reflection=True)


def make_day(world: World, conversations: int = 2, **given: bool) -> list[Conversation]:
    """Make so many conversations of today, each solved in the same way for another customer."""
    enable_reflection(world)
    solved = Conversation.Outcome.SOLVED
    threads = [make_conversation(world, f"http:abc{number}", **given) for number in range(conversations)]
    return [resolve_conversation(thread, actor=world.bot, outcome=solved) for thread in threads]


def evening() -> datetime:
    """Return a moment at which the present day is over."""
    return timezone.now() + timedelta(days=1)


def run_reflection(world: World, backend: ModelBackend) -> Reflection:
    found = reflect_on_latest_day(world.agent.pk, actor=world.system, backend=backend, now=evening())
    assert found is not None
    return found


def make_reflection(world: World, backend: ModelBackend) -> Reflection:
    make_day(world)
    return run_reflection(world, backend)
