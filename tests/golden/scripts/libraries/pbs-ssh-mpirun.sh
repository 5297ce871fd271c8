# shellcheck shell=bash disable=SC2034
# hackathon.sh: what surrounds the program of every job. job.sh reads this file and calls its functions in this order:
# hk_begin, hk_hosts, hk_check_source, hk_before_environment, hk_record_environment, hk_prepare_launch, hk_run. hk_run
# starts hk_launch, which job.sh defines. No value stands here: they are all in job.sh, in variables HK_...

# ---- who and where ----
umask 022
HK_RUN=$PWD
HK_HOST=$(hostname)
HK_HOST=${HK_HOST//[^A-Za-z0-9._-]/_}
HK_PROJECT=$(cd "$HK_RUN/../.." && pwd -P)
export HK_RUN HK_PROJECT HK_JOB_ID
HK_SIGNAL=null # the number of the one that ended the job
hk_counted() { # number, word for one, word for several
  if [ "$1" -eq 1 ]; then printf '1 %s' "$2"; else printf '%s %s' "$1" "$3"; fi
}

# ---- markers: one JSON line each; a marker that can not be written never ends the job ----
hk_now() {
  local now=${EPOCHREALTIME:-$(date +%s.%N)}
  now=${now/,/.}
  printf '%s' "${now:0:14}"
}
hk_event() { # name, further members of the object
  { printf '{"t":%s,"event":"%s","attempt":%s,"host":"%s"%s}\n' "$(hk_now)" "$1" "$HK_ATTEMPT" "$HK_HOST" "${2:-}" \
    >>events/job.jsonl; } 2>/dev/null || :
}
hk_text() { # a text as the inside of a JSON string
  printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'
}
hk_warn() { # word, text for people
  echo "hackathon: $2"
  hk_event warned ",\"about\":\"$1\",\"text\":\"$(hk_text "$2")\""
}

# ---- a segment of a chain: runs that follow each other and share their checkpoints, for more than one walltime ----
HK_SEGMENT=1
HK_CHAIN=$HK_RUN
hk_skipped=
hk_skip() { # why, exit code, text for people
  hk_skipped=$1
  echo "hackathon: $3"
  hk_event skipped ",\"why\":\"$1\",\"text\":\"$(hk_text "$3")\""
  exit "$2"
}
hk_segment() { # what the former segments left decides whether there is something to do
  local of first former by
  read -r HK_SEGMENT of first former <segment
  HK_CHAIN=${HK_RUN%/*}/$first
  if [ "$HK_SEGMENT" -eq 1 ]; then
    rm -f complete failed # queued again, it begins again
  else
    if [ ! -d "$HK_CHAIN" ]; then hk_skip lost 76 "not begun: $HK_CHAIN is gone, and with it the checkpoints"; fi
    read -r by 2>/dev/null <"$HK_CHAIN/failed"
    if [ "$by" = "${HK_RUN##*/}" ]; then rm -f "$HK_CHAIN/failed" && by=; fi
    if [ -e "$HK_CHAIN/complete" ]; then
      hk_skip complete 0 "segment $HK_SEGMENT of $of: nothing left to do, $(cat "$HK_CHAIN/complete") came to the end"
    elif [ -n "$by" ]; then
      hk_skip failed 76 "segment $HK_SEGMENT of $of: not begun, for $by failed"
    fi
  fi
  mkdir -p "$HK_CHAIN/checkpoints"
  if [ "$HK_SEGMENT" -gt 1 ] && [ ! -e checkpoints ]; then ln -s "../$first/checkpoints" checkpoints; fi
  echo "hackathon: segment $HK_SEGMENT of $of${former:+, after $former}; checkpoints in $HK_CHAIN/checkpoints"
}
hk_finished() { # whether the program came to its own end: rank 0's last numbers may say so, else the stop file does
  case $(tail -n 1 metrics/rank-0.jsonl 2>/dev/null) in
  *"\"attempt\": $HK_ATTEMPT,"*'"final": true'*'"stopped": false'*) return 0 ;;
  *"\"attempt\": $HK_ATTEMPT,"*'"final": true'*'"stopped": true'*) return 1 ;;
  esac
  [ ! -e stop ]
}
hk_segment_ended() { # exit code; leaves a mark for the later segments unless the walltime ended this one
  local mark
  if [ -n "$hk_skipped" ]; then
    return
  elif [ "$1" -eq 0 ]; then
    hk_finished || return
    mark=complete
  else
    # the scheduler's clock began before the script's
    if [ -e stop ] || { [ "$HK_SIGNAL" = 15 ] && [ "$(date +%s)" -ge $((HK_DEADLINE - 30)) ]; }; then return; fi
    mark=failed
  fi
  { printf '%s\n' "${HK_RUN##*/}" >".$mark.new" && mv ".$mark.new" "$HK_CHAIN/$mark"; } 2>/dev/null ||
    hk_warn segment "the mark '$mark' could not be written: later segments do not know"
}

