"""The persona templates that ship with the product: one TOML file each, filled in with the tenant's name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from apps.personas.models import SECTIONS

TEMPLATE_FOLDER: Final = Path(__file__).with_name("persona_templates")
BUSINESS_PLACEHOLDER: Final = "{business}"


class UnknownTemplate(ValueError):
    """Raised when no template has the given key."""


@dataclass(frozen=True, slots=True)
class PersonaTemplate:
    """A kind of agent, and the persona it starts with (R010, R132)."""

    key: str
    title: str
    identity: str
    style: str
    avoid: str
    defaults: str
    goals: str

    def sections(self, business: str) -> dict[str, str]:
        """Return the persona's sections with the organisation's name filled in."""
        return {name: getattr(self, name).replace(BUSINESS_PLACEHOLDER, business) for name in SECTIONS}


@cache
def persona_templates() -> tuple[PersonaTemplate, ...]:
    """Return all templates, sorted by key."""
    return tuple(_read_template(file) for file in sorted(TEMPLATE_FOLDER.glob("*.toml")))


def find_template(key: str) -> PersonaTemplate:
    """Return the template with this key. Raises `UnknownTemplate`, which lists the existing keys."""
    known = {template.key: template for template in persona_templates()}
    if key not in known:
        raise UnknownTemplate(f"There is no persona template “{key}”. There are: {', '.join(known)}.")
    return known[key]


def _read_template(file: Path) -> PersonaTemplate:
    return PersonaTemplate(**tomllib.loads(file.read_text("utf-8")))
