"""What a turn needs before its first call: a session, the history behind it, and its tools."""

from functools import partial

from django.conf import settings
from django.utils import timezone

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.runtime.accounts import Account
from apps.runtime.budgets import TurnKind, steps_allowed
from apps.runtime.calling import Caller
from apps.runtime.claims import Claim
from apps.runtime.house_tools import HOUSE_TOOLS
from apps.runtime.journal import Asked, enter_session, history_of, hold
from apps.runtime.loop import Loop
from apps.runtime.outside import Toolbox
from apps.runtime.sessions import Frozen, session_of, thawed
from apps.runtime.stops import refuse_if_frozen
from apps.runtime.tooling import Context
from apps.tenants.identity import agent_actor


def opened(claimed: Claim, asked: Asked, toolbox: Toolbox, *, system: Actor) -> tuple[Loop, Caller]:
    """The loop and the tools of a claimed turn, behind the history and before any of its steps."""
    conversation, agent = claimed.conversation, claimed.agent
    identity = agent_actor(agent.tenant_id, agent.pk, agent.service_user_id, agent.key)
    identity = identity.serving(conversation.end_user_key)
    frozen = _session(claimed, toolbox, identity, system)
    account = Account(frozen, agent.model or settings.DEFAULT_MODEL, conversation.pk, system)
    steps = steps_allowed(TurnKind.MESSAGE, conversation.channel, agent.max_steps, None)
    loop = Loop(account, steps, settings.TURN_DEADLINE_SECONDS)
    loop.open(history_of(conversation, actor=system), asked.wire)
    names = frozen.session.tool_names
    caller = Caller(
        house={tool.name: tool for tool in HOUSE_TOOLS if tool.name in names},
        toolbox=Toolbox({name: tool for name, tool in toolbox.tools.items() if name in names}),
        frozen={tool.name: tool for tool in frozen.definitions},
        context=Context(identity, agent.pk, conversation, frozen.session.snapshot_at, claimed.turn.pk),
        before_keeping=partial(refuse_if_frozen, conversation, actor=system),
    )
    return loop, caller


def _session(claimed: Claim, toolbox: Toolbox, identity: Actor, system: Actor) -> Frozen:
    """The session of what is behind, else the running one, else a new one, in one commit with the turn that enters it."""
    with acting(system):
        hold(claimed.turn)
        if claimed.turn.session and (claimed.kept or claimed.turn.round > 1):
            return thawed(claimed.turn.session)
        frozen = session_of(
            claimed.conversation,
            claimed.agent,
            system=system,
            agent_actor=identity,
            now=timezone.now(),
            outside=toolbox.definitions,
        )
        enter_session(claimed.turn, frozen.session, actor=system)
        return frozen
