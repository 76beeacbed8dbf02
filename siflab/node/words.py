"""What is said to people, in English and Chinese side by side; and the job's log."""

import os
from collections import namedtuple

Words = namedtuple("Words", "en zh")


def language(environment):
    """``zh`` or ``en``, from SIFLAB_LANG, else as gettext does it (the same rule as `siflab.text`)."""
    for name in ("SIFLAB_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "zh" if environment[name].lower().startswith("zh") else "en"
    return "en"


def log(*lines):
    """Lines of ours on standard error. As bytes, since Python 3.6 in the C locale cannot print Chinese; and a log that
    cannot be written (a full disk, a quota) ends no session."""
    text = "".join("siflab: %s\n" % line for line in lines)
    try:
        os.write(2, text.encode("utf-8", "replace"))
    except OSError:
        pass
