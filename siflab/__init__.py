"""Siflab: Jupyter sessions and notebook runs on Slurm, inside Singularity images."""

__version__ = "0.1.0"
