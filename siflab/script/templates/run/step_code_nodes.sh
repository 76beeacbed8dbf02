  if [ "$step_code" -ne 0 ] && [ -r "$folder/result.json" ]; then # srun tells of the node that it ended, not of the first
    code=$(sed -n 's/^ *"exit_code": \([1-9][0-9]*\),*$/\1/p' "$folder/result.json")
    step_code=${code:-$step_code}
  fi
