"""Ids and folder names: plain ASCII, whatever a notebook is called."""

import re
from datetime import datetime

import pytest

from siflab.runs.naming import FOLDER, folder_name, new_id, slug, title_of

CREATED = datetime(2026, 12, 1, 3, 11, 12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train", "train"),
        ("My Training (v2).final", "my-training-v2-final"),
        ('训练 "a" $(id)', "a-id"),
        ("训练", "notebook"),
        ("", "notebook"),
        ("-rf ../..", "rf"),
        ("x" * 300, "x" * 40),
        ("a\n#SBATCH --uid=0", "a-sbatch-uid-0"),
    ],
)
def test_a_slug_is_safe(name, expected):
    assert slug(name) == expected
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", slug(name))
    assert FOLDER.fullmatch(folder_name(new_id(), name, CREATED))


def test_ids_are_never_taken_for_a_jobs():
    ids = {new_id() for _ in range(500)}
    assert len(ids) == 500
    assert all(re.fullmatch(r"[a-z][a-z0-9]{7}", run_id) for run_id in ids)


def test_a_key_gives_each_user_the_same_id_always():
    assert new_id("abcdefgh", "user1") == new_id("abcdefgh", "user1")
    assert len({new_id("abcdefgh", "user1"), new_id("abcdefgh", "user2"), new_id("abcdefgi", "user1")}) == 3
    assert re.fullmatch(r"[a-z][a-z0-9]{7}", new_id("x" * 64, "user1"))


@pytest.mark.parametrize(
    ("given", "path", "title"),
    [
        (None, "/a/训练.ipynb", "训练"),
        ("  ", "/a/b.ipynb", "b"),
        ("Run 1", "/a/b.ipynb", "Run 1"),
        (None, "/a/.ipynb", "notebook"),
    ],
)
def test_titles(given, path, title):
    assert title_of(given, path) == title
