"""The cluster itself: munge, MariaDB, slurmdbd, slurmctld and one slurmd for each node, all under one folder."""
