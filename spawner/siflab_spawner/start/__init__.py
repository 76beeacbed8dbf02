"""A start: one job, submitted once, until its server listens."""
