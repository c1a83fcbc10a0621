"""The tools to delegate a question to another agent and to pass an answer back (R054, R057).

Delegating writes the child conversation, its question, the money set aside and the step in one commit. The delegating agent does
not wait: the other agent answers in a turn of its own, and the answer arrives as an event of the parent conversation.
"""

from typing import Final

from apps.conversations.delegation import add_agent_event, agent_and_ancestors, open_delegated_conversation
from apps.conversations.inbound_messages import refuse_invalid_message
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import DELEGATION_CHANNEL
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import JsonObject
from apps.prompt.builtin_tools import DELEGATE, ENQUEUE_PARENT
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import IDENTITY_CHARACTERS
from apps.runtime.kill_switch_checks import is_answering_paused
from apps.runtime.limits.turn_budgets import TurnMoney, delegation_budget, detect_loop
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext, ToolOffer
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import InvokableAgent

QUESTION_ASKED: Final = (
    "Asked. The answer of {title} arrives here as a message of its own; tell the customer then. For now say that you are "
    "looking into it, or nothing, and do not guess the answer."
)
NOTHING_LEFT: Final = (
    "Nothing is left of what this turn may spend, so nobody can be asked. Answer it, or hand it to a colleague."
)
ANSWER_NOTED: Final = (
    "Noted, not sent yet. When this turn ends, it is treated like every reply of yours: sent, read by a colleague first, or only "
    "recorded. Nothing else you write in this turn is passed on."
)


def ask_agent(
    parent: Conversation, *, actor: Actor, agent_key: str, task: str, turn_id: int, money: TurnMoney
) -> Conversation:
    """Delegate a question to another agent, and return the child conversation in which it answers."""
    authorize(actor, Act.CONVERSATION_DELEGATE, parent.tenant_id, agent_id=parent.agent_id)
    refuse_invalid_message(task, "", DELEGATION_CHANNEL)
    if detect_loop(parent.hops + 1, 0, 0):
        raise Conflict("This question was passed on often enough. Answer it, or hand it to a colleague.")
    with acting_as(system := system_actor(parent.tenant_id, "worker")):
        invokable = _find_invokable(parent, agent_key, system)
        budget = delegation_budget(invokable.budget_micro_usd, money.turn_budget, money.turn_cost)
        if budget == 0:
            raise Conflict(NOTHING_LEFT)
        child = open_delegated_conversation(
            parent,
            invokable.callee_id,
            actor=system,
            turn_id=turn_id,
            budget_micro_usd=budget,
            is_proven=actor.customer_is_proven,
        )
        if is_answering_paused(child, actor=system):
            raise Conflict(f"Agent {agent_key} is paused. Ask nobody, or hand this to a colleague.")
        add_agent_event(child, InboundEvent.Kind.TASK, task, child.conversation_key, by=parent.agent)
        wake_worker_on_commit(child.tenant_id, child.pk)
    money.set_aside(budget or 0)
    return child


def _find_invokable(parent: Conversation, agent_key: str, system: Actor) -> InvokableAgent:
    rows = InvokableAgent.objects.visible_to(system).filter(agent=parent.agent_id, callee__key=agent_key)
    invokable = rows.select_related("callee").first()
    if invokable is None:
        raise NotVisible(f"You may ask no agent “{agent_key}”. Your prompt lists those you may ask, each by its key.")
    if invokable.callee_id in agent_and_ancestors(parent):
        raise Conflict(f"Agent {agent_key} waits for this answer already. Answer it, or hand this to a colleague.")
    return invokable


def _delegate(context: ToolContext, arguments: JsonObject) -> str:
    child = ask_agent(
        context.conversation,
        actor=context.actor,
        agent_key=str(arguments["agent_key"]),
        task=str(arguments["task"]),
        turn_id=context.turn_id,
        money=context.money,
    )
    return QUESTION_ASKED.format(title=sanitize(child.agent.title, IDENTITY_CHARACTERS).text)


def _enqueue_parent(context: ToolContext, arguments: JsonObject) -> str:
    """Keep the text in the step. When the turn ends, it is passed on by the same rules as a reply."""
    refuse_invalid_message(str(arguments["text"]), "", DELEGATION_CHANNEL)
    return ANSWER_NOTED


def _may_ask(offer: ToolOffer) -> bool:
    return offer.may_ask_agents


def _is_asked(offer: ToolOffer) -> bool:
    return offer.is_asked


DELEGATION_TOOLS: Final = (
    BuiltinTool(
        DELEGATE,
        "Ask another agent of your organisation, one that your prompt lists. It answers later, from what it knows and may read.",
        {
            "agent_key": "The key of the agent, as your prompt lists it.",
            "task": "What it should find out or decide, with all it needs to know. It sees nothing of this conversation.",
        },
        ("agent_key", "task"),
        _delegate,
        keeps=False,
        learns=False,
        offered=_may_ask,
    ),
    BuiltinTool(
        ENQUEUE_PARENT,
        "Pass an answer, or what you still need to know, to the agent that asked you.",
        {"text": "What that agent should be told, whole: it reads nothing else of this conversation."},
        ("text",),
        _enqueue_parent,
        keeps=False,
        learns=False,
        reads=True,
        offered=_is_asked,
    ),
)
