"""What an act may write: which noun's rows, and which of their columns. The door and the database's rights both ask here."""

from apps.governance.actors import PEOPLE, Role
from apps.governance.errors import UngovernedWrite
from apps.governance.models import Governed
from apps.governance.policy import POLICY, PROPOSAL, Act


def subject_of(act: Act, role: Role) -> str:
    """The noun of the row that an act writes for a role: who may only propose writes a proposal."""
    rule = POLICY[act]
    return PROPOSAL if role in rule.proposes else rule.on or act.noun


def columns_of(act: Act, role: Role) -> frozenset[str]:
    """The fields of a standing row that the act may write for the role: its governed ones and those it stamps."""
    rule = POLICY[act]
    governed = rule.writes(adding=False) if subject_of(act, role) == act.noun else frozenset()
    return governed | frozenset(rule.stamps) | frozenset(rule.signs if role in PEOPLE else ())


def refuse_other_subject(row: Governed, act: Act, role: Role, *, adding: bool, removes: bool) -> None:
    """Refuse an act on rows of another noun, or one that does to a row what its rule does not say."""
    rule, noun = POLICY[act], subject_of(act, role)
    if row.noun != noun:
        raise UngovernedWrite(
            f"The act {act.value} writes a {noun}; {type(row).__name__} is a {row.noun or 'nameless'}."
        )
    asked = "removes" if removes else "makes" if adding else "changes"
    if not getattr(rule, asked):
        raise UngovernedWrite(
            f"The act {act.value} {asked} a {noun} here; its rule in POLICY says it {rule.does.value}."
        )
