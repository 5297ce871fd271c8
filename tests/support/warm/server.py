"""The process that forks: `server.py SOCKET READY OWNER MODULE…`.

It imports the modules, writes a byte to READY, and ends when the process ends that OWNER, a pidfd, stands for.
"""

import atexit
import ctypes
import gc
import importlib
import marshal
import os
import random
import runpy
import select
import shutil
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn


def main(address: str, ready: int, owner: int, modules: list[str]) -> None:
    """Serve until the owner ends, then remove the socket's folder; a process of its own keeps every request."""
    os.set_inheritable(owner, False)
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # a collection in a fork would write to all objects, and so copy their memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the keepers leave no zombies
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        Path(address).chmod(0o666)  # whoever connects gets a program in the own account, and nothing else
        listener.listen(64)
        os.write(ready, b".")
        os.close(ready)
        while owner not in select.select([listener, owner], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                os.close(owner)
                keep(connection)
            connection.close()
    shutil.rmtree(Path(address).parent)


def keep(connection: socket.socket) -> NoReturn:
    """Fork the program and look after it: the client's signals go to it, and when the client is gone it is killed."""
    length, streams, _, _ = socket.recv_fds(connection, 4, 4)
    left, body = int.from_bytes(length, "big"), b""
    while len(body) < left:
        body += connection.recv(left - len(body))
    try:
        move(connection)
    except FileNotFoundError:  # the client was killed meanwhile
        os._exit(0)
    child = os.fork()
    if child == 0:
        take_account(connection)
        connection.close()
        become(marshal.loads(body), list(streams))
    for each in streams:
        os.close(each)
    ended = os.pidfd_open(child)
    while True:
        readable, _, _ = select.select([connection, ended], [], [])
        if ended in readable:
            break
        for number in connection.recv(64) or [signal.SIGKILL]:
            os.kill(child, number)
            if number == signal.SIGKILL:
                os.waitpid(child, 0)
                os._exit(0)
    _, status = os.waitpid(child, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def move(connection: socket.socket) -> None:
    """Go where the client is: a virtual node has a network, a host name, mounts and processes of its own."""
    (client,) = struct.unpack("i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4])
    kinds = {"net": 0x40000000, "uts": 0x04000000, "mnt": 0x00020000, "pid": 0x20000000}  # CLONE_NEW…, sched.h
    flags = sum(
        flag
        for kind, flag in kinds.items()
        if Path(f"/proc/{client}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    )
    if flags and ctypes.CDLL(None, use_errno=True).setns(os.pidfd_open(client), flags):  # a pidfd: since Linux 5.8
        sys.exit(f"setns: {os.strerror(ctypes.get_errno())}")


def take_account(connection: socket.socket) -> None:
    """Become the client's user, with its groups, if it is another than this process's."""
    _, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if uid == os.geteuid():
        return
    groups = connection.getsockopt(socket.SOL_SOCKET, 59, 4 * 256)  # SO_PEERGROUPS
    os.setgroups([group for (group,) in struct.iter_unpack("i", groups)])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: without it /proc/self would stay root's


def become(told: dict[str, Any], streams: list[int]) -> NoReturn:
    """Take over the client's surroundings, run its program as `__main__`, and end as it ends."""
    os.setsid()
    folder = streams.pop()
    os.fchdir(folder)
    os.close(folder)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.umask(told["umask"])
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    sys.executable = os.environ.get("PYTHON_EXEC") or sys.executable  # a torchrun's ranks start Pythons like themselves
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    # as `PYTHONIOENCODING`, `PYTHONUTF8` and the locale tell a fresh interpreter
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C"
    tolerant = os.environ.get("PYTHONUTF8") == "1" or locale.upper().replace("-", "") in ("C", "POSIX", "C.UTF8")
    errors = "surrogateescape" if tolerant and not os.environ.get("PYTHONIOENCODING") else "strict"
    kinds = {"stdin": ("r", errors), "stdout": ("w", errors), "stderr": ("w", "backslashreplace")}
    for number, (name, (mode, how)) in enumerate(kinds.items()):
        line = name == "stderr" or (mode == "w" and os.isatty(number))
        stream = open(number, mode, 1 if line else -1, "utf-8", how, closefd=False)  # noqa: SIM115
        if mode == "w":
            stream.reconfigure(write_through=told["unbuffered"])
        setattr(sys, name, stream)
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
    words = told["words"]
    module = words[1] if words[0] == "-m" else ""
    sys.argv = words[1:] if module else words
    first = os.getcwd() if module else str(Path(words[0]).resolve().parent)  # noqa: PTH109
    sys.path[:] = [*filter(None, told["environment"].get("PYTHONPATH", "").split(":")), *sys.path[1:]]
    customize()
    sys.path.insert(0, first)
    status = 0
    try:  # what the program made stays until the process ends: a DDP model that dies after its group can wait for ever
        if module:
            _kept = runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            _kept = runpy.run_path(str(Path(words[0]).absolute()), run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:  # as the interpreter itself would tell it, without the lines of this file
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
            trace = trace.tb_next
        own = sys.excepthook is not sys.__excepthook__  # ChainerMN's ends all ranks
        (sys.excepthook if own else traceback.print_exception)(type(error), error, trace)
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
    # What an interpreter does at its end, but for taking all modules apart: that would copy their memory first.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    mpi = sys.modules.get("mpi4py.MPI")  # it ends MPI when the interpreter is taken apart
    if mpi and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.Finalize()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


def customize() -> None:
    """Import `sitecustomize`, as `site` does before the program's folder is in the path: a job lays one there."""
    sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            traceback.print_exc()
    except Exception:
        traceback.print_exc()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
