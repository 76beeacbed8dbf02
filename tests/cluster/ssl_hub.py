"""A Hub with internal_ssl, by the one key of the reference deployment's settings."""

import json
from pathlib import Path
from typing import Any

from tests.cluster.hub import Hub, free_port


class SslHub(Hub):
    """`claim_port` is where its jobs claim."""

    def __init__(self, folder: Path, site_data: dict[str, Any], extra_config: str = "", **settings: Any) -> None:
        super().__init__(folder, site_data, extra_config)
        self.claim_port = free_port(self.address)
        file = folder / "settings.json"
        kept = json.loads(file.read_text())
        file.write_text(json.dumps({**kept, "internal_ssl": True, "claim_port": self.claim_port, **settings}))
