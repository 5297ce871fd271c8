#!/bin/bash
# rank.sh RUN ATTEMPT MODE [NUMBER] — what every starter runs, on each rank or once on each node. It makes srun, Open MPI,
# MPICH, pbs_tmrsh, ssh and torchrun behave alike: same environment, same identity, one log and one record a rank.
#   MODE rank      a rank whose identity comes from mpirun, srun or NUMBER
#   MODE torchrun  once on each node: starts torchrun, which starts `rank.sh … worker` for each of its ranks
#   MODE worker    a rank whose identity comes from torchrun
#   MODE horovodrun  a rank of horovodrun, which tells the children of what it started to end, and stops that itself at
#                  once: so what it starts is only a go-between, and `rank.sh … rank` its child
HK_RUN=$1
HK_ATTEMPT=$2
hk_mode=$3
umask 022
cd "$HK_RUN" || exit 78
# shellcheck disable=SC1090
. "env/job-$HK_ATTEMPT.sh" || exit 78
HK_HOST=$(hostname)
export HK_HOST=${HK_HOST//[^A-Za-z0-9._-]/_}
export HK_NODES HK_PROCESSES HK_PROCESSES_PER_NODE HK_THREADS HK_MODE HK_SOURCE HK_SCRATCH HK_TELEMETRY HK_LAUNCHER
export HK_NODELIST="${HK_HOSTS[*]}" # an array can not be exported

# ---- threads and text: the same on every rank and at every point of a study ----
export OMP_NUM_THREADS=$HK_THREADS MKL_NUM_THREADS=$HK_THREADS OPENBLAS_NUM_THREADS=$HK_THREADS
export NUMEXPR_NUM_THREADS=$HK_THREADS PYTHONUNBUFFERED=1 PYTHONUTF8=1 PYTHONIOENCODING=utf-8
# ---- NCCL flight recorder: what each rank waited for is on disk after a time-out ----
export TORCH_FR_BUFFER_SIZE=${TORCH_FR_BUFFER_SIZE:-2000}
export TORCH_NCCL_DUMP_ON_TIMEOUT=${TORCH_NCCL_DUMP_ON_TIMEOUT:-1}
export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=${TORCH_NCCL_DEBUG_INFO_TEMP_FILE:-$HK_RUN/logs/nccl-trace-}

hk_child=
hk_began=
hk_told=
hk_witness=
hk_watch_signals() { # a process that dies of the same signals: it tells whether a signal went to everybody
  tail --pid=$$ -s 5 -f /dev/null >/dev/null 2>&1 &
  hk_witness=$!
  disown
}
hk_witnessed() { # whether the signal went to the witness, too, even if it had no processor since to die of it
  local name value
  kill -0 "$hk_witness" 2>/dev/null || return 0
  while read -r name value; do
    case $name in
      State:) case $value in Z*) return 0 ;; esac ;;
      SigPnd: | ShdPnd:) if [ $((16#$value & 0x804b03)) -ne 0 ]; then return 0; fi ;; # HUP INT KILL USR1 USR2 TERM XCPU
    esac
  done 2>/dev/null <"/proc/$hk_witness/status"
  return 1
}
hk_pass() { # a scheduler may signal every process of a job; a program that saves its work must not be told twice
  hk_told=$1
  if [ -n "$hk_began" ]; then
    local printed
    printed=$(stat -c %Y "$HK_RUN/logs/rank-$RANK.log" 2>/dev/null) || : # a second signal may end it, too
    hk_event told ",\"signal\":\"$1\",\"printed\":${printed:-null}"
  fi
  if [ -z "$hk_child" ]; then return; fi
  sleep 0.3 # who signals a job's processes does so one after the other
  if hk_witnessed; then
    if [ "$1" != TERM ]; then hk_watch_signals; fi
  else
    kill -s "$1" "$hk_child" 2>/dev/null
  fi
}
trap 'hk_pass TERM' TERM HUP INT XCPU
trap 'hk_pass USR1' USR1
trap 'hk_pass USR2' USR2
hk_run() { # runs a command to its end, passing signals on; leaves its exit code in hk_code
  local again
  hk_watch_signals
  "$@" &
  hk_child=$!
  if [ "$hk_told" = TERM ]; then kill -TERM "$hk_child" 2>/dev/null; fi
  while :; do
    wait "$hk_child"
    hk_code=$?
    kill -0 "$hk_child" 2>/dev/null || break
  done
  # a signal may have cut the last wait short when the command was gone already: bash still knows its code
  wait "$hk_child" 2>/dev/null
  again=$?
  if [ "$again" -ne 127 ] && [ "$again" -ge 0 ]; then hk_code=$again; fi
  # bash can lose the code when the signal and the end come at once (seen: -1 under srun)
  if [ "$hk_code" -lt 0 ]; then
    if [ "$hk_told" = TERM ]; then hk_code=143; else hk_code=1; fi
  fi
  kill -KILL "$hk_witness" 2>/dev/null
}

if [ "$hk_mode" = torchrun ]; then
  hk_node=${4:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_NODEID:-0}}}}
  { printf '%s\n' $$ >"env/agent-$HK_ATTEMPT-$hk_node"; } 2>/dev/null || :
  # mpirun or srun told this process who it is. Its ranks are others: an MPI library in them would take them for this one.
  hk_foreign=$(compgen -e | grep -E '^((OMPI|PMIX?|PRTE|HYDRA)_|MPI_LOCAL)')
  # shellcheck disable=SC2086
  unset $hk_foreign
  # shellcheck disable=SC1090
  . "env/job-$HK_ATTEMPT.sh" # what the environment's own lines say about MPI
  if [ "${#HK_TORCHRUN[@]}" -eq 0 ]; then # job.sh has a launch block of a project's own, without hk_on_every_node
    HK_TORCHRUN=(torchrun --nnodes="$HK_NODES" --nproc-per-node="$HK_PROCESSES_PER_NODE"
      --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" --max-restarts=0 "${HK_BIND[@]}")
  fi
  hk_run "${HK_TORCHRUN[@]}" --node-rank="$hk_node" --no-python bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" worker
  if [ "$hk_code" -ne 0 ] && [ -n "${HK_BIND[*]}" ]; then
    echo "hackathon: torchrun was given ${HK_BIND[*]}, which needs torch 2.9 or newer, NVIDIA GPUs and numactl"
  fi
  exit "$hk_code"
fi

if [ "$hk_mode" = horovodrun ]; then
  hk_run bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" rank
  exit "$hk_code"
fi

# ---- identity ----
if [ "$hk_mode" = rank ]; then
  if [ -n "${4:-}" ]; then
    RANK=$4 LOCAL_RANK=$4 WORLD_SIZE=$HK_PROCESSES LOCAL_WORLD_SIZE=$HK_PROCESSES
  elif [ "$HK_LAUNCHER" = horovodrun ] && [ -n "${HOROVOD_RANK:-}" ]; then
    RANK=$HOROVOD_RANK LOCAL_RANK=$HOROVOD_LOCAL_RANK WORLD_SIZE=$HOROVOD_SIZE LOCAL_WORLD_SIZE=$HOROVOD_LOCAL_SIZE
  elif [ -n "${OMPI_COMM_WORLD_RANK:-}" ]; then
    RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK
    WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_WORLD_SIZE=$OMPI_COMM_WORLD_LOCAL_SIZE
  elif [ -n "${PMI_RANK:-}" ] && [ -n "${PMI_SIZE:-}" ]; then
    RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_WORLD_SIZE=$HK_PROCESSES_PER_NODE
    LOCAL_RANK=${MPI_LOCALRANKID:-$((PMI_RANK % HK_PROCESSES_PER_NODE))}
  elif [ -n "${SLURM_PROCID:-}" ]; then
    RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE=$HK_PROCESSES_PER_NODE
  else
    echo "hackathon: no launcher gave this process a rank" >&2
    exit 78
  fi
  export RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
fi
export HK_RANK=$RANK HK_LOCAL_RANK=$LOCAL_RANK

if [ -n "${HK_TF_WORKERS:-}" ] && [ -z "${TF_CONFIG:-}" ]; then # TensorFlow's MultiWorkerMirroredStrategy reads it
  hk_workers=
  for ((hk_worker = 0; hk_worker < WORLD_SIZE; hk_worker++)); do # 617 apart: neighbouring jobs have neighbouring ports
    hk_place=$MASTER_ADDR
    if [ "$HK_NODES" -gt 1 ]; then hk_place=${HK_HOSTS[hk_worker / HK_PROCESSES_PER_NODE]}; fi
    hk_workers+=",\"$hk_place:$((20000 + (MASTER_PORT + 617 * hk_worker) % 10000))\""
  done
  export TF_CONFIG="{\"cluster\": {\"worker\": [${hk_workers#,}]}, \"task\": {\"type\": \"worker\", \"index\": $RANK}}"
fi

if [ -n "${HK_GPUS_PER_PROCESS:-}" ]; then # a rank has several GPUs, and sees only those, numbered from 0
  IFS=, read -r -a hk_gpus <<<"${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 $((HK_PROCESSES_PER_NODE * HK_GPUS_PER_PROCESS - 1)))}"
  hk_first=$((LOCAL_RANK * HK_GPUS_PER_PROCESS))
  # a scheduler that gave each rank its own has nothing left to divide
  if [ "${#hk_gpus[@]}" -ge $((hk_first + HK_GPUS_PER_PROCESS)) ] && [ "${#hk_gpus[@]}" -gt "$HK_GPUS_PER_PROCESS" ]; then
    hk_gpus=("${hk_gpus[@]:hk_first:HK_GPUS_PER_PROCESS}")
    CUDA_VISIBLE_DEVICES=$(IFS=, && echo "${hk_gpus[*]}")
    export CUDA_VISIBLE_DEVICES
  fi
fi

# ---- this rank's own log, record and scratch space; none of them may end the job ----
if { : >>"logs/rank-$RANK.log"; } 2>/dev/null; then exec >>"logs/rank-$RANK.log" 2>&1; fi
hk_event() { # name, further members of the object
  local now=${EPOCHREALTIME:-$(date +%s.%N)}
  now=${now/,/.}
  { printf '{"t":%s,"event":"%s","attempt":%s,"host":"%s"%s}\n' "${now:0:14}" "$1" "$HK_ATTEMPT" "$HK_HOST" "${2:-}" \
    >>"$HK_RUN/events/rank-$RANK.jsonl"; } 2>/dev/null || :
}
hk_scratch=
eval "hk_scratch=\"$HK_SCRATCH\""
# Compilers keep what they made there and load it again: a folder that somebody else put there would run his programs.
hk_private() { # makes a folder for this user alone; false for what others own or may enter, and for a link
  (umask 077 && mkdir "$1") 2>/dev/null
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && case $(stat -c %a "$1") in 700 | 2700) ;; *) false ;; esac
}
hk_tmp=$hk_scratch/hackathon-jobs-$EUID
hk_alone=
if ! hk_private "$hk_tmp"; then
  hk_alone=$(mktemp -d "$hk_scratch/hackathon-XXXXXXXXXX" 2>/dev/null)
  if [ "$LOCAL_RANK" -eq 0 ]; then
    echo "hackathon: $hk_tmp belongs to somebody else, is open to others or cannot be made: ${hk_alone:-no folder} takes its place"
    hk_event warned ',"about":"scratch","text":"the folder for temporary files and compiler caches is not private: another one is used"'
  fi
  hk_tmp=$hk_alone
