"""Tables as people have them: every dialect, missing cells, text, and what is no table at all."""

from __future__ import annotations

import csv
import io
import locale
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kav.errors import KavError
from kav.regression.dialect import DELIMITERS, Dialect, guess, number
from kav.regression.samples import Samples
from kav.regression.tables import data_table, read_file, read_text, samples_from, skipped_text
from kav.views.tables import write_table


def pairs(table, x=0, y=1):
    samples = samples_from(table, x, y)
    return list(zip(samples.x.tolist(), samples.y.tolist(), strict=True))


def test_missing_cells_set_their_rows_aside_by_number():
    """Case 33: missing cells broke a sort elsewhere; here rows 2, 3 and 5 have no two finite numbers."""
    samples = samples_from(read_text("x,y\n1,1\n2,\n,3\n4,8\ninf,5"), 0, 1)
    assert samples.x.tolist() == [1, 4]
    assert samples.y.tolist() == [1, 8]
    assert samples.title.endswith("2 samples, 3 of 5 rows skipped")
    assert skipped_text(samples) == "3 of 5 rows skipped: rows 2, 3 and 5"


def test_columns_keep_their_names():
    table = read_text("Tag;Temperatur °C;Verbrauch (kWh)\n1;1,5;30,2\n2;2,5;28,9")
    assert samples_from(table, 1, 2).axes == ("Temperatur °C", "Verbrauch (kWh)")
    assert samples_from(table, None, 2).axes == ("row number", "Verbrauch (kWh)")


@pytest.mark.parametrize("missing", ["", " ", "NA", "n/a", "NaN", "null", "-", "?", "inf", "-inf", '""'])
def test_every_way_to_write_a_missing_value_is_one(missing):
    samples = samples_from(read_text(f"x;y\n1;2\n{missing};3\n4;{missing}\n5;6"), 0, 1)
    assert samples.x.tolist() == [1, 5]
    assert skipped_text(samples) == "2 of 4 rows skipped: rows 2 and 3"


def test_a_long_list_of_skipped_rows_is_counted():
    samples = Samples([math.nan] * 1000 + [1.0], [0.0] * 1001)
    assert skipped_text(samples) == "1,000 of 1,001 rows skipped: rows 1, 2, 3, 4, 5, 6 and 994 more"
    assert skipped_text(Samples([1.0, math.nan], [1.0, 1.0])) == "1 of 2 rows skipped: row 2"
    assert skipped_text(Samples([1.0], [1.0])) == ""


