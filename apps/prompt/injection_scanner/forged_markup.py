"""Finds forged fences, turns, sections and tool results by their form, whatever their words."""

# One rule per line, however long, because rules are read and changed one at a time.
# ruff: noqa: E501, ISC004
# fmt: off
import re
from collections.abc import Iterator
from typing import Final

from apps.prompt.injection_scanner.rule_language import Suspicion
from apps.prompt.instruction_texts import SECTION_TITLES
from apps.prompt.normalization.lookalike_folding import fold_words
from apps.prompt.prompt_input import EventKind
from apps.prompt.sanitizer.invisible_characters import remove_invisible

SuspiciousSpan = tuple[Suspicion, int, int]

_LABELS: Final = "|".join(re.escape(fold_words(kind.value)) for kind in EventKind)
_TITLES: Final = "|".join(re.escape(fold_words(title)) for title in SECTION_TITLES)
_INDENT: Final = r"[^\S\n]{0,40}+"

# Literals of which at least one must be present, and the pattern that is tried then.
FORGED_FORMS: Final[tuple[tuple[Suspicion, tuple[str, ...], re.Pattern[str]], ...]] = tuple(
    (suspicion, literals, re.compile(pattern))
    for suspicion, literals, pattern in (
        (
            Suspicion.FORGED_ROLE,
            ("system", "assistant", "developer", "human:", "instruction", "admin", "user:"),
            rf"(?:^|(?<=\n)|(?<=\\n)){_INDENT}[>*#\"'({{\[-]{{0,8}}+\s?(?:system|assistant|developer|human|admin(?:istrator)?|instructions?"
            r"|user|system (?:message|prompt|note|override|update|instructions?)|new system (?:message|prompt))[\])*\"' ]{0,4}+[:=](?!//)",
        ),
        (
            Suspicion.FORGED_ROLE,
            ("system", "assistant", "developer", "instruction"),
            r"[\[({<]{1,3}+[\s/#*|!]{0,4}+(?:system|assistant|developer|system (?:message|prompt|note|override|update|instructions?"
            r"|notice|alert|admin)|assistant response|new instructions?)\b[^\n\])}>]{0,40}+[\])}>]",
        ),
        (Suspicion.FORGED_ROLE, ("<|", "[inst", "[/inst", "<<sys", "of turn>", "</s>"), r"<\|[\w ]{1,40}+\|>|\[/?inst\]|<<\s?/?sys\s?>>|<(?:start|end) of turn>|</s>"),
        (Suspicion.FORGED_ROLE, ('role"', "role'"), r"[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|assistant|developer|tool|user)"),
        (Suspicion.FORGED_ROLE, ("human: human", "q:", "human:"), r"\bhuman\s?:\s?human\s?:"),
        (Suspicion.FORGED_SECTION, ("data",), r"<\s{0,4}+/?\s{0,4}+data(?:\s[^<>]{0,80}+)?>"),
        (Suspicion.FORGED_SECTION, ("[",), rf"(?:^|(?<=\n)){_INDENT}\[\s{{0,4}}+(?:{_LABELS})\b"),
        (Suspicion.FORGED_SECTION, ("#",), rf"(?:^|(?<=\n)){_INDENT}#{{1,6}}+\s{{1,4}}+(?:{_TITLES}|system|(?:system |new )?(?:instructions?|prompt|rules)|(?:response|assistant|human)(?=\s?:))\s{{0,4}}+:?\s{{0,4}}+(?=\n|$)"),
        (Suspicion.FORGED_SECTION, ("---", "===", "###", "***"), r"(?<![-=#*])[-=#*]{3,}+\s{0,4}+(?:(?:begin|end|start|stop) (?:of )?|new )?(?:system|instructions?|(?:system )?prompt|user (?:input|prompt|message)|context)\b"),
        (Suspicion.FORGED_SECTION, ("]]]]", "}}}}", "))))", '""""', "]]]"), r"[\])}\"]{5,}+"),
        (
            Suspicion.FORGED_RESULT,
            ("tool", "function", "observation", "thought", "antml"),
            r"<\s{0,4}+/?\s{0,4}+(?:antml:)?(?:tool|function)[ _-]?(?:results?|use|calls?|response|output)s?\b[^<>]{0,80}+>?"
            r"|[\"'](?:tool[ _]result|tool[ _]use|tool[ _]call[ _]id|function[ _]call|tool[ _]calls)[\"']\s?[:,}]"
            r"|(?:^|(?<=\n))[\[>*# -]{0,8}+(?:tool|function)[ _-]?(?:results?|calls?|response|output)\b[^\n:]{0,30}+:"
            r"|(?:^|(?<=\n))\s{0,4}+(?:observation|thought|action input)\s?:",
        ),
        (
            Suspicion.EXFILTRATION,
            ("](http", "](//", "] (http", "<img", "]: http"),
            r"!\[[^\]\n]{0,120}+\]\s?\(\s?(?:https?:)?//[^)\s]{1,200}?[?=&]|<img\s[^<>]{0,60}?src\s?=[^<>]{0,100}?[?&]|\]\(\s?(?:https?:)?//[^)\s]{1,200}?[?&]\w{1,20}=[{<\[$]",
        ),
        (Suspicion.EXFILTRATION, ("http",), r"https?://[^\s?]{1,120}+\?[^\s=]{0,60}=\s?[{<\[$]"),
        (Suspicion.HIDDEN_CHARACTERS, ("<!--",), r"<!--(?=[^>]{0,200}?\b(?:ignore|system|instruction|assistant|ai)\b)"),
    )
)


def find_forged_markup(text: str) -> Iterator[SuspiciousSpan]:
    for suspicion, literals, pattern in FORGED_FORMS:
        if any(literal in text for literal in literals):
            for found in pattern.finditer(text):
                yield suspicion, found.start(), found.end()


_LETTER: Final = "[A-Za-z]"
_INVISIBLE_RUNS: Final = re.compile(
    "[\U000e0000-\U000e00ff]++|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}+|[\u202a-\u202e]|[\x00-\x08\x0e-\x1f]"
    f"|(?<={_LETTER})[\u034f\u180e\u200b-\u200d\u2060-\u2064\ufeff\u115f\u1160\u3164\uffa0\u2800]++(?={_LETTER})"
    "|[\u200b\u2060-\u2064]{3,}+"
)


def find_hidden_characters(raw: str) -> Iterator[SuspiciousSpan]:
    """Yield invisible characters that no script needs: tags, selector runs, reversed direction, hidden separators."""
    if _BRAILLE_BLANK not in raw and remove_invisible(raw) == raw:
        return
    start = end = -_MERGE_DISTANCE
    for found in _INVISIBLE_RUNS.finditer(raw):
        if _is_flag_ending(raw, found):
            continue
        if found.start() - end >= _MERGE_DISTANCE:
            if end > 0:
                yield Suspicion.HIDDEN_CHARACTERS, start, end
            start = found.start()
        end = found.end()
    if end > 0:
        yield Suspicion.HIDDEN_CHARACTERS, start, end


# The empty Braille pattern: Unicode classes it as a symbol, but it looks blank.
_BRAILLE_BLANK: Final = "\u2800"
# Hidden characters within this distance form one finding.
_MERGE_DISTANCE: Final = 12


def _is_flag_ending(raw: str, found: re.Match[str]) -> bool:
    """Return whether tag characters belong to a flag emoji: Scotland's flag is a black flag and six tags."""
    return raw[found.start() - 1 : found.start()] == "\U0001f3f4" and found.end() - found.start() <= 8
