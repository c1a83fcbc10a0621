"""What a skill may be called and hold, and which files may come with it; pure."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.governance.policy.risk_tiers import RiskFactor
from apps.prompt.builtin_tools import ToolEffect, tool_effects_in
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.prompt.normalization.lookalike_folding import fold, identity_fold
from apps.prompt.sanitizer.invisible_characters import remove_invisible

NAME_CHARACTERS = 64
TITLE_CHARACTERS = 120
DESCRIPTION_CHARACTERS = 300
BODY_CHARACTERS = 40_000

NAME_PATTERN = r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z"
NAME_RULE = f"A skill's name is 1 to {NAME_CHARACTERS} of a-z, 0-9 and single hyphens, such as issue-a-refund."
_NON_NAME_CHARACTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SkillNaming:
    """A skill's name and title, either of which may have been derived from the other (Z-4)."""

    name: str
    title: str


def complete_naming(name: str, title: str) -> SkillNaming:
    """Complete a name by its title and the other way round. Both empty stay empty, for the field rules to refuse."""
    return SkillNaming(name or slug(title), title or name.replace("-", " ").capitalize())


def slug(title: str) -> str:
    """The name a title gives: ASCII letters and digits, joined by hyphens, cut at a whole word where one ends in time."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NON_NAME_CHARACTERS.sub("-", plain).strip("-")
    if len(words) <= NAME_CHARACTERS:
        return words
    cut = words[: NAME_CHARACTERS + 1].rpartition("-")[0]
    return cut or words[:NAME_CHARACTERS]


FILE_NAME_CHARACTERS = 120
# The beginning of a text file: what a model is given of it, and what a reviewer is shown.
FILE_CHARACTERS = 20_000
TEXT_TYPES: Final = {
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
}
BINARY_TYPES: Final = {
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
}
MEDIA_TYPES: Final = TEXT_TYPES | BINARY_TYPES
_FILE_SIGNATURES: Final = {
    "application/pdf": re.compile(rb"%PDF-"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NOT_IN_FILE_NAMES: Final = re.compile(r'[<>:"|?*]')


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of a skill, as the skill keeps it: what is reviewed, and under which key its bytes lie.

    Of a text also what was found in exactly these bytes when they came: how long it is, what the scanner points at and what
    following it can reach. Files from before that was done, and what is no text, were looked through by nobody.
    """

    name: str
    media_type: str
    size_bytes: int
    sha256: str
    key: str
    uploaded_by: str
    characters: int | None = None
    findings: Sequence[str] = ()
    risk_factors: Sequence[str] = ()
    is_imported: bool = False

    @property
    def is_text(self) -> bool:
        """Whether a model can be given it as words."""
        return self.media_type in TEXT_TYPES.values()

    @property
    def is_read_whole(self) -> bool:
        """Whether all of it was scanned and is shown to whoever decides."""
        return self.characters is not None and self.characters <= FILE_CHARACTERS

    @property
    def is_strange(self) -> bool:
        """Whether no person chose it by itself: an agent put it there, or it came along with others."""
        return self.is_imported or self.uploaded_by.startswith("agent:")


@dataclass(frozen=True, slots=True)
class FileScan:
    """What was found in the text of a file; lists, as they come back from where a skill keeps them."""

    characters: int | None = None
    findings: list[str] = field(default_factory=list)
    risk_factors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AcceptedFile:
    """A file that may be stored, under the name and type it is stored by."""

    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class FileRefusal:
    """A file that may not be stored: the field that is wrong, and why."""

    field: str
    reason: str


def vet_file(name: str, content: bytes, file_bytes: int) -> AcceptedFile | FileRefusal:
    """Extension and content have to say the same; what neither can be checked for is not taken."""
    clean = clean_file_name(name)
    flaw = _flaw_of_name(clean) or _flaw_of_size(len(content), file_bytes)
    if flaw is not None:
        return flaw
    media_type = MEDIA_TYPES[_extension(clean)]
    reason = _flaw_of_content(media_type, content)
    return FileRefusal("file", f"{clean} cannot be taken: {reason}") if reason else AcceptedFile(clean, media_type)


def scan_file(media_type: str, content: bytes) -> FileScan:
    """Scan a text file as a body is scanned. Of anything else only a person can tell what it says."""
    if media_type not in TEXT_TYPES.values():
        return FileScan()
    text = content.decode()
    return FileScan(len(text), list(rules_to_confirm([text])), sorted(risk_factors_in([text])))


def clean_file_name(name: str) -> str:
    """The name without path, hidden characters, leading dots and what some file systems cannot hold, composed (NFC)."""
    last = re.split(r"[/\\]", remove_invisible(unicodedata.normalize("NFC", name)))[-1]
    words = " ".join(_NOT_IN_FILE_NAMES.sub("", last).split())
    return words.lstrip(". ").rstrip(". ")


