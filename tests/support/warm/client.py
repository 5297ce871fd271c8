"""Run a program in a fork of the server: `client.py SOCKET PYTHON LAID ARGUMENT…`; exits as the program does.

LAID are the names, with commas, of folders with a `sitecustomize` that also works in a fork: a job lays them.
What the server does not do as a fresh interpreter would is left to that interpreter. This file imports only modules
that are compiled into Python (pathlib takes longer to import than all of this): it runs thousands of times.
"""

import _signal
import _socket
import array
import marshal
import os
import sys


def main(address: str, python: str, laid: list[str], arguments: list[str]) -> None:
    """Hand everything over, pass signals on, and end as the program ended."""
    options = []
    words = list(arguments)
    while words and words[0] in ("-u", "-P"):
        options.append(words.pop(0))
    known = words and ("-P" not in options) and (words[0] == "-m" or not words[0].startswith("-"))
    missing = known and words[0] != "-m" and not os.access(words[0], os.F_OK)  # the interpreter's own words tell it
    if not known or missing or _special() or any(_customized(folder, laid) for folder in _search()):
        os.execv(python, [python, *arguments])
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(address)
    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda got, _: connection.send(bytes([got])))
    unbuffered = "-u" in options or bool(os.environ.get("PYTHONUNBUFFERED"))
    mask = os.umask(0)
    os.umask(mask)
    body = marshal.dumps({"words": words, "unbuffered": unbuffered, "environment": dict(os.environ), "umask": mask})
    streams = array.array("i", [0, 1, 2, os.open(".", os.O_PATH)])
    connection.sendmsg([len(body).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    connection.sendall(body)
    status = int.from_bytes(connection.recv(4), "big", signed=True)
    if status < 0:
        if -status != _signal.SIGKILL:
            _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _special() -> bool:
    """Return whether the environment asks for an interpreter that starts in a way that the server does not know."""
    others = ("PYTHONHASHSEED", "PYTHONWARNINGS", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONFAULTHANDLER", "PYTHONDEVMODE")
    names = (os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "C").upper()
    utf8 = names in ("C", "POSIX") or "UTF" in names or os.environ.get("PYTHONUTF8") == "1"
    streams = os.environ.get("PYTHONIOENCODING") in (None, "", "utf-8") and os.environ.get("PYTHONUTF8") != "0"
    return any(os.environ.get(name) for name in others) or not utf8 or not streams


def _customized(folder: str, laid: list[str]) -> bool:
    """Return whether a file there changes how Python starts in a way that a fork does not."""
    return folder.rpartition("/")[2] not in laid and os.access(f"{folder}/sitecustomize.py", os.F_OK)


def _search() -> list[str]:
    return [each for each in os.environ.get("PYTHONPATH", "").split(":") if each]


main(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:])
