"""The form of a run's id, as openapi.yaml's parameter `RunId` gives it."""

import re

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
