hk_wait() { # a child's process number; leaves its exit code in hk_code, whatever signals come meanwhile
  local again
  while :; do
    wait "$1"
    hk_code=$?
    kill -0 "$1" 2>/dev/null || break
  done
  # a signal may have cut the last wait short when the child was gone already: bash still knows its code
  wait "$1" 2>/dev/null
  again=$?
  if [ "$again" -ne 127 ] && [ "$again" -ge 0 ]; then hk_code=$again; fi
  # bash can lose the code when a signal and the end come at once (seen: -1): told to end, it ended
  if [ "$hk_code" -lt 0 ]; then
    if [ "$HK_SIGNAL" = null ]; then hk_code=1; else hk_code=143; fi
  fi
}

