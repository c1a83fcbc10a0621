"""A skill as the open format writes it down: front matter and runbook in one `SKILL.md`; pure."""

import json
import re
from dataclasses import dataclass
from typing import Final

from apps.skills.import_export.front_matter import Malformed, Value, read_fields, written_fields
from apps.skills.skill_validation import (
    BODY_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    NAME_CHARACTERS,
    NAME_PATTERN,
    NAME_RULE,
    TITLE_CHARACTERS,
    named,
)

FILE_NAME: Final = "SKILL.md"
# What of the front matter we do not use and keep as it came.
KEPT: Final = ("license", "compatibility", "allowed-tools")
METADATA: Final = "metadata"
FIELDS: Final = ("name", "description", *KEPT, METADATA)
# Under metadata, what a skill has here and the format does not know.
OURS: Final = "preceptor-"
FORMAT_DESCRIPTION_CHARACTERS: Final = 1024
COMPATIBILITY_CHARACTERS: Final = 500
CATEGORY_CHARACTERS: Final = 60
# No lawful file is longer: four bytes a character, and the front matter.
FILE_BYTES: Final = 4 * BODY_CHARACTERS + 64_000

_PARTS: Final = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?P<fields>.*?)^---[ \t]*(?:\r?\n|\Z)(?P<body>.*)", re.DOTALL | re.MULTILINE
)
_SENTENCE: Final = re.compile(r"[.!?](?=\s)")


@dataclass(frozen=True, slots=True)
class SkillText:
    """What one `SKILL.md` says. `front_matter` is what is only kept, as canonical JSON; `notes` are what reads otherwise here."""

    name: str
    title: str
    description: str
    category: str
    body: str
    front_matter: str = ""
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """The texts of the draft it becomes."""
        return {each: getattr(self, each) for each in ("name", "title", "description", "category", "body")}


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a written skill says of where it stood: the version and the hash of the bytes that a person approved."""

    version: int
    sha256: str


def read_skill(content: bytes) -> SkillText:
    """The skill in a file, or `Malformed` with the reason."""
    fields, body = _parted(_decoded(content))
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise Malformed(
            f"The format has no field {', '.join(f'`{name}`' for name in unknown)}. Put it under `metadata`, or remove it."
        )
    metadata = _metadata(fields)
    notes: list[str] = []
    description, body = _shortened(_description(fields), body, notes)
    naming = named(_name(fields), metadata.get(f"{OURS}title", ""))
    _refuse_long("title", naming.title, TITLE_CHARACTERS)
    category = metadata.get(f"{OURS}category", "")
    _refuse_long("category", category, CATEGORY_CHARACTERS)
    if not body.strip():
        raise Malformed("There is no runbook below the front matter. Write down what to do.")
    _refuse_long("runbook", body, BODY_CHARACTERS)
    return SkillText(naming.name, naming.title, description, category, body, _kept(fields, metadata), tuple(notes))


def write_skill(skill: SkillText, provenance: Provenance) -> bytes:
    """The file, of which `read_skill` makes the same again, and the same bytes for the same skill at any time."""
    kept: dict[str, Value] = json.loads(skill.front_matter or "{}")
    of_theirs = kept.pop(METADATA, {})
    told = {"title": skill.title, "category": skill.category}
    metadata = {
        **(of_theirs if isinstance(of_theirs, dict) else {}),
        **{f"{OURS}{name}": value for name, value in told.items() if value},
        f"{OURS}version": str(provenance.version),
        f"{OURS}sha256": provenance.sha256,
    }
    described = skill.description if skill.description.strip() else skill.title
    fields: dict[str, Value] = {"name": skill.name, "description": described}
    fields |= {name: kept[name] for name in KEPT if name in kept}
    return f"---\n{written_fields({**fields, METADATA: metadata})}---\n\n{skill.body}\n".encode()


def _decoded(content: bytes) -> str:
    if len(content) > FILE_BYTES:
        raise Malformed(f"{FILE_NAME} has {len(content)} bytes; {FILE_BYTES} are read. Move parts of it into files.")
    try:
        text = content.decode()
    except UnicodeDecodeError as refusal:
        raise Malformed(f"Byte {refusal.start} of {FILE_NAME} is not UTF-8. Save it as UTF-8.") from refusal
    if "\x00" in text:
        raise Malformed(f"{FILE_NAME} has a NUL character. Remove it.")
    return text


def _parted(text: str) -> tuple[dict[str, Value], str]:
    found = _PARTS.match(text)
    if found is None:
        raise Malformed(f"{FILE_NAME} has no front matter: fields between two lines of three dashes, at its beginning.")
    body = found["body"]
    if "\r\n" in found["fields"]:
        # Written where lines end otherwise; here it reads as everywhere.
        body = body.replace("\r\n", "\n")
    return read_fields(found["fields"]), body.removeprefix("\n").removesuffix("\n")


def _name(fields: dict[str, Value]) -> str:
    name = _word(fields, "name")
    if len(name) > NAME_CHARACTERS or not re.match(NAME_PATTERN, name):
        raise Malformed(f"`name` is “{name[:80]}”. {NAME_RULE}")
    return name


def _description(fields: dict[str, Value]) -> str:
    description = _word(fields, "description")
    if not description.strip():
        raise Malformed("`description` is missing. Say in it what the skill does and when to use it.")
    _refuse_long("description", description, FORMAT_DESCRIPTION_CHARACTERS)
    return description


def _shortened(description: str, body: str, notes: list[str]) -> tuple[str, str]:
    """The index takes less than the format allows; the whole of it goes where an agent reads it before it follows the rest."""
    if len(description) <= DESCRIPTION_CHARACTERS:
        return description, body
    ends = [found.end() for found in _SENTENCE.finditer(description) if found.end() <= DESCRIPTION_CHARACTERS]
    cut = description[: ends[-1]] if ends else description[: DESCRIPTION_CHARACTERS - 1].rpartition(" ")[0] + "…"
    if cut == "…":
        cut = f"{description[: DESCRIPTION_CHARACTERS - 1]}…"
    notes.append(
        f"The description has {len(description)} characters and the index takes {DESCRIPTION_CHARACTERS}: the first"
        f" {len(cut)} stand there, and all of it at the top of the runbook."
    )
    return cut, f"{description}\n\n{body}"


def _metadata(fields: dict[str, Value]) -> dict[str, str]:
    metadata = fields.get(METADATA, "")
    if metadata and not isinstance(metadata, dict):
        raise Malformed("`metadata` is no mapping. Give each value a name, indented on a line of its own.")
    return metadata if isinstance(metadata, dict) else {}


def _kept(fields: dict[str, Value], metadata: dict[str, str]) -> str:
    if isinstance(fields.get("license", ""), list | dict) or isinstance(fields.get("allowed-tools", ""), dict):
        raise Malformed("`license` is a text, and `allowed-tools` a text or a list of texts.")
    _refuse_long("compatibility", _word(fields, "compatibility"), COMPATIBILITY_CHARACTERS)
    kept = {name: fields[name] for name in KEPT if fields.get(name)}
    theirs = {name: value for name, value in metadata.items() if not name.startswith(OURS)}
    whole = {**kept, **({METADATA: theirs} if theirs else {})}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True) if whole else ""


def _word(fields: dict[str, Value], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise Malformed(f"`{name}` is a text.")
    return value


def _refuse_long(name: str, text: str, characters: int) -> None:
    if len(text) > characters:
        raise Malformed(f"The {name} has {len(text)} characters; {characters} are allowed. Shorten it.")
