"""Templates of scripts: files in ``templates/`` with marks ``@{name}``, which leave the shell's own ``$`` alone."""

import re
from importlib import resources

_MARK = re.compile(r"@\{([a-z_]+)\}")


def filled(template: str, **values: str) -> str:
    """The template of this name with every mark replaced, once: what a value holds is not looked at again. Raises
    KeyError for a mark without value, and for a value without mark."""
    text = resources.files("siflab.script").joinpath(f"templates/{template}").read_text("utf-8")
    unknown = set(values) - set(_MARK.findall(text))
    if unknown:
        raise KeyError(f"templates/{template} has no {', '.join(sorted(unknown))}")
    return _MARK.sub(lambda mark: values[mark[1]], text)