# ---- begin and end ----
hk_begin() { # one job a run: it claims the run by renaming a directory that holds the job's id
  local claim owner
  claim=".claim.${HK_JOB_ID//[^A-Za-z0-9._-]/_}.$HK_HOST"
  mkdir -p "$claim" && printf '%s\n' "$HK_JOB_ID" >"$claim/job_id"
  if ! mv -T "$claim" claim 2>/dev/null; then
    rm -rf "$claim"
    owner=$(cat claim/job_id 2>/dev/null)
    if [ -n "$owner" ] && [ "$owner" != "$HK_JOB_ID" ]; then
      echo "hackathon: this run belongs to job $owner; job $HK_JOB_ID ends here" >&2
      exit 75
    fi
  fi
  mkdir -p events logs metrics telemetry env
  exec >>logs/job.log 2>&1
  HK_ATTEMPT=1
  if [ -s events/job.jsonl ]; then HK_ATTEMPT=$(($(grep -c '"event":"started"' events/job.jsonl) + 1)); fi
  trap hk_ended EXIT
  trap 'HK_SIGNAL=15; exit 143' TERM
  trap 'HK_SIGNAL=2; exit 130' INT
  rm -f stop
  HK_DEADLINE=$(($(date +%s) + HK_WALLTIME))
  hk_event started ",\"job_id\":\"$(hk_text "$HK_JOB_ID")\",\"deadline\":$HK_DEADLINE"
  echo "hackathon: $HK_NAME: job $HK_JOB_ID, attempt $HK_ATTEMPT, on $HK_HOST, $(hk_counted "$HK_NODES" node nodes), $(hk_counted "$HK_PROCESSES" process processes)"
  if [ -s segment ]; then hk_segment; fi
  HK_CHECKPOINTS=$HK_CHAIN/checkpoints
  export HK_CHECKPOINTS HK_SEGMENT
}
hk_ended() { # the EXIT trap
  local code=$?
  trap '' TERM INT HUP
  hk_stop_helpers
  if [ -s segment ]; then hk_segment_ended "$code"; fi
  if [ "$HK_SIGNAL" = null ] && [ "$code" -gt 128 ] && [ "$code" -lt 193 ]; then HK_SIGNAL=$((code - 128)); fi
  hk_event ended ",\"exit_code\":$code,\"signal\":$HK_SIGNAL"
}
hk_helpers=()
hk_stop_helpers() { # the shell first, then what it waits for, so that it has nothing to report
  local helper waiting
  for helper in "${hk_helpers[@]}"; do
    waiting=$(pgrep -P "$helper" 2>/dev/null)
    # shellcheck disable=SC2086
    kill -KILL "$helper" $waiting 2>/dev/null
  done
}

# ---- hosts, and the folder that the program runs in ----
if ! declare -F hk_hosts_of_job >/dev/null; then # a scheduler's identity.sh.j2 may have it, which job.sh holds
  :
