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
@{follow_up}
