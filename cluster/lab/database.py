"""MariaDB for slurmdbd: a data folder of its own, one port on 127.0.0.1; root comes in by the socket, no password."""

import shutil
from pathlib import Path

from cluster.lab import folders, processes
from cluster.lab.settings import Settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

ROLE = "mariadbd"


def socket(settings: Settings) -> Path:
    return settings.root / "db" / "mysql.sock"


def install(settings: Settings) -> None:
    """The system tables, made in a folder aside and then renamed: a half-made one is never taken for a whole."""
    data = settings.root / "db" / "data"
    if data.is_dir():
        return
    fresh = settings.root / "db" / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    folders.owned(fresh, "mysql", 0o700)
    run(
        [
            "mariadb-install-db",
            "--no-defaults",
            "--user=mysql",
            f"--datadir={fresh}",
            "--auth-root-authentication-method=socket",
            "--auth-root-socket-user=root",
            "--skip-test-db",
        ]
    )
    fresh.rename(data)


def start(settings: Settings) -> None:
    if processes.daemon(settings.root, ROLE) is not None:
        return
    install(settings)
    data = settings.root / "db" / "data"
    processes.start(
        settings.root,
        ROLE,
        [
            "mariadbd",
            "--no-defaults",
            "--user=mysql",
            f"--datadir={data}",
            f"--socket={socket(settings)}",
            f"--pid-file={data}/mariadbd.pid",
            "--bind-address=127.0.0.1",
            f"--port={settings.database_port}",
            "--innodb-buffer-pool-size=128M",
            "--innodb-lock-wait-timeout=900",
            "--innodb-flush-log-at-trx-commit=2",
            "--max-allowed-packet=64M",
        ],
        settings.log(ROLE),
    )

    def answers() -> bool:
        if processes.daemon(settings.root, ROLE) is None:
            raise Trouble(
                Text("mariadbd ended at its start.", "mariadbd 启动后即退出。"),
                Text.plain(processes.last_lines(settings.log(ROLE))),
            )
        asked = run(["mariadb-admin", "--no-defaults", f"--socket={socket(settings)}", "ping"], check=False)
        return asked.returncode == 0

    # Long, since after a kill -9 it replays its log first.
    processes.wait_until(Text("MariaDB", "MariaDB "), answers, 90, settings.log(ROLE))
    grant(settings)


def grant(settings: Settings) -> None:
    """slurmdbd's user; the statement goes in by standard input, so that the password is in no argument list."""
    password = folders.database_password(settings)
    statements = ["CREATE DATABASE IF NOT EXISTS slurm_acct_db;"]
    for where in ("127.0.0.1", "localhost"):
        statements += [
            f"CREATE USER IF NOT EXISTS slurm@'{where}' IDENTIFIED BY '{password}';",
            f"ALTER USER slurm@'{where}' IDENTIFIED BY '{password}';",
            f"GRANT ALL ON slurm_acct_db.* TO slurm@'{where}';",
        ]
    run(["mariadb", "--no-defaults", f"--socket={socket(settings)}"], stdin="\n".join(statements))


def stop(settings: Settings) -> None:
    processes.stop(processes.marked(settings.root, ROLE), 30)
