"""How NEC's NQSV reads a job script, for the linter and the converter. Its prefix is `#PBS`, its options differ.

From public material only: settings that it does not confirm are not errors.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from hackathon.schedulers.scripts import (
    Judgement,
    Reading,
    ScriptLanguage,
    ScriptRequest,
    Setting,
    clock,
    quoted,
    table,
)
from hackathon.text.numbers import digits
from hackathon.text.units import format_walltime

OPTIONS = table("""
--accept-sigterm 1
--after 1
--cpunum-lhost 1
--custom 1
--gpunum-lhost 1
--group 1
--job-topology 1
--use-hca 1
--venode 1
--venum-lhost 1
-A 1
-a 1
-b 1
-e 1
-f 0
-I 0
-j 1
-l 1
-M 1
-m 1
-N 1
-o 1
-p 1
-q 1
-r 1
-S 1
-T 1
-t 1
-U 1
-v 1
-V 0
""")


def read(settings: Iterable[Setting]) -> ScriptRequest:
    """Return the request of a header."""
    request = ScriptRequest()
    for setting in settings:
        value, taken = setting.value, True
        match setting.key:
            case "-N":
                request.name = value
            case "-q":
                request.queue = value
            case "-A" | "--group":
                request.account = value
            case "-b" if digits(value) is not None:
                request.nodes = digits(value)
            case "-l elapstim_req" if digits(value) or clock(value):
                request.walltime = digits(value) or clock(value)
            case "-l cpunum_job" if digits(value) is not None:
                request.cores = digits(value)
            case "-l gpunum_job" if digits(value) is not None:
                request.gpus = digits(value)
            case "-l memsz_job" if re.fullmatch(r"(?i)\d+[kmgt]i?b", value):
                request.memory = value
            case "-o" | "-e" if "$" not in value and "%" not in value:
                setattr(request, "output" if setting.key == "-o" else "error", value)
            case "-j" if value in ("o", "e"):
                request.merge = True
            case "-t" if re.fullmatch(r"\d+-\d+", value):
                request.array = value
            case "-M":
                request.mail_user = value
            case "-m" if set(value) <= set("abe"):
                names = {"a": "fail", "b": "begin", "e": "end"}
                request.mail_on = frozenset(names[letter] for letter in value)
            case "-r" if value in ("y", "n"):
                request.rerun = value == "y"
            case "-v":
                request.variables = ",".join(filter(None, (request.variables, value)))
            case "-V":
                request.inherit = True
            case _:
                taken = False
        if taken:
            request.taken.add(setting)
    return request


def write(request: ScriptRequest, dialect: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the options for the same request; without `-T`, each of several nodes would run the script."""
    mail = {"fail": "a", "begin": "b", "end": "e"}
    letters = "".join(sorted(mail[event] for event in request.mail_on or ()))
    group = f"--group={request.account}" if dialect.get("group") == "group" else f"-A {request.account}"
    cores = request.cores
    if request.threads and cores is None and dialect.get("cpu_request") == "cpunum_job":
        ranks = request.per_node() or (1 if request.processes in (None, 1) else None)
        cores = ranks and request.threads * ranks
    sizes = dialect.get("cpu_request") == "cpunum_job" or not dialect
    match = re.fullmatch(r"(?i)(0*[1-9]\d*)([kmgt])i?b?", request.memory or "")
    memory = match and f"{match[1]}{match[2].lower()}b"
    # the placeholders that NQSV replaces in a path are not documented
    paths = [name for name in ("output", "error") if "%" in (getattr(request, name) or "")]
    lines = [
        request.name and "-N " + re.sub(r"\s", "_", request.name),
        request.queue and f"-q {request.queue}",
        request.account and group,
        request.nodes and f"-b {request.nodes}",
        "-T openmpi" if (request.nodes or 1) > 1 else None,
        cores and f"-l cpunum_job={cores}",
        request.gpus and dialect.get("gpu_request") != "none" and f"-l gpunum_job={request.gpus}",
        sizes and memory and f"-l memsz_job={memory}",
        request.walltime and f"-l elapstim_req={format_walltime(request.walltime)}",
        request.output and "output" not in paths and f"-o {request.output}",
        "-j o" if request.merge or (request.merge is None and not request.error) else None,
        request.error and not request.merge and "error" not in paths and f"-e {request.error}",
        request.array and f"-t {re.split('[:%]', request.array)[0]}",
        request.mail_user and f"-M {request.mail_user}",
        letters and f"-m {letters}",
        request.inherit and "-V",
        request.rerun is not None and f"-r {'y' if request.rerun else 'n'}",
        request.variables and f"-v {quoted(request.variables)}",
    ]
    lost = [name for name in ("after_ok", "after_any", "exclusive") if getattr(request, name)]
    lost += ["memory"] if request.memory and not (sizes and memory) else []
    # no option sets ranks and threads: mpirun and the script do
    lost += [name for name in ("processes", "processes_per_node", "threads") if (getattr(request, name) or 1) > 1]
    lost += paths
    # there is neither a step nor a limit of tasks at the same time
    lost += ["array"] if re.search("[:%]", request.array or "") else []
    return [str(line) for line in lines if line], lost


def judge(settings: list[Setting]) -> Iterator[Judgement]:
    """Yield PBS's options, which NQSV refuses."""
    for setting in settings:
        if setting.key in ("-l select", "-l walltime", "-l mpiprocs", "-l nodes", "-l place", "-l ncpus"):
            better = (
                (f"walltime={setting.value}", f"elapstim_req={setting.value}") if setting.key == "-l walltime" else None
            )
            if setting.key == "-l select" and digits(setting.value.split(":")[0]):
                better = f"-l select={setting.value}", f"-b {setting.value.split(':')[0]}"
            yield Judgement("unknown-resource", setting.line, {"name": setting.key[3:]}, better)
        elif setting.key == "-j" and setting.value in ("oe", "eo"):
            yield Judgement("bad-value", setting.line, {"option": "-j", "value": setting.value}, (setting.value, "o"))
        elif setting.key == "-W":
            yield Judgement("unknown-option", setting.line, {"option": setting.written, "near": ""})


LANGUAGE = ScriptLanguage(
    name="nqsv",
    title="NQSV",
    prefix="#PBS",
    options=OPTIONS,
    read=read,
    write=write,
    judge=judge,
    lists=frozenset({"-l"}),
    starts_at_home=True,
    submit_folder="PBS_O_WORKDIR",
    variables=r"(?:PBS|NQSV|NQSII)_[A-Z_]+",
    meanings={
        "PBS_JOBID": "id",
        "PBS_JOBNAME": "name",
        "PBS_O_WORKDIR": "folder",
        "PBS_SUBREQNO": "task",
        "PBS_NODEFILE": "nodes file",
    },
    passes_environment="-V",
    colon_id="PBS_JOBID",
    reading=Reading(literal=frozenset({"-v"})),
    commands={r"srun\b": "no-such-launcher"},
    signs=r"elapstim_req|gpunum_job|cpunum_job|--group\b|--venode\b|-T\s*(?:openmpi|intmpi|necmpi|distrib)\b|-b\s*\d"
          r"|-j\s*[oe]\s*$|-v\s*NQS",
)  # fmt: skip
