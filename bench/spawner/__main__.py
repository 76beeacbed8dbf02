"""``python -m bench.spawner load|starts|burst|all``: every figure beside its peer's, of one run."""

import argparse
import statistics

from bench.spawner import burst, lab, load, starts


def show_load() -> None:
    found = load.measure()
    print(f"\n{load.PENDING} pending + {load.RUNNING} running sessions, per minute")
    for what in ("commands", "slurmctld RPCs"):
        ours, theirs = found["siflab"][what], found["batchspawner"][what]
        print(f"  {what:18} siflab {ours:8.1f}   batchspawner {theirs:8.1f}   ratio {theirs / ours:.0f} : 1")


def show_starts(times: int) -> None:
    found = starts.measure(times)
    claim, listening = found.pop("parts")
    print(f"\nrequest to ready, seconds, median of {times} (least to most)")
    for name, values in found.items():
        print(f"  {name:14} {statistics.median(values):6.2f}   ({min(values):.2f} to {max(values):.2f})")
    ours = statistics.median(found["siflab"])
    print(f"  siflab / batchspawner {ours / statistics.median(found['batchspawner']):.2f}", end="")
    print(f"   siflab / floor {ours / statistics.median(found['floor']):.2f}")
    print(f"  of one start: intent to claim {claim:.2f}, claim to listening {listening:.2f}")


def show_burst(counts: list[int], peer: int) -> None:
    for count in counts:
        for title, figures in burst.measure(count).items():
            print(f"\n{title}")
            show(figures)
    if peer:
        print(f"\nbatchspawner: {peer} starts at once")
        show(burst.batchspawners(peer))


def show(figures: dict[str, float]) -> None:
    for name, value in figures.items():
        print(f"  {name:32} {value:8.1f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("part", choices=["load", "starts", "burst", "all"])
    options.add_argument("--times", type=int, default=7)
    options.add_argument("--counts", type=int, nargs="*", default=[50, 200])
    options.add_argument("--peer", type=int, default=50, help="starts at once with batchspawner; 0: none")
    given = options.parse_args()
    with lab.cluster():
        if given.part in ("load", "all"):
            show_load()
        if given.part in ("starts", "all"):
            show_starts(given.times)
        if given.part in ("burst", "all"):
            show_burst(given.counts, given.peer)


if __name__ == "__main__":
    main()
