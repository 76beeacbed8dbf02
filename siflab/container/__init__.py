"""The Singularity command line, image facts, and the map between paths outside and inside."""
