"""Checks that REST bodies contain every field that the policy governs, and lists the requests that perform each act."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.protocol.request_bodies import RequestBody
from apps.api.urls import router, urlpatterns
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface

# Fields that bodies name differently: agents are named by key, invited people by e-mail address, members by id.
FIELD_ALIASES = {"agent": "agent_key", "callee": "callee_key", "user": "email", "member": "member_id"}
_REQUEST_TEMPLATES = {
    "create": "POST /{}",
    "retrieve": "GET /{}/{{id}}",
    "partial_update": "PATCH, PUT /{}/{{id}}",
    "destroy": "DELETE /{}/{{id}}",
}


def acts_offered() -> dict[Act, list[str]]:
    """Return each act with the requests that perform it."""
    found: dict[Act, list[str]] = defaultdict(list)
    for prefix, view in _row_views():
        for handler, acts in view.acts.items():
            way = _REQUEST_TEMPLATES.get(handler, f"POST /{{}}/{{{{id}}}}/{handler}")
            for act in acts:
                found[act].append(way.format(prefix))
    for address, plain in _single_views():
        for method, acts in plain.acts.items():
            for act in acts:
                found[act].append(f"{method.upper()} /{address}")
    return found


def policy_violations() -> Iterator[str]:
    """Yield request bodies that lack a governed field of their acts, and handlers that name no act."""
    offered = set(acts_offered())
    for body in body_classes():
        yield from _body_violations(body)
        for act in set(body.acts) - offered:
            yield f"{body.__module__}.{body.__name__} is for {act.value}, which no view names in `acts`."
    for name, writing, view in _writing_views():
        unnamed = sorted(writing - set(view.acts))
        if unnamed:
            yield f"{view.__module__}.{view.__name__} (/{name}) does not name in `acts` the act of {', '.join(unnamed)}."


def body_classes(above: type[RequestBody] = RequestBody) -> Iterator[type[RequestBody]]:
    """Yield every request body class."""
    for body in above.__subclasses__():
        yield from (body, *body_classes(body))


def _row_views() -> Iterator[tuple[str, type[RowViewSet[Any]]]]:
    # The router's stubs know only that these are views.
    return ((prefix, cast("type[RowViewSet[Any]]", view)) for prefix, view, _ in router.registry)


def _single_views() -> Iterator[tuple[str, type[ActorView]]]:
    for pattern in urlpatterns:
        view = getattr(getattr(pattern, "callback", None), "view_class", None)
        if view is not None and issubclass(view, ActorView):
            yield re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", str(pattern.pattern)).strip("^/?$"), view


def _writing_views() -> Iterator[tuple[str, set[str], type[ActorView]]]:
    for prefix, view in _row_views():
        extra = cast("list[Any]", view.get_extra_actions())
        more = {action.url_path for action in extra if set(action.mapping) - {"get"}}
        yield prefix, more | {name for name in ("create", "partial_update", "destroy") if hasattr(view, name)}, view
    for address, plain in _single_views():
        yield address, {name for name in ("post", "put", "patch", "delete") if hasattr(plain, name)}, plain


def _body_violations(body: type[RequestBody]) -> Iterator[str]:
    # A body that names a target state contains no governed fields.
    if "to" in body().fields:
        return
    for act in body.acts:
        rule = POLICY[act]
        governed = rule.writes(adding=not rule.changes)
        lacking = sorted({FIELD_ALIASES.get(name, name) for name in governed} - set(body().fields))
        if lacking:
            yield f"{body.__module__}.{body.__name__} cannot carry {', '.join(lacking)}, which {act.value} governs."


register_surface(SurfaceConformance("REST", acts_offered, policy_violations))
