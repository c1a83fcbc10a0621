"""Rules about the names of modules, and the number of modules in a folder."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from tests.conventions.source_files import Source

MODULES_IN_A_FOLDER = 25
# Words that refer to a thing without naming it.
PRONOUNS: Final = """
who whose whom what which why how where when this that these those it its their theirs our ours others elsewhere everybody somebody
anybody nobody something everything nothing
"""
# Participles without a regular ending.
IRREGULAR: Final = (
    "told said asked kept held brought taught thought seen known given taken written spoken broken shown drawn grown"
)
# Words that a module name may not end in, because the name breaks off.
PREPOSITIONS: Final = "by in of on at to with from about apart anew for into over under out off up down"
# Nouns that look like one of these.
NOUNS: Final = "billing masking sign_in"


def unnamed_modules(source: Source) -> Iterator[str]:
    """Refuse module names that are no noun: participles, pronouns and question words. Commands are verbs."""
    stem = source.path.stem
    words = stem.strip("_").split("_")
    if stem.startswith(("__", "test_")) or {"migrations", "commands"} & set(source.path.parts):
        return
    if stem in NOUNS.split():
        return
    if {words[0], words[-1]} & {*PRONOUNS.split()} or words[-1] in PREPOSITIONS.split():
        yield f"{source.path}: `{stem}` begins or ends with a pronoun or a preposition; use a noun for its content."
    elif words[-1] in IRREGULAR.split() or (len(words) == 1 and _is_participle(stem)) or words[0] == "having":
        yield f"{source.path}: `{stem}` is a participle; use a noun for its content, such as retry_delay."


def _is_participle(word: str) -> bool:
    return word.endswith(("ing", "ed"))


def full_folders(sources: Iterable[Source]) -> Iterator[str]:
    """Refuse folders with too many modules; a folder holds one feature."""
    modules = Counter(
        source.path.parent
        for source in sources
        if not source.is_generated and source.path.name not in {"__init__.py", "conftest.py"}
    )
    for folder, count in sorted(modules.items()):
        if count > MODULES_IN_A_FOLDER:
            yield f"{folder}: {count} modules; make a folder of each feature (limit {MODULES_IN_A_FOLDER})."
