"""Folders that another user can change, as they come about on a scratch file system of all."""

import os

import pytest

HOW = ["anybody may write", "another's", "another's link"]


def give_away(folder, how):
    """Make the folder, which is there or not, one of those."""
    if how != "anybody may write" and os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    folder.mkdir(parents=True, exist_ok=True)
    if how == "anybody may write":
        folder.chmod(0o757)
    elif how == "another's":
        os.chown(folder, 12345, 12345)
    else:
        aside = folder.with_name(f"{folder.name} aside")
        folder.rename(aside)
        folder.symlink_to(aside)
        os.chown(folder, 12345, 12345, follow_symlinks=False)
