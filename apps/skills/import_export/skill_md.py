"""Reading and writing `SKILL.md`, the open format of a skill: front matter and runbook in one file. Pure functions."""

import json
import re
from dataclasses import dataclass
from typing import Final

from apps.skills.import_export.front_matter import FieldValue, SkillFormatError, read_fields, render_fields
from apps.skills.skill_validation import (
    BODY_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    NAME_CHARACTERS,
    NAME_PATTERN,
    NAME_RULE,
    TITLE_CHARACTERS,
    complete_naming,
)

SKILL_FILE_NAME: Final = "SKILL.md"
# Fields of the front matter that are kept unchanged but not used.
KEPT_FIELDS: Final = ("license", "compatibility", "allowed-tools")
METADATA: Final = "metadata"
FIELDS: Final = ("name", "description", *KEPT_FIELDS, METADATA)
# The prefix of metadata keys for our fields that the open format does not have.
METADATA_PREFIX: Final = "preceptor-"
FORMAT_DESCRIPTION_CHARACTERS: Final = 1024
COMPATIBILITY_CHARACTERS: Final = 500
CATEGORY_CHARACTERS: Final = 60
# The length of the longest valid file: four bytes per character, and the front matter.
FILE_BYTES: Final = 4 * BODY_CHARACTERS + 64_000

_FILE_PARTS: Final = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?P<fields>.*?)^---[ \t]*(?:\r?\n|\Z)(?P<body>.*)", re.DOTALL | re.MULTILINE
)
_SENTENCE: Final = re.compile(r"[.!?](?=\s)")


