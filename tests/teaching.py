"""Lawful data of what agents learn from: replies that were edited or discarded, answers, failures, and lessons of them."""

from apps.conversations.models import InboundEvent
from apps.desk.models import Draft
from apps.governance.acting import acting
from apps.learning.capture import capture
from apps.lessons.models import Lesson, LessonCase
from apps.runtime.sending import send_out
from tests.factories import World, make_event
from tests.waiting import make_waiting_draft

ASKED = "Where is my order?"
DRAFTED = "It is on its way."
SENT = "Your parcel is on its way. Track it in your account."


def make_asked_draft(world: World, asked: str = ASKED, text: str = DRAFTED, **given: str) -> Draft:
    """A draft that answers what a customer wrote, in a thread of its own."""
    event: InboundEvent = make_event(world, asked, None, **given)
    return make_waiting_draft(world, event.conversation, text)


def make_edited_draft(world: World, asked: str = ASKED, text: str = DRAFTED, sent: str = SENT, **given: str) -> Draft:
    """The same, sent in an operator's words."""
    draft = make_asked_draft(world, asked, text, **given)
    send_out(draft, actor=world.operator, seen_sha256=draft.text_sha256, text=sent)
    return draft


def make_lesson(world: World, cases: int = 1) -> Lesson:
    """What so many edited drafts taught."""
    for _ in range(cases):
        make_edited_draft(world)
    capture(world.agent.pk, actor=world.system)
    return lessons_of(world)[0]


def lessons_of(world: World) -> list[Lesson]:
    with acting(world.operator):
        return list(Lesson.objects.filter(agent=world.agent))


def cases_of(world: World) -> list[LessonCase]:
    with acting(world.operator):
        return list(LessonCase.objects.filter(agent=world.agent).order_by("id"))
