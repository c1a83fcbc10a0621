"""What webhooks are told of distilled memory: figures and a verdict, none of the words (R175)."""

from apps.learning.distillation.models import TierRun
from apps.llm.model_backend import JsonObject


def run_payload(tenant_id: int, run_id: int) -> tuple[str, JsonObject]:
    """The agent's key, and what became of the run."""
    run = TierRun.objects.select_related("agent").get(tenant_id=tenant_id, pk=run_id)
    shown = ("tier", "verdict", "facts_before", "facts_after")
    return run.agent.key, {"run_id": run.pk} | {name: getattr(run, name) for name in shown}
