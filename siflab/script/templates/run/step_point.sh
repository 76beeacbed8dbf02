  srun --nodes=1 --ntasks=1 --export=ALL --kill-on-bad-exit=1 --input=none \
    "${container[@]}" "$run_inside/runner.pyz" --run "$run_inside" --attempt "$attempt" --point "$point"
