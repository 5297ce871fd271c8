# ---- watch: says when all ranks run, and writes the stop file before the walltime ends ----
hk_watch() {
  local stop_at=$((HK_DEADLINE - HK_STOP_BEFORE)) begin=$SECONDS now stop_in
  while [ "$(cat events/rank-*.jsonl 2>/dev/null | grep -c "\"event\":\"started\",\"attempt\":$HK_ATTEMPT,")" -lt "$HK_PROCESSES" ]; do
    sleep 1
    kill -0 $$ 2>/dev/null || return
    now=$(date +%s)
    [ "$now" -lt "$stop_at" ] || break
  done
  if [ "$(date +%s)" -lt "$stop_at" ]; then
    hk_event ranks_started ",\"seconds\":$((SECONDS - begin))"
    stop_in=$((SECONDS + stop_at - $(date +%s)))
    while [ "$SECONDS" -lt "$stop_in" ]; do
      sleep $((stop_in - SECONDS < 5 ? stop_in - SECONDS : 5))
      kill -0 $$ 2>/dev/null || return # the script was killed: there is nobody to tell
    done
  fi
  { printf '%s\n' "$HK_DEADLINE" >.stop.new && mv .stop.new stop; } 2>/dev/null
  hk_warn stop "walltime ends in $((HK_DEADLINE - $(date +%s))) s: the stop file is there"
  if [ "$HK_STOP_SIGNAL" != none ]; then kill -s "$HK_STOP_SIGNAL" "$1" 2>/dev/null; fi
}

