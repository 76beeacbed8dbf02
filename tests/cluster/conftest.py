"""Tests on the real cluster. Without one they are left out, but not where `cluster/test` has just set one up."""

import os

import pytest

MISSING = ("no cluster", "no image", "no configurable-http-proxy", "the Hub of these tests", "no sudo")


def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> None:
    """A test that finds no cluster there is a test that did not run: that is a failure. What this machine cannot do at
    all (namespaces, cgroups of version 1) may still be left out, with the reason."""
    skipped = call.excinfo is not None and call.excinfo.errisinstance(pytest.skip.Exception)
    if skipped and os.environ.get("SIFLAB_TEST_CLUSTER") and str(call.excinfo.value).startswith(MISSING):
        call.excinfo = pytest.ExceptionInfo.from_exc_info(
            (
                AssertionError,
                AssertionError(f"skipped on the cluster of the tests: {call.excinfo.value}"),
                call.excinfo.tb,
            )
        )
