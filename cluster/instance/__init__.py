"""An instance: a cluster with its images, Hub and people. `demo` is for people, `test` for the tests; both may run."""
