"""Lawful data of learning: edited replies, their lessons, versions, and how each surface decides on those."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from apps.conversations.models import InboundEvent
from apps.desk.actions import answer_escalation
from apps.desk.models import Draft
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import (
    activate_version,
    apply_version,
    dismiss_cluster,
    propose_version,
    prune_version,
    record_cluster,
    reject_version,
    reopen_cluster,
    restore_version,
    retire_example,
    retire_version,
    withdraw_version,
)
from apps.learning.lessons.edit_cluster_proposals import propose_cluster_rule, update_edit_clusters
from apps.learning.lessons.edit_clustering import Cluster, EditKind
from apps.learning.lessons.example_bank import add_lesson_example
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.learning.lessons.lesson_journal import record_cluster_cases
from apps.learning.lessons.models import EditCluster, Example, LearningVersion, Lesson, LessonCase
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import decision_of
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.worlds.world import World, make_event

_numbers = count(1)
QUESTION = "Where is my order?"
DRAFT_TEXT = "It is on its way."
QUARANTINE_REASON = "A customer slipped it in."
SENT_TEXT = "Your parcel is on its way. Track it in your account."


def make_asked_draft(
    world: World, asked: str = QUESTION, text: str = DRAFT_TEXT, *, off_the_record: bool | None = None, **given: str
) -> Draft:
    """Make a draft that answers a customer's message, in a conversation of its own."""
    event: InboundEvent = make_event(world, asked, off_the_record, **given)
    return make_waiting_draft(world, event.conversation, text)


def make_edited_draft(
    world: World,
    asked: str = QUESTION,
    text: str = DRAFT_TEXT,
    sent: str = SENT_TEXT,
    *,
    off_the_record: bool | None = None,
    **given: str,
) -> Draft:
    """Make such a draft, sent with an operator's edits."""
    draft = make_asked_draft(world, asked, text, off_the_record=off_the_record, **given)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text=sent)
    return draft


def make_lesson(world: World, cases: int = 1) -> Lesson:
    """Make the lesson of so many edited drafts."""
    for _ in range(cases):
        make_edited_draft(world)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    return lessons_of(world)[0]


def make_answer_lesson(world: World) -> Lesson:
    """Make the lesson of one answered question, which is enough for a digest."""
    row = make_escalation(world, make_event(world, QUESTION).conversation)
    answer_escalation(row, actor=world.operator, answer=SENT_TEXT)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    return lessons_of(world)[0]


def lessons_of(world: World) -> list[Lesson]:
    with acting_as(world.operator):
        return list(Lesson.objects.filter(agent=world.agent))


def cases_of(world: World) -> list[LessonCase]:
    with acting_as(world.operator):
        return list(LessonCase.objects.filter(agent=world.agent).order_by("id"))


def versions_of(world: World) -> list[LearningVersion]:
    """Return the versions, oldest first."""
    with acting_as(world.operator):
        return list(LearningVersion.objects.visible_to(world.operator).of_agent(world.agent.pk).order_by("number"))


def propose_lesson_version(agent_id: int, actor: Actor, body: str = "") -> LearningVersion:
    """Make a version that waits, as a digest leaves it."""
    body = body or f"- Name the order number. ({next(_numbers)})"
    fields = {"body": body, "change_summary": "Asks for the number.", "lesson_ids": [], "pinned_ids": ()}
    return propose_version(agent_id, actor=actor, **fields)  # type: ignore[arg-type]  # values of several types


def make_version(world: World, status: str = "pending", body: str = "") -> LearningVersion:
    """Make a version in the given state, by the acts that lead there."""
    version = propose_lesson_version(world.agent.pk, world.system, body)
    if status == "rejected":
        return reject_version(version, actor=world.operator)
    if status in {"active", "retired", "withdrawn"}:
        activate_version(version, actor=world.operator)
    if status == "withdrawn":
        return withdraw_version(version, actor=world.operator, reason=QUARANTINE_REASON)
    return retire_version(version, actor=world.operator) if status == "retired" else version