@pytest.mark.parametrize("name", ["de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pl_PL.UTF-8", "C.UTF-8"])
def test_the_file_decides_what_a_decimal_is_not_the_locale(name):
    """Case 36: under a comma locale dotted decimals were cut to integers."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pytest.skip(f"no {name} here")
    try:
        assert pairs(read_text("t,v\n0,3.75\n1,4.25")) == [(0, 3.75), (1, 4.25)]
        assert pairs(read_text("t;v\n0;3,75\n1;4,25")) == [(0, 3.75), (1, 4.25)]
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_semicolons_with_decimal_commas_are_guessed_shown_and_changeable():
    """Case 37: "0,435" became 435."""
    text = "x;y\n0,5;1,25\n1,5;2,75"
    table = read_text(text)
    assert pairs(table) == [(0.5, 1.25), (1.5, 2.75)]
    assert table.guessed.in_words == "semicolon, decimal comma, names in the first row"
    other = read_text(text, Dialect(";", ".", header=True))
    assert [column.kind for column in other.columns] == ["text", "text"]
    assert other.guessed == table.guessed
    assert other.dialect == Dialect(";", ".", header=True)


def test_a_text_column_says_why_it_is_no_axis():
    """Case 39: a text column as an axis crashed."""
    table = read_text("grp,y\na,1\nb,2\na,3")
    group, y = table.columns
    assert (group.kind, group.reason) == ("text", "it holds text: 'a' in row 1")
    assert (y.kind, y.reason) == ("number", "")
    assert table.suggested() == (None, 1)
    with pytest.raises(KavError, match="column 'grp' must hold numbers: it holds text: 'a' in row 1"):
        samples_from(table, 0, 1)
    assert pairs(table, None, 1) == [(1, 1), (2, 2), (3, 3)]


def test_all_columns_may_be_text_or_empty():
    table = read_text("a,b\nu,\nv,")
    assert [column.kind for column in table.columns] == ["text", "empty"]
    with pytest.raises(KavError, match="a column of numbers, got none"):
        table.suggested()


def test_a_word_among_numbers_sets_its_row_aside_and_is_reported():
    table = read_text("x,y\n1,2\n2,broken\n3,4")
    assert (table.columns[1].kind, table.columns[1].n_text) == ("number", 1)
    assert table.columns[1].example == "'broken' in row 2"
    assert skipped_text(samples_from(table, 0, 1)) == "1 of 3 rows skipped: row 2"


finite = st.floats(-1e12, 1e12).map(lambda value: float(f"{value:.6g}"))


@given(
    st.lists(st.tuples(finite, finite, finite), min_size=2, max_size=12),
    st.sampled_from(DELIMITERS),
    st.sampled_from(".,"),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_numbers_come_back_in_every_dialect(values, delimiter, decimal, header, line_end, quoted):
    if delimiter == decimal:
        decimal = "."
    buffer = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    if header:
        writer.writerow(["time", "first value" if delimiter != " " or quoted else "first", "second"])
    writer.writerows([[f"{value:.6g}".replace(".", decimal) for value in row] for row in values])
    table = read_text("\ufeff" + buffer.getvalue(), Dialect(delimiter, decimal, header))
    assert len(table.columns) == 3
    for at, column in enumerate(table.columns):
        assert column.kind == "number"
        np.testing.assert_array_equal(column.values, [row[at] for row in values])


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("header", [True, False])
def test_dialect_is_guessed(delimiter, decimal, header):
    if delimiter == decimal:
        pytest.skip("a comma cannot be both")
    lines = [["0.5", "1.25", "-3"], ["1.5", "2.75e-3", "4"], ["2.5", "", "7.25"]]
    text = "\n".join(delimiter.join(cells).replace(".", decimal) for cells in lines[: 2 if delimiter == " " else 3])
    text = (delimiter.join(["x", "y", "z"]) + "\n" if header else "") + text
    assert guess(text) == Dialect(delimiter, decimal, header)


def test_pasted_cells_of_a_spreadsheet_and_a_single_column():
    assert pairs(read_text("1\t2\n3\t4\n")) == [(1, 2), (3, 4)]
    assert pairs(read_text("x   y\n 0,5   1,25\n1,5 2,75")) == [(0.5, 1.25), (1.5, 2.75)]
    table = read_text("3.5\n4.5\n\n5.5\n")
    assert table.suggested() == (None, 0)
    assert pairs(table, None, 0) == [(1, 3.5), (2, 4.5), (3, 5.5)]
    assert pairs(read_text("sep=;\nx;y\n1;2")) == [(1, 2)]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f", "\u2009"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_thousands_grouped_by_blanks_are_numbers(delimiter, blank):
    # "1 000,5" was text: the column was no axis, and the row number took its place as x.
    cells = [["x", "y"], ["999,5", "1"], [f"1{blank}000,5", "2"], [f"12{blank}345{blank}678,25", f"-3{blank}000"]]
    table = read_text("\n".join(delimiter.join(row) for row in cells))
    assert table.dialect == Dialect(delimiter, ",", True)
    assert table.suggested() == (0, 1)
    assert pairs(table) == [(999.5, 1), (1000.5, 2), (12345678.25, -3000)]


def test_blanks_that_do_not_break_are_within_a_number_where_blanks_separate_cells():
    table = read_text("x  y\n1\u00a0000.5  2\n2\u202f000 3\n 3\u2009000 4\n")
    assert table.dialect.delimiter == " "
    assert pairs(table) == [(1000.5, 2), (2000, 3), (3000, 4)]
    assert pairs(read_text("1 000 2\n1 001 3\n", Dialect(" ", ".", False)), 1, 2) == [(0, 2), (1, 3)]


def test_quoted_cells_hold_anything():
    table = read_text('name,x,y\n"a, ""b""\nc",1,2\n"d",3,4')
    assert table.first_rows[0][0] == 'a, "b"\nc'
    assert pairs(table, 1, 2) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("cell", "decimal", "expected"),
    [
        ("1.234,5", ",", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("0,435", ",", 0.435),
        ("-1.5e-3", ".", -0.0015),
        ("\u22122.5", ".", -2.5),
        ("+7", ",", 7.0),
        ("1 000,5", ",", 1000.5),
        ("-12\u00a0345\u00a0678", ",", -12345678.0),
        ("\u22121\u202f000.25", ".", -1000.25),
        ("1\u2009000e3", ".", 1e6),
    ],
)
def test_a_cell_that_is_a_number(cell, decimal, expected):
    assert number(cell, decimal) == expected


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [
        ("0,435", "."),
        ("1.5", ","),
        ("1,234", "."),
        ("1_000", "."),
        ("12 %", "."),
        ("0x10", "."),
        ("1 00", "."),
        ("1234 567", "."),
        ("1 000\u00a0000", "."),
        ("1 2", "."),
        ("1 000,5", "."),
        ("1 000.5", ","),
    ],
)
def test_a_cell_that_is_in_doubt_is_text_not_another_number(cell, decimal):
    assert number(cell, decimal) is None


def test_uneven_rows_are_read_and_reported():
    table = read_text("x,y\n1,2\n3\n4,5,6\n7,8")
    assert table.notes == ("rows 2, 3 and 4 have another number of cells",)
    assert [column.name for column in table.columns] == ["x", "y", "column 3"]
    assert pairs(table) == [(1, 2), (4, 5), (7, 8)]


def test_names_are_never_twice_the_same():
    assert [column.name for column in read_text("a,a,,a\n1,2,3,4").columns] == ["a", "a (2)", "column 3", "a (3)"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_files_of_every_encoding_are_read(tmp_path, encoding):
    path = tmp_path / "größe.csv"
    path.write_bytes("größe;y\n1,5;2\n3;4".encode(encoding))
    table = read_file(path)
    assert table.columns[0].name == "größe"
    assert table.name == "größe.csv"
    assert pairs(table) == [(1.5, 2), (3, 4)]
    assert bool(table.notes) == (encoding in ("utf-16", "cp1252"))


def test_what_is_no_table_is_refused_in_a_sentence(tmp_path, monkeypatch):
    for text, message in (
        ("", "at least one row"),
        ("  \n \n", "at least one row"),
        ("x,y", "got only names"),
        ("1,2\n\0,3", "NUL character at position 4"),
        ("1," * 80_000, "a line of 160,000 characters"),
        (",".join(["1"] * 2000) + "\n" + ",".join(["1"] * 2000), "at most 1,000 columns"),
        ('x,y\n1,"2\n' + "3,4\n" * 60_000, "quoted cells must end"),
    ):
        with pytest.raises(KavError, match=message):
            read_text(text)
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    with pytest.raises(KavError, match="NUL character"):
        read_file(path)
    with pytest.raises(KavError, match="cannot read"):
        read_file(tmp_path / "none.csv")
    monkeypatch.setattr("kav.regression.tables.MOST_BYTES", 10)
    path.write_text("1,2\n3,4\n5,6\n")
    with pytest.raises(KavError, match="at most"):
        read_file(path)
    with pytest.raises(KavError, match="two numbers, got none among 2 rows"):
        samples_from(read_text("x,y\n1,\n,2\n"), 0, 1)
    with pytest.raises(KavError, match="column must be one of"):
        samples_from(read_text("x,y\n1,2\n"), 0, 7)


def test_exported_samples_are_read_back_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    samples = Samples(rng.normal(size=50) * 1e-7, rng.normal(size=50) * 1e9)
    path = tmp_path / "data.csv"
    write_table(data_table(samples), str(path))
    table = read_file(path)
    assert [column.name for column in table.columns] == ["x", "y"]
    back = samples_from(table, *table.suggested())
    np.testing.assert_array_equal(back.x, samples.x)
    np.testing.assert_array_equal(back.y, samples.y)


def test_a_long_import_ends_where_it_is_cancelled():
    from kav.errors import Cancelled
    from kav.task import Task

    task = Task(lambda fraction, text: task.cancel())
    with pytest.raises(Cancelled):
        read_text("x,y\n" + "1,2\n" * 50_000, task=task)


def test_an_encoding_can_be_chosen_and_a_wrong_one_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("größe;y\n1;2\n3;4".encode("cp1252"))
    assert read_file(path).encoding == "cp1252"
    assert read_file(path, encoding="cp1252").columns[0].name == "größe"
    with pytest.raises(KavError, match="encoding chosen, utf-8, got a byte that is not at position 2"):
        read_file(path, encoding="utf-8")
    with pytest.raises(KavError, match="encoding must be one of"):
        read_file(path, encoding="ebcdic")
    path.write_text("x;y\n1;2", encoding="utf-8-sig")
    assert read_file(path).encoding == "utf-8"
