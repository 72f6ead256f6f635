"""The command ``ssdlab``: the same program as the binary that cargo builds."""

import signal
import sys


def main() -> None:
    """Runs the command with the arguments of the process and ends with its status."""
    # The interpreter's handler would wait for the simulation to return; the command ends a run at once, with status 130.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ssdlab._ssdlab import main_from

    sys.exit(main_from(["ssdlab", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
