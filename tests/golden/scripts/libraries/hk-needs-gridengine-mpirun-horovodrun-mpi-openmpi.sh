# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs mpirun launcher
  hk_needs horovodrun launcher
  hk_needs "${HK_COMMAND[0]}" program
}
hk_prepare_launch() { # after the environment lines, for they say which commands there are, and whose mpirun that is
  hk_find_commands
# starter: mpirun runs rank.sh once on every node
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
hk_on_nodes() {
  hk_mpirun "$HK_NODES" 1 bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
}
hk_horovod_hosts() { # host:ranks,host:ranks
  local hosts
  if [ "$HK_NODES" -eq 1 ]; then
    hosts=localhost:$HK_PROCESSES
  else
    hosts=$(printf "%s:$HK_PROCESSES_PER_NODE," "${HK_HOSTS[@]}")
  fi
  printf '%s' "${hosts%,}"
}
hk_horovodrun() { # options of horovodrun and its command
  local words=() child
  # it waits this long for others, who may still be loading their frameworks from a slow disk
  export HOROVOD_GLOO_TIMEOUT_SECONDS=${HOROVOD_GLOO_TIMEOUT_SECONDS:-120}
  if [ "$HK_NODES" -gt 1 ]; then
    hk_horovod_ssh || exit 78
    if [ -n "${HOROVOD_GLOO_IFACE:-}" ]; then words+=(--network-interface "$HOROVOD_GLOO_IFACE"); fi
  fi
  # its words for mpirun are those of Open MPI 4
  case $(mpirun --version 2>&1 | head -n 1) in
  *"Open MPI) 4."*) ;;
  *)
    hk_warn horovodrun "horovodrun --mpi needs Open MPI 4, but mpirun says: $(mpirun --version 2>&1 | head -n 1); take the launcher mpirun or horovodrun"
    exit 78
    ;;
  esac
  if [ "${#HK_MPI_OPTIONS[@]}" -gt 0 ]; then words+=("--mpi-args=$(printf '%q ' "${HK_MPI_OPTIONS[@]}")"); fi
  words+=("$@")
  trap - EXIT
  # it puts the folder that it is called in into shell text as it is, so it is called in one without odd characters
  (cd / && PATH="$HK_RUN/env/horovodrun-$HK_ATTEMPT:$PATH" HK_THREADS=$HK_THREADS exec horovodrun "${words[@]}") &
  child=$!
  trap 'kill -TERM "$child" 2>/dev/null' TERM INT
  trap 'echo "hackathon: horovodrun passes no signal on; the stop file says the same"' USR1 USR2
  hk_wait "$child"
  return "$hk_code"
}
hk_horovod_ssh() { # a program called ssh, for horovodrun alone: what starts something on another node here
  mkdir -p "env/horovodrun-$HK_ATTEMPT" && cat >"env/horovodrun-$HK_ATTEMPT/ssh" <<'HK_END' && chmod +x "env/horovodrun-$HK_ATTEMPT/ssh"
#!/bin/bash
# ssh [-o OPTION]… HOST [-o OPTION]… WORD…: the words, put together, are a command for the other node's shell
while [ "${1:-}" = -o ]; do shift 2; done
host=$1
shift
while [ "${1:-}" = -o ]; do shift 2; done
PATH=${PATH#"${0%/ssh}:"}
exec mpirun -np 1 --host "$host" --bind-to none bash -c "$*"
HK_END
}
}

