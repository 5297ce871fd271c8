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

