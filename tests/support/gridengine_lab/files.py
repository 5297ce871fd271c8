"""The files of the private Grid Engine in `lab.py`, as text: what its installer and an administrator would write.

Keys and defaults: sge_conf(5), bootstrap(5), queue_conf(5), sge_pe(5), complex(5), sched_conf(5) of Grid Engine 8.1.9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path("/usr/lib/gridengine")
SHARE = Path("/usr/share/gridengine")
ARCHITECTURE = "lx-amd64"
LOGIN = "gelogin"
"""The host of the master, where people submit."""
LOGIN_NUMBER = 250
"""Its number in the lab's network."""
RESOURCES = {"node_f": 4, "node_h": 2, "node_q": 1}
"""Resource types as TSUBAME 4 has them → slots of one; a whole node has `SLOTS`."""
SLOTS = 4


@dataclass(frozen=True)
class Layout:
    """What the files depend on."""

    directory: Path
    subnet: str
    """First three numbers of the hosts' addresses."""
    hosts: int

    @property
    def names(self) -> list[str]:
        """The names of the execution hosts."""
        return [f"ge{number}" for number in range(1, self.hosts + 1)]

    @property
    def root(self) -> Path:
        """SGE_ROOT."""
        return self.directory / "root"

    @property
    def common(self) -> Path:
        """The part of the cell that all hosts read."""
        return self.root / "default" / "common"

    @property
    def spool(self) -> Path:
        """What the master keeps."""
        return self.directory / "spool" / "qmaster"

    def address(self, number: int) -> str:
        """Return the address of a host."""
        return f"{self.subnet}.{number}"


def hosts(layout: Layout) -> str:
    """Return /etc/hosts as every host sees it."""
    numbered = [(LOGIN_NUMBER, LOGIN), *enumerate(layout.names, 1)]
    return "".join(["127.0.0.1 localhost\n", *(f"{layout.address(number)} {name}\n" for number, name in numbered)])


def bootstrap(layout: Layout) -> str:
    """Return bootstrap; classic spooling is readable text."""
    return _table(
        admin_user="none",
        default_domain="none",
        ignore_fqdn="true",
        spooling_method="classic",
        spooling_lib="libspoolc",
        spooling_params=f"{layout.common};{layout.spool}",
        binary_path=PROGRAMS,
        qmaster_spool_dir=layout.spool,
        security_mode="none",
        listener_threads=2,
        worker_threads=2,
        scheduler_threads=1,
    )


def configuration(layout: Layout) -> str:
    """Return the global configuration: Debian's, with short times, root as a user, no mail and the verifier."""
    changed = {
        "execd_spool_dir": f"{layout.directory}/spool/execd",
        "mailer": "/bin/true",
        "prolog": f"{layout.directory}/prolog",
        "min_uid": "0",
        "min_gid": "0",
        "load_report_time": "00:00:02",
        "max_unheard": "00:00:30",
        "loglevel": "log_info",
        # a verifier that has no processor for the customary 10 s refuses the job
        "qmaster_params": "jsv_timeout=60",
        # what ends a job also ends those of its processes that left its process group
        "execd_params": "ENABLE_ADDGRP_KILL=true",
        "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 "
        "joblog=false sharelog=00:00:00",
        "jsv_url": f"{layout.directory}/verifier",
    }
    found = {}
    for line in (SHARE / "default-configuration").read_text().splitlines():
        if line and not line.startswith("#"):
            key, value = line.split(None, 1)
            found[key] = value
    return _table(**{**found, **changed})


def scheduler(shown: str) -> str:
    """Return the scheduler's configuration from the one that `qconf -ssconf` shows.

    It looks every second, and gives jobs to the hosts with most free slots.
    """
    changed = {
        "schedule_interval": "0:0:1",
        "flush_submit_sec": "1",
        "flush_finish_sec": "1",
        "job_load_adjustments": "NONE",
        "load_formula": "slots",
    }
    return _table(**dict(line.split(None, 1) for line in shown.splitlines()) | changed)


def objects(layout: Layout) -> Mapping[str, Mapping[str, str]]:
    """Return what `spooldefaults` is to make: its word → file → text."""
    nothing = {"user_lists": "NONE", "xuser_lists": "NONE"}
    projects = {"projects": "NONE", "xprojects": "NONE"}
    every = {
        name: _table(
            hostname=name, load_scaling="NONE",
            complex_values="NONE" if name == LOGIN else f"slots={SLOTS}",
            **nothing, **projects, usage_scaling="NONE", report_variables="NONE",
        )
        for name in (LOGIN, *layout.names)
    }  # fmt: skip
    names = {name: _table(hostname=name) for name in every}
    return {
        "complexes": {
            **{path.name: path.read_text() for path in sorted((SHARE / "util/resources/centry").iterdir())},
            **{name: _resource(name) for name in RESOURCES},
        },
        "usersets": {path.name: path.read_text() for path in sorted((SHARE / "util/resources/usersets").iterdir())},
        "adminhosts": names,
        "submithosts": names,
        "exechosts": every,
        "pes": {
            "node": _environment("node", str(SLOTS), nothing),
            "smp": _environment("smp", "$pe_slots", nothing),
            "mpi": _environment("mpi", "$fill_up", nothing),
        },
    }


