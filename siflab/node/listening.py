"""Whose is the socket that listens on a port?

Another user's process can bind *and listen* on a port that we only reserved (seen in a trial); its pages would then be
shown on the Hub's origin, as this user's. So nothing less counts than the listening socket's inode, open in our child.
Sources: proc(5), and the kernel's Documentation/networking/proc_net_tcp.
"""

import errno
import os
import socket

NOBODY, OURS, FOREIGN = "nobody", "ours", "foreign"
_LISTEN = "0A"
_TRIES = 20
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


class ReservedPort(object):
    """A port that nobody has at present, held until `close`. It is bound with SO_REUSEADDR and does not listen, so a
    server that sets SO_REUSEADDR too (tornado and asyncio do) can have it, and the kernel gives it to nobody who asks
    for any port."""

    def __init__(self):
        for left in range(_TRIES, 0, -1):
            self._holders = [_bound(socket.AF_INET, "0.0.0.0", 0)]
            self.number = self._holders[0].getsockname()[1]
            try:
                self._holders.append(_bound(socket.AF_INET6, "::", self.number))
                return
            except OSError as error:
                if error.errno != errno.EADDRINUSE:  # this machine has no IPv6
                    return
                if left == 1:
                    raise
                self.close()

    def keep(self):
        """Now that the server listens nobody else can bind the port any more at any address, of IPv6 neither, nor after
        the server's end: of two sockets both must have SO_REUSEADDR (ip(7), inet_csk_bind_conflict in the kernel)."""
        for holder in self._holders:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)

    def close(self):
        for holder in self._holders:
            holder.close()


def _bound(family, address, port):
    """A socket of this family alone. Raises OSError."""
    holder = socket.socket(family)
    try:
        if family == socket.AF_INET6:
            holder.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((address, port))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        holder.close()
        raise
    return holder


def owner(port, pid):
    """OURS when every socket that listens on the port, at any address, belongs to `pid` or a process below it; FOREIGN
    when one does not; NOBODY when none listens. It looks at this network namespace."""
    inodes = _listening(port)
    if not inodes:
        return NOBODY
    return OURS if inodes <= _sockets(_family(pid)) else FOREIGN


def _listening(port):
    """Inodes of the sockets that listen on a port."""
    found = set()
    suffix = ":%04X" % port
    for table in _TABLES:
        try:
            with open(table) as lines:
                next(lines)
                for line in lines:
                    fields = line.split(None, 10)
                    if fields[3] == _LISTEN and fields[1].endswith(suffix):
                        found.add(fields[9])
        except (OSError, StopIteration):  # no IPv6 here
            continue
    return found


def _family(pid):
    """`pid` and every process below it."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as stream:
                    parent = int(stream.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):  # it ended meanwhile
                continue
            children.setdefault(parent, []).append(int(name))
    family = [pid]
    for member in family:
        family.extend(children.get(member, ()))
    return family


def _sockets(pids):
    """Inodes of the sockets that processes have open."""
    found = set()
    for pid in pids:
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                target = os.readlink(os.path.join(folder, name))
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[len("socket:[") : -1])
    return found
