"""``python node.pyz shim|bridge|client ...``"""

import sys


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("shim", "bridge", "client"):
        sys.exit("usage: node.pyz shim FOLDER | bridge FOLDER | client NAME [ARGUMENT...]")
    name, arguments = sys.argv[1], sys.argv[2:]
    if name == "shim":
        import shim

        return shim.main(arguments)
    if name == "bridge":
        import bridge

        return bridge.main(arguments)
    import client

    return client.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
