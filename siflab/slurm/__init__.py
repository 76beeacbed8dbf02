"""All that knows Slurm: its values, its states, its commands, and what is free."""