fi
if [ -n "$hk_tmp" ] && mkdir -p "$hk_tmp/${HK_JOB_ID//[^A-Za-z0-9._-]/_}-$RANK" 2>/dev/null; then
  export TMPDIR=$hk_tmp/${HK_JOB_ID//[^A-Za-z0-9._-]/_}-$RANK
  export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$hk_tmp/triton} TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$hk_tmp/inductor}
  export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-$hk_tmp/cuda} NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-$hk_tmp/numba}
  export CUPY_CACHE_DIR=${CUPY_CACHE_DIR:-$hk_tmp/cupy} MPLCONFIGDIR=${MPLCONFIGDIR:-$hk_tmp/matplotlib}
else
  unset hk_tmp
fi
# ---- data: what is staged lies on this node's own disk; the first rank here copies, the last one here removes ----
hk_place=
hk_lock() { # opens the lock of this node's copy; again when another rank has removed it meanwhile
  while :; do
    { (umask 077 && mkdir -p "$hk_place") && [ -O "$hk_place" ] && [ ! -L "$hk_place" ]; } 2>/dev/null || return
    { exec 9>>"$hk_place/lock" && flock -x 9; } 2>/dev/null || return
    if [ "$hk_place/lock" -ef /dev/fd/9 ]; then return; fi
  done
}
hk_copy() { # one copy of the staged data, with links to the others beside it
  local need free other names
  read -r -a names <<<"$HK_STAGE"
  need=$(cd "$HK_DATA" && du -skc -- "${names[@]}" | tail -n 1 | cut -f 1)
  free=$(df -Pk "$hk_place" | awk 'NR == 2 { print $4 }')
  if [ "${need:-0}" -eq 0 ]; then
    echo "hackathon: data to be staged are not in $HK_DATA"
    return 1
  elif [ "$need" -ge "${free:-0}" ]; then
    echo "hackathon: $hk_place has $free KiB free, the data need $need KiB"
    return 1
  fi
  mkdir "$hk_place/data" && (cd "$HK_DATA" && cp -a -- "${names[@]}" "$hk_place/data/") || return
  for other in "$HK_DATA"/*; do
    [ -e "$hk_place/data/${other##*/}" ] || ln -s "$other" "$hk_place/data/" || return
  done
  : >"$hk_place/complete"
}
if [ -n "${HK_STAGE:-}" ]; then
  hk_place=$hk_scratch/hackathon-data-$(id -u)-${HK_JOB_ID//[^A-Za-z0-9._-]/_}-$HK_ATTEMPT-$HK_HOST
  if hk_lock; then
    if [ ! -e "$hk_place/complete" ] && [ ! -e "$hk_place/failed" ] && ! hk_copy; then
      rm -rf "$hk_place/data"
      : >"$hk_place/failed"
      hk_event warned ',"about":"data","text":"data are not on the disk of this node: read from the shared file system"'
    fi
    flock -s 9
  else
    hk_place= # what lies there may be somebody else's
  fi
  if [ -n "$hk_place" ] && [ -e "$hk_place/complete" ]; then
    export HK_DATA=$hk_place/data
  else
    echo "hackathon: reading data from the shared file system, $HK_DATA"
  fi
fi
hk_gpus() {
  nvidia-smi --query-gpu=index,utilization.gpu,memory.used,power.draw --format=csv,noheader,nounits 2>/dev/null
}
hk_telemetry() { # one line per GPU and one for the node, until this rank's shell is gone
  local owner=$1 file=$HK_RUN/telemetry/$HK_HOST.csv now user nice system idle rest busy total last_busy=0 last_total=0 used
  [ -s "$file" ] || echo 't,kind,index,utilisation_percent,memory_mib,power_w' >>"$file"
  while kill -0 "$owner" 2>/dev/null; do
    now=$(date +%s)
    if command -v nvidia-smi >/dev/null 2>&1; then hk_gpus | sed "s/ //g; s/^/$now,gpu,/" >>"$file"; fi
    read -r _ user nice system idle rest </proc/stat
    busy=$((user + nice + system)) total=$((user + nice + system + idle + ${rest%% *}))
    used=$(awk '/^MemTotal/{t=$2} /^MemAvailable/{a=$2} END{printf "%d", (t-a)/1024}' /proc/meminfo)
    if [ "$last_total" -gt 0 ] && [ "$total" -gt "$last_total" ]; then
      echo "$now,cpu,,$((100 * (busy - last_busy) / (total - last_total))),$used," >>"$file"
    fi
    last_busy=$busy last_total=$total
    sleep "$HK_TELEMETRY"
  done
}
hk_helper=
if [ "$LOCAL_RANK" -eq 0 ] && [ "$HK_TELEMETRY" -gt 0 ]; then
  hk_telemetry $$ >/dev/null 2>&1 9>&- &
  hk_helper=$!
  disown
fi

# ---- stacks: the program's Python writes where it is when it is told to end, before the walltime ends, and when somebody
# asks (hackathon logs --stacks). Python imports sitecustomize first; the one that was there before comes next.
# ---- steps: the same file has the program's Python record where the time of its steps goes (HK_STEPS=off: it does not)
hk_stacks=
hk_steps=
hk_asker=
hk_stack() { # has the program write where each of its threads is, if it can; the signal would end what cannot
  local pid="" mask
  if [ -z "$hk_stacks" ]; then return; fi
  { read -r _ pid <"$hk_stacks"; } 2>/dev/null
  case $pid in '' | *[!0-9]*) return ;; esac
  mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
  if [ $((16#${mask:-0} >> 58 & 1)) -eq 0 ]; then return; fi
  kill -s 59 "$pid" 2>/dev/null
}
hk_stacks_ready() { # leaves in hk_python the folder that Python looks into first
  mkdir -p "$HK_RUN/stacks" "$TMPDIR/hackathon-python" 2>/dev/null || return
  hk_stacks=$HK_RUN/stacks/rank-$RANK.txt
  hk_python=$TMPDIR/hackathon-python
  rm -f "$hk_stacks" "$HK_RUN/steps/rank-$RANK.json"
  if [ "${HK_STEPS:-on}" != off ] && [ -z "${HK_PROFILE:-}" ] && [ -f "$HK_RUN/steps.py" ] \
    && mkdir -p "$HK_RUN/steps" 2>/dev/null; then
    hk_steps=$HK_RUN/steps/rank-$RANK.json
  fi
  cat >"$hk_python/sitecustomize.py" <<'PYTHON' || hk_stacks=
import sys

def _answer():
    import os

    path = os.environ.get("HK_STACKS")
    if not path or sys.version_info < (3, 3):
        return
    os.environ["HK_STACKS"] = ""  # for what this program starts
    import faulthandler
    import signal

    stream = open(path, "w")
    stream.write("python %d\n" % os.getpid())
    stream.flush()
    asked = signal.SIGRTMAX - 5
    faulthandler.register(asked, stream)
    faulthandler.register(signal.SIGTERM, stream, chain=True)  # a handler of the program's own takes its place
    if hasattr(os, "register_at_fork"):  # workers of a data loader are told to end as well, at the end of each epoch

        def worker():
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno(), False)
            os.close(nowhere)

        os.register_at_fork(after_in_child=worker)

def _record():
    import os

    path = os.environ.get("HK_STEPS")
    if not path or sys.version_info < (3, 6):
        return
    with open(os.path.join(os.environ["HK_RUN"], "steps.py"), "rb") as stream:
        text = stream.read()
    # a name that torch.compile passes over
    exec(compile(text, "<frozen importlib hackathon>", "exec"), {"__name__": "hackathon_steps"})
    os.environ["HK_STEPS"] = ""  # for what this program starts

def _go_on():
    import os
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each or os.curdir) != here]
    found = PathFinder.find_spec("sitecustomize", sys.path)
    if found is not None and found.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(found)
        sys.modules["sitecustomize"] = module
        found.loader.exec_module(module)

for _each in (_answer, _record):
    try:
        _each()
    except Exception:  # the program runs as well without it
        pass
if sys.version_info[0] > 2:
    _go_on()
PYTHON
}
hk_await_asking() { # until this rank's shell is gone
  local owner=$1 known="" now
  { read -r known <"$HK_RUN/stacks/asked"; } 2>/dev/null
  while kill -0 "$owner" 2>/dev/null; do
    now=
    { read -r now <"$HK_RUN/stacks/asked"; } 2>/dev/null
    if [ -e "$HK_STOP" ]; then now="$now stop"; fi
    if [ "$now" != "$known" ]; then hk_stack; fi
    known=$now
    sleep 5
  done
}
if [ -n "${hk_tmp:-}" ] && hk_stacks_ready && [ -n "$hk_stacks" ]; then
  hk_await_asking $$ >/dev/null 2>&1 9>&- &
  hk_asker=$!
  disown
