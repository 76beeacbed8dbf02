"""Slurm's configuration files, rendered from the settings: the same text for 22.05 and 24.11 (man slurm.conf(5)).

Pure: nothing here looks at the machine; what must be known of it comes in as `Host`.
"""

from dataclasses import dataclass

from cluster.lab.settings import Node, Settings


@dataclass(frozen=True)
class Host:
    """What the files depend on beside the settings: the machine's short name; whether Slurm's JWT plugin is there."""

    name: str
    jwt: bool = False


def lines(pairs: list[tuple[str, object]]) -> str:
    return "".join(f"{key}={value}\n" for key, value in pairs)


def authentication(settings: Settings, host: Host, *, daemon: bool) -> list[tuple[str, object]]:
    """A private munge socket is named here and in AccountingStoragePass; short-lived credentials make requeue quick."""
    socket = f"socket={settings.munge_socket}"
    pairs: list[tuple[str, object]] = [
        ("AuthType", "auth/munge"),
        ("AuthInfo", socket if daemon else f"{socket},cred_expire=10"),
    ]
    if host.jwt:
        pairs += [
            ("AuthAltTypes", "auth/jwt"),
            ("AuthAltParameters", f"jwt_key={settings.root}/keys/jwt_hs256.key"),
        ]
    return pairs


def slurmdbd_conf(settings: Settings, host: Host, password: str) -> str:
    """slurmdbd.conf; it holds the database's password, and slurmdbd insists on mode 0600 and on SlurmUser as owner."""
    root = settings.root
    return lines(
        [
            *authentication(settings, host, daemon=True),
            ("DbdHost", "localhost"),
            ("DbdAddr", settings.head_address),
            ("DbdPort", settings.dbd_port),
            ("SlurmUser", "slurm"),
            ("DebugLevel", "info"),
            ("LogFile", settings.log("slurmdbd")),
            ("PidFile", f"{root}/run/slurmdbd.pid"),
            ("StorageType", "accounting_storage/mysql"),
            ("StorageHost", "127.0.0.1"),
            ("StoragePort", settings.database_port),
            ("StorageUser", "slurm"),
            ("StoragePass", password),
            ("StorageLoc", "slurm_acct_db"),
        ]
    )


def slurm_conf(settings: Settings, host: Host) -> str:
    root = settings.root
    confined = settings.limits == "cgroup"
    tracking: list[tuple[str, object]] = (
        [
            ("ProctrackType", "proctrack/cgroup"),
            ("TaskPlugin", "task/cgroup"),
            ("JobAcctGatherType", "jobacct_gather/cgroup"),
        ]
        if confined
        else [
            ("ProctrackType", "proctrack/linuxproc"),
            ("JobAcctGatherType", "jobacct_gather/linux"),
            ("JobAcctGatherParams", "OverMemoryKill"),
        ]
    )
    gpu_types = [kind for kind, _ in by_gpu_type(settings)]
    tracked = ",".join(["gres/gpu", *(f"gres/gpu:{kind}" for kind in gpu_types)])
    general: list[tuple[str, object]] = [
        ("ClusterName", settings.name),
        ("SlurmctldHost", f"{host.name}({settings.head_address})"),
        ("SlurmctldPort", settings.ctld_port),
        ("SlurmUser", "slurm"),
        ("SlurmdUser", "root"),
        ("MailProg", "/bin/true"),
        *authentication(settings, host, daemon=False),
        ("StateSaveLocation", f"{root}/state"),
        ("SlurmdSpoolDir", f"{root}/spool/%n"),
        ("SlurmctldPidFile", f"{root}/run/slurmctld.pid"),
        ("SlurmdPidFile", f"{root}/run/slurmd.%n.pid"),
        ("SlurmctldLogFile", settings.log("slurmctld")),
        ("SlurmdLogFile", f"{root}/log/slurmd.%n.log"),
        ("SlurmctldDebug", "info"),
        ("SlurmdDebug", "info"),
        *tracking,
        ("JobAcctGatherFrequency", "task=5"),
        ("ReturnToService", 2),
        ("SlurmctldTimeout", 30),
        ("SlurmdTimeout", 20),
        ("InactiveLimit", 0),
        ("MinJobAge", 120),
        ("KillWait", 10),
        ("Waittime", 0),
        ("UnkillableStepTimeout", 120),
        ("BatchStartTimeout", 20),
        ("MessageTimeout", 20),
        ("TCPTimeout", 5),
        ("SlurmdParameters", "config_overrides"),  # nodes claim more than this machine has
        ("SchedulerType", "sched/backfill"),
        ("SchedulerParameters", "bf_interval=10,bf_max_job_test=1000,sched_interval=10,batch_sched_delay=1"),
        ("EnforcePartLimits", "ALL"),
        ("SelectType", "select/cons_tres"),
        ("SelectTypeParameters", "CR_CPU_Memory"),
        ("DefMemPerCPU", 256),
        ("PriorityType", "priority/multifactor"),
        ("PriorityWeightFairshare", 10000),
        ("PriorityWeightAge", 1000),
        ("PriorityWeightQOS", 100000),
        ("PriorityMaxAge", "1-0"),
        ("PriorityDecayHalfLife", "7-0"),
        ("PriorityCalcPeriod", 1),
        ("AccountingStorageType", "accounting_storage/slurmdbd"),
        ("AccountingStorageHost", settings.head_address),
        ("AccountingStoragePort", settings.dbd_port),
        ("AccountingStoragePass", settings.munge_socket),
        ("AccountingStorageEnforce", "associations,limits,qos,safe"),
        ("AccountingStorageTRES", tracked),
        # Both kept on purpose: a token in a job's script or environment would be seen in the accounting database.
        ("AccountingStoreFlags", "job_comment,job_script,job_env"),
        ("GresTypes", "gpu"),
        ("MaxJobCount", 20000),
        ("MaxArraySize", 2001),
    ]
    return lines(general) + "".join(node_line(settings, node) for node in settings.nodes) + partitions(settings)


