  # one task a node; the runner there adds --node-rank=$SLURM_NODEID and what each process is to run, and passes signals on
  srun --nodes="$SLURM_NNODES" --ntasks-per-node=1 --export=ALL --kill-on-bad-exit=1 --input=none \
    "${container[@]}" "$run_inside/runner.pyz" --node --run "$run_inside" --attempt "$attempt" -- \
    -m torch.distributed.run --nnodes="$SLURM_NNODES" --nproc-per-node="$processes" --max-restarts=0 \
    --rdzv-backend=static --master-addr="$master" --master-port="$port" \
    --rdzv-id="$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"
