"""The webhook payload of a learning version: numbers and states, no text."""

from apps.learning.lessons.models import LearningVersion
from apps.llm.model_backend import JsonObject


def version_payload(tenant_id: int, version_id: int) -> tuple[str, JsonObject]:
    """Return the agent's key, and the current state of the version."""
    version = LearningVersion.objects.select_related("agent").get(tenant_id=tenant_id, pk=version_id)
    return version.agent.key, {"id": version.pk, "number": version.number, "status": version.status}
