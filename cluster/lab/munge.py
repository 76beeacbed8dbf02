"""munge with a key and a socket of its own; the machine's (/etc/munge, /run/munge) is not used and not touched."""

from cluster.lab import processes
from cluster.lab.settings import Settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

ROLE = "munged"


def start(settings: Settings) -> None:
    if processes.daemon(settings.root, ROLE) is not None:
        return
    munge = settings.root / "munge"
    for stale in (munge / "run").glob("munge.socket*"):
        stale.unlink()
    processes.start(
        settings.root,
        ROLE,
        [
            "munged",
            "--foreground",
            "--num-threads=4",
            f"--key-file={munge}/key/munge.key",
            f"--seed-file={munge}/key/munged.seed",
            f"--pid-file={munge}/run/munged.pid",
            f"--socket={settings.munge_socket}",
        ],
        settings.log(ROLE),
        user="munge",
    )

    def answers() -> bool:
        if processes.daemon(settings.root, ROLE) is None:
            raise Trouble(
                Text("munged ended at its start.", "munged 启动后即退出。"),
                Text.plain(processes.last_lines(settings.log(ROLE))),
            )
        return run(["munge", "-n", "-S", settings.munge_socket], check=False).returncode == 0

    processes.wait_until(Text("munged", "munged "), answers, 10, settings.log(ROLE))


def stop(settings: Settings) -> None:
    processes.stop(processes.marked(settings.root, ROLE), 5)
