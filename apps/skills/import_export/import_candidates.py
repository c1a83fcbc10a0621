"""Import candidates: the skills in an archive as they would be drafted, with the files that are left out and why.

Pure functions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.skills.import_export.front_matter import SkillFormatError
from apps.skills.import_export.skill_md import SKILL_FILE_NAME, SkillText, read_skill
from apps.skills.import_export.zip_archives import ArchiveEntry, UnreadableArchiveError
from apps.skills.skill_validation import FileRefusal, FileScan, name_limit_refusal, scan_file, vet_file

MAX_SKILLS: Final = 200
SKILL_FOLDERS: Final = ("scripts", "references", "assets")
_ARCHIVE_ROOT: Final = PurePosixPath()


@dataclass(frozen=True, slots=True)
class ImportLimits:
    """The maximum size of a file, and the maximum number of files per skill."""

    file_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file of an incoming skill, scanned like any attachment."""

    name: str
    media_type: str
    content: bytes
    found: FileScan


@dataclass(frozen=True, slots=True)
class IncomingSkill:
    """One incoming skill: its text, or the reason why it is refused."""

    folder: str
    text: SkillText | None
    flaw: str = ""
    files: tuple[IncomingFile, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The skill's name, or the folder's name if the text could not be read."""
        return self.text.name if self.text else self.folder

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings that a reviewer will have to confirm."""
        in_text = rules_to_confirm(self.text.values.values()) if self.text else ()
        return (*in_text, *(f"{each} in the file {file.name}" for file in self.files for each in file.found.findings))


def find_incoming_skills(entries: Sequence[ArchiveEntry], limits: ImportLimits) -> tuple[IncomingSkill, ...]:
    """Return the skill of every folder with a `SKILL.md`.

    Of nested folders only the outermost counts; a repeated name is refused.
    """
    taken: set[str] = set()
    return tuple(_refuse_duplicate(each, taken) for each in _read_candidates(entries, limits))


def _read_candidates(entries: Sequence[ArchiveEntry], limits: ImportLimits) -> Iterator[IncomingSkill]:
    written = {entry.path.parent: entry for entry in entries if entry.path.name.lower() == SKILL_FILE_NAME.lower()}
    roots = [root for root in written if not any(outer in written for outer in root.parents)]
    if len(roots) > MAX_SKILLS:
        raise UnreadableArchiveError(
            f"It holds {len(roots)} skills; at most {MAX_SKILLS} can be imported at once. Send them in parts."
        )
    files: dict[PurePosixPath, list[ArchiveEntry]] = {root: [] for root in roots}
    for entry in entries:
        root = next((place for place in entry.path.parents if place in files), None)
        if root is not None and entry is not written[root]:
            files[root].append(entry)
    for root in roots:
        yield _read_candidate(root, written[root].content, files[root], limits)


def _read_candidate(
    root: PurePosixPath, content: bytes, entries: Sequence[ArchiveEntry], limits: ImportLimits
) -> IncomingSkill:
    folder = "" if root == _ARCHIVE_ROOT else str(root)
    try:
        text = read_skill(content)
    except SkillFormatError as refusal:
        return IncomingSkill(folder, None, str(refusal))
    files, left_out, notes = _vet_files(root, entries, limits)
    if folder and root.name != text.name:
        notes.append(f"The name of its folder is {root.name}; the skill's name is {text.name}.")
    return IncomingSkill(folder, text, "", tuple(files), tuple(left_out), (*text.notes, *notes))


def _vet_files(
    root: PurePosixPath, entries: Sequence[ArchiveEntry], limits: ImportLimits
) -> tuple[list[IncomingFile], list[str], list[str]]:
    files: list[IncomingFile] = []
    left_out: list[str] = []
    notes: list[str] = []
    for entry in entries:
        path = entry.path.relative_to(root)
        vetted = vet_file(path.name, entry.content, limits.file_bytes)
        if not isinstance(vetted, FileRefusal):
            names = [file.name for file in files]
            full = name_limit_refusal(names, vetted.name, limits.files)
            vetted = full or vetted
        if isinstance(vetted, FileRefusal):
            left_out.append(f"{path}: {vetted.reason}")
            continue
        found = scan_file(vetted.media_type, entry.content)
        files.append(IncomingFile(vetted.name, vetted.media_type, entry.content, found))
        if str(path.parent) not in {".", *SKILL_FOLDERS}:
            notes.append(f"{path} is kept as {vetted.name}, because the files of a skill have no folders here.")
    return files, left_out, notes


def _refuse_duplicate(each: IncomingSkill, taken: set[str]) -> IncomingSkill:
    if each.text is None:
        return each
    if each.name in taken:
        return IncomingSkill(each.folder, None, f"The same file holds another skill named {each.name} before it.")
    taken.add(each.name)
    return each
