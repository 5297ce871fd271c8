# ---- run: in the background, so that signals reach the script at once and are passed on ----
hk_run() { # leaves the exit code of hk_launch in hk_code
  hk_launch &
  hk_main=$!
  trap 'HK_SIGNAL=15; kill -TERM "$hk_main" 2>/dev/null' TERM
  trap 'HK_SIGNAL=2; kill -TERM "$hk_main" 2>/dev/null' INT
  trap 'kill -USR1 "$hk_main" 2>/dev/null' USR1
  trap 'kill -USR2 "$hk_main" 2>/dev/null' USR2
  hk_watch "$hk_main" &
  hk_helpers+=("$!")
  disown
  hk_guard "$hk_main" &
  hk_helpers+=("$!")
  disown
  hk_wait "$hk_main"
}
