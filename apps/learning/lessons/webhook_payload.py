"""What webhooks are told of learning versions: numbers and states, none of the words."""

from apps.learning.lessons.models import LearningVersion
from apps.llm.model_backend import JsonObject


def version_payload(tenant_id: int, version_id: int) -> tuple[str, JsonObject]:
    """The agent's key, and the version as it stands when it is told."""
    version = LearningVersion.objects.select_related("agent").get(tenant_id=tenant_id, pk=version_id)
    return version.agent.key, {"id": version.pk, "number": version.number, "status": version.status}
