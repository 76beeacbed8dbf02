  place=$run
  place_inside=$run_inside
  job=$SLURM_JOB_ID
  before=${1:-0} # starts in jobs before this one
