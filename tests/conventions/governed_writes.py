"""Rules about writes: every act is one governed write, and nothing else writes."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from tests.conventions.allowances import JOURNALS, ROWLESS_FOLDERS, WRITERS
from tests.conventions.source_files import Function, Source, imported, last_name, top_functions

ALWAYS_WRITES = frozenset(
    {"save", "create", "bulk_create", "bulk_update", "get_or_create", "update_or_create", "_raw_delete"}
)
ALWAYS_WRITES |= {f"a{name}" for name in ALWAYS_WRITES} | {"aupdate", "adelete"}
# Functions of `governed_write.py` that are one governed write each, without a `with` block.
WHOLE_WRITES = frozenset({"governed_create", "governed_remove"})
# The beginnings of context managers around one governed write, or around a decision on a proposal with its records.
GOVERNED_BLOCKS = ("govern", "deciding", "decision_")
ONE_COMMIT_BLOCKS = ("acting", "deciding", "decision_")
# Their `…_actions.py` present the actions of other packages on pages and addresses.
SURFACES = ("apps/api/", "apps/console/", "apps/mcp_server/")
MANAGERS = frozenset({"objects", "_default_manager", "_base_manager"})


def acts_without_actor(source: Source) -> Iterator[str]:
    """Refuse a public action without a keyword-only `actor` that has no default."""
    for function in _actions(source):
        defaults = dict(zip((arg.arg for arg in function.args.kwonlyargs), function.args.kw_defaults, strict=True))
        if "actor" not in defaults:
            yield source.at(function, f"`{function.name}` takes no keyword-only `actor`.")
        elif defaults["actor"] is not None:
            yield source.at(function, f"`{function.name}` has a default for `actor`; a missing actor is an error.")


def acts_without_governed_write(source: Source) -> Iterator[str]:
    """Refuse a public action that is neither one governed write nor made of other acts in one transaction."""
    module = Module.of(source.tree)
    for function in _actions(source):
        times = len(module.passages(function))
        lawful = times == 1 or (times and module.is_one_commit(function))
        if not lawful and f"{source.path}::{function.name}" not in JOURNALS:
            yield source.at(
                function, f"`{function.name}` enters `governed` {times} times; once, or within one `acting_as`."
            )


def _actions(source: Source) -> Iterator[Function]:
    path = str(source.path)
    if not path.endswith(("/actions.py", "_actions.py")) or path.startswith(SURFACES):
        return iter(())
    return (function for function in top_functions(source.tree) if not function.name.startswith("_"))


@dataclass(frozen=True, slots=True)
class Module:
    """The calls of one `actions.py` that can lead to a write: its own functions, and the acts it imports."""

    functions: Mapping[str, Function]
    acts: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module) -> "Module":
        functions = {function.name: function for function in top_functions(tree)}
        foreign = {name.rpartition(".")[2] for _, name in imported(tree) if ".actions." in name}
        return cls(functions, frozenset(foreign | {name for name in functions if not name.startswith("_")}))

    def passages(self, within: ast.AST, above: frozenset[str] = frozenset()) -> list[ast.expr]:
        """Return the places where a function enters `with govern...(...)` or calls an act; private functions are followed."""
        found: list[ast.expr] = []
        for node in ast.walk(within):
            if isinstance(node, ast.With | ast.AsyncWith):
                found += _named_context_managers(node, GOVERNED_BLOCKS)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                whole = node.func.id in WHOLE_WRITES
                found += [node] if whole else self._passages_of_call(node, node.func.id, above)
        return found

    def _passages_of_call(self, call: ast.Call, name: str, above: frozenset[str]) -> list[ast.expr]:
        if name in self.acts:
            return [call]
        if name in self.functions and name not in above:
            return self.passages(self.functions[name], above | {name})
        return []

    def is_one_commit(self, function: Function) -> bool:
        """Return whether one `with acting_as(...)` contains every write of a function."""
        blocks = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.With) and _named_context_managers(node, ONE_COMMIT_BLOCKS)
        ]
        whole = len(self.passages(function))
        return any(len(self.passages(block)) == whole for block in blocks)


def _named_context_managers(block: ast.With | ast.AsyncWith, beginning: tuple[str, ...]) -> list[ast.expr]:
    """Return the context managers of a block whose name has this beginning."""
    managers = [item.context_expr for item in block.items]
    return [call for call in managers if isinstance(call, ast.Call) and last_name(call).startswith(beginning)]


def ungoverned_writes(source: Source) -> Iterator[str]:
    """Refuse writes of rows outside the files of `WRITERS`."""
    path = str(source.path)
    if path.startswith(ROWLESS_FOLDERS) or any(fnmatch(path, pattern) for pattern in WRITERS):
        return
    for node, name in row_writes(source):
        yield source.at(node, f"`.{name}(` writes a row outside a governed write; call an action.")


def row_writes(source: Source) -> Iterator[tuple[ast.Call, str]]:
    """Yield calls that look like Django writes: by method name, by their manager, or by their arguments."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_row_write(node, node.func):
            yield node, node.func.attr


def _is_row_write(call: ast.Call, method: ast.Attribute) -> bool:
    if method.attr in ALWAYS_WRITES:
        return True
    if method.attr == "update":
        # A queryset takes fields by keyword; a dict, a set or a hash takes a value.
        return bool(call.keywords) and not call.args
    # A row or queryset is deleted without an argument; a cache, a client or a folder takes the name of the thing.
    return method.attr == "delete" and (not call.args or bool(MANAGERS & _attribute_names(method.value)))


def _attribute_names(node: ast.expr) -> set[str]:
    """Return every attribute name in an expression: `a.objects.filter(...)` gives filter and objects."""
    return {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
