# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs srun launcher
  hk_needs horovodrun launcher
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
exec srun --quiet --overlap --input=none --nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task="$HK_THREADS" \
  --nodelist="$host" bash -c "$*"
HK_END
}
}

