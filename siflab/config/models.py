"""site.yaml: what an administrator says about a cluster. One model for each mapping of the file."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from siflab.config.session_rules import ExtensionSite, IdleSite
from siflab.config.values import Mebibytes, Seconds, Strict, Words
from siflab.text import Text

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
SlurmName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$")]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00-\x1f,:]*$")]
_BIND = re.compile(r"(?P<source>/[^:,\x00-\x1f]*):(?P<target>/[^:,\x00-\x1f]*)(?::(?P<mode>ro|rw))?")


class Bind(Strict):
    """A folder of the host and where the container has it; written ``/dataset:/datasets:ro``."""

    source: AbsolutePath
    target: AbsolutePath
    read_only: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _BIND.fullmatch(value)
        if not match:
            raise ValueError("a bind is written /source:/target or /source:/target:ro")
        return {"source": match["source"], "target": match["target"], "read_only": match["mode"] == "ro"}

    def __str__(self) -> str:
        return f"{self.source}:{self.target}{':ro' if self.read_only else ''}"


class PartitionSite(Strict):
    """What Slurm does not know about a partition."""

    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = Field(
        default_factory=dict, description="variables for the jobs of this partition, e.g. NCCL_SOCKET_IFNAME: ib0"
    )
    internet: bool | None = Field(
        None, description="whether its nodes reach the internet; with false, preflight names what a notebook downloads"
    )


class SlurmSite(Strict):
    bin: AbsolutePath | None = Field(None, description="folder of sbatch, squeue ...; found in PATH if left out")
    conf: AbsolutePath | None = Field(None, description="SLURM_CONF for these commands; the cluster's own if left out")
    cluster: SlurmName | None = Field(
        None, description="ClusterName to send the commands to (--clusters), where one database serves several clusters"
    )
    node_address: Literal["NodeAddr", "NodeHostName", "NodeName"] = Field(
        "NodeAddr", description="which of a node's names the Hub and its proxy reach it by"
    )
    partitions: dict[SlurmName, PartitionSite] = Field(default_factory=dict)


class SingularitySite(Strict):
    command: Annotated[str, Field(pattern=r"^[A-Za-z0-9_./+-]+$")] = Field(
        "singularity", description="name or path of the program on the nodes; Apptainer installs this name too"
    )
    binds: tuple[Bind, ...] = Field((), description="for every container: /home:/workspace, /dataset:/datasets:ro ...")
    nv: Literal["auto", "always", "never"] = Field("auto", description="--nv: for jobs with GPUs, always, or never")


class Image(Strict):
    """One Singularity image that people may use."""

    path: AbsolutePath
    title: Words
    description: Words = Text.plain("")
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    python: Annotated[str, Field(pattern=r"^[A-Za-z0-9_./+-]+$")] = Field(
        "python3", description="the Python in the image that has JupyterHub and JupyterLab"
    )

    @field_validator("description", mode="before")
    @classmethod
    def _may_be_empty(cls, value: Any) -> Any:
        return Text.plain("") if value in ("", None) else value


class CountRange(Strict):
    """How many a person may choose. `choices` are shown as a list, else every number from `min` to `max` is good."""

    min: int = Field(0, ge=0)
    max: int | None = Field(None, ge=0)
    choices: tuple[int, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"max": value}
        return {"choices": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _bounded(self) -> "CountRange":
        if not self.choices and self.max is None:
            raise ValueError("say `max` or `choices`")
        if any(choice < 0 for choice in self.choices):
            raise ValueError("a choice cannot be negative")
        return self

    def allows(self, value: int) -> bool:
        return value in self.choices if self.choices else self.min <= value <= (self.max or 0)

    def in_words(self) -> str:
        return ", ".join(map(str, self.choices)) if self.choices else f"{self.min}-{self.max}"


class SecondsLimit(Strict):
    """The longest time that a person may choose."""

    max: Seconds

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


class MebibytesLimit(Strict):
    """The most memory that a person may choose."""

    max: Mebibytes

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}


Names = Literal["any"] | tuple[SlurmName, ...]


class Allow(Strict):
    """Which fields of a profile a person may change, and how far. A field that is not here is fixed. ``any`` are all
    that Slurm lets the person use."""

    image: tuple[Identifier, ...] = ()
    partition: tuple[SlurmName, ...] = ()
    gpu_type: tuple[SlurmName, ...] = ()
    account: Names = ()
    qos: Names = ()
    reservation: Names = ()
    gpus: CountRange | None = None
    cpus: CountRange | None = None
    nodes: CountRange | None = None
    memory: MebibytesLimit | None = None
    time: SecondsLimit | None = None


class Profile(Strict):
    """A named preset of image and resources. Counts and memory are per node."""

    title: Words
    description: Words = Text.plain("")
    image: Identifier
    partition: SlurmName
    account: SlurmName | None = None
    qos: SlurmName | None = None
    reservation: SlurmName | None = None
    nodes: int = Field(1, ge=1)
    gpus: int = Field(0, ge=0)
    gpu_type: SlurmName | None = None
    cpus: int = Field(1, ge=1)
    memory: Mebibytes
    time: Seconds
    allow: Allow = Allow()
    for_sessions: bool = True
    for_runs: bool = True
    groups: tuple[str, ...] = Field((), description="who may use it (JupyterHub or Unix groups); everyone if empty")

    @field_validator("description", mode="before")
    @classmethod
    def _may_be_empty(cls, value: Any) -> Any:
        return Text.plain("") if value in ("", None) else value


class SessionSite(Strict):
    """How single-user servers are started."""

    boot_limit: Seconds = Field(300, description="from the job's start until JupyterLab answers")
    queue_limit: Seconds | None = Field(
        None, description="how long a start may wait in the queue; no limit if left out"
    )
    folder: AbsolutePath = Field("/tmp", description="on the node: where a session's private folder is made")  # noqa: S108
    extension: ExtensionSite | None = Field(None, description="whether a running session may be lengthened")
    idle: IdleSite | None = Field(None, description="when an unused session is stopped")


class RunsSite(Strict):
    """How notebooks run as batch jobs."""

    root: Annotated[str, Field(pattern=r"^(~/|/)[^\x00-\x1f,:]*$")] = Field(
        "~/siflab-runs",
        description="where a person's run folders go; below an absolute path each has a folder of the user's name",
    )
    default_profile: Identifier | None = None
    warning: Seconds = Field(60, description="how long before its time limit a run is told to save (--signal)")
    scratch: AbsolutePath | None = Field(
        None,
        description="a folder of the host, e.g. /scratch/siflab: checkpoints and outputs of runs go below it, in a "
        "folder of the user's name that exists or may be made, and are linked from the run folder",
    )
    hf_home: AbsolutePath | None = Field(None, description="HF_HOME of runs: a folder of the host with models and data")
    requeue: Literal["requeue", "follow-up"] = Field(
        "requeue",
        description="how a run goes on after its time limit: `scontrol requeue`, or where the cluster forbids that a "
        "job that depends on it",
    )


class EnvironmentsSite(Strict):
    """Where people's own packages go (see docs/environments.md)."""

    scratch: AbsolutePath | None = Field(
        None,
        description="a folder of the host that all jobs see, e.g. /scratch/siflab-environments; each user has a folder "
        "of their name below it; environments lie in the home if left out",
    )