def make_recurring_edit(
    world: World, drafts: int = 3, sent: str = f"{DRAFT_TEXT} Your order number is 4711."
) -> EditCluster:
    """Make so many edited drafts with the same change, let a worker find them, and return the latest one."""
    for _ in range(drafts):
        make_edited_draft(world, sent=sent)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    update_edit_clusters(world.agent.pk, actor=world.system)
    cluster: EditCluster = edit_clusters_of(world)[-1]
    return cluster


def make_cluster(world: World, status: str = "open") -> EditCluster:
    """Make a cluster in the given state, by the acts that lead there."""
    cluster = make_recurring_edit(world)
    if status == "proposed":
        return propose_cluster_rule(cluster, actor=world.operator)
    return dismiss_cluster(cluster, actor=world.operator, reason="Chance.") if status == "dismissed" else cluster


def edit_clusters_of(world: World) -> list[Any]:
    """Return the clusters with their counts, oldest first; Any: the counts are no columns."""
    with acting_as(world.operator):
        return list(EditCluster.objects.visible_to(world.operator).counted().order_by("pk"))


def find(agent_id: int, actor: Actor) -> EditCluster:
    """Make a cluster as a worker does."""
    words = f"parcel {next(_numbers)}"
    cluster = Cluster(f"added||{words}", EditKind.ADDED, "", words, ())
    return record_cluster(agent_id, actor=actor, cluster=cluster, category="added:")


def make_shown_cluster(world: World) -> EditCluster:
    """Make a cluster whose lesson has a case already."""
    cluster = find(world.agent.pk, world.system)
    record_cluster_cases(cluster, [cases_of(world)[0].pk], actor=world.system)
    return cluster


def make_example(world: World, status: str = "approved", **words: str) -> Example:
    """Make an example of a lesson in the given state; `words` replace the lesson's."""
    asked = words.get("situation", f"{QUESTION} Number {next(_numbers)}.")
    make_edited_draft(world, asked, sent=words.get("correction", f"{SENT_TEXT} Look under {next(_numbers)} there."))
    capture_agent_lessons(world.agent.pk, actor=world.system)
    with acting_as(world.operator):
        lesson = Lesson.objects.filter(agent=world.agent).latest("pk")
    example = add_lesson_example(lesson, actor=world.operator, words=words)
    return retire_example(example, actor=world.operator) if status == "retired" else example


def enable_examples(world: World) -> None:
    """Switch on examples for the agent."""
    amend_agent(world.agent, actor=world.admin, has_examples=True)


def enable_auto_apply(world: World) -> World:
    """Let versions apply without a person."""
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, learning_apply_mode="auto")
    return world


