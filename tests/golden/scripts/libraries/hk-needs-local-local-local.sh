# ---- what the launch needs: a sentence now, where 127 would come from every rank ----
hk_needs() { # command, what it is for
  case $1 in */*) return ;; esac # a file: its rank tells more of it
  command -v -- "$1" >/dev/null 2>&1 && return
  hk_warn command "the job has no command $1 ($2) after its environment lines; PATH is $PATH"
  exit 127
}
hk_find_commands() {
  hk_needs "${HK_COMMAND[0]}" program
}
hk_prepare_launch() { # after the environment lines, for they say which commands there are, and whose mpirun that is
  hk_find_commands
# starter: there is one node, this one
hk_on_nodes() {
  HK_NODE_RANK=0 exec bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$1"
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
}

