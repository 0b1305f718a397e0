"""How a table of text is written: what separates cells, what marks decimals, whether it begins with names.

The file decides, never the locale of the machine. A guess is a value like any other: it is shown, and whoever knows
better passes another.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

DELIMITERS = ("\t", ";", ",", "|", " ")
"""What may separate cells, in the order of trust; a blank stands for any run of blanks."""
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?", "."})
"""Cells that hold no number and are no text either; compared in lower case."""
_BETWEEN_CELLS = re.compile(r"[^\S\u00a0\u2009\u202f]+")  # blanks that do not break are within a number
_NAMES = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "blanks"}
_SAMPLE = 200
_BLANKS = " \u00a0\u2009\u202f"  # space, no-break space, thin space, narrow no-break space
_GROUPED_BY_BLANKS = re.compile(rf"[+-]?\d{{1,3}}([{_BLANKS}])\d{{3}}(\1\d{{3}})*([.,]\d*)?([eE][+-]?\d+)?")
_GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d*([eE][+-]?\d+)?"),
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d*([eE][+-]?\d+)?"),
}
_WITHOUT_BLANKS = str.maketrans("", "", _BLANKS)


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Parameters
    ----------
    delimiter : str
        One of `DELIMITERS`.
    decimal : str
        "." or ",".
    header : bool
        Whether the first row holds the columns' names.
    """

    delimiter: str = ","
    decimal: str = "."
    header: bool = True

    @property
    def in_words(self) -> str:
        """As it is shown: `semicolon, decimal comma, names in the first row`."""
        decimal = "decimal comma" if self.decimal == "," else "decimal point"
        return f"{_NAMES[self.delimiter]}, {decimal}, {'names in the first row' if self.header else 'no names'}"


def number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, NaN for a missing one, None for text.

    Thousands may be grouped where that is beyond doubt: `1.234,5` with a decimal comma, `1,234.5` with a point, by one
    kind of blank with either.
    """
    text = cell.strip().replace("\u2212", "-")
    if text.lower() in MISSING:
        return math.nan
    if _GROUPED_BY_BLANKS.fullmatch(text):
        text = text.translate(_WITHOUT_BLANKS)
    if decimal == ",":
        if "." in text and not _GROUPED[","].fullmatch(text):
            return None
        text = text.replace(".", "").replace(",", ".")
    elif "," in text:
        if not _GROUPED["."].fullmatch(text):
            return None
        text = text.replace(",", "")
    if "_" in text:  # Python would read 1_000
        return None
    try:
        return float(text)
    except ValueError:
        return None


def rows(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each row that is not blank; cells may be quoted and then hold anything, line ends included.

    Raises
    ------
    csv.Error
        If a quoted cell never ends, or grows beyond all measure.
    """
    if delimiter == " ":
        lines = _squeezed(lines)
    for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        if len(row) > 1 or any(cell.strip() for cell in row):
            yield row


def _squeezed(lines: Iterable[str]) -> Iterator[str]:
    """Lines without blanks at their ends and with single blanks between cells."""
    for line in lines:
        yield " ".join(_BETWEEN_CELLS.split(line.strip())) + "\n"


def guess(text: str) -> Dialect:
    """Return how the beginning of a table seems to be written.

    Among all delimiters and decimal marks the pair under which most rows have the same number of cells, at least two,
    and most of their cells are numbers; of equals the first in `DELIMITERS`.
    """
    named = _named_delimiter(text)
    if named is not None:
        text = text.split("\n", 1)[1] if "\n" in text else ""
    lines = _first_lines(text)
    candidates = DELIMITERS if named is None else (named,)
    scored = [
        (_score(_read(lines, delimiter), decimal), -at, Dialect(delimiter, decimal))
        for at, (delimiter, decimal) in enumerate(
            (delimiter, decimal) for delimiter in candidates for decimal in ".," if delimiter != decimal
        )
    ]
    best = max(scored, key=lambda one: one[:2])[2]
    return replace(best, header=_has_names(_read(lines, best.delimiter), best.decimal))


def _named_delimiter(text: str) -> str | None:
    """The delimiter that a spreadsheet wrote into a first line `sep=;`."""
    found = re.match(r"sep=([\t;,| ])\r?(\n|$)", text, re.IGNORECASE)
    return found.group(1) if found else None


def body(text: str) -> str:
    """Return a table's text without the line in which a spreadsheet names the delimiter."""
    return text if _named_delimiter(text) is None else text.partition("\n")[2]


def _first_lines(text: str) -> list[str]:
    return [line for line, _ in zip(io.StringIO(text, newline=""), range(_SAMPLE), strict=False)]


def _read(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(rows(lines, delimiter))
    except csv.Error:
        return []


def _score(table: list[list[str]], decimal: str) -> float:
    """How much a table looks like rows of numbers: 0 to 1, a single column counts little."""
    if not table:
        return 0.0
    width, n_same = Counter(len(row) for row in table).most_common(1)[0]
    cells = [cell for row in table[1:] or table for cell in row if cell.strip().lower() not in MISSING]
    numbers = sum(number(cell, decimal) is not None for cell in cells) / len(cells) if cells else 0.0
    even = n_same / len(table)
    return even * (0.1 + 0.9 * numbers) * (1.0 if width > 1 else 0.3)


def _has_names(table: list[list[str]], decimal: str) -> bool:
    """Whether the first row is text where a row of values is not: no number in it, and numbers below."""
    if not table:
        return False
    first = [cell for cell in table[0] if cell.strip().lower() not in MISSING]
    if not first or any(number(cell, decimal) is not None for cell in first):
        return False
    below = [cell for row in table[1:] for cell in row]
    return not below or any(number(cell, decimal) is not None for cell in below)
