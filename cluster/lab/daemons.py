"""slurmdbd and slurmctld, on the head's address."""

from cluster.lab import processes
from cluster.lab.settings import Settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

DBD = "slurmdbd"
CTLD = "slurmctld"


def environment(settings: Settings) -> dict[str, str]:
    """For Slurm's own commands."""
    return {"SLURM_CONF": str(settings.conf), "PATH": processes.PATH}


def slurm(settings: Settings, *argv: str, stdin: str | None = None, check: bool = False) -> str:
    """The output of one of Slurm's commands; empty if it failed and `check` does not turn that into a `Trouble`."""
    done = run(argv, stdin=stdin, env=environment(settings), check=check, timeout=60)
    return done.stdout if done.returncode == 0 else ""


def must_live(settings: Settings, role: str) -> None:
    if processes.daemon(settings.root, role) is None:
        raise Trouble(
            Text(f"{role} ended at its start.", f"{role} 启动后即退出。"),
            Text.plain(f"{settings.log(role)}:\n{processes.last_lines(settings.log(role))}"),
        )


def start_slurmdbd(settings: Settings) -> None:
    if processes.daemon(settings.root, DBD) is None:
        processes.start(settings.root, DBD, ["slurmdbd", "-D"], settings.log("slurmdbd.out"), env=environment(settings))

    def answers() -> bool:
        must_live(settings, DBD)
        return run(["sacctmgr", "-n", "show", "cluster"], env=environment(settings), check=False).returncode == 0

    processes.wait_until(Text("slurmdbd", "slurmdbd "), answers, 60, settings.log(DBD))
    if not slurm(settings, "sacctmgr", "-nP", "show", "cluster", settings.name, "format=cluster").strip():
        slurm(settings, "sacctmgr", "-iQ", "add", "cluster", settings.name, check=True)


def start_slurmctld(settings: Settings) -> None:
    if processes.daemon(settings.root, CTLD) is None:
        processes.start(
            settings.root, CTLD, ["slurmctld", "-D"], settings.log("slurmctld.out"), env=environment(settings)
        )

    def answers() -> bool:
        must_live(settings, CTLD)
        return " is UP" in slurm(settings, "scontrol", "ping")

    processes.wait_until(Text("slurmctld", "slurmctld "), answers, 30, settings.log(CTLD))


def stop_slurmctld(settings: Settings) -> None:
    processes.stop(processes.marked(settings.root, CTLD), 20)


def stop_slurmdbd(settings: Settings) -> None:
    processes.stop(processes.marked(settings.root, DBD), 20)


def cancel_all_jobs(settings: Settings) -> None:
    """Before the daemons end, so that no job is found by the next start; a slurmctld that is away is no hindrance."""
    if processes.daemon(settings.root, CTLD) is None:
        return
    ids = sorted(set(slurm(settings, "squeue", "-h", "-o", "%A").split()))
    if not ids:
        return
    for begin in range(0, len(ids), 500):
        slurm(settings, "scancel", "-Q", *ids[begin : begin + 500])

    def none_left() -> bool:
        done = run(["squeue", "-h"], env=environment(settings), check=False)
        return done.returncode != 0 or not done.stdout.strip()

    try:
        processes.wait_until(Text("the end of all jobs", "所有作业的结束"), none_left, 20)
    except Trouble:
        return  # the nodes are ended with all that is on them
