"""Prints an agent's prompt byte for byte, with the owner of each byte."""

import re
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Invalid, TextErased
from apps.llm.prices import cache_rules_for
from apps.llm.token_estimate import estimate_tokens
from apps.memory.rules import END_USER_KEY_PATTERN, END_USER_KEY_RULE
from apps.prompt.injection_scanner.review_findings import scan_prompt_input
from apps.prompt.prompt_input import PromptInput
from apps.prompt.rendering.segments import PromptSnapshot, Span
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.prompt_snapshot.preview import preview_prompt_input
from apps.runtime.sessions.session_prefix import tools_part
from apps.runtime.tools.builtin_tool import ToolOffer
from apps.tenants.management.command_arguments import command_actor, get_agent
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import AT_PARAMETER, parse_moment, zone_of

NOT_HISTORICAL = (
    "Texts by people, agents and customers are those of that moment. The product's own texts are today's, and so are the"
    " agent's model and tools in the line about the cache."
)


class Command(BaseCommand):
    """The prompt goes to stdout, facts about it to stderr."""

    help = (
        "Print slots 1-5 as the next session of an agent would freeze them. Only the text goes to stdout; its hash, its"
        " slots and findings for reviewers go to stderr."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The agent, the customer and the moment."""
        parser.add_argument("--tenant", metavar="KEY", help="The tenant's key, unless --agent contains it.")
        parser.add_argument("--agent", required=True, metavar="[TENANT/]KEY", help="The agent's key.")
        parser.add_argument("--customer", default="", metavar="KEY", help="The key of a customer, such as http:abc123.")
        parser.add_argument("--at", metavar="TIME", help="A past moment, such as 2026-05-09T14:34.")
        parser.add_argument(
            "--segments", action="store_true", help="Print one line for each run of bytes, with its owner."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, assemble, print; nothing is stored."""
        system, agent = _find_agent(options["tenant"], options["agent"])
        customer = options["customer"]
        if customer and not re.match(END_USER_KEY_PATTERN, customer):
            raise CommandError(f"--customer: {END_USER_KEY_RULE}")
        moment = _parse_moment(options["at"], agent, system)
        try:
            given = preview_prompt_input(agent, customer, system=system, moment=moment)
        except TextErased as refusal:
            raise CommandError(str(refusal)) from refusal
        assembled = render_snapshot(given)
        if moment:
            self.stderr.write(NOT_HISTORICAL)
        self._write_summary(given, assembled)
        self._write_cache_note(agent, given, assembled)
        if options["segments"]:
            for span in assembled.spans():
                self.stdout.write(segment_line(span))
        else:
            # Without a line break at the end, so that the hash of the output is the prompt's.
            self.stdout.write(assembled.text, ending="")

    def _write_summary(self, given: PromptInput, assembled: PromptSnapshot) -> None:
        size = len(assembled.text.encode())
        self.stderr.write(f"sha256 {assembled.sha256}, {size} bytes in {len(assembled.parts)} slots")
        for part in assembled.parts:
            self.stderr.write(f"  slot {part.slot.value} {part.slot.name.lower()}: {len(part.text.encode())} bytes")
        for note in assembled.notes:
            self.stderr.write(f"  neutralised in slot {note.slot.value}: {note.rule}")
        for finding in scan_prompt_input(given):
            where = f"{finding.source.record_type} {finding.source.record_id} {finding.source.field}".rstrip()
            self.stderr.write(
                f"  review slot {finding.slot.value}, {where}, characters {finding.start}-{finding.end}: {finding.rule}"
            )

    def _write_cache_note(self, agent: Agent, given: PromptInput, assembled: PromptSnapshot) -> None:
        """Print whether the model caches the prefix: below a minimum length it does not, and does not report it (R184)."""
        model = agent.model or settings.DEFAULT_MODEL
        offer = ToolOffer(
            may_propose_schedules=agent.may_propose_schedules,
            may_ask_agents=bool(given.invokable),
            may_show_tables_and_charts=agent.may_show_tables_and_charts,
            may_edit_memory=agent.may_edit_memory,
            may_edit_skills=agent.may_edit_skills,
            has_notebook=agent.has_notebook,
        )
        tokens = estimate_tokens(tools_part(agent, offer).text + assembled.text)
        floor = cache_rules_for(model).minimum_prefix_tokens
        verdict = "caches it" if tokens >= floor else f"does not cache it: {floor - tokens} tokens are missing"
        self.stderr.write(f"  about {tokens} tokens with the tools; {model} caches from {floor} on and {verdict}")


def segment_line(span: Span) -> str:
    """The position, owner and quoted text of a run of bytes."""
    segment = span.segment
    place = f"{span.start:>7}-{span.end:<7} slot {span.slot.value}"
    if segment.source is None:
        return f"{place}  template {segment.template}  {segment.text!r}"
    source = segment.source
    field = f".{source.field}" if source.field else ""
    owner = f"{source.record_type} {source.record_id}{field} v{source.version} line {segment.line}"
    people = (
        f"by {source.author or 'unknown'}, approved by {source.approver or 'nobody'}, {source.taint or 'untainted'}"
    )
    return f"{place}  {owner}, {people}  {segment.text!r}"


def _find_agent(tenant_key: str | None, agent_key: str) -> tuple[Actor, Agent]:
    """Find the agent by `tenant/agent`, the form of AGENT_KEY, or by the two options."""
    in_agent, slash, rest = agent_key.partition("/")
    if slash and tenant_key not in {None, in_agent}:
        raise CommandError(f"--agent names tenant {in_agent} and --tenant names {tenant_key}. Give one of them.")
    tenant_key, agent_key = (in_agent, rest) if slash else (tenant_key, agent_key)
    if not tenant_key:
        raise CommandError("Name the tenant of the agent: --agent acme/support, or --tenant acme --agent support.")
    system = command_actor(tenant_key)
    return system, get_agent(agent_key, actor=system)


def _parse_moment(value: str | None, agent: Agent, system: Actor) -> datetime | None:
    if value is None:
        return None
    try:
        moment = parse_moment(value, zone_of(system), timezone.now())
    except Invalid as refusal:
        raise CommandError(f"--at {refusal.fields[AT_PARAMETER][0]}") from refusal
    if moment < agent.created_at:
        raise CommandError(f"There was no agent {agent.key} then; it was created at {agent.created_at.isoformat()}.")
    return moment
