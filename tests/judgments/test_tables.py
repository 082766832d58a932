"""Ratings as tables: what goes out comes back, and a bad row is named and nothing is read."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError
from mauve_core.runs.rating_tables import ratings_from_csv, ratings_from_file, ratings_from_table, ratings_to_csv
from mauve_core.runs.ratings import OPTIONS, Rating, text_digest, with_digests
from mauve_core.texts import limits
from tests.judgments.made_up import make_corpora, make_rating

HEADER = "rater,prompt_id,left,right,question,option"

names = st.text(min_size=1, max_size=8).map(str.strip).filter(lambda text: text and "\x00" not in text)
any_ratings = st.builds(
    Rating,
    rater=names,
    prompt_id=names,
    left=names.map(lambda name: name + "A"),
    right=names.map(lambda name: name + "B"),
    question=st.sampled_from(list(QUESTIONS)),
    option=st.sampled_from(OPTIONS),
    created=st.sampled_from(["", "2024-05-06T07:08:09.123+00:00"]),
    seconds=st.none() | st.floats(0, 1e6),
    left_digest=st.sampled_from(["", "0123456789abcdef"]),
    right_digest=st.sampled_from(["", text_digest("x")]),
)


def table(*rows: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


class TestExport:
    @given(st.lists(any_ratings, max_size=5))
    def test_what_goes_out_comes_back(self, ratings):
        assert ratings_from_csv(ratings_to_csv(ratings)) == (tuple(ratings), ())

    @pytest.mark.parametrize("rater", ["=1+1", "+1", "-1", "@x", "'=1", "''=1", "\t=1", "'plain", "ann"])
    def test_no_cell_begins_like_a_formula(self, rater):
        rating = make_rating(rater)
        data = ratings_to_csv([rating])
        cells = [cell for row in csv.reader(io.StringIO(data.decode(), newline="")) for cell in row]
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
        assert ratings_from_csv(data)[0] == (replace(rating, rater=rater.strip()),)


class TestImport:
    def test_blanks_around_a_name_make_no_other_source(self):
        (first, second), _ = ratings_from_csv(
            table("ann,p1,human,beam,sensible,tie", " ann ,p1 ,human ,\tbeam, sensible,tie")
        )
        assert first == second

    def test_names_of_the_run_with_blanks_around_them_are_found(self):
        corpora = {f"{name} ": corpus for name, corpus in make_corpora().items()}
        corpora["human "] = replace(corpora["human "], ids=tuple(f" {entry}" for entry in corpora["human "].ids))
        corpora["beam "] = replace(corpora["beam "], ids=tuple(f" {entry}" for entry in corpora["beam "].ids))
        del corpora["nucleus "]
        read, _ = ratings_from_csv(table("ann,id3,human,beam,sensible,tie"))
        (rating,) = with_digests(read, corpora)
        assert (rating.left, rating.right, rating.prompt_id) == ("human ", "beam ", " id3")
        assert rating.left_digest == text_digest(corpora["human "].texts[3])

    def test_limits_are_those_of_files_of_texts(self, monkeypatch: pytest.MonkeyPatch):
        row = "ann,p1,human,beam,sensible,tie"
        monkeypatch.setenv(limits.ROWS_VARIABLE, "2")
        with pytest.raises(InputError, match="too many rows"):
            ratings_from_csv(table(*[row] * 3))
        monkeypatch.delenv(limits.ROWS_VARIABLE)
        monkeypatch.setenv(limits.CELLS_VARIABLE, "20")
        with pytest.raises(InputError, match=r"too many rows. Allowed: at most 2\."):
            ratings_from_csv(table(*[row] * 3))
        monkeypatch.delenv(limits.CELLS_VARIABLE)
        monkeypatch.setenv(limits.UNPACKED_VARIABLE, "1")
        with pytest.raises(InputError, match="more than 1,048,576 bytes"):
            ratings_from_csv(table(*[row] * 50_000))
        monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "10")
        with pytest.raises(InputError, match="too long"):
            ratings_from_csv(table("," * 200))

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
    def test_a_file_of_ratings_is_a_regular_file(self, tmp_path: Path, make: Callable[[Path], None]):
        make(tmp_path / "ratings.csv")
        with pytest.raises(InputError, match=r"ratings\.csv is a .* Allowed: a regular file"):
            ratings_from_file(tmp_path / "ratings.csv")
        with pytest.raises(InputError, match="/dev/zero is a device"):
            ratings_from_file(Path("/dev/zero"))

    def test_a_file_is_not_read_beyond_its_limit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "ratings.csv"
        with path.open("wb") as stream:
            stream.truncate(1 << 40)  # a sparse file
        with pytest.raises(InputError, match="holds or unpacks to more than"):
            ratings_from_file(path)

    def test_columns_in_any_order_and_others_passed_over(self):
        data = table("tie,sensible,beam,human,p1,ann,yes", header="option,question,right,left,prompt_id,rater,paid")
        (rating,), notes = ratings_from_csv(data)
        assert (rating.left, rating.right, rating.option, rating.seconds) == ("human", "beam", "tie", None)
        assert notes == ("Columns that are not part of a rating were skipped: paid.",)

    def test_a_byte_order_mark_and_windows_line_ends(self):
        data = b"\xef\xbb\xbf" + table("ann,p1,human,beam,sensible,Definitely A").replace(b"\n", b"\r\n")
        assert ratings_from_csv(data)[0][0].option == "definitely A"

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            ("ann,p1,human,beam,sensible,best", ["column option", "slightly A", "best"]),
            ("ann,p1,human,beam,tasty,tie", ["column question", "human-like", "tasty"]),
            (",p1,human,beam,sensible,tie", ["column rater is empty"]),
            ("ann,p1,human,human,sensible,tie", ["left and right are equal"]),
        ],
    )
    def test_a_bad_row_is_named_and_nothing_is_read(self, row, said):
        with pytest.raises(InputError, match="nothing was read") as caught:
            ratings_from_csv(table("ann,p0,human,beam,sensible,tie", row), "their.csv")
        assert all(part in str(caught.value) for part in ["their.csv", "line 3", *said])

    @pytest.mark.parametrize(
        ("column", "value"),
        [("seconds", "fast"), ("seconds", "-1"), ("seconds", "nan"), ("created", "yesterday"), ("left_digest", "xyz")],
    )
    def test_a_bad_value_of_a_column_that_may_be_empty_is_named(self, column, value):
        data = table(f"ann,p1,human,beam,sensible,tie,{value}", header=f"{HEADER},{column}")
        with pytest.raises(InputError, match="nothing was read") as caught:
            ratings_from_csv(data)
        assert column.split("_")[0] in str(caught.value)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"", "lacks rater"),
            (b"text\nhello\n", "lacks rater"),
            (b"\xff\xfe", "Line 1 of The file is not UTF-8: byte 1"),
            (b"\xef\xbb\xbfrater\n" + b"a\n" * 50_000 + b"\xe4", "Line 50002 of The file is not UTF-8: byte 1"),
            (table("ann,p1"), "Line 2 of The file has 2 cells"),
            (table('ann,"p1,human'), "not valid CSV"),
            (table("a,a", header="rater,rater"), "repeats a column name"),
        ],
    )
    def test_what_is_no_table_of_ratings(self, data, said):
        with pytest.raises(InputError, match=said):
            ratings_from_csv(data)


class TestAnyTable:
    def test_left_right_winner(self, tmp_path: Path):
        path = tmp_path / "votes.csv"
        path.write_text("left,right,winner\na,b,left\na,b,left\nb,a,Tie\nb,a,right\n")
        ratings, notes = ratings_from_table(path)
        assert [rating.option for rating in ratings] == ["definitely A", "definitely A", "tie", "definitely B"]
        # Rows that tell neither rater nor prompt are judgments of their own, equal or not.
        assert len({rating.key for rating in ratings}) == 4
        assert notes == ()

    def test_blanks_around_a_name_make_no_other_source(self, tmp_path: Path):
        path = tmp_path / "votes.csv"
        path.write_text("left,right,winner\nA ,B,right\nA,B,left\n")
        ratings, _ = ratings_from_table(path)
        assert {rating.left for rating in ratings} == {"A"}

    def test_other_formats_and_fields(self, tmp_path: Path):
        path = tmp_path / "votes.jsonl"
        row = {"left": "a", "right": "b", "option": "slightly B", "question": "taste", "rater": 7, "prompt_id": 3}
        path.write_text(f"{json.dumps({**row, 'seconds': 4})}\n{json.dumps(row)}\n{json.dumps(row)}\n")
        ratings, notes = ratings_from_table(path)
        assert len(ratings) == 2
        assert (ratings[0].question, ratings[0].rater, ratings[0].prompt_id, ratings[0].seconds) == (
            "taste",
            "7",
            "3",
            4,
        )
        assert notes == ("1 row exactly like an earlier one: such rows count once.",)

    def test_an_exported_file_is_such_a_table(self, tmp_path: Path):
        path = tmp_path / "ratings.csv"
        ratings = (make_rating(), make_rating("=ben", seconds=None, option="tie"))
        path.write_bytes(ratings_to_csv(ratings))
        assert ratings_from_table(path) == (ratings, ())

    @pytest.mark.parametrize("content", ["left,winner\na,left\n", "left,right\na,b\n", "left,right,winner\na,b,a\n"])
    def test_what_is_none(self, tmp_path: Path, content: str):
        path = tmp_path / "votes.csv"
        path.write_text(content)
        with pytest.raises(InputError, match=r"not ratings|not a table of pairwise"):
            ratings_from_table(path)


class TestDigests:
    def test_missing_ones_come_from_the_texts_with_that_id(self):
        corpora = make_corpora()
        given = make_rating(prompt_id="id3", left_digest="", right_digest="")
        (filled,) = with_digests([given], corpora)
        assert filled.left_digest == text_digest(corpora["human"].texts[3])
        assert filled.right_digest == text_digest(corpora["beam"].texts[3])

    def test_given_ones_stay(self):
        assert with_digests([make_rating()], make_corpora()) == (make_rating(),)

    @pytest.mark.parametrize("changes", [{"prompt_id": "id99"}, {"left": "nobody"}])
    def test_texts_that_there_are_not(self, changes):
        rating = make_rating(**{"prompt_id": "id1", "left_digest": "", "right_digest": "", **changes})
        with pytest.raises(InputError, match="neither the digest"):
            with_digests([rating], make_corpora())