@dataclass(frozen=True, slots=True)
class SkillText:
    """The content of a `SKILL.md`. `front_matter` holds the kept fields as canonical JSON; `notes` describe what was changed."""

    name: str
    title: str
    description: str
    category: str
    body: str
    front_matter: str = ""
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        """The texts for a draft of this skill."""
        return {each: getattr(self, each) for each in ("name", "title", "description", "category", "body")}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of an exported skill: its version, and the hash of the bytes that a person approved."""

    version: int
    sha256: str


def read_skill(content: bytes) -> SkillText:
    """Parse a `SKILL.md`. Raises `SkillFormatError` with the reason."""
    fields, body = _split_file(_decode(content))
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise SkillFormatError(
            f"The format has no field {', '.join(f'`{name}`' for name in unknown)}. Put it under `metadata`, or remove it."
        )
    metadata = _parse_metadata(fields)
    notes: list[str] = []
    description, body = _shorten_description(_parse_description(fields), body, notes)
    naming = complete_naming(_parse_name(fields), metadata.get(f"{METADATA_PREFIX}title", ""))
    _refuse_long("title", naming.title, TITLE_CHARACTERS)
    category = metadata.get(f"{METADATA_PREFIX}category", "")
    _refuse_long("category", category, CATEGORY_CHARACTERS)
    if not body.strip():
        raise SkillFormatError("There is no runbook below the front matter. Write down what to do.")
    _refuse_long("runbook", body, BODY_CHARACTERS)
    return SkillText(
        naming.name, naming.title, description, category, body, _kept_front_matter(fields, metadata), tuple(notes)
    )


def write_skill(skill: SkillText, provenance: Provenance) -> bytes:
    """Render a `SKILL.md` that `read_skill` parses to the same skill. The same skill always gives the same bytes."""
    kept: dict[str, FieldValue] = json.loads(skill.front_matter or "{}")
    of_theirs = kept.pop(METADATA, {})
    own_values = {"title": skill.title, "category": skill.category}
    metadata = {
        **(of_theirs if isinstance(of_theirs, dict) else {}),
        **{f"{METADATA_PREFIX}{name}": value for name, value in own_values.items() if value},
        f"{METADATA_PREFIX}version": str(provenance.version),
        f"{METADATA_PREFIX}sha256": provenance.sha256,
    }
    described = skill.description if skill.description.strip() else skill.title
    fields: dict[str, FieldValue] = {"name": skill.name, "description": described}
    fields |= {name: kept[name] for name in KEPT_FIELDS if name in kept}
    return f"---\n{render_fields({**fields, METADATA: metadata})}---\n\n{skill.body}\n".encode()


def _decode(content: bytes) -> str:
    if len(content) > FILE_BYTES:
        raise SkillFormatError(
            f"{SKILL_FILE_NAME} has {len(content)} bytes; at most {FILE_BYTES} are read. Move parts of it into files."
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as refusal:
        raise SkillFormatError(
            f"Byte {refusal.start} of {SKILL_FILE_NAME} is not UTF-8. Save it as UTF-8."
        ) from refusal
    if "\x00" in text:
        raise SkillFormatError(f"{SKILL_FILE_NAME} has a NUL character. Remove it.")
    return text


def _split_file(text: str) -> tuple[dict[str, FieldValue], str]:
    found = _FILE_PARTS.match(text)
    if found is None:
        raise SkillFormatError(
            f"{SKILL_FILE_NAME} has no front matter. Begin it with fields between two lines of three dashes."
        )
    body = found["body"]
    if "\r\n" in found["fields"]:
        # The file has CRLF line ends, but bodies are stored with LF.
        body = body.replace("\r\n", "\n")
    return read_fields(found["fields"]), body.removeprefix("\n").removesuffix("\n")


def _parse_name(fields: dict[str, FieldValue]) -> str:
    name = _text_field(fields, "name")
    if len(name) > NAME_CHARACTERS or not re.match(NAME_PATTERN, name):
        raise SkillFormatError(f"`name` is “{name[:80]}”. {NAME_RULE}")
    return name


def _parse_description(fields: dict[str, FieldValue]) -> str:
    description = _text_field(fields, "description")
    if not description.strip():
        raise SkillFormatError("`description` is missing. Say in it what the skill does and when to use it.")
    _refuse_long("description", description, FORMAT_DESCRIPTION_CHARACTERS)
    return description


def _shorten_description(description: str, body: str, notes: list[str]) -> tuple[str, str]:
    """Shorten a description that is too long for the index, and put the full description at the top of the runbook."""
    if len(description) <= DESCRIPTION_CHARACTERS:
        return description, body
    ends = [found.end() for found in _SENTENCE.finditer(description) if found.end() <= DESCRIPTION_CHARACTERS]
    cut = description[: ends[-1]] if ends else description[: DESCRIPTION_CHARACTERS - 1].rpartition(" ")[0] + "…"
    if cut == "…":
        cut = f"{description[: DESCRIPTION_CHARACTERS - 1]}…"
    notes.append(
        f"The description has {len(description)} characters and the index takes {DESCRIPTION_CHARACTERS}. The index has the first"
        f" {len(cut)}, and the whole description is at the top of the runbook."
    )
    return cut, f"{description}\n\n{body}"


def _parse_metadata(fields: dict[str, FieldValue]) -> dict[str, str]:
    metadata = fields.get(METADATA, "")
    if metadata and not isinstance(metadata, dict):
        raise SkillFormatError("`metadata` is not a mapping. Give each value a name, indented on a line of its own.")
    return metadata if isinstance(metadata, dict) else {}


def _kept_front_matter(fields: dict[str, FieldValue], metadata: dict[str, str]) -> str:
    if isinstance(fields.get("license", ""), list | dict) or isinstance(fields.get("allowed-tools", ""), dict):
        raise SkillFormatError("`license` must be a text, and `allowed-tools` a text or a list of texts.")
    _refuse_long("compatibility", _text_field(fields, "compatibility"), COMPATIBILITY_CHARACTERS)
    kept = {name: fields[name] for name in KEPT_FIELDS if fields.get(name)}
    theirs = {name: value for name, value in metadata.items() if not name.startswith(METADATA_PREFIX)}
    whole = {**kept, **({METADATA: theirs} if theirs else {})}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True) if whole else ""


def _text_field(fields: dict[str, FieldValue], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise SkillFormatError(f"`{name}` must be a text.")
    return value


def _refuse_long(name: str, text: str, characters: int) -> None:
    if len(text) > characters:
        raise SkillFormatError(f"The {name} has {len(text)} characters; at most {characters} are allowed. Shorten it.")
