"""Validation of skills: names, texts and attached files. Pure functions."""

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
    """A skill's name and title. Either may be derived from the other (Z-4)."""

    name: str
    title: str


def complete_naming(name: str, title: str) -> SkillNaming:
    """Derive a missing name from the title, or the reverse.

    If both are empty they stay empty, and the field validators refuse them.
    """
    return SkillNaming(name or slug(title), title or name.replace("-", " ").capitalize())


def slug(title: str) -> str:
    """Return the name for a title: ASCII letters and digits, joined by hyphens, and cut at a word boundary if possible."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NON_NAME_CHARACTERS.sub("-", plain).strip("-")
    if len(words) <= NAME_CHARACTERS:
        return words
    cut = words[: NAME_CHARACTERS + 1].rpartition("-")[0]
    return cut or words[:NAME_CHARACTERS]


FILE_NAME_CHARACTERS = 120
# The number of characters at the beginning of a text file that models and reviewers read.
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
# Imported runbooks also mention files of kinds that cannot be attached, such as scripts.
_MENTIONED_EXTENSIONS: Final = "|".join((*MEDIA_TYPES, "docx", "xlsx", "py", "sh"))
_FILE_MENTION: Final = re.compile(
    rf"(?<![\w@:/.\\%-])(?:\.?/)?(?:[\w-]+/)*\w[\w.-]*\.(?:{_MENTIONED_EXTENSIONS})(?![\w/@-])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of a skill, as the skill's row stores it. `key` identifies its bytes in the blob store.

    For text files, `characters`, `findings` and `risk_factors` are the results of scanning exactly these bytes at the upload.
    Other files, and files that were uploaded before scans existed, have no results.
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
        """Whether this is a text file, which models can read."""
        return self.media_type in TEXT_TYPES.values()

    @property
    def is_read_whole(self) -> bool:
        """Whether the whole file was scanned and is shown to reviewers."""
        return self.characters is not None and self.characters <= FILE_CHARACTERS

    @property
    def is_strange(self) -> bool:
        """Whether no person chose this file: an agent attached it, or it was imported."""
        return self.is_imported or self.uploaded_by.startswith("agent:")


@dataclass(frozen=True, slots=True)
class FileScan:
    """The result of scanning a file's text. Its fields are lists, because a JSON column returns lists."""

    characters: int | None = None
    findings: list[str] = field(default_factory=list)
    risk_factors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AcceptedFile:
    """A file that may be stored, with its cleaned name and its media type."""

    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class FileRefusal:
    """A file that may not be stored, with the field that is wrong and the reason."""

    field: str
    reason: str


def vet_file(name: str, content: bytes, file_bytes: int) -> AcceptedFile | FileRefusal:
    """Check a file's name and size, and that its content matches the extension. Types that cannot be checked are refused."""
    clean = clean_file_name(name)
    flaw = _flaw_of_name(clean) or _flaw_of_size(len(content), file_bytes)
    if flaw is not None:
        return flaw
    media_type = MEDIA_TYPES[_extension(clean)]
    reason = _flaw_of_content(media_type, content)
    return FileRefusal("file", f"{clean} is not accepted: {reason}") if reason else AcceptedFile(clean, media_type)


def scan_file(media_type: str, content: bytes) -> FileScan:
    """Scan a text file as a skill's body is scanned. Other files are not scanned; only a person can judge them."""
    if media_type not in TEXT_TYPES.values():
        return FileScan()
    text = content.decode()
    return FileScan(len(text), list(rules_to_confirm([text])), sorted(risk_factors_in([text])))


def clean_file_name(name: str) -> str:
    """Return the name in NFC, without path, invisible characters, leading dots, and characters that some file systems forbid."""
    last = re.split(r"[/\\]", remove_invisible(unicodedata.normalize("NFC", name)))[-1]
    words = " ".join(_NOT_IN_FILE_NAMES.sub("", last).split())
    return words.lstrip(". ").rstrip(". ")


def file_limit_refusal(files: Sequence[Attachment], name: str, files_per_skill: int) -> FileRefusal | None:
    """Return the refusal of another file with this name, or None if the skill can take it."""
    return name_limit_refusal([file.name for file in files], name, files_per_skill)


def name_limit_refusal(names: Sequence[str], name: str, files_per_skill: int) -> FileRefusal | None:
    """Do the same as `file_limit_refusal`, for files of which only the names are known."""
    if len(names) >= files_per_skill:
        return FileRefusal(
            "file", f"A skill has at most {files_per_skill} files, and this one has {len(names)}. Remove one."
        )
    # Compared as a reader sees the names: case and lookalike letters do not make a different name.
    if any(_fold_name(each) == _fold_name(name) for each in names):
        return FileRefusal("name", f"This skill already has a file {name}. Remove that one, or choose another name.")
    return None


