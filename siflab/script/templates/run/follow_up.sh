  local name
  for name in $(compgen -e); do # a job's variables are options of sbatch
    case $name in
      SLURM_CONF) ;;
      SLURM_* | SBATCH_* | SRUN_* | SIFLAB_*) unset -v "$name" ;;
    esac
  done
  said=$(sbatch --dependency="afterany:$job" @{array}"$run/@{script}" @{offset}"$starts" 2>&1)
  code=$?