LEARNING_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.LEARNING_VERSION_PROPOSE: lambda world: world.agent,
    Act.LEARNING_VERSION_APPLY: lambda world: make_version(enable_auto_apply(world)),
    Act.LEARNING_VERSION_ACTIVATE: make_version,
    Act.LEARNING_VERSION_REJECT: make_version,
    Act.LEARNING_VERSION_RETIRE: lambda world: make_version(world, "active"),
    Act.LEARNING_VERSION_RESTORE: lambda world: make_version(world, "retired"),
    Act.LEARNING_VERSION_WITHDRAW: lambda world: make_version(world, "active"),
    Act.LEARNING_VERSION_PRUNE: lambda world: make_version(world, "retired"),
    Act.EDIT_CLUSTER_FIND: lambda world: world.agent,
    Act.EDIT_CLUSTER_PROPOSE: make_cluster,
    Act.EDIT_CLUSTER_DISMISS: make_cluster,
    Act.EDIT_CLUSTER_REOPEN: lambda world: make_cluster(world, "dismissed"),
    Act.EXAMPLE_ADD: make_lesson,
    Act.EXAMPLE_RETIRE: make_example,
}
# Each takes the scene, the row and, for actions, the actor.
LEARNING_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.LEARNING_VERSION_PROPOSE: lambda _, agent, actor: propose_lesson_version(agent.pk, actor),
    Act.LEARNING_VERSION_APPLY: lambda _, row, actor: apply_version(row, actor=actor),
    Act.LEARNING_VERSION_ACTIVATE: lambda _, row, actor: activate_version(row, actor=actor),
    Act.LEARNING_VERSION_REJECT: lambda _, row, actor: reject_version(row, actor=actor),
    Act.LEARNING_VERSION_RETIRE: lambda _, row, actor: retire_version(row, actor=actor),
    Act.LEARNING_VERSION_RESTORE: lambda _, row, actor: restore_version(row, actor=actor),
    Act.LEARNING_VERSION_WITHDRAW: lambda _, row, actor: withdraw_version(row, actor=actor, reason=QUARANTINE_REASON),
    Act.LEARNING_VERSION_PRUNE: lambda _, row, actor: prune_version(row, actor=actor),
    Act.EDIT_CLUSTER_FIND: lambda _, agent, actor: find(agent.pk, actor),
    Act.EDIT_CLUSTER_PROPOSE: lambda _, row, actor: propose_cluster_rule(row, actor=actor),
    Act.EDIT_CLUSTER_DISMISS: lambda _, row, actor: dismiss_cluster(row, actor=actor, reason="Chance."),
    Act.EDIT_CLUSTER_REOPEN: lambda _, row, actor: reopen_cluster(row, actor=actor),
    Act.EXAMPLE_ADD: lambda _, lesson, actor: add_lesson_example(lesson, actor=actor, words={}),
    Act.EXAMPLE_RETIRE: lambda _, row, actor: retire_example(row, actor=actor),
}
VERSION_DECISIONS: Mapping[Act, tuple[str, dict[str, object]]] = {
    Act.LEARNING_VERSION_ACTIVATE: ("activate", {}),
    Act.LEARNING_VERSION_REJECT: ("reject", {}),
    Act.LEARNING_VERSION_RETIRE: ("retire", {}),
    Act.LEARNING_VERSION_RESTORE: ("restore", {}),
    Act.LEARNING_VERSION_WITHDRAW: ("withdraw", {"reason": QUARANTINE_REASON}),
}
CLUSTER_DECISIONS: Mapping[Act, tuple[str, dict[str, object]]] = {
    Act.EDIT_CLUSTER_PROPOSE: ("propose", {}),
    Act.EDIT_CLUSTER_DISMISS: ("dismiss", {"reason": "Chance."}),
    Act.EDIT_CLUSTER_REOPEN: ("reopen", {}),
}
WORKER_ONLY_ACTS: Mapping[Act, str] = {
    Act.EDIT_CLUSTER_FIND: "a worker finds what people do again and again; nobody asks for it",
    Act.LEARNING_VERSION_PROPOSE: "a digest makes a version; nobody asks for one",
    Act.LEARNING_VERSION_APPLY: "a digest applies what it made, where the settings say so",
    Act.LEARNING_VERSION_PRUNE: "the oldest go when a new one comes",
}


def _post_request(
    noun: str, verb: str, body: dict[str, object]
) -> Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]:
    return lambda _, row: ("POST", f"{noun}/{row.pk}/{verb}", body)


def _decision_form(button: str, values: dict[str, object]) -> Callable[[Any, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (decision_of(row, button), values)


LEARNING_REQUESTS = {
    **{act: _post_request("learning-versions", verb, body) for act, (verb, body) in VERSION_DECISIONS.items()},
    **{act: _post_request("edit-clusters", verb, body) for act, (verb, body) in CLUSTER_DECISIONS.items()},
    Act.EXAMPLE_ADD: lambda _, lesson: ("POST", "examples", {"lesson_id": lesson.pk}),
    Act.EXAMPLE_RETIRE: _post_request("examples", "retire", {}),
}
LEARNING_FORMS = {
    **{act: _decision_form(verb, said) for act, (verb, said) in VERSION_DECISIONS.items()},
    **{act: _decision_form(verb, said) for act, (verb, said) in CLUSTER_DECISIONS.items()},
    Act.EXAMPLE_ADD: _decision_form(
        "keep", {"read_at": 1, "situation": QUESTION, "draft": DRAFT_TEXT, "correction": SENT_TEXT}
    ),
    Act.EXAMPLE_RETIRE: _decision_form("retire", {}),
}
