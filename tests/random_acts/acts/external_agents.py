"""What agents that run elsewhere try: to open a session, and to report the turn of one."""

from collections.abc import Mapping

from apps.conversations.models import Conversation
from apps.governance.policy.table import Act
from apps.runtime.external.turn_handout import HandedIn, Terms, hand_out
from tests.random_acts.act_choice import Chosen, Deed
from tests.support.factories.external_turns import report_on


def _open(chosen: Chosen) -> object:
    return hand_out(
        {"agent_id": chosen.agent.pk, "channel": "http", "conversation_key": chosen.name},
        Terms(),
        [HandedIn(chosen.words, chosen.name)],
        actor=chosen.actor,
    )


def _report(chosen: Chosen) -> object:
    row = chosen.row(Conversation, status=Conversation.Status.OPEN, has_external_agent=True)
    return report_on(row, chosen.actor)


ELSEWHERE: Mapping[Act, Deed] = {
    Act.SESSION_OPEN: _open,
    Act.TURN_REPORT: _report,
}
