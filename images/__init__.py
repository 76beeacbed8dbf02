"""The Singularity images: what goes in, and how they are built without any container registry."""
