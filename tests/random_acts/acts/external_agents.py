"""What agents that run elsewhere try: to open a session, and to report the turn of one."""

from collections.abc import Mapping

from apps.conversations.models import Conversation
from apps.governance.policy.policy_table import Act
from apps.runtime.external.turn_handout import ExternalMessageTerms, IncomingMessage, open_external_turn
from tests.random_acts.act_choice import ActChoice, ActRunner
from tests.support.factories.external_turns import report_on


def _open_session(chosen: ActChoice) -> object:
    return open_external_turn(
        {"agent_id": chosen.agent.pk, "channel": "http", "conversation_key": chosen.name},
        ExternalMessageTerms(),
        [IncomingMessage(chosen.words, chosen.name)],
        actor=chosen.actor,
    )


def _report_turn(chosen: ActChoice) -> object:
    row = chosen.row(Conversation, status=Conversation.Status.OPEN, has_external_agent=True)
    return report_on(row, chosen.actor)


EXTERNAL_AGENTS: Mapping[Act, ActRunner] = {
    Act.SESSION_OPEN: _open_session,
    Act.TURN_REPORT: _report_turn,
}
