"""The webhook payload of a distillation run: numbers and an outcome, no text (R175)."""

from apps.learning.distillation.models import TierRun
from apps.llm.model_backend import JsonObject


def run_payload(tenant_id: int, run_id: int) -> tuple[str, JsonObject]:
    """Return the agent's key, and the outcome of the run."""
    run = TierRun.objects.select_related("agent").get(tenant_id=tenant_id, pk=run_id)
    shown = ("tier", "verdict", "facts_before", "facts_after")
    return run.agent.key, {"run_id": run.pk} | {name: getattr(run, name) for name in shown}