def file_limit_refusal(files: Sequence[Attachment], name: str, files_per_skill: int) -> FileRefusal | None:
    """Why a skill takes no further file, or none of this name."""
    return name_limit_refusal([file.name for file in files], name, files_per_skill)


def name_limit_refusal(names: Sequence[str], name: str, files_per_skill: int) -> FileRefusal | None:
    """The same of files that are known by their names alone."""
    if len(names) >= files_per_skill:
        return FileRefusal(
            "file", f"A skill has at most {files_per_skill} files, and this one has {len(names)}. Remove one."
        )
    # Looked at as a reader does: another case or a letter that poses as another makes no other name.
    if any(_fold_name(each) == _fold_name(name) for each in names):
        return FileRefusal("name", f"This skill has a file {name} already. Remove that one, or choose another name.")
    return None


def reorder_files(files: Sequence[Attachment], names: Sequence[str]) -> tuple[Attachment, ...] | FileRefusal:
    """The same files in the order of these names."""
    by_name = {file.name: file for file in files}
    if sorted(names) != sorted(by_name):
        return FileRefusal("names", f"Name each file of the skill once: {', '.join(by_name) or 'it has none'}.")
    return tuple(by_name[name] for name in names)


def has_file_mention(body: str, name: str) -> bool:
    """Whether a runbook refers to a file; one that it does not refer to is no agent's business (R091)."""
    return name.casefold() in body.casefold()


def _fold_name(name: str) -> str:
    return " ".join(fold(identity_fold(name)).text.split())


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _flaw_of_name(name: str) -> FileRefusal | None:
    if len(name) > FILE_NAME_CHARACTERS:
        return FileRefusal(
            "name", f"The name has {len(name)} characters; {FILE_NAME_CHARACTERS} are allowed. Shorten it."
        )
    if "." not in name:
        return FileRefusal("name", f"“{name}” has no extension that says what it is. {_ALLOWED_KINDS}")
    if _extension(name) not in MEDIA_TYPES:
        return FileRefusal("name", f"Files that end in .{_extension(name)} are not taken. {_ALLOWED_KINDS}")
    return None


def _flaw_of_size(size_bytes: int, file_bytes: int) -> FileRefusal | None:
    if size_bytes > file_bytes:
        return FileRefusal("file", f"The file has {size_bytes} bytes; {file_bytes} are allowed. Send a smaller one.")
    return None if size_bytes else FileRefusal("file", "The file is empty. Send one with content.")


def _flaw_of_content(media_type: str, content: bytes) -> str:
    found = next((kind for kind, beginning in _FILE_SIGNATURES.items() if beginning.match(content)), "")
    if found != (media_type if media_type in _FILE_SIGNATURES else ""):
        return f"its name says {media_type}, its content {found or 'does not'}. Give it the extension of what it is."
    return "" if found else _flaw_of_text(media_type, content)


def _flaw_of_text(media_type: str, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as refusal:
        return f"byte {refusal.start} is not UTF-8. Save it as UTF-8."
    if control := _CONTROL_CHARACTERS.search(text):
        return f"character {control.start()} is the control character U+{ord(control[0]):04X}. Remove it."
    return _flaw_of_json(text) if media_type == "application/json" else ""


def _flaw_of_json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as refusal:
        return f"it is no JSON ({refusal})."
    except RecursionError:
        return "its JSON is nested too deeply."
    return ""


_ALLOWED_KINDS: Final = f"Send one of: {', '.join(MEDIA_TYPES)}."


_EFFECT_RISKS = {ToolEffect.WRITES: RiskFactor.WRITING_TOOL, ToolEffect.PAYS: RiskFactor.PAYING_TOOL}


def risk_factors_in(texts: Iterable[str], files: Iterable[Attachment] = ()) -> frozenset[RiskFactor]:
    """What following a runbook of these texts and files can reach: the tools named decide, not how it speaks of money."""
    effects = frozenset[ToolEffect]().union(*(tool_effects_in(text) for text in texts))
    reached = (_EFFECT_RISKS[effect] for effect in effects if effect in _EFFECT_RISKS)
    return frozenset(
        {RiskFactor.SKILL_TEXT, *reached, *(RiskFactor(name) for file in files for name in file.risk_factors)}
    )


def file_findings(files: Iterable[Attachment]) -> tuple[str, ...]:
    """What a reviewer has to confirm of files: what the scanner points at, and each strange one that nobody read whole."""
    return tuple(
        sentence
        for file in files
        for sentence in (
            *(f"{finding} in the file {file.name}" for finding in file.findings),
            *([f"attached file {file.name}"] if file.is_strange and not file.is_read_whole else []),
        )
    )
