"""Tables of cells without quoting, and comments before and in their header."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import limits, read_corpus, read_table
from mauve_core.texts.text_files import TextFile


def read(folder: Path, content: str, name: str = "a.tsv", quoting: str | None = None) -> tuple[list[list[str]], str]:
    """The cells of a file, its header first, and its notes in one line."""
    (folder / name).write_text(content)
    table = read_table(folder / name, quoting)
    return [list(table.columns), *(list(row.values()) for _, row in table.rows)], " ".join(table.notes)


PLAIN = {
    "a quote that begins a cell": 'id\ttext\n1\t"Why now?" she asked\n2\tso\n',
    "a quote that never ends": 'id\ttext\n1\t"Why now\n2\tso\n',
    "a quoted line among others": 'id\ttext\n1\t"Yes."\n2\t"No" was it\n3\tso\n',
    "a quote that ends lines later": 'id\ttext\n1\t"Why now?\n2\tshe asked\n3\tand left."\n4\tso\n',
    "commas": 'id,text\n1,"Why now?" she asked\n2,so\n',
}


@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN)
def test_quote_marks_that_cannot_be_quoting_belong_to_the_texts(tmp_path: Path, content: str) -> None:
    mark = "," if "," in content.split("\n")[0] else "\t"
    expected = [line.split(mark) for line in content.splitlines()]
    cells, notes = read(tmp_path, content, "a.csv" if mark == "," else "a.tsv")
    assert cells == expected
    assert notes.startswith(f"Read without quoting, because line {3 if 'Yes' in content else 2} does not fit")


MEANT = {
    "a quoted header": '"id","text"\n"1","say "yes" now"\n',
    "doubled quotes elsewhere": 'id,text\n1,"say ""yes"""\n2,"a" b\n',
    "a column that is quoted": 'id,text\n1,"one"\n2,"two"\n3,"say "yes" now"\n',
    "a single column": 'text\n"Why" so\nfine\n',
    "lines that do not fit by themselves either": 'id,text\n1,"Why" so\n2,x,y\n',
}


@pytest.mark.parametrize("content", MEANT.values(), ids=MEANT)
def test_a_damaged_cell_is_refused_where_quoting_may_be_meant(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"not valid CSV.*--quoting none"):
        read(tmp_path, content, "a.csv")


def test_quoting_that_fits_is_quoting(tmp_path: Path) -> None:
    assert read(tmp_path, 'id\ttext\n1\t"a\nb"\n2\t"c\td"\n') == ([["id", "text"], ["1", "a\nb"], ["2", "c\td"]], "")
    with pytest.raises(InputError) as caught:  # without quote marks, there is nothing to read without quoting
        read(tmp_path, "id\ttext\n1\n")
    assert "--quoting" not in str(caught.value)


def test_a_person_says_that_there_is_no_quoting(tmp_path: Path) -> None:
    assert read(tmp_path, 'text\n"Why"\nso\n', "a.csv", "none")[0] == [["text"], ['"Why"'], ["so"]]
    assert read_corpus(tmp_path / "a.csv", quoting="none").texts == ('"Why"', "so")
    assert TextFile(str(tmp_path / "a.csv"), quoting="none").read("a").texts == ('"Why"', "so")
    with pytest.raises(InputError, match=r"Line 3 of .* has 3 cells but the header has 2"):
        read(tmp_path, 'id,text\n1,"a"\n2,b,c\n', "a.csv", "none")
    with pytest.raises(InputError, match=r"The quoting is unknown. Allowed: none. Received: 'some'"):
        read_corpus(tmp_path / "a.csv", quoting="some")


def test_a_quote_without_an_end_is_read_beyond_the_limit_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "5")
    content = 'id\ttext\n1\t"a\n' + "2\tb\n" * 40
    assert len(read(tmp_path, content)[0]) == 42
    with pytest.raises(InputError, match="too long"):
        read(tmp_path, f"{content}3\n")


@pytest.mark.parametrize(
    ("content", "columns", "note"),
    [
        ("# made by a viewer, on Monday\n# v2\nid,text\n1,x\n", ["id", "text"], "2 comments before the header were"),
        ('# it is a "viewer\nid,text\n1,x\n', ["id", "text"], "1 comment before the header was"),
        ("# export\n#,text\n1,x\n", ["#", "text"], "1 comment before"),
        ("# export\ntext\nx\n", ["text"], "1 comment before"),
        ("id,text,# made by a viewer,v2\n1,x\n", ["id", "text"], "in the header was skipped: # made by a viewer v2"),
        ("#,text\n1,x\n", ["#", "text"], ""),
        ("#text\nx\n", ["#text"], ""),
        ("id,text,#\n1,x,3\n", ["id", "text", "#"], ""),
    ],
)
def test_comments_are_no_header(tmp_path: Path, content: str, columns: list[str], note: str) -> None:
    cells, notes = read(tmp_path, content, "a.csv")
    assert cells[0] == columns
    assert len(cells) == 2
    assert note in notes if note else not notes
