"""States, reasons and errors of Slurm in plain words, in both languages."""

import pytest

from siflab.slurm.answers import is_unreachable, parse_estimate, parse_job_id, sbatch_error
from siflab.slurm.reasons import never_starts, pending_reason
from siflab.slurm.states import BASE_STATES, FLAGS, JOB_STATES, state_info

CHINESE = range(0x4E00, 0xA000)


def is_chinese(text: str) -> bool:
    return any(ord(letter) in CHINESE for letter in text)


STATES = {
    "pending": "PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD EXPEDITING CONFIGURING POWER_UP_NODE",
    "running": "RUNNING SUSPENDED STOPPED RESIZING SIGNALING",
    "ending": "COMPLETING STAGE_OUT",
    "ended": "COMPLETED FAILED CANCELLED TIMEOUT DEADLINE OUT_OF_MEMORY NODE_FAIL BOOT_FAIL PREEMPTED",
    "unknown": "REVOKED LAUNCH_FAILED RECONFIG_FAIL UPDATE_DB",
}


def test_the_table_has_all_states_and_flags():
    assert {info.name: info.kind for info in JOB_STATES.values()} == {
        name: kind for kind, names in STATES.items() for name in names.split()
    }
    assert set(BASE_STATES).isdisjoint(FLAGS)


@pytest.mark.parametrize(
    ("word", "name", "kind"),
    [
        ("running", "RUNNING", "running"),
        ("CANCELLED by 0", "CANCELLED", "ended"),
        ("CANCELLED+", "CANCELLED", "ended"),
        ("", "UNKNOWN", "unknown"),
        (",", ",", "unknown"),
        ("?", "?", "unknown"),
        ("BRAND_NEW_STATE", "BRAND_NEW_STATE", "unknown"),
        ("RUNNING,COMPLETING", "COMPLETING", "ending"),
        ("FAILED,COMPLETING,REQUEUED", "COMPLETING", "ending"),
        ("FAILED,REQUEUED", "REQUEUED", "pending"),
        ("PENDING,LAUNCH_FAILED,REQUEUE_HOLD", "REQUEUE_HOLD", "pending"),
        ("PENDING,LAUNCH_FAILED", "PENDING", "pending"),
        ("RUNNING,CONFIGURING,POWER_UP_NODE", "CONFIGURING", "pending"),
        ("RUNNING,SIGNALING", "SIGNALING", "running"),
        ("RUNNING|RESIZING", "RESIZING", "running"),
        ("COMPLETED,UPDATE_DB", "COMPLETED", "ended"),
        ("UPDATE_DB", "UPDATE_DB", "unknown"),
        ("COMPLETED,BRAND_NEW_FLAG", "COMPLETED,BRAND_NEW_FLAG", "unknown"),
    ],
)
def test_states(word, name, kind):
    info = state_info(word)
    assert (info.name, info.kind) == (name, kind)


def test_every_state_is_told_in_both_languages():
    for info in JOB_STATES.values():
        assert info.text.en
        assert is_chinese(info.text.zh), info.name


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        ("Resources", "no node that fits is free"),
        ("QOSMaxGRESPerUser", "of its QOS on GPUs"),
        ("AssocGrpGRES", "of your account on GPUs"),
        ("QOSMaxWallDurationPerJobLimit", "more run time"),
        ("QOSMaxJobsPerUserLimit", "running jobs"),
        ("ReqNodeNotAvail, UnavailableNodes:gpu02", "(UnavailableNodes:gpu02)"),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "are down"),
        ("SomethingNew", "Slurm says: SomethingNew"),
    ],
)
def test_reasons(reason, part):
    text = pending_reason(reason)
    assert part in text.en
    assert is_chinese(text.zh)


