"""A rule about class names: one name, one meaning in the whole product."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tests.conventions.source_files import Source

# Classes that Django looks up by name, in every module that has one.
LOOKED_UP: Final = {"Command", "Migration"}


def shared_class_names(sources: Iterable[Source], allowed: Mapping[str, str]) -> Iterator[str]:
    """Yield public class names that occur more than once; a name has to be clear without its module. `allowed` only shrinks."""
    defined: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in LOOKED_UP:
                defined[node.name].append(str(source.path))
    for name, places in sorted(defined.items()):
        if len(places) > 1 and name not in allowed:
            yield f"{name} is a class of {', '.join(places)}: give each a name of its own."
    for name in sorted(allowed):
        if len(defined[name]) <= 1:
            times = "once" if defined[name] else "never"
            yield f"{name} is allowed twice and defined {times}: strike it from the list."
