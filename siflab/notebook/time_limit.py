"""A run that asks for more time than its partition gives."""

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.surroundings import Surroundings
from siflab.slurm.time import format_time
from siflab.text import Text


def find_time(around: Surroundings) -> list[Finding]:
    """A warning: some QOS lift a partition's limit (PartitionTimeLimit among their flags)."""
    asked, most = around.time_seconds, around.max_time
    if asked is None or most is None or asked <= most:
        return []
    message = Text(
        f"the run asks for {format_time(asked)}, and its partition gives {format_time(most)} at most: Slurm refuses it "
        "or lets it wait for ever. Ask for less, and with more attempts it goes on from its checkpoints.",
        f"运行申请 {format_time(asked)}，而其分区最多给 {format_time(most)}：Slurm 会拒绝，或让它一直等待。"
        "请减少时间；增加尝试次数后，可从检查点继续。",
    )
    fix = Fix("set-field", format_time(most), Text("ask for the most", "改为上限"), "time")
    return [Finding("longer-than-partition", "warning", message, fix=fix)]
