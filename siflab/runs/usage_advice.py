"""Advice in words on what a run used: a table of rules, each with the least time and number of samples that it needs,
so that a short run gets none that may be wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from siflab.runs.usage_case import Case, case_of
from siflab.runs.usage_rules_gpu import (
    gpu_late,
    gpu_low,
    gpu_memory_grows,
    gpu_memory_tight,
    gpu_unused,
    throttled_heat,
    throttled_power,
)  # fmt: skip
from siflab.runs.usage_rules_node import cpus_unused, data_local, memory_grows, memory_unused
from siflab.runs.usage_samples import NodeSamples
from siflab.runs.usage_words import Said


@dataclass(frozen=True)
class Rule:
    """`apply` finds what there is to say. Where one of `unless` said something, this rule says nothing."""

    apply: Callable[[Case], Said | None]
    seconds: float
    samples: int
    unless: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Advice:
    """`request`: what to change of the request, for a rerun; may be empty."""

    code: str
    said: Said

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.said.text.as_dict(), "request": dict(self.said.request)}


_FEEDING = frozenset({"data_workers", "data_in_main", "data_storage", "cpu_bound"})
RULES = (
    Rule(gpu_unused, 180, 24),
    Rule(gpu_low, 180, 24),
    Rule(gpu_late, 1200, 60),
    Rule(gpu_memory_tight, 60, 10),
    Rule(gpu_memory_grows, 900, 90),
    Rule(throttled_heat, 300, 40),
    Rule(throttled_power, 300, 40),
    Rule(memory_grows, 900, 90),
    Rule(data_local, 600, 60),
    Rule(cpus_unused, 600, 60, _FEEDING),
    Rule(memory_unused, 600, 60, frozenset({"data_local", "memory_grows"})),
)


def advise(nodes: list[NodeSamples], resources: dict[str, Any]) -> list[Advice]:
    """In the order of the table."""
    case = case_of(nodes, resources)
    told: list[Advice] = []
    for rule in RULES:
        if case.seconds < rule.seconds or case.count < rule.samples or {one.code for one in told} & rule.unless:
            continue
        said = rule.apply(case)
        if said is not None:
            told.append(Advice(said.code, said))
    return told