def node_line(settings: Settings, node: Node) -> str:
    """In loopback mode all slurmd run on the machine itself, and `slurmd -N` tells them apart."""
    gres = f" Gres=gpu:{node.gpu_type}:{node.gpus}" if node.gpus else ""
    host_name = node.name if settings.mode == "netns" else "localhost"
    return (
        f"NodeName={node.name} NodeHostname={host_name} NodeAddr={settings.address(node)}"
        f" Port={settings.slurmd_port(node)} CPUs={node.cpus} RealMemory={node.memory_mib}{gres}"
        f" Feature={node.gpu_type or 'cpu'} State=UNKNOWN\n"
    )


def by_gpu_type(settings: Settings) -> list[tuple[str, list[str]]]:
    """GPU types in the order of the nodes, each with the names of its nodes."""
    found: dict[str, list[str]] = {}
    for node in settings.nodes:
        if node.gpu_type:
            found.setdefault(node.gpu_type, []).append(node.name)
    return list(found.items())


def partitions(settings: Settings) -> str:
    """One partition for each type of GPU, one for the nodes without, and one over all for short interactive work."""
    cpu_nodes = [node.name for node in settings.nodes if not node.gpus]
    text = "".join(
        f"PartitionName=gpu-{kind} Nodes={','.join(names)} MaxTime=08:00:00 DefaultTime=01:00:00 State=UP\n"
        for kind, names in by_gpu_type(settings)
    )
    if cpu_nodes:
        text += (
            f"PartitionName=cpu Nodes={','.join(cpu_nodes)} MaxTime=1-0 DefaultTime=01:00:00 Default=YES"
            " OverSubscribe=YES State=UP\n"
        )
    everything = ",".join(node.name for node in settings.nodes)
    return text + (
        f"PartitionName=interactive Nodes={everything} MaxTime=04:00:00 DefaultTime=00:30:00"
        " PriorityJobFactor=10 PriorityTier=10 State=UP\n"
    )


def gres_conf(settings: Settings) -> str:
    """Fake GPUs: character devices of our own, one folder a node."""
    dev = settings.root / "dev"
    return "AutoDetect=off\n" + "".join(
        f"NodeName={node.name} Name=gpu Type={node.gpu_type} File={dev}/{node.name}/nvidia[0-{node.gpus - 1}]\n"
        for node in settings.nodes
        if node.gpus
    )


def cgroup_conf(settings: Settings) -> str:
    """cgroup v1 by name: on a machine that has v1 and v2 mounted, v2 is fatal ("Hybrid mode is not supported")."""
    pairs: list[tuple[str, object]] = [("CgroupPlugin", "cgroup/v1")] if settings.limits == "cgroup" else []
    return lines(
        [
            *pairs,
            ("CgroupMountpoint", "/sys/fs/cgroup"),
            ("ConstrainCores", "no"),
            ("ConstrainRAMSpace", "yes"),
            ("ConstrainSwapSpace", "no"),
            ("ConstrainDevices", "yes"),
        ]
    )
