"""The current guardrails of an agent, which apply whatever the agent learns."""

from apps.governance.actors import Actor
from apps.learning.guardrails.conflicts_with_guardrails import Guardrails
from apps.personas.models import Persona, StandingRule
from apps.prompt.prompt_input import Disclosure
from apps.tenants.models import TenantSettings


def read_guardrails(agent_id: int, actor: Actor) -> Guardrails:
    """Return the agent's guardrails: what its persona avoids, its rules, and its disclosure policy."""
    personas = Persona.objects.visible_to(actor).active().filter(agent_id=agent_id).values_list("avoid", flat=True)
    rules = StandingRule.objects.visible_to(actor).active().for_agent(agent_id).values_list("text", flat=True)
    disclosure = TenantSettings.objects.visible_to(actor).get().ai_disclosure
    avoid = tuple(line.strip() for text in personas for line in text.splitlines() if line.strip())
    return Guardrails(avoid, tuple(rules), Disclosure(disclosure))
