"""Rules about code that only calls: tasks make one call with ids, console classes only declare, acts are `noun.verb`."""

import ast
import re
from collections.abc import Iterator

from tests.conventions.allowances import CONSOLE_BASE_CLASSES, CONSOLE_METHODS
from tests.conventions.source_files import Function, Source, body_of, decorators, functions, last_name

TASK_DECORATORS = frozenset({"shared_task", "task"})
TASK_LINES = 10
PLAIN = frozenset({"int", "str", "UUID"})
DECLARING_CLASS = re.compile(r"(Admin|Inline)$")
NOUN_VERB = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")


def oversized_tasks(source: Source) -> Iterator[str]:
    """Refuse tasks of more than one statement or ten lines; the function they call does the work."""
    for task in _tasks(source):
        lines = (task.end_lineno or task.lineno) - task.lineno + 1
        if lines > TASK_LINES:
            yield source.at(task, f"task `{task.name}` has {lines} lines; {TASK_LINES} are enough for one call.")
        simple = [node for statement in body_of(task) for node in ast.walk(statement) if _is_simple(node)]
        if len(simple) != 1 or not any(isinstance(node, ast.Call) for node in ast.walk(simple[0])):
            yield source.at(task, f"task `{task.name}` has {len(simple)} statements; it makes exactly one call.")


def tasks_with_row_arguments(source: Source) -> Iterator[str]:
    """Refuse tasks with arguments other than ids, text or numbers, so that they may run twice, later and elsewhere."""
    for task in _tasks(source):
        taken = [*task.args.posonlyargs, *task.args.args, *task.args.kwonlyargs]
        heavy = [argument.arg for argument in taken if argument.arg != "self" and not _is_plain(argument.annotation)]
        if heavy or task.args.vararg or task.args.kwarg:
            yield source.at(task, f"task `{task.name}` takes {', '.join(heavy) or '*arguments'}; pass ids.")


def _tasks(source: Source) -> Iterator[Function]:
    return (function for function in functions(source.tree) if TASK_DECORATORS & set(decorators(function)))


def tasks_outside_tasks_py(source: Source) -> Iterator[str]:
    """Refuse tasks outside `tasks.py`, where the worker finds them."""
    if source.path.name != "tasks.py":
        yield from (source.at(task, f"task `{task.name}` belongs into a tasks.py.") for task in _tasks(source))


def _is_simple(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and not isinstance(node, ast.For | ast.With | ast.If | ast.Try)


def _is_plain(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return all(_is_plain(side) or ast.unparse(side) == "None" for side in (annotation.left, annotation.right))
    return annotation is not None and ast.unparse(annotation) in PLAIN


def console_classes_with_methods(source: Source) -> Iterator[str]:
    """Refuse methods of console pages other than displays; a page is a declaration."""
    for page in _pages(source):
        for method in (node for node in page.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            if "display" not in decorators(method) and method.name not in CONSOLE_METHODS:
                yield source.at(method, f"`{page.name}.{method.name}` acts; a console class only declares.")


def _pages(source: Source) -> Iterator[ast.ClassDef]:
    if not str(source.path).startswith("apps/console/"):
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef) or node.name in CONSOLE_BASE_CLASSES:
            continue
        if any(DECLARING_CLASS.search(last_name(base)) for base in node.bases):
            yield node


def misnamed_acts(source: Source) -> Iterator[str]:
    """Refuse acts other than `NOUN_VERB = "noun.verb"`, and acts declared twice."""
    values: set[str] = set()
    for name, value, node in class_constants(source, "Act"):
        if not NOUN_VERB.fullmatch(value) or name != value.replace(".", "_").upper():
            yield source.at(node, f"`{name} = {value!r}`: an act is named noun.verb, its member NOUN_VERB.")
        if value in values:
            yield source.at(node, f"`{value}` is named twice.")
        values.add(value)


def class_constants(source: Source, class_name: str) -> Iterator[tuple[str, str, ast.Assign]]:
    """Yield the string constants that one class assigns."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for line in node.body:
                match line:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                        yield name, value, line
