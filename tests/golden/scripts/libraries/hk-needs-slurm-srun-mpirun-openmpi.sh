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
# starter: srun runs rank.sh once on every node. A step does not inherit --cpus-per-task since Slurm 22.05.
# srun answers TERM by killing its tasks at once. They shall have TERM themselves and their time to end: Slurm tells them.
hk_srun() { # options of srun and its command
  local step
  trap - EXIT
  srun --kill-on-bad-exit=1 "$@" &
  step=$!
  trap 'hk_srun_end "$step"' TERM INT
  trap 'kill -USR1 "$step" 2>/dev/null' USR1
  trap 'kill -USR2 "$step" 2>/dev/null' USR2
  hk_wait "$step"
  return "$hk_code"
}
hk_srun_end() { # srun's process; before any rank runs there is nobody to tell but srun itself
  if grep -qs "\"event\":\"started\",\"attempt\":$HK_ATTEMPT," events/rank-*.jsonl; then
    scancel --signal=TERM "$SLURM_JOB_ID" 2>/dev/null && return
  fi
  kill -TERM "$1" 2>/dev/null
}
hk_on_nodes() {
  hk_srun --nodes="$HK_NODES" --ntasks="$HK_NODES" --ntasks-per-node=1 \
    --cpus-per-task=$((HK_PROCESSES_PER_NODE * HK_THREADS)) \
    bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
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