hk_hosts_of_job() { # the node file has one line per rank
  if [ -s "${PBS_NODEFILE:-}" ]; then mapfile -t HK_HOSTS < <(awk '!seen[$0]++' "$PBS_NODEFILE"); else HK_HOSTS=("$HK_HOST"); fi
}
fi
hk_hosts() { # leaves HK_HOSTS, MASTER_ADDR and MASTER_PORT
  local digits try
  hk_hosts_of_job
  if [ "${#HK_HOSTS[@]}" -ne "$HK_NODES" ]; then
    hk_warn hosts "asked for $(hk_counted "$HK_NODES" node nodes), got ${#HK_HOSTS[@]}: ${HK_HOSTS[*]}; if two chunks share a host, set dialect.place: scatter"
    exit 78
  fi
  if [ "$HK_NODES" -eq 1 ]; then MASTER_ADDR=127.0.0.1; else MASTER_ADDR=${HK_HOSTS[0]}; fi
  digits=000000000${HK_JOB_ID//[!0-9]/} # bash takes the last nine only of a text that has nine
  HK_STOP=$HK_RUN/stop
  MASTER_PORT=$((20000 + 10#${digits: -9} % 10000))
  # somebody else on this node may listen there: a job of another scheduler, a leftover, a daemon
  for try in {1..20}; do
    grep -qsiE "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$MASTER_PORT") [0-9A-F:]+ 0A " /proc/net/tcp /proc/net/tcp6 || break
    MASTER_PORT=$((20000 + (MASTER_PORT + 7 * try) % 10000))
  done
  export MASTER_ADDR MASTER_PORT HK_ATTEMPT HK_DEADLINE HK_STOP
}
hk_check_source() { # HK_SOURCE is the folder that the program runs in
  if [ ! -d "$HK_SOURCE" ]; then HK_SOURCE=$HK_RUN; fi
  if [ -s source.sha256 ] && ! (cd "$HK_SOURCE" && sha256sum --check --status --quiet "$HK_RUN/source.sha256" 2>/dev/null); then
    hk_warn source "files in $HK_SOURCE are not those of the submission"
  fi
}

# ---- environment ----
hk_before_environment() {
  hk_private='^(SLURM|SBATCH|SRUN|PMI|OMPI|PRTE|HYDRA|MPI_LOCAL|CUDA_VISIBLE|ROCR_VISIBLE|GPU_DEVICE|TMPDIR$)'
  hk_before=$(compgen -e | grep -E "$hk_private" | while read -r name; do declare -p "$name"; done)
}
# What ranks on other nodes must have: all exported variables but those that belong to one node or one task. Those are
# taken along only where the environment lines changed them. Keys and passwords may be among them: for the owner's eyes only.
hk_record() {
  compgen -e | grep -Ev "$hk_private|^(HOSTNAME|HOST|PWD|OLDPWD|SHLVL|_|DISPLAY|SSH_.*|XDG_.*|DBUS.*|BASH.*|RANK|WORLD_SIZE|LOCAL_RANK)$" |
    while read -r name; do declare -p "$name"; done
  compgen -e | grep -E "$hk_private" | while read -r name; do
    hk_value=$(declare -p "$name")
    case $'\n'"$hk_before"$'\n' in *$'\n'"$hk_value"$'\n'*) ;; *) printf '%s\n' "$hk_value" ;; esac
  done
  declare -p HK_COMMAND HK_SOURCE HK_NODES HK_PROCESSES HK_PROCESSES_PER_NODE HK_THREADS HK_MODE HK_SCRATCH HK_TELEMETRY
  declare -p HK_HOSTS HK_LAUNCHER
}
hk_record_environment() {
  cd "$HK_RUN" || exit 78
  if ! (umask 077 && hk_record >"env/.job-$HK_ATTEMPT.sh" && mv "env/.job-$HK_ATTEMPT.sh" "env/job-$HK_ATTEMPT.sh") 2>/dev/null; then
    hk_warn record "the environment could not be recorded (disk full?)"
  fi
}