def reorder_files(files: Sequence[Attachment], names: Sequence[str]) -> tuple[Attachment, ...] | FileRefusal:
    """Return the same files in the order of these names."""
    by_name = {file.name: file for file in files}
    if sorted(names) != sorted(by_name):
        return FileRefusal("names", f"Name each file of the skill once: {', '.join(by_name) or 'it has none'}.")
    return tuple(by_name[name] for name in names)


def has_file_mention(body: str, name: str) -> bool:
    """Whether a runbook mentions a file. Agents get only files that the runbook mentions (R091)."""
    return name.casefold() in body.casefold()


def missing_files(body: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of files that a runbook mentions and that are not among its attached files.

    A folder before a name does not count, and addresses on the web or of mail are not names of files.
    """
    for name in sorted(names, key=len, reverse=True):
        body = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", " ", body, flags=re.IGNORECASE)
    mentioned = (match[0].rpartition("/")[2] for match in _FILE_MENTION.finditer(body))
    return tuple({name.casefold(): name for name in mentioned}.values())


def missing_file_findings(body: str, files: Iterable[Attachment], *, approved: str = "") -> tuple[str, ...]:
    """Return the missing files of a runbook, for a reviewer to confirm, except those that its approved text mentions too."""
    names = [file.name for file in files]
    known = {name.casefold() for name in missing_files(approved, names)}
    return tuple(f"{name} is not attached" for name in missing_files(body, names) if name.casefold() not in known)


def _fold_name(name: str) -> str:
    return " ".join(fold(identity_fold(name)).text.split())


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _flaw_of_name(name: str) -> FileRefusal | None:
    if len(name) > FILE_NAME_CHARACTERS:
        return FileRefusal(
            "name", f"The name has {len(name)} characters; at most {FILE_NAME_CHARACTERS} are allowed. Shorten it."
        )
    if "." not in name:
        return FileRefusal("name", f"“{name}” has no extension that names its type. {_ALLOWED_KINDS}")
    if _extension(name) not in MEDIA_TYPES:
        return FileRefusal("name", f"Files with the extension .{_extension(name)} are not accepted. {_ALLOWED_KINDS}")
    return None


def _flaw_of_size(size_bytes: int, file_bytes: int) -> FileRefusal | None:
    if size_bytes > file_bytes:
        return FileRefusal(
            "file", f"The file has {size_bytes} bytes; at most {file_bytes} are allowed. Send a smaller one."
        )
    return None if size_bytes else FileRefusal("file", "The file is empty. Send one with content.")


def _flaw_of_content(media_type: str, content: bytes) -> str:
    found = next((kind for kind, beginning in _FILE_SIGNATURES.items() if beginning.match(content)), "")
    if found != (media_type if media_type in _FILE_SIGNATURES else ""):
        return f"its extension means {media_type}, its content is {found or 'something else'}. Give it the right extension."
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
        return f"it is not valid JSON ({refusal})."
    except RecursionError:
        return "its JSON is nested too deeply."
    return ""


_ALLOWED_KINDS: Final = f"Send one of: {', '.join(MEDIA_TYPES)}."


_EFFECT_RISKS = {ToolEffect.WRITES: RiskFactor.WRITING_TOOL, ToolEffect.PAYS: RiskFactor.PAYING_TOOL}


def risk_factors_in(texts: Iterable[str], files: Iterable[Attachment] = ()) -> frozenset[RiskFactor]:
    """Return the risk factors of a runbook with these texts and files. They depend on the tools that it names."""
    effects = frozenset[ToolEffect]().union(*(tool_effects_in(text) for text in texts))
    reached = (_EFFECT_RISKS[effect] for effect in effects if effect in _EFFECT_RISKS)
    return frozenset(
        {RiskFactor.SKILL_TEXT, *reached, *(RiskFactor(name) for file in files for name in file.risk_factors)}
    )


def file_findings(files: Iterable[Attachment]) -> tuple[str, ...]:
    """Return the findings in files that a reviewer must confirm.

    These are the scanner's findings, and files that an agent or an import attached and that were not scanned whole.
    """
    return tuple(
        sentence
        for file in files
        for sentence in (
            *(f"{finding} in the file {file.name}" for finding in file.findings),
            *([f"attached file {file.name}"] if file.is_strange and not file.is_read_whole else []),
        )
    )
