"""Whether two statements are about one thing, and whether one forbids what the other does."""

from itertools import pairwise
from typing import Final

from apps.texts.amounts import Amount, clash, overlap
from apps.texts.statements import WHEN_TO_USE, Force, Statement
from apps.texts.vocabulary import BESIDE_AMOUNTS, key

# So many of the words of both make two triggers one.
_ALIKE: Final = 0.8
# Saying how something is said or done leads nowhere else.
_MANNER_WORDS: Final = (
    "polite friendly calm kind apologise apologize thank patient empathy careful clear brief concise short greet"
)
_MANNERS: Final = frozenset(map(key, _MANNER_WORDS.split()))


def alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two sets of words say the same."""
    return len(first & second) >= _ALIKE * len(first | second)


def clashing_amounts(one: Statement, two: Statement) -> tuple[Amount, Amount] | None:
    """The first amounts of the same thing that cannot both be right."""
    if not (one.amounts and two.amounts) or not _is_same_matter(one, two):
        return None
    mine, yours = _asserted(one), _asserted(two)
    for dimension in dict.fromkeys(each.dimension for each in mine):
        here = [each for each in mine if each.dimension == dimension]
        there = [each for each in yours if each.dimension == dimension]
        # Which of several belong together is not told by words; with one each there is nothing to choose.
        if len(here) == len(there):
            for pair in zip(here, there, strict=True):
                if clash(*pair):
                    return pair
    return None


def _asserted(statement: Statement) -> list[Amount]:
    """What a statement says to be so: never over ten says up to ten, and never ten says nothing of other amounts."""
    if statement.force is not Force.FORBIDS:
        return list(statement.amounts)
    return [each.turned() for each in statement.amounts if not each.is_exact]


def _is_same_matter(one: Statement, two: Statement) -> bool:
    """Whether two measuring statements measure one thing, under the same condition."""
    mine, yours = _matter(one), _matter(two)
    if not mine or not yours or one.exception - two.subject != two.exception - one.subject:
        return False
    if mine == yours:
        return True
    more, less = (one, two) if len(mine) > len(yours) else (two, one)
    extra = _matter(more) - _matter(less)
    if not _matter(less) < _matter(more) or extra & (more.manner | more.condition):
        return False
    return len(extra) <= max(1, len(_matter(less)) // 2) and not _narrows(extra, more)


def _matter(statement: Statement) -> frozenset[str]:
    return (statement.subject | statement.condition) - BESIDE_AMOUNTS


def _narrows(extra: frozenset[str], statement: Statement) -> bool:
    """Whether a word stands right before another one, as in international shipping."""
    kept = [each for each in statement.about if each not in BESIDE_AMOUNTS]
    return any(before in extra and after not in extra for before, after in pairwise(kept))


def covers(no: Statement, yes: Statement, *, is_avoided: bool) -> bool:
    """Whether what is forbidden is all in what is done: more general, or the very same."""
    if not (
        no.subject <= yes.subject and no.condition <= yes.condition | yes.subject and no.exception <= yes.exception
    ):
        return False
    if len(no.subject) < 2 and no.subject != yes.subject and not (is_avoided and len(yes.about) <= 2):
        return False
    return all(any(each.dimension == of.dimension and overlap(each, of) for of in yes.amounts) for each in no.amounts)


def leads_elsewhere(one: Statement, two: Statement) -> bool:
    """Whether the same trigger is followed by quite other steps."""
    if not (_is_step(one) and _is_step(two) and alike(one.condition, two.condition)):
        return False
    together = one.subject | two.subject
    return len(one.condition & two.condition) > 1 and not one.subject & two.subject and not together & _MANNERS


def _is_step(statement: Statement) -> bool:
    is_told = statement.force is Force.DOES and bool(statement.about) and statement.section != WHEN_TO_USE
    return is_told and bool(statement.condition) and not (statement.exception or statement.is_led)


def shared(no: Statement, yes: Statement) -> str:
    return " ".join(each for each in (*no.about, *sorted(no.manner)) if each in yes.subject)
