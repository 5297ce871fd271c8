"""One job's life after qsub: waits for its dependency and for hosts, runs the script, ends it, delivers its output."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import stub_server as server
import work
from work import TICK, kill


def main(number: int) -> None:
    kind = server.fault("mom")
    if kind == "prologue":
        # qstat_f_prologue_fail_held.json: H, Exit_status -3, run_count 21
        server.change(
            number, job_state="H", Hold_Types="s", substate="20", run_count="21", Exit_status="-3",
            stime=server.clock(), obittime=server.clock(), comment="job held, too many failed attempts to run",
        )  # fmt: skip
        return
    hosts = wait_for_hosts(number)
    if hosts:
        run(number, kind)


def wait_for_hosts(number: int) -> list:
    """Return the hosts of the chunks; an empty list when the job was deleted or its dependency can not be met."""
    while True:
        with server.locked():
            job = server.read(number)
            attributes = job["attributes"]
            if attributes["job_state"] == "F":
                return []
            verdict = dependency(job)
            if verdict == "never":
                # qstat_x_f_finished.json, 17 and 39: F, substate 92, no Exit_status, no comment
                attributes.update(job_state="F", substate="92", mtime=server.clock())
                server.write(job)
                return []
            if verdict == "met" and attributes["Hold_Types"] != "u":
                hosts, comment = place(job)
                if hosts:
                    begin(job, hosts)
                    return hosts
                if (attributes.get("comment"), attributes["job_state"]) != (comment, "Q"):
                    attributes.update(job_state="Q", Hold_Types="n", substate="10", comment=comment)
                    server.write(job)
        time.sleep(TICK)


def dependency(job: dict) -> str:
    """Return met, wait or never; facts: an unknown or failed id of afterok purges the job at once."""
    if not job["depend"]:
        return "met"
    kind, *ids = job["depend"].split(":")
    for text in ids:
        try:
            other = server.read(server.parse_id(text))["attributes"]
        except (FileNotFoundError, TypeError):
            return "never"
        if other["job_state"] != "F":
            return "wait"
        good = other.get("Exit_status") == "0"
        if (kind == "afterok" and not good) or (kind == "afternotok" and good):
            return "never"
    return "met"


def place(job: dict) -> tuple:
    """Return (a host for every chunk, "") or ([], comment), first fit; nodefile_variants.txt has free and scatter."""
    configuration = server.configuration()
    hosts, size = configuration["hosts"], configuration["ncpus"]
    if not configuration["queues"][job["attributes"]["queue"]].get("started", True):
        return [], "Not Running: Queue not started."  # qstat_held.txt, 44
    scatter, exclusive = job["place"].startswith("scatter"), "excl" in job["place"]
    if scatter and len(job["chunks"]) > len(hosts):
        return [], "Can Never Run: Not enough total nodes available"  # nodefile_variants.txt, 1047
    wanted = sum(int(chunk["ncpus"]) for chunk in job["chunks"])
    if wanted > size * len(hosts):
        # qstat_mixed_states.txt, 22
        total = size * len(hosts)
        return [], f"Can Never Run: Insufficient amount of resource: ncpus (R: {wanted} A: {total} T: {total})"
    free = dict.fromkeys(hosts, size)
    for other in server.all_jobs():
        if other["attributes"]["job_state"] in "RE":
            for chunk, host in zip(other["chunks"], other["chunk_hosts"], strict=True):
                free[host] = 0 if "excl" in other["place"] else free[host] - int(chunk["ncpus"])
    found = []
    for chunk in job["chunks"]:
        for host in hosts:
            fits = free[host] == size if exclusive and host not in found else free[host] >= int(chunk["ncpus"])
            if fits and not (scatter and host in found) and chunk.get("host", host) == host:
                found.append(host)
                free[host] -= int(chunk["ncpus"])
                break
        else:
            return [], "Not Running: Insufficient amount of resource: ncpus "  # wording of qstat_mixed_states.txt, 23
    return found, ""


def begin(job: dict, chunk_hosts: list) -> None:
    """Record that the job runs; needs the lock. Attributes as in qstat_running.txt."""
    chunks, attributes = job["chunks"], job["attributes"]
    nodes = "+".join(f"({host}:ncpus={chunk['ncpus']})" for chunk, host in zip(chunks, chunk_hosts, strict=True))
    job.update(chunk_hosts=chunk_hosts, hosts=list(dict.fromkeys(chunk_hosts)), started=time.time())
    attributes.update(
        job_state="R", substate="42", Hold_Types="n", stime=server.clock(), run_count="1", jobdir=job["home"],
        exec_host=shares(chunks, chunk_hosts), exec_vnode=nodes,
        comment=f"Job run at {time.strftime('%a %b %e at %H:%M')} on {nodes}", mtime=server.clock(),
    )  # fmt: skip
    server.write(job)


def shares(chunks: list, hosts: list) -> str:
    """Return exec_host: requeued_after_node_failure.txt, "pn01/0*4+pn02/0*4"; prologue_exit_1.txt, "pn02/0"."""
    found = []
    for position, (chunk, host) in enumerate(zip(chunks, hosts, strict=True)):
        count = "" if chunk["ncpus"] == "1" else f"*{chunk['ncpus']}"
        found.append(f"{host}/{hosts[:position].count(host)}{count}")
    return "+".join(found)


def environment(job: dict) -> dict:
    """Return the script's environment: job1_scatter_pn01_pn02_stdout.txt; nothing of the submitter's but PBS_O_*."""
    number, first = job["number"], job["chunks"][0]
    job_id = server.full_id(number)
    node_file = server.folder("aux") / job_id
    # nodefile_variants.txt: a line for each MPI rank, mpiprocs 1 unless given, 0 gives none
    lines = [
        host + "\n"
        for chunk, host in zip(job["chunks"], job["chunk_hosts"], strict=True)
        for _ in range(int(chunk.get("mpiprocs", "1")))
    ]
    node_file.write_text("".join(lines))
    # nodefile_variants.txt, 1036 to 1041: NCPUS = OMP_NUM_THREADS = ompthreads, else ncpus; 1041: 0 without ranks
    threads = first.get("ompthreads", "0" if first.get("mpiprocs") == "0" else first["ncpus"])
    temporary = server.folder("tmp") / f"pbs.{job_id}"
    temporary.mkdir()
    return {
        **job["variables"],
        "ENVIRONMENT": "BATCH",
        "HOME": job["home"],
        "LOGNAME": job["user"],
        "NCPUS": threads,
        "OMP_NUM_THREADS": threads,
        "PATH": f"/usr/local/bin:/usr/bin:/bin:{os.environ['PBS_STUB_BIN']}",
        "PBS_ENVIRONMENT": "PBS_BATCH",
        "PBS_JOBDIR": job["home"],
        "PBS_JOBID": job_id,
        "PBS_JOBNAME": job["attributes"]["Job_Name"],
        "PBS_NODEFILE": str(node_file),
        "PBS_NODENUM": "0",
        "PBS_QUEUE": job["attributes"]["queue"],
        "PBS_TASKNUM": "1",
        "BATCH_STUB_DIR": str(server.ROOT),
        "SHELL": "/bin/bash",
        "TMPDIR": str(temporary),
        "USER": job["user"],
    }


def run(number: int, kind: str) -> None:
    job = server.read(number)
    variables = environment(job)
    job_id = server.full_id(number)
    work.record_environment(number, variables)
    spool = server.folder("spool")
    mask = int(job["umask"], 8)
    paths = {"OU": spool / f"{job_id}.OU", "ER": spool / f"{job_id}.ER"}
    if job["attributes"]["Join_Path"] == "oe":
        paths["ER"] = paths["OU"]
    elif job["attributes"]["Join_Path"] == "eo":
        paths["OU"] = paths["ER"]
    opened = {}
    for path in set(paths.values()):
        path.touch(mode=0o600)
        path.chmod(0o666 & ~mask)  # facts: 0600 unless `-W umask`
        opened[path] = path.open("ab", buffering=0)
    script = server.folder("scripts") / f"{job_id}.SC"
    os.umask(mask)
    process = work.start(
        number, job["chunk_hosts"][0], ["/bin/bash", str(script)],
        stdout=opened[paths["OU"]], stderr=opened[paths["ER"]], env=variables, cwd=job["home"],
    )  # fmt: skip
    os.umask(0o022)
    server.change(number, session_id=str(process.pid))
    if kind == "dead":  # the node and its daemon die: nobody reports, the job stays R (facts, "Node's daemon down")
        kill(number, process.pid, signal.SIGKILL)
        return
    cause = watch(job, process, opened[paths["ER"]], kind)
    code = process.wait()
    kill(number, process.pid, signal.SIGKILL)  # what the script left behind
    deliver(job, paths)
    shutil.rmtree(variables["TMPDIR"], ignore_errors=True)
    end(job, code, cause)


def watch(job: dict, process: subprocess.Popen, stderr, kind: str) -> str:
    """Return "" when the script ended by itself, else walltime, mem or deleted, after having ended it."""
    began = time.time()
    while process.poll() is None:
        ran = time.time() - began
        if work.deleted(job["number"]):
            return stop(job, process, "deleted")
        if job["walltime"] is not None and ran > job["walltime"]:
            # walltime_and_mem_kill_stderr.txt
            stderr.write(f"=>> PBS: job killed: walltime {ran:.0f} exceeded limit {job['walltime']}\n".encode())
            return stop(job, process, "walltime")
        if kind == "mem" and ran > 0.5:
            stderr.write(b"=>> PBS: job killed: mem 423596kb exceeded limit 102400kb\n")  # the same sample
            return stop(job, process, "mem")
        time.sleep(TICK)
    return ""


def stop(job: dict, process: subprocess.Popen, cause: str) -> str:
    server.change(job["number"], job_state="E", substate="50")
    work.end_within(job["number"], process, signal.SIGTERM, server.configuration()["kill_delay"])
    return cause


def deliver(job: dict, paths: dict) -> None:
    """Copy output to where the user wants it, at the end only (facts); what exists there is overwritten (`$usecp`)."""
    for kind, attribute in (("OU", "Output_Path"), ("ER", "Error_Path")):
        source = paths[kind]
        if not source.exists() or source.suffix != f".{kind}":
            continue
        target = Path(job["attributes"][attribute].partition(":")[2])
        if target.is_dir() or job["attributes"][attribute].endswith("/"):
            target = target / source.name  # directive_edge_cases.txt, 1132: `-o dir/` gives <jobid>.OU
        if not target.parent.is_dir():
            # qsub_errors.txt, `-o /nonexistent/dir/x`: Exit_status stays 0 and the user gets nothing
            target = server.folder("undelivered") / source.name
        shutil.copy(source, target)
        source.unlink()


def end(job: dict, code: int, cause: str) -> None:
    """Record how it ended; Exit_status and comment of qstat_x_f_finished.json."""
    ran = job["attributes"]["comment"]
    status = 256 - code if code < 0 else code  # 256 + signal when the shell itself died of one
    comment, substate = f"{ran} and {'finished' if status == 0 else 'failed'}", "92" if status == 0 else "93"  # 30, 31
    if cause == "walltime":
        status, comment, substate = -29, f"{ran} and exceeded resource walltime", "93"  # 33
    elif cause == "mem":
        status, comment, substate = -27, f"{ran} and exceeded resource mem", "93"  # 35
    elif cause == "deleted":
        status, comment, substate = 271, None, "93"  # 34: no comment
    server.change(
        job["number"], job_state="F", substate=substate, obittime=server.clock(), comment=comment,
        Exit_status=str(status), history_timestamp=str(int(time.time())),
    )  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]))
