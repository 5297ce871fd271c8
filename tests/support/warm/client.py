"""Run a program in a fork of the server: `client.py SOCKET PYTHON ARGUMENT…`; exits as the program does.

What the server does not do as a fresh interpreter would is left to that interpreter.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn


def main(address: str, python: str, arguments: list[str]) -> NoReturn:
    """Hand everything over, pass signals on, and end as the program ended."""
    options = []
    words = list(arguments)
    while words and words[0] in ("-u", "-P"):
        options.append(words.pop(0))
    known = words and ("-P" not in options) and (words[0] == "-m" or not words[0].startswith("-"))
    if not known or any(Path(each, "sitecustomize.py").exists() for each in _search()):
        os.execv(python, [python, *arguments])
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(address)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda got, _: connection.send(bytes([got])))
    told = {"words": words, "unbuffered": "-u" in options, "environment": dict(os.environ), "folder": str(Path.cwd())}
    body = json.dumps(told).encode()
    socket.send_fds(connection, [len(body).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(body)
    status = int.from_bytes(connection.recv(4), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _search() -> list[str]:
    return [each for each in os.environ.get("PYTHONPATH", "").split(":") if each]


main(sys.argv[1], sys.argv[2], sys.argv[3:])