hk_wait() { # a child's process number; leaves its exit code in hk_code, whatever signals come meanwhile
  local again
  while :; do
    wait "$1"
    hk_code=$?
    kill -0 "$1" 2>/dev/null || break
  done
  # a signal may have cut the last wait short when the child was gone already: bash still knows its code
  wait "$1" 2>/dev/null
  again=$?
  if [ "$again" -ne 127 ] && [ "$again" -ge 0 ]; then hk_code=$again; fi
  # bash can lose the code when a signal and the end come at once (seen: -1): told to end, it ended
  if [ "$hk_code" -lt 0 ]; then
    if [ "$HK_SIGNAL" = null ]; then hk_code=1; else hk_code=143; fi
  fi
}

# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs mpirun launcher
  hk_needs "${HK_COMMAND[0]}" program
}
hk_prepare_launch() { # after the environment lines, for they say which commands there are, and whose mpirun that is
  hk_find_commands
# starter: ssh hands one string to the remote shell, so every word is quoted once more; -tt makes a lost connection
# end what was started
hk_remote() { # host, node's number, mode
  local words
  printf -v words '%q ' bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$3" "$2"
  exec ssh -tt -o BatchMode=yes -o ConnectTimeout=30 "$1" "$words" </dev/null
}
# waits for all children; when one fails, this shell is told to end, or the script was killed, the others end too
hk_children=()
hk_together() {
  local child code result=0 told=0 open kill_at=
  trap 'kill -TERM "${hk_children[@]}" 2>/dev/null; told=1' TERM INT
  trap - EXIT
  while :; do
    open=()
    for child in "${hk_children[@]}"; do
      if kill -0 "$child" 2>/dev/null; then
        open+=("$child")
        continue
      fi
      wait "$child"
      code=$?
      if [ "$code" -ne 0 ] && [ "$result" -eq 0 ]; then result=$code; fi
    done
    [ "${#open[@]}" -gt 0 ] || break
    hk_children=("${open[@]}")
    kill -0 $$ 2>/dev/null || result=137
    if [ "$result" -ne 0 ] && [ "$told" -eq 0 ]; then
      kill -TERM "${hk_children[@]}" 2>/dev/null
      told=1
      kill_at=$((SECONDS + HK_RANK_GRACE)) # a rank that hangs in a collective may be deaf to TERM
    fi
    if [ -n "$kill_at" ] && [ "$SECONDS" -ge "$kill_at" ]; then
      # shellcheck disable=SC2046
      kill -KILL $(for child in "${hk_children[@]}"; do hk_below "$child"; done) 2>/dev/null
      kill_at=
    fi
    sleep 0.5
  done
  return "$result"
}
hk_on_nodes() {
  local number=0 host
  for host in "${HK_HOSTS[@]}"; do
    hk_remote "$host" "$number" "$1" &
    hk_children+=("$!")
    number=$((number + 1))
  done
  hk_together
}
# Open MPI: a host file with slots, so that more ranks than cores are allowed where the toolkit planned them
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
hk_mpirun_path() {
  local program folder
  program=$(command -v mpirun || echo mpirun)
  # of /bin/mpirun it makes the prefix "/" and gives up: /bin is a link to /usr/bin on most systems
  case ${program%/*/*} in
  *[!/]*) ;;
  *)
    folder=$(cd "${program%/*}" && pwd -P)
    case ${folder%/*} in *[!/]*) program=$folder/${program##*/} ;; *) program=mpirun ;; esac
    ;;
  esac
  echo "$program"
}
hk_mpirun() { # ranks, ranks a node, command
  local ranks=$1 per_node=$2 host
  shift 2
  for host in "${HK_HOSTS[@]}"; do printf '%s slots=%s\n' "$host" "$per_node"; done >"env/hosts-$HK_ATTEMPT"
  # called by its whole path it uses the programs beside itself on other nodes too, whatever their PATH finds (mpirun(1))
  exec "$(hk_mpirun_path)" -np "$ranks" --map-by "ppr:$per_node:node" --bind-to none --hostfile "env/hosts-$HK_ATTEMPT" \
    "${HK_MPI_OPTIONS[@]}" "$@"
}
}

