"""One job's life after pjsub: waits for nodes, runs the script, ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import stub_server as server
import work


def main(number: int) -> None:
    kind = server.store.fault("mom")
    hosts = wait_for_hosts(number)
    if hosts:
        run(number, hosts, kind)


def wait_for_hosts(number: int) -> list:
    """Return the job's nodes, which it has alone; an empty list when it was deleted."""
    while True:
        with server.locked():
            configuration, job = server.configuration(), server.read(number)
            if work.deleted(number):
                # pjm_codes.txt: pjdel, 1 and CCL
                server.write({**job, "st": "CCL", "pc": "1"})
                return []
            taken = {host for other in server.all_jobs() if other["st"] in ("RUN", "RNO") for host in other["hosts"]}
            free = [host for host in configuration["hosts"] if host not in taken]
            if not configuration["stopped"] and len(free) >= job["nodes"]:
                hosts = free[: job["nodes"]]
                server.write({**job, "st": "RUN", "hosts": hosts, "began": time.time(), "reason": "-"})
                return hosts
            reason = "RSCGRP STOP" if configuration["stopped"] else "WAIT SCHED"  # pjm_codes.txt
            if job["reason"] != reason:
                server.write({**job, "reason": reason})
        time.sleep(work.TICK)


def environment(job: dict) -> dict:
    """Return the script's environment: in_a_job.txt; nothing of the submitter's, for `-X` was not given."""
    number = job["number"]
    nodes = server.folder("aux") / f"{number}.nodes"
    nodes.write_text("".join(f"{host}\n" for host in job["hosts"]))  # one line a node
    temporary = server.folder("tmp") / str(number)
    temporary.mkdir()
    return {
        "HOME": job["home"],
        "LOGNAME": job["user"],
        "PATH": f"/usr/local/bin:/usr/bin:/bin:{os.environ['PJM_STUB_BIN']}",
        "PJM_ENVIRONMENT": "BATCH",
        "PJM_JOBID": str(number),
        "PJM_JOBNAME": job["name"],
        "PJM_MPI_PROC": job["processes"],
        "PJM_NODE": str(job["nodes"]),
        "PJM_O_NODEINF": str(nodes),
        "PJM_O_WORKDIR": job["work"],
        "BATCH_STUB_DIR": str(server.ROOT),
        "SHELL": "/bin/bash",
        "TMPDIR": str(temporary),
        "USER": job["user"],
    }


def run(number: int, hosts: list, kind: str) -> None:
    job = server.read(number)
    variables = environment(job)
    work.record_environment(number, variables)
    try:
        output = (Path(job["work"]) / job["output"]).open("ab", buffering=0)
        error = output if job["error"] is None else (Path(job["work"]) / job["error"]).open("ab", buffering=0)
    except OSError:
        server.change(number, st="EXT", pc="16")  # pjm_codes.txt, 16: cwd or output not writable
        return
    script = server.folder("scripts") / f"{number}.sh"
    process = work.start(
        number, hosts[0], ["/bin/bash", str(script)], stdout=output, stderr=error, env=variables, cwd=job["work"]
    )
    if kind == "dead":  # the node dies: pjm_codes.txt, 20
        work.kill(number, process.pid, signal.SIGKILL)
        process.wait()
        server.change(number, st="EXT", pc="20", sn="9", reason="NODE DOWN")  # the words are not recorded
        return
    cause = watch(job, process, kind)
    code = process.wait()
    work.kill(number, process.pid, signal.SIGKILL)  # what the script left behind
    end(number, code, cause)


def watch(job: dict, process: subprocess.Popen, kind: str) -> str:
    """Return "" when the script ended by itself, else elapse, memory or deleted, after having ended it."""
    number, configuration = job["number"], server.configuration()
    delay, not_before = configuration["kill_delay"], Path(job["work"]) / configuration["not_before"]
    while process.poll() is None:
        ran = time.time() - job["began"]
        if work.deleted(number):
            server.change(number, st="RNO")
            work.end_within(number, process, signal.SIGTERM, delay)  # not recorded: which signal, and how long
            return "deleted"
        if ran > job["elapse"] and not_before.exists():
            work.end_within(number, process, signal.SIGXCPU, delay)  # pjm_codes.txt: SIGXCPU to all, SIGKILL 10 s later
            return "elapse"
        if kind == "memory" and ran > 0.5:
            work.kill(number, process.pid, signal.SIGKILL)
            return "memory"
        time.sleep(work.TICK)
    return ""


def end(number: int, code: int, cause: str) -> None:
    """Record how it ended: pjstat_v_H_fugaku.txt; pjm_codes.txt."""
    if cause == "elapse":
        server.change(number, st="EXT", ec="0", pc="11", sn="24", reason="ELAPSE LIMIT EXCEEDED")
    elif cause == "memory":
        server.change(number, st="EXT", ec="0", pc="12", sn="9", reason="MEMORY LIMIT EXCEEDED")  # words not recorded
    elif cause == "deleted":
        server.change(number, st="CCL", pc="1")
    else:
        server.change(number, st="EXT", ec=str(max(0, code)), sn=str(max(0, -code)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
