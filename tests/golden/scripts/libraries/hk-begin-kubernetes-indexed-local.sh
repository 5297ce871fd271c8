# ---- begin and end ----
hk_begin() { # one job a run: it claims the run by renaming a directory that holds the job's id
  local claim owner
  claim=".claim.${HK_JOB_ID//[^A-Za-z0-9._-]/_}.$HK_HOST"
  mkdir -p "$claim" && printf '%s\n' "$HK_JOB_ID" >"$claim/job_id"
  if ! mv -T "$claim" claim 2>/dev/null; then
    rm -rf "$claim"
    owner=$(cat claim/job_id 2>/dev/null)
    if [ -n "$owner" ] && [ "$owner" != "$HK_JOB_ID" ]; then
      echo "hackathon: this run belongs to job $owner; job $HK_JOB_ID ends here" >&2
      exit 75
    fi
  fi
  mkdir -p events logs metrics telemetry env
  HK_ATTEMPT=1
  if [ -s events/job.jsonl ]; then HK_ATTEMPT=$(($(grep -c '"event":"started"' events/job.jsonl) + 1)); fi
  if [ "$HK_ATTEMPT" -gt 1 ]; then hk_set_logs_aside "logs/attempt-$((HK_ATTEMPT - 1))"; fi
  exec >>logs/job.log 2>&1
  trap hk_ended EXIT
  trap 'HK_SIGNAL=15; exit 143' TERM
  trap 'HK_SIGNAL=2; exit 130' INT
  rm -f stop
  HK_DEADLINE=$(($(date +%s) + HK_WALLTIME))
  hk_event started ",\"job_id\":\"$(hk_text "$HK_JOB_ID")\",\"deadline\":$HK_DEADLINE"
  echo "hackathon: $HK_NAME: job $HK_JOB_ID, attempt $HK_ATTEMPT, on $HK_HOST, $(hk_counted "$HK_NODES" node nodes), $(hk_counted "$HK_PROCESSES" process processes)"
  if [ -s segment ]; then hk_segment; fi
  HK_CHECKPOINTS=$HK_CHAIN/checkpoints
  export HK_CHECKPOINTS HK_SEGMENT
}
hk_set_logs_aside() { # a folder for the logs of the former attempt: who reads a log reads one attempt
  local file
  mkdir -p "$1" || return
  for file in logs/*; do
    case $file in
    logs/attempt-*) ;;
    logs/scheduler*) cp -p "$file" "$1/" && : >"$file" ;; # the scheduler has it open
    *) mv "$file" "$1/" ;;
    esac
  done
} 2>/dev/null
hk_ended() { # the EXIT trap
  local code=$?
  trap '' TERM INT HUP
  hk_stop_helpers
  if [ -s segment ]; then hk_segment_ended "$code"; fi
  if [ "$HK_SIGNAL" = null ] && [ "$code" -gt 128 ] && [ "$code" -lt 193 ]; then HK_SIGNAL=$((code - 128)); fi
  hk_event ended ",\"exit_code\":$code,\"signal\":$HK_SIGNAL"
}
hk_helpers=()
hk_stop_helpers() { # the shell first, then what it waits for, so that it has nothing to report
  local helper waiting
  for helper in "${hk_helpers[@]}"; do
    waiting=$(pgrep -P "$helper" 2>/dev/null)
    # shellcheck disable=SC2086
    kill -KILL "$helper" $waiting 2>/dev/null
  done
}

