"""The environment of the server."""

import pytest

from siflab.node.environment import server_environment, with_port

CONTAINER = {
    "HOME": "/workspace/user1",
    "PATH": "/opt/jupyter/bin:/usr/bin",
    "SHELL": "/bin/sh",
    "CUDA_VISIBLE_DEVICES": "0",
}


def made(container=None, given=None):
    return server_environment({**CONTAINER, **(container or {})}, given or {}, 40001, "/run/siflab")


def test_what_the_hub_gives_comes_on_top_of_the_container():
    env = made(given={"JUPYTERHUB_API_TOKEN": "t", "NUMBER": 3})
    assert env["JUPYTERHUB_API_TOKEN"] == "t"
    assert env["NUMBER"] == "3"
    assert env["CUDA_VISIBLE_DEVICES"] == "0"
    assert env["SIFLAB_SESSION"] == "/run/siflab/session.json"
    assert env["SIFLAB_SITE"] == "/run/siflab/site.json"


def test_the_commands_come_first_in_path_and_a_login_shell_can_find_them_again():
    env = made()
    assert env["PATH"] == "/run/siflab/bin:/opt/jupyter/bin:/usr/bin"
    assert env["SIFLAB_PATH"] == env["PATH"]
    assert made(given={"PATH": "/site/bin"})["PATH"] == "/run/siflab/bin:/site/bin"
    assert made({"PATH": ""})["PATH"].startswith("/run/siflab/bin:/usr/local/sbin:")


def test_the_private_folder_is_where_it_is_here():
    """A site's own script has it at a place of the node's."""
    given = {"JUPYTER_RUNTIME_DIR": "/run/siflab/runtime", "OTHER": "/run/siflabour", "LIST": "a:/run/siflab/x"}
    env = server_environment(CONTAINER, given, 40001, "/tmp/siflab.7.x")
    assert env["JUPYTER_RUNTIME_DIR"] == "/tmp/siflab.7.x/runtime"
    assert env["OTHER"] == "/run/siflabour" and env["LIST"] == "a:/run/siflab/x"


@pytest.mark.parametrize("name", ["HOME", "USER", "LOGNAME", "PWD"])
def test_the_hub_does_not_say_where_the_home_is(name):
    assert made({name: "/container"}, {name: "/hub"})[name] == "/container"


def test_a_login_shell_that_the_image_lacks_is_replaced():
    shell = made({"SHELL": "/no/such/zsh"})["SHELL"]
    assert shell.endswith(("/bash", "/sh"))
    assert made({"SHELL": "/bin/sh"})["SHELL"] == "/bin/sh"


def test_what_would_only_disturb_inside_is_left_out(tmp_path):
    assert "TMPDIR" not in made({"TMPDIR": "/no/such/folder"})
    assert made({"TMPDIR": str(tmp_path)})["TMPDIR"] == str(tmp_path)
    assert "PROMPT_COMMAND" not in made({"PROMPT_COMMAND": 'PS1="Apptainer> "; unset PROMPT_COMMAND'})
    assert made({"PROMPT_COMMAND": "history -a"})["PROMPT_COMMAND"] == "history -a"


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("http://0.0.0.0:0/user/user1/", "http://0.0.0.0:40001/user/user1/"),
        ("https://10.1.2.3:8888/user/user1/gpu/", "https://10.1.2.3:40001/user/user1/gpu/"),
        ("http://[::]:1/user/%E5%AE%89/", "http://[::]:40001/user/%E5%AE%89/"),
        ("http://node/x", "http://node:40001/x"),
    ],
)
def test_the_port_in_the_service_url_is_ours(url, right):
    assert with_port(url, 40001) == right
    assert made(given={"JUPYTERHUB_SERVICE_URL": url})["JUPYTERHUB_SERVICE_URL"] == right
