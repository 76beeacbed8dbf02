"""Slurm's notations of time, memory and generic resources."""

import pytest

from siflab.slurm.gres import Gres, gpu_count, parse_gres
from siflab.slurm.memory import format_memory, parse_memory
from siflab.slurm.time import format_time, parse_limit, parse_time, parse_timestamp


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("1:30", 90),
        ("2:00:00", 7200),
        ("1-0", 86400),
        ("1-12:30", 131400),
        ("1-00:00:01", 86401),
        (" 0:05:00 ", 300),
    ],
)
def test_a_time_is_read_as_sbatch_reads_it(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-5", "1:2:3:4", "1-", "2h", "1.5", "٣", "9" * 30, "1\n2"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="time"):
        parse_time(text)


@pytest.mark.parametrize("seconds", [60, 3600, 7261, 86400, 90061, 365 * 86400])
def test_a_time_survives_the_way_to_slurm_and_back(seconds):
    assert parse_time(format_time(seconds)) == seconds


@pytest.mark.parametrize("text", ["UNLIMITED", "N/A", "", "NOT_SET", "INVALID", "infinite"])
def test_no_limit(text):
    assert parse_limit(text) is None


@pytest.mark.parametrize("text", ["Unknown", "N/A", "None", "", "2026-13-01T00:00:00"])
def test_no_moment(text):
    assert parse_timestamp(text) is None


def test_a_moment_has_a_zone():
    moment = parse_timestamp("2026-11-30T22:58:01")
    assert moment is not None
    assert moment.utcoffset() is not None
    assert (moment.hour, moment.minute) == (22, 58)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("16G", 16384), ("1500M", 1500), ("1500", 1500), ("1.5T", 1572864), ("16GiB", 16384), ("1K", 1), ("2gb", 2048)],
)
def test_memory_is_read(text, mib):
    assert parse_memory(text) == mib


@pytest.mark.parametrize("text", ["", "G", "-1G", "16X", "1e3", "16 G B", "٣G", "1,5G"])
def test_what_is_no_memory_is_refused(text):
    with pytest.raises(ValueError, match="memory"):
        parse_memory(text)


@pytest.mark.parametrize(("mib", "text"), [(16384, "16G"), (1500, "1500M"), (1048576, "1T"), (0, "0M")])
def test_memory_is_written_in_the_shortest_exact_form(mib, text):
    assert format_memory(mib) == text


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("gpu:a100:4", [Gres("gpu", "a100", 4)]),
        ("gpu:a100:4(S:0-1)", [Gres("gpu", "a100", 4)]),
        ("gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:2)", [Gres("gpu", "a100", 2), Gres("gpu", "v100", 1)]),
        ("gres:gpu:2", [Gres("gpu", "", 2)]),
        ("gres/gpu:a100=2", [Gres("gpu", "a100", 2)]),
        ("gpu:1g.10gb:7", [Gres("gpu", "1g.10gb", 7)]),
        ("gpu", [Gres("gpu", "", 1)]),
        ("gpu:0", [Gres("gpu", "", 0)]),
        ("shard:a100:16,gpu:a100:4", [Gres("shard", "a100", 16), Gres("gpu", "a100", 4)]),
        ("(null)", []),
        ("N/A", []),
        ("", []),
    ],
)
def test_generic_resources(text, records):
    assert parse_gres(text) == records


def test_gpus_of_all_types_are_counted():
    assert gpu_count("gpu:a100:4,shard:8,gpu:v100:2") == 6
