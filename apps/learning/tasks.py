"""Celery tasks of learning; each takes ids and makes one call."""

from celery import shared_task

from apps.learning.digest.pipeline import attempt_digest
from apps.learning.distillation.pipeline import attempt_distillation
from apps.learning.extraction.pipeline import attempt_extraction
from apps.learning.lessons.lesson_capture import attempt_capture
from apps.learning.reflection.pipeline import attempt_reflection
from apps.tenants.due_work import due_work


@shared_task
def extract_skill(tenant_id: int, conversation_id: int) -> None:
    """Extract from one resolved conversation."""
    attempt_extraction(tenant_id, conversation_id)


@shared_task
def sweep() -> None:
    """Extract from every resolved conversation without a verdict."""
    for tenant_id, conversation_id in due_work("extractions"):
        extract_skill.delay(tenant_id, conversation_id)


@shared_task
def capture_lessons(tenant_id: int, agent_id: int) -> None:
    """Capture the lessons of one agent."""
    attempt_capture(tenant_id, agent_id)


@shared_task
def digest_lessons(tenant_id: int, agent_id: int) -> None:
    """Digest the lessons of one agent into a version."""
    attempt_digest(tenant_id, agent_id)


@shared_task
def sweep_lessons() -> None:
    """Capture lessons from every settled draft, question, turn and proposal without a case."""
    for tenant_id, agent_id in due_work("lesson_captures"):
        capture_lessons.delay(tenant_id, agent_id)


@shared_task
def reflect_on_day(tenant_id: int, agent_id: int) -> None:
    """Reflect on the latest day of one agent."""
    attempt_reflection(tenant_id, agent_id)


@shared_task
def sweep_days() -> None:
    """Reflect for every agent with reflection enabled where it is past eleven in the evening on the tenant's clock (R119)."""
    for tenant_id, agent_id in due_work("reflections"):
        reflect_on_day.delay(tenant_id, agent_id)


@shared_task
def sweep_digests() -> None:
    """Digest for every agent with undigested lessons."""
    for tenant_id, agent_id in due_work("digests"):
        digest_lessons.delay(tenant_id, agent_id)


@shared_task
def distil_memory(tenant_id: int, agent_id: int) -> None:
    """Distil the due tiers of one agent's memory."""
    attempt_distillation(tenant_id, agent_id)


@shared_task
def sweep_distillation() -> None:
    """Distil the memory of every agent with a due tier."""
    for tenant_id, agent_id in due_work("distillations"):
        distil_memory.delay(tenant_id, agent_id)
