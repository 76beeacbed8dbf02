"""What an instance is called and where it lies: every port, address, folder and person of the demo and of the tests."""

from dataclasses import dataclass
from pathlib import Path

from cluster.lab.settings import Member, Node, Settings
from cluster.lab.trouble import Trouble
from siflab.text import Text

CHECKOUT = Path(__file__).resolve().parent.parent.parent
STATE = Path("/var/lib/siflab")
CACHE = Path("/var/cache/siflab")


@dataclass(frozen=True)
class Instance:
    """One instance. Its Hub is seen on 127.0.0.1 only; nodes reach the Hub's API on the bridge's address."""

    name: str
    network: int
    port_base: int
    public_port: int
    node_prefix: str
    members: tuple[Member, ...]
    images: tuple[str, ...]
    machine_wide: bool  # /scratch, /dataset, /etc/siflab/site.yaml and the `siflab` command are this instance's
    other_images: tuple[str, ...] = ()  # built too, but not in its site.yaml

    @property
    def root(self) -> Path:
        return STATE / self.name

    @property
    def scratch(self) -> Path:
        return Path("/scratch") if self.machine_wide else self.root / "scratch"

    @property
    def dataset(self) -> Path:
        return Path("/dataset") if self.machine_wide else self.root / "dataset"

    @property
    def venv(self) -> Path:
        """What runs the Hub, and the command line of the login node; every user may read it."""
        return self.root / "venv"

    @property
    def older_venv(self) -> Path:
        """For the tests: the oldest JupyterHub that Siflab supports."""
        return self.root / "venv-jupyterhub-5.3"

    @property
    def site(self) -> Path:
        return self.root / "site.yaml"

    @property
    def passwords(self) -> Path:
        """JSON, name to password; only root reads it."""
        return self.root / "passwords.json"

    @property
    def hub(self) -> Path:
        return self.root / "hub"

    @property
    def public_url(self) -> str:
        return f"http://127.0.0.1:{self.public_port}"

    @property
    def hub_port(self) -> int:
        return self.public_port + 81

    @property
    def proxy_api_port(self) -> int:
        return self.public_port + 1

    def image(self, name: str) -> Path:
        return self.root / "images" / f"{name}.sif"

    def log(self, name: str) -> Path:
        return self.root / "log" / f"{name}.log"

    def cluster(self) -> Settings:
        return Settings(
            root=self.root / "slurm",
            name=self.name,
            port_base=self.port_base,
            network=self.network,
            nodes=Node.defaults(self.node_prefix),
            members=self.members,
        )


DEMO = Instance(
    name="demo",
    network=41,
    port_base=27100,
    public_port=8000,
    node_prefix="",
    members=(
        Member("researcher1", ("research",)),
        Member("researcher2", ("research",)),
        Member("student1", ("cs101",)),
        Member("student2", ("cs101",)),
        Member("teacher1", ("cs101", "research")),
    ),
    images=("pytorch-cpu",),
    machine_wide=True,
)

# Other node names than the demo's: Slurm's cgroups on this machine are named after the node.
TEST = Instance(
    name="test",
    network=42,
    port_base=27200,
    public_port=18000,
    node_prefix="t",
    members=(
        Member("t-researcher1", ("research",)),
        Member("t-researcher2", ("research",)),
        Member("t-student1", ("cs101",)),
    ),
    images=("pytorch-cpu", "stock"),
    other_images=("stock-jupyterhub-4", "stock-jupyterhub-5"),
    machine_wide=False,
)

INSTANCES = {instance.name: instance for instance in (DEMO, TEST)}


def named(name: str) -> Instance:
    try:
        return INSTANCES[name]
    except KeyError:
        known = ", ".join(INSTANCES)
        raise Trouble(
            Text(f"There is no instance {name}; there are {known}.", f"没有实例 {name}；现有：{known}。")
        ) from None
