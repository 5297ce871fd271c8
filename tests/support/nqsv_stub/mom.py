"""One request's life after qsub: waits for hosts, runs the script, ends it, delivers its output, and is forgotten."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

import stub_server as server
import work
from work import TICK

# What a script runs under: the shell that NQSV starts it with, and no SIGTERM (qstat_f.txt: "Accept Sigterm = No").
WRAPPER = 'trap "" TERM; bash "$0"'


def main(number: int) -> None:
    hosts = wait_for_hosts(number)
    if hosts:
        give_addresses()
        run(server.read(number))


def wait_for_hosts(number: int) -> list:
    """Return the hosts, each for this request alone; an empty list when it was deleted."""
    while True:
        with server.locked():
            job = server.read(number)
            if job["state"] == server.GONE:
                return []
            states = (server.RUNNING, server.ENDED)
            taken = {host for other in server.all_jobs() if other["state"] in states for host in other["hosts"]}
            free = [host for host in server.configuration()["hosts"] if host not in taken]
            if len(free) >= job["nodes"]:
                now = time.time()
                job.update(hosts=free[: job["nodes"]], started=now, changed=now, reason="PRERUN_SUCCESS")
                job.update(previous=job["state"], state=server.RUNNING)
                server.write(job)
                return job["hosts"]
        time.sleep(TICK)


def give_addresses() -> None:
    """Give each host an address of its own: mpirun takes hosts of one address for one host."""
    names = [f"127.0.1.{number} {host}\n" for number, host in enumerate(server.configuration()["hosts"], 1)]
    temporary = server.folder("etc") / f"hosts.{os.getpid()}"
    temporary.write_text("127.0.0.1 localhost\n" + "".join(names))
    temporary.rename(temporary.with_name("hosts"))


def environment(job: dict, number: int) -> dict:
    """Return the script's variables: `PBS_JOBID` is the node's number and the request, PBS_NODEFILE has a line a node.

    What stands in NQSV_MPIOPTS is not recorded; users give it to mpirun unchanged, and mpirun then reaches all nodes.
    """
    folder = Path(os.environ["NQSV_STUB_BIN"])
    nodes = server.folder("aux") / f"{job['number']}.nodes"
    nodes.write_text("".join(f"{host}\n" for host in job["hosts"]))
    slots = server.folder("aux") / f"{job['number']}.slots"
    slots.write_text("".join(f"{host} slots=64\n" for host in job["hosts"]))
    temporary = server.folder("tmp") / str(job["number"])
    temporary.mkdir(exist_ok=True)
    found = {
        "HOME": job["home"],
        "LOGNAME": job["user"],
        "USER": job["user"],
        "SHELL": "/bin/bash",
        "PATH": f"/usr/local/bin:/usr/bin:/bin:{folder}",
        "PBS_ENVIRONMENT": "PBS_BATCH",
        "PBS_JOBID": f"{number}:{server.full_id(job['number'])}",
        "PBS_JOBNAME": job["name"],
        "PBS_NODEFILE": str(nodes),
        "PBS_O_WORKDIR": job["folder"],
        "PBS_QUEUE": job["queue"],
        "TMPDIR": str(temporary),
        "BATCH_STUB_DIR": str(server.ROOT),
        **job["variables"],
    }
    if job["topology"]:
        # the stand-in's words: who starts Open MPI's daemons on other nodes, and which nodes there are
        found["NQSV_MPIOPTS"] = f"--mca plm_rsh_agent {folder}/spread --hostfile {slots}"
    return found


def run(job: dict) -> None:
    """Run the script: with -T on the first node, without on every one (facts of public scripts of SQUID)."""
    number = job["number"]
    script = str(server.folder("scripts") / f"{number}")
    spool = {letter: server.folder("spool") / f"{number}.{letter}" for letter in "oe"}
    out, err = (spool[letter].open("ab", buffering=0) for letter in "oe")
    work.record_environment(number, environment(job, 0))
    first, *others = [
        work.start(
            number, host, ["/bin/bash", "-c", WRAPPER, script],
            stdout=out, stderr=err, env=environment(job, position), cwd=job["home"],
        )
        for position, host in enumerate(job["hosts"] if job["topology"] is None else job["hosts"][:1])
    ]  # fmt: skip
    server.store.put(server.folder("session") / f"{number}", str(first.pid))
    for other in others:  # the sessions of other nodes are ended as tasks are
        (server.folder("tasks") / f"{number}.{other.pid}").touch()
    note, reason = "", "EXIT"
    while any(process.poll() is None for process in (first, *others)):
        if work.deleted(number):
            reason = "DELETE"
            work.kill(number, first.pid, signal.SIGKILL)
        elif job["limit"] is not None and time.time() - job["started"] > job["limit"]:
            # stderr_tail.txt
            note = "%NQSV(INFO): Batch job received signal SIGKILL. (Exceeded per-req elapse time limit)\n"
            work.kill(number, first.pid, signal.SIGKILL)
        time.sleep(TICK)
    waited = first.wait()
    work.kill(number, first.pid, signal.SIGKILL)  # what the script left behind
    status = 9 if note or reason == "DELETE" else (128 - waited if waited < 0 else waited) << 8
    job = server.change(number, state=server.ENDED, reason=reason, ended=time.time(), code=f"{status:X}")
    err.write(account(job, note).encode())
    for letter, path in job["paths"].items():
        if Path(path).parent.is_dir():
            shutil.copy(spool[letter], path)
    time.sleep(server.configuration()["shown"])
    server.change(number, state=server.GONE)


def account(job: dict, note: str) -> str:
    """Return the end of the file of errors: stderr_tail.txt."""
    elapsed = int(job["ended"] - job["started"])
    rule = "=" * 60
    return f"""
{note}
{rule}
Request ID:             {server.full_id(job["number"])}
Request Name:           {job["name"]}
Queue:                  {job["queue"]}@{server.server()}
Number of Jobs:         {job["nodes"]}
User Name:              {job["user"]}
Group Name:             {job["account"]}
Created Request Time:   {server.clock(job["created"])}
Started Request Time:   {server.clock(job["started"])}
Ended Request Time:     {server.clock(job["ended"])}
Resources Information:
  Elapse:               {elapsed}S
  Remaining Elapse:     {max(0, (job["limit"] or 0) - elapsed)}S
{rule}
"""


if __name__ == "__main__":
    main(int(sys.argv[1]))