fi

# ---- the program ----
hk_event started ",\"rank\":$RANK,\"local_rank\":$LOCAL_RANK,\"pid\":$$"
hk_began=1
cd "$HK_SOURCE" || exit 78
if [ "$LOCAL_RANK" -eq 0 ]; then
  # beside the program; in place nothing is copied there, and PYTHONPATH leads to it
  IFS=: read -r -a hk_folders <<<".:${PYTHONPATH:-}"
  for hk_folder in "${hk_folders[@]}"; do
    [ -f "$hk_folder/hackathon_runtime.py" ] || continue
    (timeout 60 nice "${HK_PYTHON:-python}" "$hk_folder/hackathon_runtime.py" environment "$HK_RUN/env/$HK_HOST.json" >/dev/null 2>&1 9>&- &)
    break
  done
fi
if [ -n "$hk_stacks" ]; then
  HK_STACKS=$hk_stacks HK_STEPS=$hk_steps PYTHONPATH=$hk_python${PYTHONPATH:+:$PYTHONPATH} hk_run "${HK_COMMAND[@]}"
else
  hk_run "${HK_COMMAND[@]}"
fi
hk_signal=null
if [ "$hk_code" -gt 128 ] && [ "$hk_code" -lt 193 ]; then hk_signal=$((hk_code - 128)); fi
hk_bytes=$(stat -c %s "$HK_RUN/logs/rank-$RANK.log" 2>/dev/null) # who reads it sees whether something is gone
hk_event ended ",\"rank\":$RANK,\"exit_code\":$hk_code,\"signal\":$hk_signal,\"log_bytes\":${hk_bytes:-null}"
for hk_helper in $hk_helper $hk_asker; do
  # shellcheck disable=SC2046
  kill -KILL "$hk_helper" $(pgrep -P "$hk_helper") 2>/dev/null
done
if [ -n "$hk_place" ] && flock -n -x 9; then rm -rf "$hk_place"; fi
if [ -n "${hk_tmp:-}" ]; then rm -rf "${hk_alone:-$TMPDIR}"; fi
exit "$hk_code"
