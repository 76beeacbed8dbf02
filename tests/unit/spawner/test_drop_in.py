"""batchspawner's settings at work, without a Hub: the job they make and the site they stand for."""

from types import SimpleNamespace

import pytest
from traitlets.config import Config

from siflab.errors import Invalid
from siflab.slurm.execute import PosixUser
from siflab_spawner import SingularitySlurmSpawner

from .test_batchspawner_settings import commands  # noqa: F401 (a fixture)

ALICE = PosixUser("user1", 1001, 1001, (1001,), "/home/user1", "/bin/bash")


@pytest.fixture
def made(commands, monkeypatch):  # noqa: F811
    """A spawner with these settings of SlurmSpawner and of Spawner."""
    monkeypatch.setattr("siflab_spawner.batchspawner_compat.drop_in.DEFAULT_PATHS", ())
    monkeypatch.setattr(SingularitySlurmSpawner, "get_env", lambda self: dict(self.environment))

    def make(settings, common=None, **given):
        config = Config({"SlurmSpawner": settings, "Spawner": common or {}})
        user = SimpleNamespace(name="user1", groups=[], spawners={}, url="/user/user1/")
        row = SimpleNamespace(name="", state={}, server=None)
        hub = SimpleNamespace(api_url="http://hub:8081/hub/api")
        return SingularitySlurmSpawner(user=user, orm_spawner=row, config=config, hub=hub, **given)

    return make


def job(spawner):
    return spawner.drop_in.job(ALICE, {"code": "c"}, "MARK")


def test_the_command_line(made):
    spawner = made({"batch_submit_cmd": "sudo -E -u {username} sbatch --qos={qos} --nice=1", "req_qos": "fast"})
    words = ["sbatch", "--qos=fast", "--nice=1", "--parsable", "--no-requeue", "--comment=MARK"]
    assert job(spawner).argv == words, "the default script names the folder itself"
    spawner = made({"batch_script": "#!/bin/sh\n#SBATCH -p {partition}\n{cmd}\n"})
    assert job(spawner).argv[-1] == "--chdir=/home/user1"


LOGS = [
    ("", "/home/user1/slurm-%j.out"),
    ("#SBATCH --output=/logs/%u-%j.log", "/logs/user1-%j.log"),
    ("#SBATCH -o x.log -D /work", "/work/x.log"),
    ("#SBATCH --output={homedir}/%x.log", ""),
]


@pytest.mark.parametrize(("line", "pattern"), LOGS)
def test_where_the_log_is(made, line, pattern):
    assert job(made({"batch_script": f"#!/bin/sh\n{line}\n{{cmd}}\n"})).log_pattern == pattern


def test_our_lines_stand_between_the_directives_and_the_sites(made):
    spawner = made(
        {"batch_script": "#!/bin/sh\n#SBATCH -p {partition}\n{prologue}\n{cmd}\n", "req_partition": "gpu",
         "req_prologue": "module load x"},
        {"environment": {"A": "it's", "TOKEN": "t"}},
    )  # fmt: skip
    text = job(spawner).script
    order = [
        text.index(words) for words in ("#SBATCH -p gpu", "siflab_begin", "export A='it'\"'\"'s'", "module load x")
    ]
    assert order == sorted(order) and '"clients": false' in text and "TOKEN" not in text
    assert job(spawner).facts["in_job"] == ["A"]


def test_a_users_choice_comes_over_the_settings_and_is_checked_again_at_the_start(made):
    spawner = made({"req_partition": "gpu", "req_memory": "1G"})
    spawner.user_options = {"partition": "cpu", "memory": ""}
    text = job(spawner).script
    assert "--partition=cpu\n" in text and "--mem" not in text
    spawner.user_options = {"prologue": "id"}
    with pytest.raises(Invalid):
        job(spawner)


def test_what_a_hook_sets_for_one_user_counts(made):
    spawner = made({"req_partition": "gpu"})
    spawner.req_partition, spawner.req_account = "big", "theirs"
    assert "--partition=big\n#SBATCH --account=theirs\n" in job(spawner).script


def test_an_account_with_odd_characters_is_refused_where_it_would_be_in_the_script(made):
    odd = PosixUser("a b", 1001, 1001, (1001,), "/home/a b", "/bin/sh")
    with pytest.raises(Invalid, match="characters that cannot"):
        made({"req_partition": "gpu"}).drop_in.job(odd, {}, "M")
    made({"batch_script": "#!/bin/sh\n{cmd}\n"}).drop_in.job(odd, {}, "M")


def test_cancel(made):
    spawner = made({"batch_cancel_cmd": "scancel --signal=TERM {job_id}"})
    assert spawner.drop_in.cancel_argv("12", ALICE) == ["scancel", "--signal=TERM", "12"]
    assert spawner.drop_in.cancel_argv("12", None) == ["scancel", "12"]
    spawner.batch_cancel_cmd = "scancel {job_id} | cat"
    assert spawner.drop_in.cancel_argv("12", ALICE) == ["scancel", "12"]


def test_the_site_that_the_settings_stand_for(made, commands):  # noqa: F811
    spawner = made(
        {"batch_submit_cmd": f"{commands}/sbatch --parsable -M {{cluster}}", "req_cluster": "one"},
        {"start_timeout": 600},
    )
    site = spawner.site
    assert site.slurm.bin == str(commands) and site.slurm.cluster == "one"
    assert site.session.queue_limit == site.session.boot_limit == 600 and spawner.start_timeout > 10**8
    assert site.name.startswith("hub-") and spawner.options_form == ""
    other = made({"req_partition": "x"})
    other.hub.api_url = "http://other:8081/hub/api"
    assert other.site.name != site.name, "two Hubs of a cluster never share a mark"
    assert other.site.session.queue_limit is None


def test_a_profile_of_wrapspawner_with_old_settings(made, monkeypatch):
    monkeypatch.setattr(SingularitySlurmSpawner, "owner", property(lambda self: object()))
    spawner = made({}, req_partition="gpu")
    spawner.user_options = {"profile": "of-the-wrapper"}
    assert "--partition=gpu\n" in job(spawner).script