class OtherSpawner(Strict):
    """A choice beside the profiles: a server that another spawner of the Hub starts, without a job (for Hubs whose
    spawner is `siflab-profiles`)."""

    title: Words
    description: Words = Text.plain("")
    spawner: Identifier = Field("local", description="a name in c.SiteProfilesSpawner.spawners")
    groups: tuple[str, ...] = Field((), description="who may use it (JupyterHub or Unix groups); everyone if empty")

    @field_validator("description", mode="before")
    @classmethod
    def _may_be_empty(cls, value: Any) -> Any:
        return Text.plain("") if value in ("", None) else value


class Site(Strict):
    """The whole of site.yaml."""

    version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
    title: Words
    slurm: SlurmSite = SlurmSite()
    singularity: SingularitySite = SingularitySite()
    images: dict[Identifier, Image] = Field(min_length=1)
    profiles: dict[Identifier, Profile] = Field(min_length=1)
    spawners: dict[Identifier, OtherSpawner] = Field(default_factory=dict)
    session: SessionSite = SessionSite()
    runs: RunsSite = RunsSite()
    environments: EnvironmentsSite = EnvironmentsSite()

    @model_validator(mode="after")
    def _names_exist(self) -> "Site":
        for name, profile in self.profiles.items():
            for image in (profile.image, *profile.allow.image):
                if image not in self.images:
                    raise ValueError(f"profiles.{name}.image: there is no image {image!r} under `images`")
        for name in self.spawners:
            if name in self.profiles:
                raise ValueError(f"spawners.{name}: `profiles` has this name already; take another")
        default = self.runs.default_profile
        if default is not None and default not in self.profiles:
            raise ValueError(f"runs.default_profile: there is no profile {default!r} under `profiles`")
        return self

    def public(self) -> dict[str, Any]:
        """What a session may see of it, as JSON: `load_site` reads it again. Everything in site.yaml is public today;
        secrets have no place in it. What only the Hub goes by is left out: the Siflab of an older image would refuse
        a key that it does not know."""
        return self.model_dump(mode="json", exclude_none=True, exclude={"session": {"extension", "idle"}})
