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
hk_on_every_node() { # torchrun and its options: rank.sh adds those that differ from node to node, and what it runs
  local HK_TORCHRUN=("$@")
  if ! declare -p HK_TORCHRUN >>"env/job-$HK_ATTEMPT.sh"; then
    hk_warn record "the launch line could not be recorded (disk full?)"
    exit 78
  fi
  hk_on_nodes torchrun
}
}

