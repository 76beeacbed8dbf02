"""Proof that a server of ours listens on a port: the listening socket's inode is open in a process below our child.

A port that was only reserved can be taken by another user's process, whose pages would then be shown as this user's
(seen in a trial), so nothing less is proof.
"""

import os
import socket

LISTEN = "0A"  # tcp_states.h, as /proc/net/tcp prints it


def free_port():
    """A port that nobody uses at this moment."""
    probe = socket.socket()
    try:
        probe.bind(("0.0.0.0", 0))
        return probe.getsockname()[1]
    finally:
        probe.close()


def listening_inodes(port):
    """The inodes of all sockets that listen on `port` in this network namespace."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        for row in rows:
            if len(row) > 9 and row[3] == LISTEN and int(row[1].rpartition(":")[2], 16) == port:
                inodes.add(row[9])
    return inodes


def descendants(pid):
    """`pid` and every process below it."""
    found, todo = [], [pid]
    while todo:
        current = todo.pop()
        found.append(current)
        try:
            threads = os.listdir("/proc/%d/task" % current)
        except OSError:
            continue
        for thread in threads:
            try:
                with open("/proc/%d/task/%s/children" % (current, thread)) as children:
                    todo.extend(int(child) for child in children.read().split())
            except OSError:
                continue
    return found


def who_listens(port, child):
    """``ours`` if processes of `child` own every listening socket of the port, ``other`` if not, else ``nobody``."""
    inodes = listening_inodes(port)
    if not inodes:
        return "nobody"
    ours = set()
    for pid in descendants(child):
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(folder + "/" + name)
            except OSError:
                continue
            if target.startswith("socket:["):
                ours.add(target[8:-1])
    return "ours" if inodes <= ours else "other"
