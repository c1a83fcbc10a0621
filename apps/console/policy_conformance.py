"""Conformance of the console with the policy: the forms and buttons of each act, and fields they take or do not show."""

from collections import defaultdict
from collections.abc import Iterator

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import CreateAction, EditAction
from apps.console.site import site
from apps.governance.actors import Role
from apps.governance.authorization import noun_written_by
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface


def forms_by_act() -> dict[Act, list[str]]:
    """Return each act with the forms and buttons that perform it."""
    found: dict[Act, list[str]] = defaultdict(list)
    for page in governed_pages():
        plural = page.model._meta.verbose_name_plural
        if page.creates:
            found[page.creates.act].append(f"{plural}: add")
        for amendment in page.amends:
            found[amendment.act].append(f"{plural}: edit")
        for button in page.buttons:
            found[button.act].append(f"{plural}: {button.label}")
    # The tenant switch is outside every tenant, so no page of a row declares these acts.
    found[Act.TENANT_ENTER].append("tenants: Enter")
    found[Act.TENANT_LEAVE].append("banner: Leave")
    found[Act.MEMBER_ACCEPT].append("invitation: Join")
    # A member's own page, which has no governed row.
    found[Act.CONVERSATION_TALK].append("assistant: Begin")
    found[Act.MEMBER_OVERLAY_WRITE].append("assistant: How it works for you")
    # One page performs both acts.
    found[Act.AGENT_CREATE].append("new agent: Make it")
    found[Act.PERSONA_CREATE].append("new agent: Make it")
    # These wait for another server, so they are not buttons in the request's transaction.
    found[Act.ENDPOINT_TEST].append("endpoints: Test connection")
    found[Act.TOOL_SERVER_REFRESH].append("tool servers: Ask what it offers")
    return found


def governed_pages() -> Iterator[GovernedAdmin]:
    """Yield every page that declares acts."""
    for model, page in site._registry.items():
        if isinstance(page, GovernedAdmin) and issubclass(model, Governed):
            yield page


def page_violations() -> Iterator[str]:
    """Yield forms that take more or show less than their act governs, and acts on rows of another noun."""
    for page in governed_pages():
        named = f"{type(page).__module__}.{type(page).__name__}"
        if page.creates:
            yield from (f"{named} {line}" for line in _creation_violations(page, page.creates))
        for amendment in page.amends:
            yield from (f"{named} {line}" for line in _edit_violations(page, amendment))
        for button in page.buttons:
            rule = POLICY[button.act]
            if not (rule.makes or button.on_others) and noun_written_by(button.act, Role.OPERATOR) != _noun(page):
                yield f"{named}: the button {button.label} is {button.act.value}, an act on other rows."


def _creation_violations(page: GovernedAdmin, creation: CreateAction) -> Iterator[str]:
    rule = POLICY[creation.act]
    if not rule.makes or creation.act.noun != _noun(page):
        yield f"adds by {creation.act.value}, which makes no {_noun(page)}."
    governed = rule.writes(adding=True)
    # An act without governed fields is allowed or refused as a whole.
    columns = {field.name for field in page.model._meta.concrete_fields}
    if governed and (beyond := sorted(columns & set(creation.takes) - governed)):
        yield f"adds by {creation.act.value}; its form takes {', '.join(beyond)}, which the act does not govern."


def _edit_violations(page: GovernedAdmin, amendment: EditAction) -> Iterator[str]:
    rule = POLICY[amendment.act]
    if not rule.changes or amendment.act.noun != _noun(page):
        yield f"edits by {amendment.act.value}, which changes no {_noun(page)}."
    if unseen := sorted(rule.writes(adding=False) - set(page.fields or ())):
        yield f"edits by {amendment.act.value} and does not show {', '.join(unseen)}, which it governs."


def _noun(page: GovernedAdmin) -> str:
    return str(page.model.noun)


register_surface(SurfaceConformance("console", forms_by_act, page_violations))
