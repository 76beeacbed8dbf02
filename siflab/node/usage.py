"""What a job uses of CPUs and GPUs, from proc(5) and nvidia-smi."""

import os
import subprocess
import time

_TIMEOUT = 20.0
_GPU_SAMPLES, _GPU_PAUSE = 3, 1.0


class CpuTime(object):
    """The CPU time of the job's processes, but the server, this one and those that it was started by. A process belongs
    to the job by the job's id in its environment, so that those that left their parent count too."""

    def __init__(self, server_pid, job_id, proc="/proc"):
        self._proc, self._mark = proc, b"SLURM_JOB_ID=" + job_id.encode("ascii", "replace") if job_id else None
        self._not_counted = {server_pid, os.getpid()} | _ancestors(proc, os.getpid())
        self._ours = {}  # (pid, start time): whether it belongs to the job
        self._before, self._at = self._times(), time.monotonic()

    def percent(self):
        """Of one CPU, since the call before."""
        times, now = self._times(), time.monotonic()
        ticks = sum(max(0, spent - self._before.get(process, 0)) for process, spent in times.items())
        seconds = max(now - self._at, 0.001)
        self._before, self._at = times, now
        return 100.0 * ticks / os.sysconf("SC_CLK_TCK") / seconds

    def _times(self):
        found, ours = {}, {}
        for name in os.listdir(self._proc):
            if not name.isdigit() or int(name) in self._not_counted:
                continue
            stat = _stat(self._proc, name)
            if stat is None:
                continue
            process = (int(name), stat[19])  # field 22 of proc(5): when it started
            ours[process] = self._ours.get(process) or self._belongs(name)
            if ours[process]:
                found[process] = sum(int(field) for field in stat[11:15])  # 14 to 17: its own and its children's
        self._ours = ours
        return found

    def _belongs(self, name):
        if self._mark is None:
            return False
        try:
            with open(os.path.join(self._proc, name, "environ"), "rb") as stream:
                return self._mark in stream.read().split(b"\0")
        except OSError:  # another user's
            return False


def _stat(proc, name):
    """Fields 3 and on of proc(5)'s stat; None when the process is gone."""
    try:
        with open(os.path.join(proc, name, "stat"), "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields if len(fields) > 19 else None


def _ancestors(proc, pid):
    found = set()
    while pid > 1 and pid not in found:
        found.add(pid)
        stat = _stat(proc, str(pid))
        pid = int(stat[1]) if stat else 0
    return found


def gpu_use(environment, samples=_GPU_SAMPLES, pause=_GPU_PAUSE):
    """Percent, the mean of some samples of the busiest of the job's GPUs; 0 where it cannot be told."""
    devices = environment.get("CUDA_VISIBLE_DEVICES", "")
    argv = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    if not devices or devices == "NoDevFiles":
        return 0.0
    rows = []
    for number in range(samples):
        if number:
            time.sleep(pause)
        try:
            done = subprocess.run(
                argv + ["--id=" + devices],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                env=environment,
            )
            rows.append([float(line) for line in done.stdout.decode("ascii", "replace").splitlines()])
        except (OSError, ValueError, subprocess.TimeoutExpired):  # none here, or "[N/A]" with MIG
            return 0.0
    if len({len(row) for row in rows}) != 1:
        return 0.0
    return max([sum(row[gpu] for row in rows) / samples for gpu in range(len(rows[0]))] or [0.0])
