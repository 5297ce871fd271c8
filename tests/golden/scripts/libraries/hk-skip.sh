# ---- a segment of a chain: runs that follow each other and share their checkpoints, for more than one walltime ----
HK_SEGMENT=1
HK_CHAIN=$HK_RUN
hk_skipped=
hk_skip() { # why, exit code, text for people
  hk_skipped=$1
  echo "hackathon: $3"
  hk_event skipped ",\"why\":\"$1\",\"text\":\"$(hk_text "$3")\""
  exit "$2"
}
hk_segment() { # what the former segments left decides whether there is something to do
  local of first former by
  read -r HK_SEGMENT of first former <segment
  HK_CHAIN=${HK_RUN%/*}/$first
  if [ "$HK_SEGMENT" -eq 1 ]; then
    rm -f complete failed # queued again, it begins again
  else
    if [ ! -d "$HK_CHAIN" ]; then hk_skip lost 76 "not begun: $HK_CHAIN is gone, and with it the checkpoints"; fi
    read -r by 2>/dev/null <"$HK_CHAIN/failed"
    if [ "$by" = "${HK_RUN##*/}" ]; then rm -f "$HK_CHAIN/failed" && by=; fi
    if [ -e "$HK_CHAIN/complete" ]; then
      hk_skip complete 0 "segment $HK_SEGMENT of $of: nothing left to do, $(cat "$HK_CHAIN/complete") came to the end"
    elif [ -n "$by" ]; then
      hk_skip failed 76 "segment $HK_SEGMENT of $of: not begun, for $by failed"
    fi
  fi
  mkdir -p "$HK_CHAIN/checkpoints"
  if [ "$HK_SEGMENT" -gt 1 ] && [ ! -e checkpoints ]; then ln -s "../$first/checkpoints" checkpoints; fi
  echo "hackathon: segment $HK_SEGMENT of $of${former:+, after $former}; checkpoints in $HK_CHAIN/checkpoints"
}
hk_finished() { # whether the program came to its own end: rank 0's last numbers may say so, else the stop file does
  case $(tail -n 1 metrics/rank-0.jsonl 2>/dev/null) in
  *"\"attempt\": $HK_ATTEMPT,"*'"final": true'*'"stopped": false'*) return 0 ;;
  *"\"attempt\": $HK_ATTEMPT,"*'"final": true'*'"stopped": true'*) return 1 ;;
  esac
  [ ! -e stop ]
}
hk_segment_ended() { # exit code; leaves a mark for the later segments unless the walltime ended this one
  local mark
  if [ -n "$hk_skipped" ]; then
    return
  elif [ "$1" -eq 0 ]; then
    hk_finished || return
    mark=complete
  else
    # the scheduler's clock began before the script's
    if [ -e stop ] || { [ "$HK_SIGNAL" = 15 ] && [ "$(date +%s)" -ge $((HK_DEADLINE - 30)) ]; }; then return; fi
    mark=failed
  fi
  { printf '%s\n' "${HK_RUN##*/}" >".$mark.new" && mv ".$mark.new" "$HK_CHAIN/$mark"; } 2>/dev/null ||
    hk_warn segment "the mark '$mark' could not be written: later segments do not know"
}

