"""Whether the bodies of REST take what the policy governs, and which request is which act."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.protocol.request_bodies import RequestBody
from apps.api.urls import router, urlpatterns
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface

# A row is spoken of by its agent's key, not by an id, and a person who is let in by their address.
FIELD_ALIASES = {"agent": "agent_key", "callee": "callee_key", "user": "email", "member": "member_id"}
_REQUEST_TEMPLATES = {
    "create": "POST /{}",
    "retrieve": "GET /{}/{{id}}",
    "partial_update": "PATCH, PUT /{}/{{id}}",
    "destroy": "DELETE /{}/{{id}}",
}


def acts_offered() -> dict[Act, list[str]]:
    """Each act with the requests that perform it."""
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
    """Bodies that lack a governed field of their acts, and views whose requests are nobody's act."""
    offered = set(acts_offered())
    for body in body_classes():
        yield from _body_violations(body)
        for act in set(body.acts) - offered:
            yield f"{body.__module__}.{body.__name__} is for {act.value}, which no view's `acts` names."
    for name, writing, view in _writing_views():
        unnamed = sorted(writing - set(view.acts))
        if unnamed:
            yield f"{view.__module__}.{view.__name__} (/{name}) does not say in `acts` what {', '.join(unnamed)} does."


def body_classes(above: type[RequestBody] = RequestBody) -> Iterator[type[RequestBody]]:
    """Every body that a request may carry."""
    for body in above.__subclasses__():
        yield from (body, *body_classes(body))


def _row_views() -> Iterator[tuple[str, type[RowViewSet[Any]]]]:
    # The router's stubs know no more than that they are views.
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
    # A body that names a state to reach carries no governed fields.
    if "to" in body().fields:
        return
    for act in body.acts:
        rule = POLICY[act]
        governed = rule.writes(adding=not rule.changes)
        lacking = sorted({FIELD_ALIASES.get(name, name) for name in governed} - set(body().fields))
        if lacking:
            yield f"{body.__module__}.{body.__name__} cannot carry {', '.join(lacking)}, which {act.value} governs."


register_surface(SurfaceConformance("REST", acts_offered, policy_violations))
