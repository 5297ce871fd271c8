"""The helper command of the `local` scheduler; it prints JSON for `commands.py`. Standard library only, and fast.

submit NAME DIRECTORY OUTPUT SCRIPT [ok|any JOB_ID] · status ID… · cancel ID · find NAME · queues ·
submit-part --cores=0-3 --cores-each=2 … -- NAME DIRECTORY OUTPUT SCRIPT [ok|any JOB_ID]
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:  # run by path and isolated (-I), so that no module in the user's folder replaces another one
    sys.path.append(os.fspath(Path(__file__).resolve().parents[3]))

from hackathon.schedulers.local import directives, slots, state, supervisor
from hackathon.schedulers.local.share import Part
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import Message, texts_of


def submit(name: str, directory: str, output: str, script: str, *after: str) -> dict[str, Any]:
    """Create a job and its supervisor; return its id."""
    return _submit(None, name, directory, output, script, *after)


def submit_part(*words: str) -> dict[str, Any]:
    """Create a job that gets a part of an allocation; return its id."""
    end = words.index("--")
    return _submit(Part.of(words[:end]), *words[end + 1 :])


def _submit(part: Part | None, name: str, directory: str, output: str, script: str, *after: str) -> dict[str, Any]:
    folder = Path(directory).absolute()
    text = state.script_of(folder / script)
    request = directives.parse(text)
    total = slots.capacity()
    slots.prepare(slots.place())
    other = _dependency(*after) if after else None
    state.forget_old(time.time())
    facts: dict[str, Any] = {"name": name, "directory": str(folder), "part": part and part._asdict()}
    facts |= {"output": str(folder / output), "script": str(folder / script)}
    job, lock = state.create({**facts, "after": other}, text, request)
    try:
        supervisor.launch(job, lock, total)
    except OSError as error:
        ended = {"state": "FAILED", "reason": "no_process", "started": False, "end": time.time()}
        job.write(ended)
        raise UnavailableError(
            "local.no_process",
            "The process that supervises the job could not be started: {reason}",
            reason=error.strerror or error,
        ) from error
    return {"job_id": job.id}


def _dependency(condition: str, job_id: str) -> list[Any]:
    number, _ = _here(job_id)
    if condition not in ("ok", "any"):
        raise RequestError("local.condition", "A dependency is `ok` or `any`, not {condition}.", condition=condition)
    if state.load(number) is None:
        raise RequestError("local.unknown_job", "You have no local job {job_id} on this machine.", job_id=job_id)
    return [condition, number]


def _here(job_id: str) -> tuple[int, str]:
    """Return (number, host) of an id; raise RequestError for another machine's job, which only that one can reach."""
    parts = state.split_id(job_id)
    if parts is None:
        raise RequestError("local.not_an_id", "{job_id} is not the id of a local job.", job_id=job_id)
    if parts[1] != state.host():
        raise RequestError(
            "local.other_host",
            "Job {job_id} belongs to {host}; this is {here}.",
            hint="Log in to {host} and try again there.",
            job_id=job_id,
            host=parts[1],
            here=state.host(),
        )
    return parts


def status(*ids: str) -> dict[str, Any]:
    """Return the states of jobs; jobs of other machines are distinguished from unknown ones."""
    states: dict[str, Any] = {}
    for job_id in ids:
        parts = state.split_id(job_id)
        if parts is None:
            continue
        if parts[1] != state.host():
            states[job_id] = {"state": "UNKNOWN", "reason": "other_host", "host": parts[1]}
            continue
        job = state.load(parts[0])
        if job is not None:
            states[job_id] = {
                **state.settle(job),
                "name": job.facts["name"],
                "owner": str(os.geteuid()),
                "host": state.host(),
            }
    return {"jobs": states}


def cancel(job_id: str) -> dict[str, Any]:
    """Cancel a job; `cancelled` is False when it had ended."""
    job = state.load(_here(job_id)[0])
    if job is None:
        raise RequestError("local.unknown_job", "You have no local job {job_id} on this machine.", job_id=job_id)
    if state.settle(job)["state"] not in state.OPEN:
        return {"cancelled": False}
    (job.path / "cancel").touch()
    return {"cancelled": True}


def find(name: str) -> dict[str, Any]:
    """Return the ids of jobs with a name, oldest first."""
    return {"ids": [job.id for job in state.jobs() if job.facts["name"] == name]}


def queues() -> dict[str, Any]:
    """Return this machine's slots and the running and waiting jobs of all users."""
    running, waiting = slots.counts(slots.place())
    return {"host": state.host(), "slots": slots.capacity(), "running": running, "queued": waiting}


COMMANDS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[int], bool]]] = {
    "submit": (submit, (4, 6).__contains__),
    "submit-part": (submit_part, (6).__le__),
    "status": (status, bool),
    "cancel": (cancel, (1).__eq__),
    "find": (find, (1).__eq__),
    "queues": (queues, (0).__eq__),
}
"""Name → (function, whether it accepts this number of arguments)."""


def main(words: list[str]) -> int:
    """Run one command; return the exit code. A failure is printed as JSON, and as a sentence on stderr."""
    function, takes = COMMANDS.get(words[0] if words else "", (None, None))
    complete = words[:1] != ["submit-part"] or ("--" in words and len(words) - words.index("--") in (5, 7))
    if function is None or takes is None or not takes(len(words) - 1) or not complete:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        answer, code = function(*words[1:]), 0
    except HackathonError as error:
        values = {name: str(value) for name, value in error.values.items()}
        answer, code = {"error": error.id, **texts_of(error.id), "values": values}, error.exit_code
        print(error.message.encode("utf-8", "replace").decode(), file=sys.stderr)
    except OSError as error:
        values = {"path": str(error.filename or ""), "reason": error.strerror or str(error)}
        failure = Message("local.unusable", "Cannot use {path}: {reason}")
        answer, code = {"error": failure, **texts_of(failure), "values": values}, 3
    print(json.dumps(answer))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
