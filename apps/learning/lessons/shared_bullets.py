"""Bullets that two learning versions have in common, word for word or nearly so; pure.

A person withdraws a version because a bullet is wrong, and a digest copies or rewords bullets from version to version. The
comparison favours recall: it only decides which versions a person is asked about, while a missed copy goes on being read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.learning.lessons.rules import parse_bullets
from apps.text_analysis.contradictions.statements import StatementForce, parse_statements
from apps.text_analysis.word_stems import word_keys

# A reworded bullet contains at least this share of the words of the original.
MIN_REPEATED_WORDS: Final = 0.8
# A single word in common shows nothing, unless both bullets consist of it.
MIN_COMMON_WORDS: Final = 2
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class SharedBullet:
    """A bullet of a version, and the bullet of the other version that it repeats."""

    bullet: str
    original: str

    @property
    def is_reworded(self) -> bool:
        """Return whether the words differ, and not only capitals, spaces and the full stop."""
        return _plain_text(self.bullet) != _plain_text(self.original)


@dataclass(frozen=True, slots=True)
class _BulletFeatures:
    """The features of a bullet that are compared."""

    bullet: str
    plain: str
    words: frozenset[str]
    numbers: frozenset[str]


def find_shared_bullets(originals: str, body: str) -> tuple[SharedBullet, ...]:
    """Return the bullets of `body` that repeat a bullet of `originals`, each with its closest original."""
    known = [_features_of(bullet) for bullet in parse_bullets(originals)]
    found = ((each, _closest_original(each, known)) for each in map(_features_of, parse_bullets(body)))
    return tuple(SharedBullet(each.bullet, original.bullet) for each, original in found if original)


def _closest_original(bullet: _BulletFeatures, originals: Iterable[_BulletFeatures]) -> _BulletFeatures | None:
    alike = [each for each in originals if _repeats(bullet, each)]
    return max(alike, key=lambda each: (each.plain == bullet.plain, len(each.words & bullet.words)), default=None)


def _repeats(bullet: _BulletFeatures, original: _BulletFeatures) -> bool:
    """Return whether a bullet means the same as the original, or the same and more.

    Another number, or a prohibition in place of a permission, corrects the original and does not repeat it.
    """
    if bullet.plain == original.plain:
        return True
    common = bullet.words & original.words
    is_contained = len(common) >= max(MIN_COMMON_WORDS, MIN_REPEATED_WORDS * len(original.words))
    if not (is_contained or (common and bullet.words == original.words)) or not original.numbers <= bullet.numbers:
        return False
    return _forbids(bullet.bullet) == _forbids(original.bullet)


def _forbids(bullet: str) -> bool:
    return any(statement.force is StatementForce.FORBIDS for statement in parse_statements(bullet))


def _features_of(bullet: str) -> _BulletFeatures:
    return _BulletFeatures(
        bullet=bullet,
        plain=_plain_text(bullet),
        words=frozenset(word_keys(bullet)),
        numbers=frozenset(_NUMBER.findall(bullet)),
    )


def _plain_text(bullet: str) -> str:
    return " ".join(bullet.casefold().split()).rstrip(".!")
