"""What Slurm says of the sessions' jobs: one watcher, proof of an end, and its words."""
