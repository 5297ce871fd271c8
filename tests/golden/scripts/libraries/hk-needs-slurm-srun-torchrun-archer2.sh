# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs srun launcher
  hk_needs torchrun launcher
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
hk_on_every_node() { # torchrun and its options: rank.sh adds those that differ from node to node, and what it runs
  local HK_TORCHRUN=("$@")
  if ! declare -p HK_TORCHRUN >>"env/job-$HK_ATTEMPT.sh"; then
    hk_warn record "the launch line could not be recorded (disk full?)"
    exit 78
  fi
  hk_on_nodes torchrun
}
}

