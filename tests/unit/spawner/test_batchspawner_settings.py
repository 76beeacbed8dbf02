"""batchspawner's settings: each row of docs/from-batchspawner.md that is refused or decided on the Hub."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from traitlets.config import Config

from siflab.errors import Invalid
from siflab_spawner import SingularitySlurmSpawner
from siflab_spawner.batchspawner_compat.choices import read_choices, read_patterns
from siflab_spawner.batchspawner_compat.commands import read_command, shell_syntax
from siflab_spawner.batchspawner_compat.drop_in import DropIn, has_site
from siflab_spawner.batchspawner_compat.job_lines import JobLines, server_command
from siflab_spawner.batchspawner_compat.kept_variables import kept_variables, looks_secret
from siflab_spawner.batchspawner_compat.refused import SettingRefused
from siflab_spawner.batchspawner_compat.script import DEFAULT_SCRIPT, render, with_lines
from siflab_spawner.batchspawner_compat.start_up import check

KNOWN = ("username", "partition", "options", "cluster", "job_id", "gres")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder with programs of Slurm's names, alone in PATH."""
    for name in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "my-sbatch"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("siflab.slurm.execute._PATH", str(tmp_path))
    return tmp_path


SYNTAX = [
    ("sbatch --parsable", None),
    ("squeue -h -j {job_id} -o '%T %B'", None),
    ("squeue -o '%T | $x `y`'", None),
    ('squeue -o "%T | %B"', None),
    (r"squeue -o a\|b", None),
    ("sbatch | tail -1", "|"),
    ("module load slurm; sbatch", ";"),
    ("module load slurm && sbatch", "&&"),
    ("sbatch &", "&"),
    ("sbatch $(opts)", "$("),
    ("sbatch `opts`", "`"),
    ('sbatch "--comment=$USER"', "$"),
    ("sbatch 2>/dev/null", ">"),
    ("sbatch < x", "<"),
    ("sbatch --comment={{partition}}", "{{"),
    ("sbatch {% if partition %}-p x{% endif %}", "{%"),
    ("(sbatch)", "("),
    ("sbatch # as root", "#"),
    ("sbatch ~/x", "~"),
    ("sbatch *", "*"),
    ("sbatch\nscancel", "\n"),
]


@pytest.mark.parametrize(("text", "found"), SYNTAX)
def test_what_only_a_shell_understands(text, found):
    assert shell_syntax(text) == found


