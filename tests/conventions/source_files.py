"""The source files that the conventions check, parsed once, and the walk over them that all rules share."""

import ast
import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import PurePosixPath

from apps.launcher.data_folders import PROJECT

CONVENTIONS_FOLDER = "tests/conventions"
GENERATED = frozenset({"migrations", "__pycache__"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: its path relative to the root, and its text."""

    path: PurePosixPath
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        # All trees stay until the end, and looking for garbage among their nodes takes longer than parsing.
        gc.disable()
        try:
            return ast.parse(self.text, filename=str(self.path))
        finally:
            gc.enable()

    @cached_property
    def line_count(self) -> int:
        return len(self.text.splitlines())

    @property
    def is_generated(self) -> bool:
        return bool(GENERATED.intersection(self.path.parts))

    def at(self, node: ast.stmt | ast.expr, words: str) -> str:
        """Return a flaw with its place, in the form that editors open."""
        return f"{self.path}:{node.lineno}: {words}"


Check = Callable[[Source], Iterable[str]]


def make_source(path: str, text: str) -> Source:
    """Return a source that exists only in a test."""
    return Source(PurePosixPath(path), text)


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return every Python file below the named folders of the repository."""
    paths = sorted(path for folder in folders for path in (PROJECT / folder).rglob("*.py"))
    found = (Source(PurePosixPath(path.relative_to(PROJECT)), path.read_text(encoding="utf-8")) for path in paths)
    return tuple(source for source in found if "__pycache__" not in source.path.parts)


def find_flaws(check: Check, *folders: str) -> list[str]:
    """Return the flaws that one check finds in the product, or in the named folders."""
    return [flaw for source in sources(*(folders or ("apps", "config"))) for flaw in check(source)]


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function and method below a node, nested ones included."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def top_functions(tree: ast.Module) -> Iterator[Function]:
    """Yield the functions that a module defines at its top."""
    return (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_of(function: Function) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def last_name(node: ast.expr) -> str:
    """Return the last name of a call or decorator: `c` of `a.b.c(...)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def decorators(node: Function) -> list[str]:
    """Return the last names of a function's decorators."""
    return [last_name(decorator) for decorator in node.decorator_list]


def imported(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Yield every absolute import below a node with each dotted name it imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)
