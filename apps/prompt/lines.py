"""A text by its lines, as people see them and as they are told apart."""


def lines_of(text: str) -> list[str]:
    """The lines, whatever a browser or a system ends them with."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def bare(line: str) -> str:
    """A line by what it says."""
    return line.strip(" \t")


def known(text: str) -> frozenset[str]:
    """What a text says, line by line."""
    return frozenset(filter(None, map(bare, lines_of(text))))