COMMANDS = [
    ("sbatch --parsable", {}, ["sbatch", "--parsable"]),
    ("sudo -E -u {username} sbatch --parsable", {}, ["sbatch", "--parsable"]),
    ("/usr/bin/sudo -n --user={username} -- /opt/sbatch", {}, ["/opt/sbatch"]),
    ("runuser -u {username} -- sbatch", {}, ["sbatch"]),
    ("sbatch -p {partition} --gres={gres} --comment='a b'", {"partition": "gpu"}, ["sbatch", "-p", "gpu", "--comment=a b"]),
    ("sbatch -p {partition} x", {}, ["sbatch", "x"]),
    ("sbatch {options}", {"options": "--nice=5 --exclude='gpu 01'"}, ["sbatch", "--nice=5", "--exclude=gpu 01"]),
    ("sbatch --partition={partition}", {"partition": "a b; rm -r /"}, ["sbatch", "--partition=a b; rm -r /"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "argv"), COMMANDS)
def test_a_command_is_split_as_a_shell_would(text, values, argv):
    command = read_command("c.SlurmSpawner.batch_submit_cmd", text, KNOWN)
    assert command.filled({**dict.fromkeys(KNOWN, ""), "username": "user1", **values}) == argv


REFUSED = [
    ({"batch_submit_cmd": "sbatch | tail -1"}, "batch_submit_cmd: '|' is shell syntax"),
    ({"batch_cancel_cmd": "scancel {job_id} || true"}, "batch_cancel_cmd: '||' is shell syntax"),
    ({"batch_query_cmd": "squeue -j {job_id} | cat"}, "batch_query_cmd: '|' is shell syntax"),
    ({"batch_submit_cmd": "sbatch -p {{partition}}"}, "write {name} for {{ name }}"),
    ({"batch_submit_cmd": "sbatch '"}, "No closing quotation"),
    ({"batch_submit_cmd": ""}, "no command is left"),
    ({"batch_submit_cmd": "sbatch --x={nothing}"}, "no value for {nothing}"),
    ({"batch_submit_cmd": "sbatch --x={username.__class__}"}, "no value for"),
    ({"batch_submit_cmd": "env SLURM_CONF=/x sbatch"}, "sets variables"),
    ({"batch_submit_cmd": "SLURM_CONF=/x sbatch"}, "sets variables"),
    ({"batch_submit_cmd": "/no/such/sbatch"}, "no program '/no/such/sbatch'"),
    ({"batch_submit_cmd": "no-sbatch"}, "no program 'no-sbatch'"),
    ({"batch_submit_cmd": "sudo -u hubuser sbatch"}, "not to 'hubuser'"),
    ({"batch_submit_cmd": "sbatch -M one", "batch_cancel_cmd": "scancel -M two {job_id}"}, "another cluster"),
    ({"batch_cancel_cmd": "scancel --me"}, "must contain {job_id}"),
    ({"exec_prefix": "sudo -E -u hubuser"}, "exec_prefix: jobs belong to the user"),
    ({"exec_prefix": "sudo -E"}, "exec_prefix: jobs belong to the user"),
    ({"exec_prefix": "sudo -E -g staff -u {username}"}, "'-g' of sudo is not known"),
    ({"exec_prefix": "su {username} -c"}, "exec_prefix: `su` runs a shell"),
    ({"exec_prefix": "ssh login"}, "exec_prefix: 'ssh' is not known"),
    ({"exec_prefix": "sudo -u {username} nice"}, "exec_prefix: 'nice' is not known"),
    ({"batch_script": "#!/bin/sh\njupyterhub-singleuser\n"}, "batch_script: must contain {cmd}"),
    ({"batch_script": "#!/bin/sh\nbatchspawner-singleuser {cmd}\n"}, "runs batchspawner-singleuser itself"),
    ({"batch_script": "#!/bin/sh\n{cmd} {image}\n"}, "uses {image}, for which there is no value"),
    ({"batch_script": "#!/bin/sh\n{cmd} }\n"}, "cannot be read as a template"),
    ({"batch_script": "#!/bin/sh\n{{cmd}} {% if %}\n"}, "cannot be read as a template"),
    ({"batch_script": "#!/bin/tcsh\n{cmd}\n"}, "must begin with #!/bin/bash"),
    ({"batch_script": "{cmd}\n"}, "must begin with #!/bin/bash"),
    ({"batchspawner_singleuser_cmd": "/site/start.sh"}, "must end with batchspawner-singleuser"),
    ({"req_partition": "x", "option_patterns": {"cmd": ""}}, "option_patterns: 'cmd' cannot be a user's"),
    ({"req_partition": "x", "option_patterns": {"prologue": ""}}, "'prologue' cannot be a user's"),
    ({"req_partition": "x", "option_patterns": {"a": "("}}, "is no regular expression"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "words"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_cannot_keep_its_meaning_is_refused_at_the_start_with_its_name(settings, words, commands, monkeypatch):
    monkeypatch.setattr("siflab_spawner.batchspawner_compat.drop_in.DEFAULT_PATHS", ())
    with pytest.raises(SettingRefused) as caught:
        check(Config({"SlurmSpawner": settings}), SingularitySlurmSpawner)
    assert words in caught.value.message.en
    assert caught.value.setting.startswith("c.S") and caught.value.message.zh.startswith(caught.value.setting)


ACCEPTED = [
    {"req_partition": "gpu"},
    {"exec_prefix": "sudo -E -u {username}"},
    {"exec_prefix": ""},
    {"batch_submit_cmd": "sbatch --parsable -M {cluster}"},
    {"batch_submit_cmd": "my-sbatch --parsable"},
    {"batch_script": "#!/bin/bash -l\n#SBATCH --mem={memory}\n{cmd}\n"},
    {"batch_script": "#!/usr/bin/env bash\n{% if memory %}#SBATCH --mem={{memory}}{% endif %}\n{{cmd}} {{whatever}}\n"},
    {"batch_script": "#!/bin/sh\n{cmd} {image}\n", "option_patterns": {"image": "[a-z]+"}},
    {"batchspawner_singleuser_cmd": "singularity exec /x.sif /opt/bin/batchspawner-singleuser"},
]


@pytest.mark.parametrize("settings", ACCEPTED, ids=lambda value: str(value)[:60])
def test_what_keeps_its_meaning_is_taken(settings, commands, monkeypatch):
    monkeypatch.setattr("siflab_spawner.batchspawner_compat.drop_in.DEFAULT_PATHS", ())
    assert check(Config({"SlurmSpawner": settings}), SingularitySlurmSpawner) is True


def test_where_a_site_yaml_rules_nothing_is_refused(commands, monkeypatch, tmp_path):
    monkeypatch.setenv("SIFLAB_SITE", str(tmp_path / "site.yaml"))
    assert check(Config({"SlurmSpawner": {"exec_prefix": "ssh login"}}), SingularitySlurmSpawner) is False
    assert has_site("") and not has_site("none")


def test_without_settings_a_site_yaml_is_what_is_missing(monkeypatch):
    monkeypatch.setattr("siflab_spawner.batchspawner_compat.drop_in.DEFAULT_PATHS", ())
    assert check(Config({"Spawner": {"default_url": "/lab"}}), SingularitySlurmSpawner) is False


# ---- the script

EMPTY_ONES = ("partition", "account", "qos", "runtime", "memory", "gres", "nprocs", "ngpus", "reservation", "options")
VALUES = dict.fromkeys((*EMPTY_ONES, "prologue", "epilogue", "srun"), "")
VALUES |= {"homedir": "/home/user1", "keepvars": "PATH", "cmd": "CMD"}


def test_batchspawners_own_script_without_what_is_empty():
    text = render(DEFAULT_SCRIPT, {**VALUES, "partition": "gpu", "options": "--nice --exclude=gpu01", "srun": "srun"})
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert directives == [
        "#SBATCH --output=/home/user1/jupyterhub_slurmspawner_%j.log",
        "#SBATCH --job-name=spawner-jupyterhub",
        "#SBATCH --chdir=/home/user1",
        "#SBATCH --export=PATH",
        "#SBATCH --get-user-env=L",
        "#SBATCH --partition=gpu",
        "#SBATCH --nice --exclude=gpu01",
    ]
    assert "srun CMD" in text and "set -" not in text


EMPTY = [
    ("#SBATCH --mem={memory}\n", ""),
    ("#SBATCH --mem={memory} --time=1\n", "#SBATCH --time=1\n"),
    ("#SBATCH -p {partition} --mem=1G\n", "#SBATCH --mem=1G\n"),
    ("#SBATCH -p {partition}\n", ""),
    ("#SBATCH --gres=gpu:{ngpus}\n", ""),
    ("#SBATCH {options}\n", ""),
    ("#SBATCH -H\n", "#SBATCH -H\n"),
    ("#SBATCH --exclusive\n", "#SBATCH --exclusive\n"),
    ("echo --mem={memory} x\n", "echo --mem= x\n"),
    ("#SBATCH --mem={{memory}}\n", ""),
    ("#SBATCH --gres=gpu:{{ ngpus }} --time=1\n", "#SBATCH --time=1\n"),
    ("#SBATCH --mem={% if memory %}{{memory}}{% endif %}\n", ""),
    ("#SBATCH -p {% if partition %}{{partition}}{% endif %}\n", ""),
]


@pytest.mark.parametrize(("line", "left"), EMPTY)
def test_an_empty_value_leaves_its_directive_out(line, left):
    assert render(f"#!/bin/sh\n{line}x\n", VALUES) == f"#!/bin/sh\n{left}x\n"


def test_a_value_keeps_its_directive():
    assert "--gres=gpu:2\n" in render("#!/bin/sh\n#SBATCH --gres=gpu:{ngpus}\nx\n", {**VALUES, "ngpus": "2"})


def test_lines_come_before_the_first_command_and_after_every_directive():
    script = "#!/bin/bash\n#SBATCH --time=1\n\n# a word\n#SBATCH --mem=1\nset -e\n#SBATCH --no\nCMD\n"
    assert with_lines(script, "OURS").splitlines() == [
        "#!/bin/bash", "#SBATCH --time=1", "", "# a word", "#SBATCH --mem=1", "OURS", "", "set -e", "#SBATCH --no", "CMD",
    ]  # fmt: skip


SERVERS = [
    ("batchspawner-singleuser", [], "env J python3 -I F", ["jupyterhub-singleuser"]),
    ("", [], "env J python3 -I F", ["jupyterhub-singleuser"]),
    ("/opt/x/bin/batchspawner-singleuser", [], "env J /opt/x/bin/python3 -I F", ["/opt/x/bin/python3", "-m", "jupyterhub.singleuser"]),
    ("singularity exec a.sif batchspawner-singleuser", [], "singularity exec a.sif env J python3 -I F", ["jupyterhub-singleuser"]),
    ("batchspawner-singleuser", ["/my/server"], "env J python3 -I F", ["/my/server"]),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "cmd", "text", "argv"), SERVERS)
def test_the_shim_takes_the_place_of_batchspawner_singleuser(setting, cmd, text, argv):
    server = server_command("c.SlurmSpawner.batchspawner_singleuser_cmd", setting)
    job = "SLURM_JOB_ID=$SLURM_JOB_ID SLURMD_NODENAME=$SLURMD_NODENAME"
    assert server.cmd == text.replace("J", job).replace("F", "$SIFLAB_DIR/node.pyz shim $SIFLAB_DIR")
    assert server.argv(cmd) == argv


@pytest.mark.parametrize("shell", ["bash", "dash", "bash -euo pipefail"])
def test_our_lines_make_the_folder_in_every_shell_and_take_it_away(shell, tmp_path):
    """S14: they set no option of the site's shell, and stand one that is strict."""
    stale = tmp_path / "siflab.1.old"
    stale.mkdir()
    (stale / "shell").write_text(f"1 0 {os.uname().nodename}\n")
    lines = JobLines({"code": "a'b\"$(c)`"}, {"GREETING": "it's $HOME"}, str(tmp_path)).text()
    script = with_lines(
        "#!/bin/sh\n", lines + "ls -ld $SIFLAB_DIR\ncat $SIFLAB_DIR/claim.json\necho $-\nprintf '%s\\n' \"$GREETING\"\n"
        f"{sys.executable} -I $SIFLAB_DIR/node.pyz 2>&1 | head -1\n",
    )  # fmt: skip
    done = subprocess.run(
        shell.split(),
        input=script,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "SLURM_JOB_ID": "7"},
    )
    assert done.stderr == ""
    mode, claim, options, greeting, usage = done.stdout.splitlines()
    assert mode.startswith("drwx------") and f"{tmp_path}/siflab.7." in mode
    assert claim == '{"code": "a\'b\\"$(c)`"}' and greeting == "it's $HOME" and "node.pyz shim FOLDER" in usage
    assert ("u" in options) == ("-euo" in shell)
    assert list(tmp_path.iterdir()) == []


# ---- what a user chose

CHOICES = [
    (None, {}, None),
    ({}, {}, None),
    ({"partition": "gpu"}, {"partition": "gpu"}, None),
    ({"partition": ["gpu"]}, {"partition": "gpu"}, None),
    ({"nprocs": 4, "runtime": "2:00:00", "gres": "gpu:a100:2"}, {"nprocs": "4", "runtime": "2:00:00", "gres": "gpu:a100:2"}, None),
    ({"gres": ""}, {"gres": ""}, None),
    ({"gres": None}, {}, None),
    ({"partition": "gpu\n#SBATCH --account=x"}, None, "not-allowed"),
    ({"partition": "gpu; rm"}, None, "not-allowed"),
    ({"partition": "$(id)"}, None, "not-allowed"),
    ({"partition": "--uid=0"}, None, "not-allowed"),
    ({"partition": "gpu\n"}, None, "not-allowed"),
    ({"partition": "x" * 300}, None, "not-allowed"),
    ({"partition": True}, None, "wrong-type"),
    ({"partition": {"a": 1}}, None, "wrong-type"),
    ({"cmd": "sh"}, None, "unknown-option"),
    ({"prologue": "rm -r ~"}, None, "unknown-option"),
    ({"options": "--x"}, None, "unknown-option"),
    ({"srun": "x"}, None, "unknown-option"),
    ({"username": "root"}, None, "unknown-option"),
    ({"keepvars": "JUPYTERHUB_API_TOKEN"}, None, "unknown-option"),
    ({"image": "x"}, None, "unknown-option"),
    (["partition"], None, "not-an-object"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "chosen"), [("[1-4]:00:00", {}), ("", {"runtime": ""}), ("([1-4]:00:00)?", {"runtime": ""})]
)
def test_an_empty_choice_does_not_lift_the_sites_limit(pattern, chosen):
    assert read_choices(read_patterns({"runtime": pattern}), {"runtime": ""}) == chosen


@pytest.mark.parametrize(("options", "chosen", "code"), CHOICES)
def test_only_listed_options_reach_the_script(options, chosen, code):
    patterns = read_patterns({})
    if code is None:
        assert read_choices(patterns, options) == chosen
        return
    with pytest.raises(Invalid) as caught:
        read_choices(patterns, options)
    assert caught.value.errors[0].code == code


@pytest.mark.parametrize(
    "value", ["a b", "a'b", 'a"b', "a$b", "a`b", "a\\b", "a\nb", "a;b", "a*", "-a", "=a", "~a", "é"]
)
def test_whatever_a_sites_pattern_allows_a_value_stays_one_plain_word(value):
    with pytest.raises(Invalid):
        read_choices(read_patterns({"title": "(?s).*"}), {"title": value})


# ---- variables

KEPT = [
    ({"environment": {"OMP_NUM_THREADS": "2"}}, {"OMP_NUM_THREADS"}),
    ({"environment": {"AWS_SECRET_ACCESS_KEY": "x", "DB_PASSWORD": "x", "MY_TOKEN": "x"}}, set()),
    ({"environment": {"DYNAMIC": lambda spawner: "x"}}, set()),
    ({"env_keep": ["SITE_LICENSE_SERVER"]}, {"SITE_LICENSE_SERVER"}),
    ({"req_keepvars_extra": "OF_A_HOOK, JUPYTERHUB_API_TOKEN,JPY_API_TOKEN,no such"}, {"OF_A_HOOK"}),
]


@pytest.mark.parametrize(("settings", "names"), KEPT)
def test_keepvars_holds_no_secret(settings, names, monkeypatch):
    monkeypatch.setenv("SITE_LICENSE_SERVER", "lic1")
    environment = {**settings.get("environment", {}), "OF_A_HOOK": "token-of-one-user"}
    env_keep = settings.get("env_keep", [])
    env = {"JUPYTERHUB_API_TOKEN": "t", "JPY_API_TOKEN": "t", "USER": "user1"}
    env |= {name: os.environ[name] for name in env_keep}
    env |= {name: value("spawner") if callable(value) else value for name, value in environment.items()}
    spawner = SimpleNamespace(
        get_env=lambda: env,
        env_keep=env_keep,
        config=Config({"Spawner": {"environment": settings.get("environment", {})}}),
        req_keepvars_extra=settings.get("req_keepvars_extra", ""),
        trait_has_value=lambda name: False,
    )
    assert set(kept_variables(spawner)) == names


def test_what_looks_secret():
    assert all(map(looks_secret, ["API_TOKEN", "db_password", "KEY", "SSH_KEY", "MY_PWD", "OAUTH_X", "X_API_KEY"]))
    named = "DB_PASS PGPASS DATABASE_URL JWT SSHKEY WANDB_PAT SENTRY_DSN API_KEYS S3_KEYID WEBHOOK_URL https_proxy"
    assert all(map(looks_secret, named.split()))
    assert not any(map(looks_secret, ["PATH", "PWD", "LANG", "KEYBOARD", "MODULEPATH", "CONDA_PREFIX", "MONKEY"]))


def test_a_site_with_both_goes_by_site_yaml(monkeypatch, tmp_path):
    spawner = SimpleNamespace(site_file="", config=Config({"SlurmSpawner": {"req_partition": "gpu"}}))
    monkeypatch.setattr("siflab_spawner.batchspawner_compat.drop_in.DEFAULT_PATHS", (str(tmp_path),))
    assert DropIn.of(spawner, {}) is None
