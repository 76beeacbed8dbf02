"""site.yaml, `session.extension` and `session.idle`: how long a session may go on."""

from typing import Annotated

from pydantic import Field, model_validator

from siflab.config.values import Seconds, Strict

Group = Annotated[str, Field(min_length=1, max_length=255)]
Partition = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$")]


class ExtensionSite(Strict):
    """Whether people may lengthen a session that runs; without it nobody can. Slurm's own limits hold besides."""

    step: Seconds = Field(description="the longest single extension")
    max_total: Seconds = Field(description="the longest that a session may last, from its start to its end")
    times: int | None = Field(None, ge=1, description="how often a session may be extended; no limit if left out")
    partitions: tuple[Partition, ...] = Field((), description="only in these partitions; in all if empty")
    groups: tuple[Group, ...] = Field((), description="only members of these groups; everyone if empty")


class IdleSite(Strict):
    """When an unused session is stopped; without it none is. What counts as use: `siflab.node.activity`."""

    after: Seconds = Field(description="how long a session may be unused")
    gpu_sessions: Seconds | None = Field(None, description="the same for sessions with GPUs; `after` if left out")
    interval: Seconds | None = Field(None, description="between two looks; a sixth of the shorter limit if left out")
    cpu_percent: float = Field(
        10, gt=0, le=6400, description="use of a CPU, by all processes but the server itself, that counts as use"
    )
    gpu_percent: float = Field(5, gt=0, le=100, description="use of a GPU that counts as use")

    @model_validator(mode="after")
    def _looks_often_enough(self) -> "IdleSite":
        if self.interval is not None and self.interval * 2 > self.shortest:
            raise ValueError("`interval` must be at most half of `after` and of `gpu_sessions`")
        return self

    @property
    def shortest(self) -> int:
        """Seconds."""
        return min(self.after, self.gpu_sessions or self.after)

    @property
    def looks(self) -> int:
        """Seconds between two looks."""
        return self.interval or max(1, min(300, self.shortest // 6))

    def limit(self, gpus: int) -> int:
        """Seconds that a session with so many GPUs may be unused."""
        return self.gpu_sessions if gpus and self.gpu_sessions is not None else self.after
