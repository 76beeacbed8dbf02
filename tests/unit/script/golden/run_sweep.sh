#!/bin/bash
# Siflab run abcdefg2: 训练 "a" $(id)
# From /home/user1/训练 "a" $(id).ipynb
# Written by Siflab 0.1.0. It may be read, edited and submitted by hand: sbatch job.sh
# Each start makes a new folder attempts/K with the executed notebook, its log and its result.
#
# Exit codes: 0 completed, 1 a cell failed, 3 the kernel died, 4 a cell took too long, 5 stopped by a signal, 70 the runner
# could not work; 71 no folder for the attempt, 72 no Singularity, 73 no image, 74 a bind is missing, 75 the container did
# not start, 76 ended by a signal, 79 a folder is not yours alone, 77 it could not be queued again.
#
#SBATCH --job-name=ddp-training
#SBATCH --array=0-99%8
#SBATCH --account=lab
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:a100:2
#SBATCH --mem=32G
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --partition=gpu-a100
#SBATCH --qos=normal
#SBATCH --reservation=course
#SBATCH --time=12:00:00
#SBATCH --comment=siflab-run:abcdefg2
#SBATCH --chdir=/home/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2
#SBATCH --output=/home/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2/%x-%A_%a.out
#SBATCH --open-mode=append
#SBATCH --export=ALL
#SBATCH --requeue
#SBATCH --signal=B:USR2@60

run=/home/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2
run_inside=/workspace/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2 # as the container has it
image=/images/pytorch-v2.7.sif
singularity=singularity
attempts=2 # starts that it may take: after the warning before the time limit it goes on in another one
container=(
    "$singularity" exec
    --nv
    --bind /home:/workspace
    --bind /dataset:/datasets:ro
    --home /home/user1:/workspace/user1
    --pwd /workspace/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2
    "$image"
    /opt/conda/bin/python3
)

say() { printf '%s siflab: %s\n' "$(date '+%F %T')" "$*"; }

last_word() { # exit code, problem or nothing, of this attempt
  [ -n "${folder:-}" ] || return
  printf '{"exit_code": %d, "problem": "%s", "step_exit_code": %d, "ended_at": "%s"}\n' \
    "$1" "$2" "${step_code:-0}" "$(date --iso-8601=seconds)" > "$folder/.end.json" &&
    mv "$folder/.end.json" "$folder/end.json"
}

finish() { # exit code, problem or nothing
  last_word "$1" "$2"
  exit "$1"
}

fail() { # exit code, problem, English, Chinese
  say "$3"
  say "$4"
  finish "$1" "$2"
}

is_ours() { # a folder that we own, where not everybody may write, and to which no other user's link leads
  case $(stat -c %u "$1") in "$EUID" | 0) ;; *) return 1 ;; esac
  [ -O "$1" ] && [ $((0$(stat -Lc %a "$1") & 2)) -eq 0 ]
}

make_attempt() { # each start of the job by Slurm, also after a requeue, gets a folder of its own
  attempt=$((${SLURM_RESTART_COUNT:-0} + 1))
  mkdir -p "$place/attempts"
  until mkdir "$place/attempts/$attempt"; do
    [ -d "$place/attempts/$attempt" ] || fail 71 no-attempt \
      "no folder can be made in $place/attempts: is the disk full, or the quota reached?" \
      "无法在 $place/attempts 中创建目录：磁盘是否已满，或已达到配额？"
    attempt=$((attempt + 1))
  done 2> /dev/null
  mkdir "$place/attempts/$attempt/logs"
  folder=$place/attempts/$attempt
}

make_data() { # the same over all attempts
  local name
  for name in checkpoints outputs tensorboard; do
    mkdir -p "$place/$name"
  done
  export CHECKPOINT_DIR="$place_inside/checkpoints" OUTPUT_DIR="$place_inside/outputs" LOG_DIR="$place_inside/tensorboard"
}

# shellcheck disable=SC2317 # called by the traps
forward() { # a signal of Slurm's to the step
  interrupted=yes
  if [ "$1" = TERM ]; then ended=yes; else warned=yes; fi
  say "signal $1: passed on to the notebook"
  kill -s "$1" "$step" 2> /dev/null
}

go_on() { # in another start of this job, or in a job after it where this one may not be queued again
  say "stopped before the time limit: attempt $attempt, start $starts of $attempts; it goes on in another one"
  last_word 5 goes-on
  local said code
  said=$(scontrol requeue "$job" 2>&1)
  code=$?
  if [ "$code" -eq 0 ]; then # Slurm ends this script now
    sleep 60 &
    [ -n "${ended:-}" ] || wait "$!"
    kill "$!" 2> /dev/null
    exit 5
  fi
  say "scontrol requeue: $said"
  local name
  for name in $(compgen -e); do # a job's variables are options of sbatch
    case $name in
      SLURM_CONF) ;;
      SLURM_* | SBATCH_* | SRUN_* | SIFLAB_*) unset -v "$name" ;;
    esac
  done
  said=$(sbatch --dependency="afterany:$job" --array="$SLURM_ARRAY_TASK_ID" "$run/job.sh" 0 "$starts" 2>&1)
  code=$?
  [ "$code" -eq 0 ] || fail 77 no-requeue \
    "it could not be queued again: $said; submit it again (siflab resume abcdefg2), its checkpoints are kept" \
    "无法重新排队：$said；请重新提交（siflab resume abcdefg2），检查点均已保留"
  say "$said"
  exit 5
}

