"""The readers of the MovieLens files, on lines in their formats."""

import numpy as np
import pytest

from edgewise.data.columns import CategoricalColumn, NumericColumn
from edgewise.datasets import movielens


def column(side, name):
    return side.columns.column(side.columns.names.index(name))


def words(column):
    return [column.categories[code] for code in column.codes]


class TestRatings:
    @pytest.mark.parametrize("separator", [b"\t", b"::"])
    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_four_integers_a_line(self, separator, end):
        lines = (b"196 242 3 881250949", b"22 377 1 878887116")
        content = b"\n".join(lines).replace(b" ", separator) + end
        result = movielens.triples(content, separator=separator)
        assert len(result.users) == 2
        assert result.users.tolist() == [196, 22]
        assert result.items.tolist() == [242, 377]
        assert result.ratings.tolist() == [3, 1]
        assert result.times.tolist() == [881250949, 878887116]

    @pytest.mark.parametrize(
        "content", [b"1\t2\t3\n", b"1\t2\t3\t4\t5\n", b"1\t2\tx\t4\n", b"1\t2\t3.5\t4\n", b""]
    )
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_anything_else_is_refused(self, content):
        with pytest.raises(ValueError, match=r"4 integers each|could not be read"):
            movielens.triples(content)


class TestUsers:
    def test_of_ml_100k(self):
        users = movielens.users_100k(b"1|24|M|technician|85711\n2|53|F|other|94043\n")
        assert users.ids.tolist() == [1, 2]
        assert users.columns.names == ["age", "gender", "occupation"]
        assert isinstance(column(users, "age"), NumericColumn)
        assert column(users, "age").values.tolist() == [24, 53]
        assert words(column(users, "gender")) == ["M", "F"]
        assert words(column(users, "occupation")) == ["technician", "other"]

    def test_of_ml_1m(self):
        users = movielens.users_1m(b"1::F::1::10::48067\n2::M::56::16::70072\n3::M::25::0::55117\n")
        assert column(users, "age").values.tolist() == [1, 56, 25]
        assert words(column(users, "gender")) == ["F", "M", "M"]
        # The names that the README of ml-1m gives to the codes.
        assert words(column(users, "occupation")) == ["K-12 student", "self-employed", "other"]

    def test_a_line_of_other_fields_is_refused(self):
        with pytest.raises(ValueError, match="line 2 must have 5 fields, got 4"):
            movielens.users_100k(b"1|24|M|technician|85711\n2|53|F|other\n")


class TestMovies:
    def test_of_ml_100k(self):
        lines = [
            "1|Toy Story (1995)|01-Jan-1995||http://x|" + "0|0|0|1|1|1" + 13 * "|0",
            "267|unknown||||" + "1" + 18 * "|0",
            "543|Mis\xe9rables, Les (1995) |01-Jan-1996||http://x|" + "0" + 18 * "|0",
        ]
        movies = movielens.movies_100k("\n".join(lines).encode("latin-1") + b"\n")
        assert movies.ids.tolist() == [1, 267, 543]
        assert movies.titles == ["Toy Story (1995)", "unknown", "Misérables, Les (1995)"]
        assert movies.columns.names == ["year", "unknown", *movielens.GENRES]
        # The year is that of the title: dates in the file may be those of a later release.
        years = column(movies, "year").values
        assert np.array_equal(years, [1995, np.nan, 1995], equal_nan=True)
        flags = {name: column(movies, name).values.tolist() for name in movies.columns.names[1:]}
        assert {name for name, values in flags.items() if values[0]} == {
            "Animation",
            "Children's",
            "Comedy",
        }
        assert flags["unknown"] == [0, 1, 0]

    def test_of_ml_1m(self):
        content = (
            "1::Toy Story (1995)::Animation|Children's|Comedy\n"
            "73::Mis\xe9rables, Les (1995)::Drama|Musical\n"
            "2019::Seven Samurai (The Magnificent Seven) (Shichinin no samurai) (1954)::Action\n"
        ).encode("latin-1")
        movies = movielens.movies_1m(content)
        assert movies.titles[1] == "Misérables, Les (1995)"
        assert movies.columns.names == ["year", *movielens.GENRES]
        assert column(movies, "year").values.tolist() == [1995, 1995, 1954]
        assert column(movies, "Comedy").values.tolist() == [1, 0, 0]
        assert column(movies, "Musical").values.tolist() == [0, 1, 0]
        assert sum(column(movies, name).values for name in movielens.GENRES).tolist() == [3, 2, 1]

    def test_an_odd_character_of_latin_1_does_not_end_a_line(self):
        movies = movielens.movies_1m(
            "1::A\x85B (1990)::Drama\n2::C (1991)::War\n".encode("latin-1")
        )
        assert movies.titles == ["A\x85B (1990)", "C (1991)"]

    def test_an_unknown_genre_is_refused(self):
        with pytest.raises(ValueError, match="not in tuple"):
            movielens.movies_1m(b"1::Toy Story (1995)::Cartoon\n")


def test_categorical_columns_have_sorted_categories():
    users = movielens.users_100k(b"1|24|M|writer|1\n2|53|F|artist|2\n3|30|F|writer|3\n")
    occupation = column(users, "occupation")
    assert isinstance(occupation, CategoricalColumn)
    assert occupation.categories == ("artist", "writer")
    assert occupation.codes.dtype == np.uint32
    assert occupation.codes.tolist() == [1, 0, 1]
