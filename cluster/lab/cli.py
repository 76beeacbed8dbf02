"""`cluster/slurm-cluster`: the cluster from the command line."""

import argparse
import os
import sys
from pathlib import Path

from cluster.lab import daemons, network, nodes, whole
from cluster.lab.settings import Settings, kept_settings, settings_from
from cluster.lab.trouble import Trouble
from siflab.text import Text, terminal_language

EPILOG = """
Every option can also be given in the environment: --port-base is SLURM_CLUSTER_PORT_BASE, and so on. `up` writes them
down in the root folder; the other commands need only --root. The program runs as root and needs no systemd.

  up               start what does not run; again: at once
  down             end everything: no process, mount, network namespace or cgroup stays
  purge            down, and remove the root folder (users and homes stay)
  status           the daemons and the nodes
  env              the environment to use the cluster with: eval "$(slurm-cluster --root ... env)"
  node-down NODE   like a power cut
  node-up NODE     the node comes back
  node-exec NODE CMD...   a command on that node
  restart-ctld     restart slurmctld
"""


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="slurm-cluster",
        description="A real Slurm cluster on one machine: munge, MariaDB, slurmdbd, slurmctld, a slurmd for each node.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def setting(name: str, help: str) -> None:
        variable = f"SLURM_CLUSTER_{name.upper().replace('-', '_')}"
        options.add_argument(f"--{name}", help=help, default=os.environ.get(variable))

    setting("root", "folder of everything: configuration, keys, database, state, logs (/var/lib/siflab/lab/slurm)")
    setting("name", "Slurm's ClusterName (lab)")
    setting("port-base", "its ports are this number + 6, 17, 19, 21 and on (27400)")
    setting("network", "N of its network 10.77.N.0/24, or of 127.0.N.x where there are no network namespaces (40)")
    setting("nodes", "'name:cpus:MiB:gpu-type:gpus ...', type - for none")
    setting("users", "'name:account,account ...'; accounts: research, cs101; made if they do not exist")
    setting("mode", "netns, loopback or auto")
    setting("limits", "cgroup, none or auto")
    options.add_argument(
        "command",
        choices=["up", "down", "purge", "status", "env", "node-down", "node-up", "node-exec", "restart-ctld"],
    )
    options.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return options


def say(text: Text) -> None:
    print(text.to(terminal_language()), flush=True)


def kept(root: Path) -> Settings:
    settings = kept_settings(root)
    if settings is None:
        raise Trouble(
            Text(f"There is no cluster in {root}.", f"{root} 中没有集群。"),
            Text("`up` makes one.", "可用 up 建立。"),
        )
    return settings


def show_status(settings: Settings) -> int:
    states = whole.status(settings)
    for role, pid in states:
        print(f"{role:16} {'up   pid ' + str(pid) if pid else 'DOWN'}")
    print(daemons.slurm(settings, "sinfo", "-N", "-o", "%N %P %T %C %G %E"), end="")
    return 0 if all(pid for _, pid in states) else 1


def show_environment(settings: Settings) -> None:
    print(f"export SLURM_CONF={settings.conf}")
    print(f"export SLURM_CLUSTER_ROOT={settings.root}")
    print(f"export SLURM_CLUSTER_HEAD={settings.head_address}")


def on_one_node(settings: Settings, command: str, rest: list[str]) -> None:
    if not rest:
        raise Trouble(Text(f"{command} needs the name of a node.", f"{command} 需要节点名。"))
    node = settings.node(rest[0])
    if command == "node-exec":
        nodes.execute(settings, node, rest[1:])
    with whole.alone(settings.root):
        if command == "node-down":
            nodes.fail(settings, node)
        else:
            if settings.mode == "netns":
                network.node_up(settings, node)
            nodes.start(settings, node)
            nodes.wait_until_idle(settings, [node.name])


def perform(options: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise Trouble(Text("slurm-cluster has to run as root.", "slurm-cluster 需以 root 身份运行。"))
    root = Path(options.root or "/var/lib/siflab/lab/slurm").absolute()
    given = vars(options)
    if options.command == "up":
        with whole.alone(root):
            settings = whole.up(settings_from(root, given), say)
        show_environment(settings)
        return 0
    settings = kept(root)
    if options.command == "status":
        return show_status(settings)
    if options.command == "env":
        show_environment(settings)
    elif options.command.startswith("node-"):
        on_one_node(settings, options.command, options.rest)
    else:
        with whole.alone(root):
            if options.command == "down":
                whole.down(settings)
            elif options.command == "purge":
                whole.purge(settings)
            else:
                daemons.stop_slurmctld(settings)
                daemons.start_slurmctld(settings)
    return 0


def main() -> int:
    try:
        return perform(parser().parse_args())
    except Trouble as trouble:
        print(f"slurm-cluster: {trouble.message.to(terminal_language())}", file=sys.stderr)
        return 1