main() {
  if [ -z "${SLURM_JOB_ID:-}" ]; then
    say "this is a batch script: submit it with sbatch $0"
    exit 2
  fi
  umask 077
  point=$((${SLURM_ARRAY_TASK_ID:?this is a job array: submit it whole} + ${1:-0})) # points.json says what it is
  place=$run/points/$point
  place_inside=$run_inside/points/$point
  job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID # alone: its job id would mean the whole array
  before=${2:-0} # starts in jobs before this one
  is_ours "$run" || fail 79 not-yours \
    "$run is not yours alone (its owner, or its mode): another user could change what runs here" \
    "$run 不是您独有的（所有者或权限）：其他用户可能改变此处运行的内容"
  starts=$((before + ${SLURM_RESTART_COUNT:-0} + 1))
  make_attempt
  exec >> "$folder/logs/run.log" 2>&1
  printf '{"job_id": "%s", "node": "%s", "restart_count": %d, "started_at": "%s"}\n' "${SLURM_JOB_ID:-}" \
    "${SLURMD_NODENAME:-}" "${SLURM_RESTART_COUNT:-0}" "$(date --iso-8601=seconds)" > "$folder/job.json"
  say "job ${SLURM_JOB_ID:-} on ${SLURM_JOB_NODELIST:-${SLURMD_NODENAME:-$(hostname)}}, attempt $attempt"

  command -v "$singularity" > /dev/null || fail 72 no-singularity \
    "Singularity is not installed on this node (no command $singularity); tell your administrator" \
    "本节点没有安装 Singularity（找不到命令 $singularity）；请联系管理员"
  [ -r "$image" ] || fail 73 no-image \
    "the image $image cannot be read on this node; tell your administrator" \
    "本节点无法读取镜像 $image；请联系管理员"
  local source
  for source in /home /dataset; do
    [ -e "$source" ] || fail 74 no-bind \
      "$source, which the container needs, does not exist on this node; tell your administrator" \
      "容器需要的 $source 在本节点不存在；请联系管理员"
  done

  # nothing of the shell that submitted this changes the container
  local name
  for name in $(compgen -e); do
    case $name in
      SINGULARITY_TMPDIR | APPTAINER_TMPDIR | SINGULARITY_CACHEDIR | APPTAINER_CACHEDIR) ;;
      SINGULARITY* | APPTAINER* | JUPYTER* | JPY_* | SIFLAB_* | PYTHONPATH | PYTHONHOME | CONDA* | VIRTUAL_ENV) unset -v "$name" ;;
    esac
  done
  export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-8}" # since Slurm 22.05 srun does not take it from the job
  export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-8}"
  export NCCL_DEBUG=INFO
  export NCCL_SOCKET_IFNAME=ib0
  make_data

  cd / # Singularity mounts the folder that it is started in
  srun --nodes=1 --ntasks=1 --export=ALL --kill-on-bad-exit=1 --input=none \
    "${container[@]}" "$run_inside/runner.pyz" --run "$run_inside" --attempt "$attempt" --point "$point" &
  step=$!
  trap 'forward TERM' TERM
  trap 'forward USR2' USR2 # the warning before the time limit
  local code
  step_code=127
  while :; do # a trapped signal ends wait early: wait again
    interrupted=
    wait "$step"
    code=$?
    [ "$code" -eq 127 ] || step_code=$code
    [ -n "$interrupted" ] || break
  done

  if [ "$step_code" -eq 5 ] && [ -n "${warned:-}" ] && [ -z "${ended:-}" ] && [ "$starts" -lt "$attempts" ]; then
    go_on
  fi
  if [ ! -e "$folder/progress.json" ] && [ ! -e "$folder/result.json" ] && [ "$step_code" -ne 0 ]; then
    fail 75 no-container "the container did not start, or the runner in it (exit code $step_code): see the lines above" \
      "容器或其中的运行器没有启动（退出码 $step_code）：见上面的输出"
  fi
  if [ "$step_code" -ge 128 ]; then
    fail 76 signal "the notebook's process was ended by signal $((step_code - 128))" \
      "notebook 的进程被信号 $((step_code - 128)) 终止"
  fi
  finish "$step_code" ""
}

main "$@"