def queues(layout: Layout) -> Mapping[str, str]:
    """Return the queues; the master makes their instances only for queues that it is told of while it runs."""
    return {
        "main.q": _queue(layout, "main.q", "INFINITY", "unix_behavior"),
        "short.q": _queue(layout, "short.q", "00:10:00", "posix_compliant"),  # -S counts there, not the first line
    }


def verifier(layout: Layout) -> str:
    """Return the server's verifier (jsv(1)): it speaks the protocol itself, as Grid Engine's library forks a lot.

    As TSUBAME's it turns a resource type into a parallel environment of whole nodes, and refuses jobs without h_rt.
    """
    slots = "".join(f"  {name}) slots={slots} ;;\n" for name, slots in RESOURCES.items())
    return f"""#!/bin/bash
verify() {{
  local part type="" count rest="" h_rt="" slots=0
  if [ -e "{layout.directory}/refuse" ]; then reject "No jobs today."; return; fi
  for part in ${{resources//,/ }}; do
    case $part in
    node_[fhq]=*) type=${{part%%=*}} count=${{part#*=}} ;;
    h_rt=*) h_rt=1 rest=$rest,$part ;;
    *) rest=$rest,$part ;;
    esac
  done
  case $type in
  "") echo "RESULT STATE ACCEPT"; return ;;
{slots}  esac
  if [ -z "$h_rt" ]; then reject "h_rt must be specified."; return; fi
  if [ -n "$environment" ]; then reject "-pe can not be used with resource type $type."; return; fi
  if [ "$count" -gt {layout.hosts} ]; then reject "$type=$count is more than the limit {layout.hosts}."; return; fi
  if [ $slots -lt {SLOTS} ] && [ "$count" -gt 1 ]; then reject "Only one $type can be used."; return; fi
  echo "PARAM l_hard ${{rest#,}}"
  if [ $slots = {SLOTS} ]; then echo "PARAM pe_name node"; else echo "PARAM pe_name smp"; fi
  echo "PARAM pe_min $((count * slots))"
  echo "PARAM pe_max $((count * slots))"
  echo "RESULT STATE CORRECT $type=$count"
}}
reject() {{ echo "RESULT STATE REJECT Job is rejected. $1"; }}
while read -r word name value; do
  case $word in
  START) resources="" environment=""; echo STARTED ;;
  PARAM) case $name in l_hard) resources=$value ;; pe_name) environment=$value ;; esac ;;
  BEGIN) verify ;;
  QUIT) exit ;;
  esac
done
"""


def prolog(layout: Layout) -> str:
    """Return the program that runs before a job: it keeps the job's script as the execution host has it."""
    return f"""#!/bin/sh
cp "$SGE_JOB_SPOOL_DIR/../../job_scripts/$JOB_ID" "{layout.directory}/scripts/$JOB_ID.new" &&
  mv "{layout.directory}/scripts/$JOB_ID.new" "{layout.directory}/scripts/$JOB_ID"
exit 0
"""


def command(layout: Layout, enter: str, name: str, variables: Mapping[str, str]) -> str:
    """Return a client command of a person's: it runs on the login host, in the person's folder."""
    words = " ".join(f"{key}='{value}'" for key, value in variables.items())
    return f'#!/bin/sh\nexec {enter} env -C "$PWD" {words} {PROGRAMS}/{name} "$@"\n'


def _resource(name: str) -> str:
    return _table(
        name=name, shortcut=name, type="INT", relop="<=", requestable="YES", consumable="NO", default="0", urgency="0"
    )


def _environment(name: str, rule: str, nothing: Mapping[str, str]) -> str:
    return _table(
        pe_name=name, slots=999, **nothing, start_proc_args="NONE", stop_proc_args="NONE", allocation_rule=rule,
        control_slaves="TRUE", job_is_first_task="FALSE", urgency_slots="min", accounting_summary="TRUE",
        qsort_args="NONE",
    )  # fmt: skip


def _queue(layout: Layout, name: str, longest: str, mode: str) -> str:
    unlimited = ("s_rt", "s_cpu", "h_cpu", "s_fsize", "h_fsize", "s_data", "h_data", "s_stack", "h_stack", "s_core",
                 "h_core", "s_rss", "h_rss", "s_vmem", "h_vmem")  # fmt: skip
    none = ("load_thresholds", "suspend_thresholds", "ckpt_list", "prolog", "epilog", "starter_method",
            "suspend_method", "resume_method", "terminate_method", "owner_list", "user_lists", "xuser_lists",
            "subordinate_list", "complex_values", "projects", "xprojects", "calendar")  # fmt: skip
    return _table(
        qname=name, hostlist=" ".join(layout.names), seq_no=0, nsuspend=1, suspend_interval="00:05:00", priority=0,
        min_cpu_interval="00:05:00", processors="UNDEFINED", qtype="BATCH INTERACTIVE", pe_list="node smp mpi",
        rerun="FALSE", slots=SLOTS,
        # each host mounts its own: the first host to end its part of a job must not remove the folder of the others
        tmpdir="/dev/shm",
        shell="/bin/bash", shell_start_mode=mode, notify="00:00:10", initial_state="default",
        h_rt=longest, **dict.fromkeys(unlimited, "INFINITY"), **dict.fromkeys(none, "NONE"),
    )  # fmt: skip


def _table(**lines: object) -> str:
    return "".join(f"{key} {value}\n" for key, value in lines.items())
