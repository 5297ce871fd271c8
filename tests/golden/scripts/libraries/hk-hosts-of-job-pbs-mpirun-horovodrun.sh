# ---- hosts, and the folder that the program runs in ----
if ! declare -F hk_hosts_of_job >/dev/null; then # a scheduler's identity.sh.j2 may have it, which job.sh holds
  :
hk_hosts_of_job() { # the node file has one line per rank
  if [ -s "${PBS_NODEFILE:-}" ]; then mapfile -t HK_HOSTS < <(awk '!seen[$0]++' "$PBS_NODEFILE"); else HK_HOSTS=("$HK_HOST"); fi
}
fi
hk_hosts() { # leaves HK_HOSTS, MASTER_ADDR and MASTER_PORT
  local digits try
  hk_hosts_of_job
  if [ "${#HK_HOSTS[@]}" -ne "$HK_NODES" ]; then
    hk_warn hosts "asked for $(hk_counted "$HK_NODES" node nodes), got ${#HK_HOSTS[@]}: ${HK_HOSTS[*]}; if two chunks share a host, set dialect.place: scatter"
    exit 78
  fi
  if [ "$HK_NODES" -eq 1 ]; then MASTER_ADDR=127.0.0.1; else MASTER_ADDR=${HK_HOSTS[0]}; fi
  digits=000000000${HK_JOB_ID//[!0-9]/} # bash takes the last nine only of a text that has nine
  HK_STOP=$HK_RUN/stop
  MASTER_PORT=$((20000 + 10#${digits: -9} % 10000))
  # somebody else on this node may listen there: a job of another scheduler, a leftover, a daemon
  for try in {1..20}; do
    grep -qsiE "^ *[0-9]+: [0-9A-F]+:$(printf '%04X' "$MASTER_PORT") [0-9A-F:]+ 0A " /proc/net/tcp /proc/net/tcp6 || break
    MASTER_PORT=$((20000 + (MASTER_PORT + 7 * try) % 10000))
  done
  export MASTER_ADDR MASTER_PORT HK_ATTEMPT HK_DEADLINE HK_STOP
}
hk_check_source() { # HK_SOURCE is the folder that the program runs in
  if [ ! -d "$HK_SOURCE" ]; then HK_SOURCE=$HK_RUN; fi
  if [ -s source.sha256 ] && ! (cd "$HK_SOURCE" && sha256sum --check --status --quiet "$HK_RUN/source.sha256" 2>/dev/null); then
    hk_warn source "files in $HK_SOURCE are not those of the submission"
  fi
}

