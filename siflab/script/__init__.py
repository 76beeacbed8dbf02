"""Pure functions from a request to a job script, and their templates."""
