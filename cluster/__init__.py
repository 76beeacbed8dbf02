"""A real Slurm and Singularity cluster on one machine, for demo and tests; Debian's own Python, nothing else."""
