# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs mpirun launcher
  hk_needs torchrun launcher
  hk_needs "${HK_COMMAND[0]}" program
}
hk_prepare_launch() { # after the environment lines, for they say which commands there are, and whose mpirun that is
  hk_find_commands
# starter: mpirun runs rank.sh once on every node
# whose mpirun is it? Open MPI and MPICH take different options
case $(mpirun --version 2>&1 | head -n 3) in
*"Open MPI"* | *OpenRTE* | *PRRTE*)
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
  ;;
*)
# MPICH and its relatives (Hydra)
hk_mpirun() { # ranks, ranks a node, command
  local ranks=$1 per_node=$2 host
  shift 2
  for host in "${HK_HOSTS[@]}"; do printf '%s:%s\n' "$host" "$per_node"; done >"env/hosts-$HK_ATTEMPT"
  exec mpiexec -n "$ranks" -ppn "$per_node" -f "env/hosts-$HK_ATTEMPT" "${HK_MPI_OPTIONS[@]}" "$@"
}
  ;;
esac
hk_on_nodes() {
  hk_mpirun "$HK_NODES" 1 bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
}
hk_on_every_node() { # torchrun and its options: rank.sh adds those that differ from node to node, and what it runs
  local HK_TORCHRUN=("$@")
  if ! declare -p HK_TORCHRUN >>"env/job-$HK_ATTEMPT.sh"; then
    hk_warn record "the launch line could not be recorded (disk full?)"
    exit 78
  fi
  hk_on_nodes torchrun
}
}

