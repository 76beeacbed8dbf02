"""Which image file this session runs in, and where its user's own kernels for that image lie.

The job script fingerprints the image, for the container does not see it (`siflab.container.digest` says of what); a
digest that site.yaml states comes first. Environments (`siflab.environments`) go by it.
"""

import os
import re

NAME = "image"
"""In the private folder: what ``sha256sum`` said of the image."""
_SUM = re.compile(r"[0-9a-f]{64}")
_IDENTITY = re.compile(r"(?:sif|sha256):([0-9a-f]{12})[0-9a-f]{52}")
_KERNELS = ".siflab/environments/.kernels"


def identity(folder, stated):
    """``sha256:...`` as stated, else ``sif:...`` by the job script; None when neither is known."""
    if isinstance(stated, str) and _IDENTITY.fullmatch(stated):
        return stated
    try:
        with open(os.path.join(folder, NAME), encoding="ascii", errors="replace") as stream:
            found = _SUM.match(stream.read(128))
    except OSError:
        return None
    return "sif:" + found.group() if found else None


def note(answer, folder, container):
    """Add to the answer to a claim what the Hub cannot know: the image's identity, and in JUPYTER_PATH the folder of
    the kernels for it, whether or not there are any yet. `container` is the container's environment."""
    session = answer.setdefault("session", {})
    found = identity(folder, session.get("image_digest"))
    session["image_identity"] = found
    home = container.get("HOME")
    if found is None or not home:
        return
    own = os.path.join(home, _KERNELS, _IDENTITY.fullmatch(found).group(1))
    others = answer["env"].get("JUPYTER_PATH") or container.get("JUPYTER_PATH")
    answer["env"]["JUPYTER_PATH"] = own + (os.pathsep + others if others else "")
