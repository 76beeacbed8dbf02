"""What of sbatch's command line is option, value and script."""

import pytest

from siflab.node.sbatch_line import directives, exported, parse, reads_input

SCRIPTS = [
    # words, place of the script
    (["train.sh"], 0),
    (["-p", "gpu", "train.sh", "--epochs", "3"], 2),
    (["--partition=gpu", "train.sh"], 1),
    (["--partition", "gpu", "train.sh"], 2),
    (["-N2", "train.sh"], 1),
    (["-N", "2", "train.sh"], 2),
    (["-Hvv", "train.sh"], 1),
    (["-Wo", "out.log", "train.sh"], 2),
    (["-Wo%j.log", "train.sh"], 1),
    (["--parsable", "--hold", "train.sh"], 2),
    (["--exclusive", "train.sh"], 1),
    (["--exclusive=user", "train.sh"], 1),
    (["--nice", "train.sh"], 1),
    (["-k", "train.sh"], 1),
    (["--pars", "train.sh"], 1),
    (["--an-option-of-2030", "value", "train.sh"], 2),
    (["--", "-strange-name.sh"], 1),
    (["-N1", ":", "-N2", "train.sh"], 3),
    (["--wrap", "hostname"], None),
    (["--wrap=hostname"], None),
    (["-p", "gpu"], None),
    (["-p"], None),
    (["--"], None),
    ([], None),
]


@pytest.mark.parametrize(("words", "place"), SCRIPTS)
def test_where_the_script_is_named(words, place):
    assert parse(words)[1] == place


def options(words):
    return [(option.name, option.value) for option in parse(words)[0]]


def test_options_with_short_long_and_abbreviated_names():
    words = ["-o", "a", "-eb", "--input=c", "--chd", "d", "--out=e", "-D", "f", "x.sh", "-o", "not ours"]
    assert options(words) == [
        ("output", "a"), ("error", "b"), ("input", "c"), ("chdir", "d"), ("output", "e"), ("chdir", "f"),
    ]  # fmt: skip


def test_directives_end_at_the_first_command():
    script = b"""#!/bin/bash
#SBATCH --output="my logs/%j.out" -N 2   # two nodes
# a remark

#SBATCH --error=/workspace/user1/e
##SBATCH --chdir=/off
#SBATCH --comment="open
echo hello
#SBATCH --input=/too/late
"""
    found = [(option.name, option.value) for option in directives(script)]
    assert found == [("output", "my logs/%j.out"), ("N", "2"), ("error", "/workspace/user1/e")]


def test_names_that_export_gives_without_a_value():
    found = parse(["--export=ALL,DATA,LR=0.1,SEED", "x.sh"])[0]
    assert exported(found) == ["DATA", "SEED"]
    assert exported(parse(["--export=NONE"])[0]) == []


@pytest.mark.parametrize(
    ("words", "reads"),
    [
        ([], True),
        (["-p", "gpu"], True),
        (["x.sh"], False),
        (["--wrap=hostname"], False),
        (["--help"], False),
        (["-V"], False),
        (["--version"], False),
    ],
)
def test_whether_the_script_comes_on_standard_input(words, reads):
    assert reads_input(words) is reads
