"""What cluster/demo runs. No PYTHONPATH: the programs that it starts would inherit it."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from cluster.instance.cli import main  # noqa: E402

sys.exit(main())
