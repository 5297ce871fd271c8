"""Put a whole file under a name that must be free, also where several accounts write into one directory."""

import errno
import os

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def publish(folder: int, name: str, raw: bytes) -> None:
    """Write a file in the directory of a descriptor: whole, readable by all, and never over another.

    Raises FileExistsError when the name is taken, OSError for a full disk or a missing permission.
    """
    hidden = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)  # whatever the umask is: others have to read it
            os.fsync(stream.fileno())
        try:
            os.link(hidden, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            # an NFS server whose answer was lost is asked again, and then finds the link that it made itself
            if not _same(folder, hidden, name):
                raise
        except OSError as error:
            if error.errno not in _NO_LINKS or _exists(folder, name):
                raise
            os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        try:
            os.unlink(hidden, dir_fd=folder)
        except FileNotFoundError:
            pass


def _same(folder: int, one: str, other: str) -> bool:
    first, second = (os.stat(each, dir_fd=folder, follow_symlinks=False) for each in (one, other))
    return os.path.samestat(first, second)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
