"""The spawner beside batchspawner, on one real cluster in one run: load on Slurm, starts, bursts, restarts."""
