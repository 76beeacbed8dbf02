# Short names for the scripts. Everything but `lint` and `test-unit` runs as root (see README.md).
# Node.js: npm's packages of the front end come from a cache that cluster/demo fills (labextension/node_modules links to it).

TEST_VENV = /var/lib/siflab/test/venv

.PHONY: help demo stop demo-clean test test-unit test-cluster test-browser test-stop test-clean bench bench-spawner bench-runs lint format image clean

help:
	@echo "make demo        a Slurm cluster with JupyterHub on this machine; prints the address and the users"
	@echo "make stop        stop it (the tests' cluster: make test-stop)"
	@echo "make demo-clean  remove all that the demo created (KEEP_CACHE=1: but the downloads and built images)"
	@echo "make test        all tests, with a cluster, images and a Hub of their own"
	@echo "make test-unit   the quick loop, no Slurm       make test-cluster, make test-browser: one part"
	@echo "make bench       how long a person waits for a session, and for a job id"
	@echo "make bench-spawner   sessions beside batchspawner: load on Slurm, starts, bursts, a restart (20 minutes)"
	@echo "make bench-runs  from a request to its job id; the step of a distributed training beside a script by hand"
	@echo "make lint        ruff, mypy, shellcheck, eslint, prettier       make format"
	@echo "make image       the demo's image (NAME=stock: the other one) into artifacts/"

demo:
	@cluster/demo up

stop:
	@cluster/demo stop

demo-clean:
	@cluster/demo $(if $(KEEP_CACHE),--keep-cache) clean

test:
	@cluster/test all

test-unit:
	@cluster/test unit

test-cluster:
	@cluster/test cluster

test-browser:
	@cluster/test browser

bench:
	@cluster/demo --instance test up
	@PYTHONPATH=. $(TEST_VENV)/bin/python bench/whole_path.py

bench-spawner:
	@cluster/demo --instance test --no-hub up
	@environment=$$(cluster/demo --instance test env) && eval "$$environment" && \
		PYTHONPATH=.:spawner $(TEST_VENV)/bin/python -m bench.spawner all

bench-runs:
	@cluster/demo --instance test --no-hub up
	@environment=$$(cluster/demo --instance test env) && eval "$$environment" && \
		PYTHONPATH=. $(TEST_VENV)/bin/python -m bench.runs

test-stop:
	@cluster/demo --instance test stop

test-clean:
	@cluster/demo --instance test $(if $(KEEP_CACHE),--keep-cache) clean

lint:
	@cluster/lint

format:
	@cluster/lint --fix

image:
	@cluster/demo --instance test image $(or $(NAME),pytorch-cpu) artifacts/$(or $(NAME),pytorch-cpu).sif

clean:
	rm -rf artifacts build dist ./*.egg-info .mypy_cache .ruff_cache .pytest_cache labextension/lib labextension/coverage
	find . -name __pycache__ -type d -not -path './labextension/node_modules/*' -prune -exec rm -rf {} +