# ---- watch: says when all ranks run, and writes the stop file before the walltime ends ----
hk_watch() {
  local stop_at=$((HK_DEADLINE - HK_STOP_BEFORE)) begin=$SECONDS now stop_in
  while [ "$(cat events/rank-*.jsonl 2>/dev/null | grep -c "\"event\":\"started\",\"attempt\":$HK_ATTEMPT,")" -lt "$HK_PROCESSES" ]; do
    sleep 1
    kill -0 $$ 2>/dev/null || return
    now=$(date +%s)
    [ "$now" -lt "$stop_at" ] || break
  done
  if [ "$(date +%s)" -lt "$stop_at" ]; then
    hk_event ranks_started ",\"seconds\":$((SECONDS - begin))"
    stop_in=$((SECONDS + stop_at - $(date +%s)))
    while [ "$SECONDS" -lt "$stop_in" ]; do
      sleep $((stop_in - SECONDS < 5 ? stop_in - SECONDS : 5))
      kill -0 $$ 2>/dev/null || return # the script was killed: there is nobody to tell
    done
  fi
  { printf '%s\n' "$HK_DEADLINE" >.stop.new && mv .stop.new stop; } 2>/dev/null
  hk_warn stop "walltime ends in $((HK_DEADLINE - $(date +%s))) s: the stop file is there"
  if [ "$HK_STOP_SIGNAL" != none ]; then kill -s "$HK_STOP_SIGNAL" "$1" 2>/dev/null; fi
}

# ---- a dead rank ends the job. Launchers see to it, unless the other ranks hang where no TERM reaches them. ----
HK_RANK_GRACE=20 # seconds after a rank failed until the launcher is told to end, and half of it until all are killed
hk_below() { # process numbers: all below one, and itself last
  local child
  for child in $(pgrep -P "$1" 2>/dev/null); do hk_below "$child"; done
  printf '%s\n' "$1"
}
hk_guard() { # the launcher's process
  local pause=$((5 + HK_PROCESSES / 50))
  while sleep $((pause < 15 ? pause : 15)); do
    kill -0 $$ 2>/dev/null || return # the script was killed: there is nobody to tell
    if grep -qs "\"event\":\"ended\",\"attempt\":$HK_ATTEMPT,.*\"exit_code\":[^0]" events/rank-*.jsonl; then break; fi
  done
  sleep "$HK_RANK_GRACE"
  hk_warn dead_rank "a rank failed and the others go on: the launcher is told to end"
  kill -TERM "$1" 2>/dev/null
  sleep $((HK_RANK_GRACE / 2))
  hk_warn dead_rank "the launcher did not end: it is killed with all ranks on this node"
  # shellcheck disable=SC2046
  kill -KILL $(hk_below "$1") 2>/dev/null
}

# ---- run: in the background, so that signals reach the script at once and are passed on ----
hk_run() { # leaves the exit code of hk_launch in hk_code
  hk_launch &
  hk_main=$!
  trap 'HK_SIGNAL=15; kill -TERM "$hk_main" 2>/dev/null' TERM
  trap 'HK_SIGNAL=2; kill -TERM "$hk_main" 2>/dev/null' INT
  trap 'kill -USR1 "$hk_main" 2>/dev/null' USR1
  trap 'kill -USR2 "$hk_main" 2>/dev/null' USR2
  hk_watch "$hk_main" &
  hk_helpers+=("$!")
  disown
  hk_guard "$hk_main" &
  hk_helpers+=("$!")
  disown
  hk_wait "$hk_main"
}
