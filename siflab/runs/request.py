"""What a person asks for when a notebook or a script is promoted: the `RunRequest` of openapi.yaml."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from siflab.model_errors import invalid

Mode = Literal["notebook", "distributed", "sweep"]
WarningSignal = Literal["USR2", "USR1"]
ParameterName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=80)]
Parameters = dict[ParameterName, JsonValue]
ATTEMPTS_LIMIT = 100


class Sweep(BaseModel):
    """Which points a sweep has: one of a grid (every combination), a list of parameter sets, or the text of a CSV file
    (first line: names). `at_once`: how many run at the same time at most (the array's ``%N``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grid: dict[ParameterName, list[JsonValue]] | None = None
    points: list[Parameters] | None = None
    csv: str | None = Field(None, max_length=16 * 1024 * 1024)
    at_once: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one_of_three(self) -> "Sweep":
        if sum(given is not None for given in (self.grid, self.points, self.csv)) != 1:
            raise ValueError("say one of `grid`, `points` and `csv`")
        return self


class RunRequest(BaseModel):
    """`path` (a notebook, or a script ``.py``) is absolute, as the viewer sees it: the REST API and the command line
    make it so. What is None is as the profile says. Counts and memory are per node, in Slurm's notation.

    `parameters` are values for the notebook's parameters (of all points of a sweep alike); `arguments` are a
    script's. `processes` a node, for ``distributed``: as many as GPUs if None, at least one. `attempts`: how many
    starts a run may take until it is done, each after a warning before the time limit, a preemption or a failed node.
    `signal` is the warning's. `script_only`: the run folder is made, nothing is submitted. `rerun_of`: the run that
    this one repeats.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    profile: str
    mode: Mode = "notebook"
    name: str | None = Field(None, max_length=80)
    image: str | None = None
    kernel: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    cpus: int | None = None
    memory: str | None = None
    time: str | None = None
    processes: int | None = Field(None, ge=1, le=1024)
    parameters: Parameters = Field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    sweep: Sweep | None = None
    attempts: int = Field(1, ge=1, le=ATTEMPTS_LIMIT)
    signal: WarningSignal = "USR2"
    script_only: bool = False
    rerun_of: str | None = Field(None, pattern=r"^[a-z][a-z0-9]{7}$")
    submit_key: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]{8,64}$")

    @property
    def is_script(self) -> bool:
        return self.path.endswith(".py")


def checked_request(**fields: Any) -> RunRequest:
    """The request of these fields. Raises Invalid, with an error for each that is wrong."""
    try:
        return RunRequest(**fields)
    except ValidationError as error:
        raise invalid(error) from error


__all__ = ["ATTEMPTS_LIMIT", "Mode", "Parameters", "RunRequest", "Sweep", "WarningSignal", "checked_request"]
