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
# starter: a copy of this script runs on every node already; node 0 tells the others what to run, and hears how it ended
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
hk_lead() { # mode; a new number every other second is the sign of life
  local count=0
  while kill -0 $$ 2>/dev/null; do
    count=$((count + 1))
    { printf '%s %s %s\n' "$HK_ATTEMPT" "$1" "$count" >env/.lead && mv env/.lead env/lead; } 2>/dev/null
    sleep 2
  done
}
hk_remote() { # node's number, mode
  local told='' waited=0
  if [ "$1" -eq 0 ]; then exec bash "$HK_RUN/rank.sh" "$HK_RUN" "$HK_ATTEMPT" "$2" 0; fi
  trap - EXIT
  trap 'told=1; : >"env/told-$HK_ATTEMPT-$1"' TERM INT
  while [ ! -s "env/ended-$HK_ATTEMPT-$1" ]; do
    sleep 1
    if [ -n "$told" ]; then waited=$((waited + 1)); fi
    if [ "$waited" -ge 45 ]; then exit 143; fi # it is gone
  done
  exit "$(cat "env/ended-$HK_ATTEMPT-$1")"
}
hk_on_nodes() {
  local number lead='' code
  if [ "$HK_NODES" -gt 1 ]; then
    hk_resolve "$MASTER_ADDR"
    hk_lead "$1" &
    lead=$!
  fi
  for ((number = 0; number < HK_NODES; number++)); do
    hk_remote "$number" "$1" &
    hk_children+=("$!")
  done
  hk_together
  code=$?
  if [ -n "$lead" ]; then kill "$lead" 2>/dev/null; fi
  return "$code"
}
}

