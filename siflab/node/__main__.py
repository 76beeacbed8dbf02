"""``python node.pyz shim FOLDER | bridge FOLDER | client NAME [ARGUMENT ...]``"""

import sys

if sys.version_info < (3, 6):
    sys.stderr.write(
        "siflab: %s is Python %d.%d, and Siflab needs Python 3.6 or later in the image; tell your administrator "
        "(`images` in site.yaml: python)\n" % (sys.executable, sys.version_info[0], sys.version_info[1])
    )
    sys.exit(98)  # the job script says it in both languages


def main(arguments):
    """The exit code. Each part is imported only where it runs: a client has to start fast."""
    part, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if part == "shim":
        from siflab.node import shim

        return shim.main(*rest)
    if part == "bridge":
        from siflab.node import bridge

        return bridge.main(*rest)
    if part == "client":
        from siflab.node import client

        return client.main(rest)
    sys.stderr.write(__doc__ + "\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
