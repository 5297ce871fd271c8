"""The linter's Grid Engine rows against the real server: refused if and only if qsub refuses, else the same attributes.

Options and resource types that only Univa's and Altair's Grid Engine know are not judged by this server.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from hackathon.schedulers.scripts import ScriptRequest
from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.lint_server import Server, differing

pytestmark = [pytest.mark.gridengine, pytest.mark.slow, pytest.mark.timeout(300)]

LINES = """
-N abc|-N 1abc|-N a/b|-N a:b|-N a@b|-N a*b|-N a?b|-N a\\\\b|-N "a b"|-N a.b-c_d|-N -abc|-N ""|-N|-N 日本
-N a -N b|-Nabc|-n 4|-J foo|--name=x|-cwd -j y|-cwdx|-cwd yes|-wd /tmp|-wd|-wd relative
-j y|-j n|-j yes|-j no|-j Y|-j oe|-j|-j eo|-j true
-o out.txt|-o $HOME/x.$JOB_ID|-e err.txt|-o|-o a b|-k oe|-V|-V y
-l h_rt=60|-l h_rt=1:00:00|-l h_rt=00:10:00|-l h_rt=10:00|-l h_rt=1d|-l h_rt=60s|-l h_rt=1h|-l h_rt = 60|-l h_rt=
-l h_rt=abc|-l h_rt=-5|-l h_rt=1:2:3:4|-l h_rt=INFINITY|-l h_rt=0|-l h_rt=1.5|-l h_rt=::30|-l h_rt=1::30
-l h_rt=24:00:00|-l h_rt=99:99:99|-l s_rt=50 -l h_rt=60|-l s_rt=1m|-l h_rt=60,mem_free=1G|-l h_rt=60 mem_free=1G
-l h_rt=60, mem_free=1G|-l h_rt=60,|-l walltime=10:00|-l select=1|-l nodes=2:ppn=4|-l mem=4gb|-l mem_free=4gb
-l mem_free=4G|-l h_vmem=1X|-l h_vmem=1G|-l foo=1|-l h_rt=60 -l h_rt=120|-l slots=2|-l num_proc=2
-l arch=lx-amd64|-l hostname=ge1|-l exclusive|-l h_cpu=1:0:0|-l
-pe mpi 4|-pe mpi|-pe mpi 0|-pe mpi 2-4|-pe mpi 4-|-pe mpi -4|-pe mpi abc|-pe mpi=4|-pe mpi 1,2,4|-pe mpi 4-2|-pe
-pe mpi 4 -pe smp 2|-pe 4|-pe m* 2|-pe mpi 04
-q main.q|-q main.q,short.q|-q main.q@ge1|-q|-q *|-q main*|-q short.q -q main.q
-t 1-10|-t 1-10:2|-t 5|-t 0-3|-t 3-1|-t abc|-t 1,3|-t 1-3 -tc 2|-t|-tc 0|-tc a|-t 1-4%2|-t 1:4
-hold_jid 1|-hold_jid 1,2|-hold_jid name|-hold_jid afterok:1|-hold_jid 1:2|-depend 1|-W depend=afterok:1
-M a@b.c|-M a@b.c,d@e.f|-m abe|-m n|-m beas|-m x|-m a,b|-m FAIL|-m be -M x@y.z|-m|-M
-r y|-r n|-r x|-r yes|-R y|-R n|-R maybe|-now n|-sync n|-S /bin/bash|-S bash|-S
-v A=1|-v A=1,B=2|-v A|-v "A=1 2"|-v A=1 -v B=2|-v A='x y'|-v|-v 1A=2
-p -5|-p 0|-p 5|-p -1024|-p -2000|-p x|-notify|-notify y|-P proj|-A proj|-a 202612010000|-a 12:00|-a 12010000.30|-a 0000
-a x|-b y|-b n
-w e|-w w|-w n|-w x|-soft -l h_rt=60|-hard -l h_rt=60|-h u|-shell y|-shell n|-shell x|-terse
-binding linear:1|-c n|-js 5|-ac A=1|-display :0|-inherit|-nostdin
-pty y|-help|-version|-cwd # comment|# comment only|-N abc # name|--|-|-l h_rt=60;mem_free=1G|-rsrc 1|-si 1|-umask 022
-N "abc|-N 'a b'|-l "h_rt=60"|-v 'A=a,b'|-N a#b|-l h_rt=1:00|-l h_rt=+60|-l h_rt=1e3|-l h_rt=0x10
-l h_rt=10m|-l h_rt=1K|-l h_rt=1g|-l h_rt=.5|-l h_rt=5e|-l h_rt=1::
-l node_f=1 -l h_rt=60|-l node_f=1|-l node_f=1,h_rt=60
"""
"""Options of one directive each."""
SITE = re.compile(
    rb"-g |-l .*(?:gpu|rt_[A-Z]|[fhqs]_(?:node|core)|node_[hqo])|h_rt=\d+(?::\d+){3}|#\$ -P |-pe (?!mpi|smp|m\*)[a-z]"
    rb"|-q (?!main|short|\*)|-l (?:mem|foo|exclusive)\b|-p [1-9]|-(?:rsrc|si|umask) "
)
"""What depends on the machine: its groups, resources, times with days, projects, environments and queues, who may raise
a priority (here root), and options of relatives of this Grid Engine."""

LIMITS = frozenset({"site-limit bad", "site-limit good"})
"""Of TSUBAME 4: the verifier here has others."""


def test_the_server_says_the_same(gridengine: GridEngineLab, tmp_path: Path) -> None:
    def shown(job_ids: list[str]) -> list[str]:
        # qsub says on the same stream that an option came twice
        numbers = [job_id.splitlines()[-1].partition(".")[0] for job_id in job_ids]
        blocks = re.split(r"^=+\n", gridengine.run("qstat", "-j", ",".join(numbers)), flags=re.MULTILINE)[1:]
        found = {block.split("\n")[0].split()[1]: block for block in blocks}
        return [found[number] for number in numbers]

    def wrong(request: ScriptRequest, shown: str) -> Iterable[str]:
        return _differences(request, shown, tmp_path)

    environment = GridEngineBackend(gridengine).environment()
    server = Server("gridengine", ["qsub", "-h", "-terse", "job.sh"], environment, SITE, shown, wrong, LIMITS)
    lines = "\n".join(f"#$ {option}" for line in LINES.strip().splitlines() for option in line.split("|"))
    found = server.disagreements(tmp_path, lines)
    gridengine.run("qdel", "-u", "root")
    assert "\n".join(found) == ""


def _differences(request: ScriptRequest, shown: str, folder: Path) -> list[str]:
    """Return where the job has other attributes than the linter reads in the header."""
    job = dict(re.findall(r"^([a-z_ -]+?)(?: \(req\))?: +(.*)$", shown, re.MULTILINE))
    resources = dict(part.partition("=")[::2] for part in job.get("hard resource_list", "").split(","))
    array, _, at_once = (request.array or "").partition("%")
    found = {
        "name": job["job_name"],
        "queue": job.get("hard_queue_list"),
        "seconds": resources.get("h_rt"),
        "output": job.get("stdout_path_list", "").removeprefix("NONE:NONE:"),
        "error": job.get("stderr_path_list", "").removeprefix("NONE:NONE:"),
        "merge": "y" if job.get("merge") == "y" else "n",
        "array": job.get("job-array tasks"),
        "at once": job.get("maximum concurrency"),
        "after": job.get("jid_predecessor_list"),
        "mail": job["mail_list"],
        "slots": job.get("parallel environment", "").rpartition(" ")[2],
        "folder": job.get("cwd"),
        "again": job.get("restart"),
        "variables": job["env_list"].removeprefix("TERM=NONE").removeprefix(",").replace("=NONE", ""),
    }
    wanted = {
        "name": request.name,
        "queue": request.queue,
        "seconds": request.walltime,
        "output": request.output,
        "error": request.error,
        "merge": None if request.merge is None else "y" if request.merge else "n",
        "array": array and (array if ":" in array else f"{array}:1"),
        "at once": at_once or None,
        "after": request.after_any and request.after_any.replace(":", ","),
        "mail": request.mail_user,
        "slots": None if request.nodes else request.processes,
        "folder": str(folder) if request.directory == "." else request.directory,
        "again": None if request.rerun is None else "y" if request.rerun else "n",
        "variables": request.variables,
    }
    return differing(found, {key: value or None for key, value in wanted.items()})