NEVER = [
    ("QOSMaxGRESPerJob", "more GPUs than the limit of its QOS"), ("QOSMaxGRESPerNode", "more GPUs per node than"),
    ("QOSMaxCpuPerJobLimit", "more CPUs than"), ("QOSMaxMemoryPerNode", "more memory per node"),
    ("QOSMaxNodePerJobLimit", "more nodes than"), ("QOSMaxCpuMinutesPerJobLimit", "more computing time"),
    ("AssocMaxNodePerJobLimit", "limit of your account"), ("AssocMaxWallDurationPerJobLimit", "more run time"),
    ("AssocMaxMemPerJob", "more memory"), ("QOSMinGRES", "minimum of its QOS for GPUs"), ("QOSMinCpuNotSatisfied", "ask for more"),
    ("QOSMinMemory", "ask for more"), ("PartitionTimeLimit", "will not start"), ("BadConstraints", "ever"),
    ("(QOSMaxWallDurationPerJobLimit)", "more run time"), ("DependencyNeverSatisfied", "never start"),
    ("InvalidQOS", "not valid"), ("QOSMaxBBPerJob", "more resources"),
]  # fmt: skip
LATER = [
    ("QOSMaxGRESPerUser", "others of these jobs"), ("QOSMaxCpuPerUserLimit", "on CPUs is reached"), ("AssocGrpMemLimit", "on memory is reached"),
    ("QOSGrpNodeLimit", "on nodes is reached"), ("AssocGrpCPURunMinutesLimit", "on computing time is reached"),
    ("AssocGrpCPUMinutesLimit", "used up"), ("QOSGrpGRESMinutes", "used up"), ("QOSMaxSubmitJobPerUserLimit", "submitted jobs"),
    ("MaxGRESPerAccount", "on GPUs is reached"), ("Resources", "next in line"), ("Priority", "go first"), ("", ""), ("NewInSlurm99", "Slurm says"),
    ("Licenses", "licence"), ("ReqNodeNotAvail, UnavailableNodes:gpu02", "gpu02"), ("JobHeldUser", "held"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "part", "never"), [(*one, True) for one in NEVER] + [(*one, False) for one in LATER]
)
def test_what_will_never_start_is_told_apart_from_what_waits(reason, part, never):
    text = pending_reason(reason)
    assert part in text.en and text.zh
    assert never_starts(reason) is never
    if never and reason.strip("()").startswith(("QOSM", "Assoc")):
        assert "will not start" in text.en and "不会启动" in text.zh


@pytest.mark.parametrize(
    ("stderr", "field", "part"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", "partition", "no such partition"),
        ("allocation failure: Requested node configuration is not available", "", "ask for less"),
        ("sbatch: error: Invalid --time specification", "time", "not a time"),
        ("sbatch: error: QOSMaxGRESPerUser\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", "gpus", "QOS"),
        ("sbatch: error: brand new", "", "Slurm says: brand new"),
        ("", "", "no reason given"),
    ],
)  # fmt: skip
def test_errors_of_sbatch_belong_to_a_field(stderr, field, part):
    found, text = sbatch_error(stderr)
    assert found == field
    assert part in text.en
    assert is_chinese(text.zh)


@pytest.mark.parametrize(
    ("stderr", "unreachable"),
    [
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", True),
        ("squeue: error: Protocol authentication error", True),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", True),
        ("slurm_load_jobs error: Invalid job id specified", False),
    ],
)
def test_an_error_of_the_connection_proves_nothing_about_a_job(stderr, unreachable):
    assert is_unreachable(stderr) is unreachable


@pytest.mark.parametrize(
    ("stdout", "job_id"), [("12\n", "12"), ("12;lab\n", "12"), ("warning: x\n34\n", "34"), ("", None), ("12 13", None)]
)
def test_the_job_id(stdout, job_id):
    assert parse_job_id(stdout) == job_id


def test_the_estimate():
    text = "sbatch: Job 11 to start at 2026-11-30T22:58:01 using 1 processors on nodes gpu01 in partition gpu-a100"
    estimate = parse_estimate(text)
    assert estimate is not None
    assert (estimate.nodes, estimate.partition) == ("gpu01", "gpu-a100")
    assert estimate.start is not None
    assert parse_estimate("allocation failure: Invalid qos specification") is None
