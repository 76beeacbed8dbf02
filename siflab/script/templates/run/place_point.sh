  point=$((${SLURM_ARRAY_TASK_ID:?this is a job array: submit it whole} + ${1:-@{offset}})) # points.json says what it is
  place=$run/points/$point
  place_inside=$run_inside/points/$point
  job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID # alone: its job id would mean the whole array
  before=${2:-0} # starts in jobs before this one
