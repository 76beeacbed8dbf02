"""What a person asks for when a notebook is promoted: the `RunRequest` of openapi.yaml."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class RunRequest(BaseModel):
    """`path` is absolute, as the viewer sees it (the REST API and the command line make it so). What is None is as the
    profile says. Counts and memory are per node, in Slurm's notation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    profile: str
    mode: Literal["notebook"] = "notebook"
    name: str | None = Field(None, max_length=80)
    image: str | None = None
    kernel: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    cpus: int | None = None
    memory: str | None = None
    time: str | None = None
    submit_key: str | None = Field(None, pattern=r"^[A-Za-z0-9_-]{8,64}$")
