"""The distinctive words of a text: folded, truncated to their first letters, without common words."""

# ruff: noqa: RUF001 - Cyrillic words are meant.
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from apps.prompt.normalization.lookalike_folding import FoldedText, fold, fold_words, identity_fold


class ContentWord(NamedTuple):
    """One distinctive word: its key, and its position in the raw text."""

    key: str
    start: int
    end: int


# Endings vary with grammar, so the first letters identify a word.
STEM_CHARACTERS: Final = 6
_MIN_INFLECTED_CHARACTERS: Final = 4
# Scripts without spaces are compared by overlapping runs of characters: the scripts' characters, and the length of a run.
_IDEOGRAPHS: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SYLLABLES: Final = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
_UNSPACED: Final = ((re.compile(f"[{_IDEOGRAPHS}]+"), 3), (re.compile(f"[{_SYLLABLES}]+"), 6))
_PIECE: Final = re.compile(f"[{_IDEOGRAPHS}]+|[{_SYLLABLES}]+|[^{_IDEOGRAPHS}{_SYLLABLES}]+")
# Vowel signs of Indic scripts are part of the word; the full stops in the same ranges are not.
_WORD: Final = re.compile("(?:[^\\W_]|[\u0900-\u0963\u0966-\u109f\u1780-\u17d3])+")
_KANA_ALONE: Final = re.compile("[\u3040-\u309f]+")
_APOSTROPHE: Final = re.compile("(?<=[^\\W_])'(?=[^\\W_])")
_MIN_SPELLED_LETTERS: Final = 3

# English, German, French, Spanish and Portuguese, Italian and Dutch, Russian.
_COMMON_WORDS: Final = """
a about after again all also always am an and any are as at be because been before being but by can could did do
does done for from get gets getting go going got had has have he hello her here hi him his how i if in into is it
its im ive ill just know let like make many may me more most much must my need never new no not now of off ok on
once one only or other our out over please put say she should so some still such sure tell than thank thanks that
thats the their them then there these they thing things this those to too up us use very want wants was we well
were what when where which while who why will with would yes you your yours dont doesnt cant wont didnt isnt
agent agents customer customers
aber alle als also am an auch auf aus bei bin bis bitte da damit danke das dass dein dem den der des die dies diese
doch du durch ein eine einem einen einer es euch fur gibt hab habe haben hallo hat hatte ich ihr ihre im immer in
ist ja kann kein keine konnen man mehr mein meine mich mir mit muss nach nein nicht noch nun nur oder schon sehr
sein sich sie sind so uber um und uns unser vom von vor war warum was wenn wer werden wie wir wird wo zu zum zur
ai alors au aussi avec avez avoir bien bonjour ce cela ces cette comme dans de des du elle elles en est et etre eu
faire fait il ils je la le les leur lui ma mais me merci mes moi mon ne nos notre nous on ont ou oui par pas plus
pour pouvez quand que quel qui sa sans se ses si son sont sur ta tout tous toujours tres tu un une vos votre vous
al algo como con cuando da de del desde donde dos e el ella ellos em en entre era es esa ese esta estan este esto
gracias ha hace hay hola isso la las lo los mas me mi mis muito muy na nao ni no nos nossa nuestro o obrigado os
para pero pode por porque que quem quiero se sem ser si siempre sim sin sobre son su sua sus tambem tambien te tem
tengo todo todos tu um uma un una unos usted voce y ya yo
anche buongiorno che chi ci con cosa dei del della delle di dove gli grazie ha ho il io le lei mi mio ma nel non noi
ogni per piu quando quello questa questo se sempre sono sta su sul tutti vi voi aan als bij dag dan dat de deze die
dit door een en er geen graag heb hebben heeft het hoe hij ik in is je jij kan maar meer met mijn naar niet nog of
ook onze op te uit van voor wat we wel wij worden zijn
а без бы был была были было быть в вам вас вы где да для до его ее если есть еще же за здравствуйте и из или им их
к как ко когда кто ли меня мне мой мы на надо нам нас не нет но ну о об он она они от по пожалуйста при с свой
себя со спасибо так также там то тоже только ты у уже что чтобы это этот я
"""
_COMMON_WORD_SET: Final = frozenset(map(fold_words, _COMMON_WORDS.split()))


def extract_content_words(text: str) -> list[ContentWord]:
    """Return the distinctive words of a text in order; a word spelled out in single letters counts as one word."""
    known = fold_for_words(text)
    words: list[ContentWord] = []
    for key, first, last in _read_words(known.text):
        start, end = known.span(first, last)
        words += _split_word(key, start, end)
    return words


def extract_letters(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return only letters and digits, whatever is between them, and their positions in the raw text."""
    known = fold_for_words(text)
    places = [place for place, character in enumerate(known.text) if character.isalnum()]
    return "".join([known.text[place] for place in places]), [(known.starts[at], known.ends[at]) for at in places]


def fold_for_words(text: str) -> FoldedText:
    """Fold the text to what a reader sees; an apostrophe does not split a word."""
    known = fold(identity_fold(text))
    if "'" not in known.text:
        return known
    places = [place for place in range(len(known.text)) if not _APOSTROPHE.match(known.text, place)]
    return known.chosen("".join(known.text[place] for place in places), places)


def _read_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield words with their positions; a run of single letters is the word that it spells."""
    single: list[tuple[str, int, int]] = []
    for found in _WORD.finditer(text):
        word = found.group(), found.start(), found.end()
        if len(word[0]) == 1 and word[0].isalpha() and not _is_unspaced(word[0]):
            single.append(word)
            continue
        yield from _join_letters(single)
        single = []
        yield word
    yield from _join_letters(single)


def _join_letters(single: list[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    if len(single) >= _MIN_SPELLED_LETTERS:
        yield "".join(letter for letter, _, _ in single), single[0][1], single[-1][2]


def _split_word(word: str, start: int, end: int) -> Iterator[ContentWord]:
    for piece in _PIECE.findall(word):
        if _is_unspaced(piece):
            yield from (ContentWord(run, start, end) for run in _character_runs(piece))
        elif piece not in _COMMON_WORD_SET and len(piece) > 1:
            yield ContentWord(_stem(piece), start, end)


def _stem(word: str) -> str:
    if word.isdecimal() or len(word) < _MIN_INFLECTED_CHARACTERS:
        return word
    return word.removesuffix("s")[:STEM_CHARACTERS]


def _character_runs(piece: str) -> Iterator[str]:
    size = next(size for characters, size in _UNSPACED if characters.match(piece))
    for at in range(max(len(piece) - size, 0) + 1):
        run = piece[at : at + size]
        # Runs of hiragana are endings and particles, not distinctive words.
        if not _KANA_ALONE.fullmatch(run):
            yield run


def _is_unspaced(piece: str) -> bool:
    return any(characters.match(piece) for characters, _ in _UNSPACED)
