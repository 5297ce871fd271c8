# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs torchrun launcher
  hk_needs "${HK_COMMAND[0]}" program
}
hk_prepare_launch() { # after the environment lines, for they say which commands there are, and whose mpirun that is
  hk_find_commands
# starter: there is one node, this one
hk_on_nodes() {
  HK_NODE_RANK=0 exec bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
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

