"""The configuration files of the private Slurm in `lab.py`, as text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# A GPU's File= must be a distinct character device that exists; no driver is asked.
CHARACTER_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")


@dataclass(frozen=True)
class Layout:
    """What the files depend on: where, how many, which ports and addresses."""

    directory: Path
    nodes: int
    cpus: int
    gpus: int
    accounting: bool
    network: str
    port: int
    """First of a block of free ports: controller, accounting, database, then one a node."""
    host: str
    """Short name of this machine, where the controller runs."""
    subnet: str
    """First three numbers of the nodes' addresses (netns only)."""
    user: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Lines of slurm.conf that replace the ones here."""

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        return [f"node{number}" for number in range(1, self.nodes + 1)]

    def address(self, number: int) -> str:
        """Return the address of node `number`; 0 is the controller."""
        if self.network == "netns":
            return f"{self.subnet}.{number or 254}"
        return "127.0.0.1"

    @property
    def socket(self) -> Path:
        """The socket of munge: unix sockets take 107 characters, so it lies high up."""
        return self.directory / "munge.sock"

    @property
    def conf(self) -> Path:
        """The file that SLURM_CONF names."""
        return self.directory / "etc" / "slurm.conf"


def slurm_conf(layout: Layout) -> str:
    """Return slurm.conf."""
    top = layout.directory
    settings = {
        "ClusterName": "lab",
        "SlurmctldHost": f"{layout.host}({layout.address(0)})",
        "SlurmctldPort": str(layout.port),
        "SlurmdPort": str(layout.port + 3),
        "SlurmUser": layout.user,
        "SlurmdUser": layout.user,
        "AuthType": "auth/munge",
        # A requeued job waits until its old credential has expired: keep that short. A step that does not begin within
        # that time is refused.
        "AuthInfo": f"socket={layout.socket},cred_expire=20",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{top}/state",
        "SlurmctldPidFile": f"{top}/pid/slurmctld.pid",
        "SlurmctldLogFile": f"{top}/log/slurmctld.log",
        "SlurmdPidFile": f"{top}/pid/slurmd.%n.pid",
        "SlurmdLogFile": f"{top}/log/slurmd.%n.log",
        "SlurmdSpoolDir": f"{top}/spool.%n",
        "SlurmdParameters": "config_overrides",
        # One per virtual node, or the PMIx servers of two nodes meet in the same place.
        "TmpFS": f"{top}/tmp.%n",
        "TaskProlog": f"{top}/etc/task_prolog",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "task=1",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "ReturnToService": "2",
        # a busy machine may keep a daemon or a client waiting for longer than the 10 s that are customary
        "MessageTimeout": "60",
        "BatchStartTimeout": "100",
        "SlurmctldTimeout": "30",
        "SlurmdTimeout": "20",
        "KillWait": "10",
        "MinJobAge": "600",
        "MaxJobCount": "20000",
        "InactiveLimit": "0",
        "JobRequeue": "1",
        "MailProg": "/bin/true",
        "EnforcePartLimits": "NO",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "bf_interval=5,bf_max_job_test=1000,default_queue_depth=1000,sched_interval=2,"
        "batch_sched_delay=0",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "GresTypes": "gpu",
    }
    if layout.accounting:
        settings |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(layout.port + 1),
            # The socket again: without it sacct and sacctmgr retry for seconds.
            "AccountingStoragePass": str(layout.socket),
            "AccountingStorageTRES": "gres/gpu",
        }
    else:
        settings |= {
            "AccountingStorageType": "accounting_storage/none",
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": f"{top}/log/jobs.txt",
        }
    settings |= layout.options
    lines = [f"{key}={value}" for key, value in settings.items()]
    for number, name in enumerate(layout.names, 1):
        host = layout.host if layout.network == "flat" else name
        port = layout.port + 3 if layout.network == "netns" else layout.port + 2 + number
        lines.append(
            f"NodeName={name} NodeHostname={host} NodeAddr={layout.address(number)} Port={port} "
            f"CPUs={layout.cpus} RealMemory=4000 Gres=gpu:{layout.gpus} State=UNKNOWN"
        )
    lines += [
        "PartitionName=main Default=YES Nodes=ALL MaxTime=24:00:00 DefaultTime=10:00 PriorityTier=1 State=UP",
        "PartitionName=high Nodes=ALL MaxTime=1:00:00 DefaultTime=10:00 PriorityTier=10 PreemptMode=OFF State=UP",
        "PartitionName=short Nodes=ALL MaxTime=1:00 DefaultTime=1:00 PriorityTier=1 State=UP",
    ]
    return "\n".join(lines) + "\n"


def slurmdbd_conf(layout: Layout, password: str) -> str:
    """Return slurmdbd.conf (to be written with mode 0600)."""
    return f"""AuthType=auth/munge
AuthInfo=socket={layout.socket}
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={layout.port + 1}
SlurmUser={layout.user}
PidFile={layout.directory}/pid/slurmdbd.pid
LogFile={layout.directory}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={layout.port + 2}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_acct_db
"""


def mpi_conf() -> str:
    """Return mpi.conf.

    With Slurm 22.05's other fence, the tree, a process may leave before its peers are ready for its first message: 9 of
    264 steps on two nodes crashed in MPI_Init (Open MPI 4.1), none of 1,051 with the ring.
    """
    return "PMIxCollFence=ring\n"


def gres_conf(layout: Layout) -> str:
    """Return gres.conf: pretended GPUs."""
    return "".join(
        f"NodeName=node[1-{layout.nodes}] AutoDetect=off Name=gpu File={device}\n"
        for device in CHARACTER_DEVICES[: layout.gpus]
    )


def task_prolog(layout: Layout) -> str:
    """Return the program whose output becomes the environment of every task, the batch script too."""
    return f"""#!/bin/sh
echo "export TMPDIR={layout.directory}/tmp.$SLURMD_NODENAME"
# Several nodes share one kernel: Open MPI's shared memory must not meet, and neither root nor 2 cores may stop mpirun.
echo "export OMPI_MCA_btl_vader_backing_directory={layout.directory}/tmp.$SLURMD_NODENAME"
echo "export OMPI_MCA_hwloc_base_binding_policy=none"
echo "export OMPI_MCA_mpi_yield_when_idle=1"
echo "export OMPI_ALLOW_RUN_AS_ROOT=1"
echo "export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
"""


def hosts(layout: Layout) -> str:
    """Return /etc/hosts as the nodes see it (netns and uts)."""
    lines = ["127.0.0.1 localhost"]
    if layout.network == "netns":
        lines.append(f"{layout.address(0)} {layout.host}")
        lines += [f"{layout.address(number)} {name}" for number, name in enumerate(layout.names, 1)]
    else:
        lines[0] += f" {layout.host}"
        lines += [f"127.0.1.{number} {name}" for number, name in enumerate(layout.names, 1)]
    return "\n".join(lines) + "\n"
