# ---- every node has a copy of this script: that of node 0 owns the run and runs the job, the others follow it ----
hk_resolve() { # a host that has just come up may be known by its name only a while later
  local tries
  for tries in {1..120}; do
    if getent hosts "$1" >/dev/null 2>&1; then return; fi
    sleep 1
  done
  echo "hackathon: the name $1 is not known on $HK_HOST after $tries s" >&2
}
hk_follow() { # this node's number. Node 0 says in env/lead which attempt it is in, what to run, and that it lives
  local number=$1 first lead attempt mode agent told='' passed='' silent=0 idle=0 code
  trap 'told=1' TERM INT
  first=$(cat env/lead 2>/dev/null)
  lead=$first
  while [ "$lead" = "$first" ]; do # what lies there may be from an earlier life of the job
    sleep 1
    if [ -n "$told" ]; then exit 143; fi
    case $(tail -n 1 events/job.jsonl 2>/dev/null) in *'"event":"ended"'*) idle=$((idle + 1)) ;; *) idle=0 ;; esac
    if [ "$idle" -ge 60 ]; then exit 0; fi # it ended before this node was there; its exit code is the job's
    lead=$(cat env/lead 2>/dev/null)
  done
  read -r attempt mode _ <<<"$lead"
  hk_hosts_of_job
  hk_resolve "${HK_HOSTS[0]}"
  exec >>"logs/node-$number.log" 2>&1
  bash "$HK_RUN/rank.sh" "$HK_RUN" "$attempt" "$mode" "$number" &
  agent=$!
  while kill -0 "$agent" 2>/dev/null; do
    sleep 1
    if [ -z "$passed" ] && { [ -n "$told" ] || [ -e "env/told-$attempt-$number" ] || [ "$silent" -ge 60 ]; }; then
      kill -TERM "$agent" 2>/dev/null
      passed=1
    fi
    if [ "$(cat env/lead 2>/dev/null)" = "$lead" ]; then silent=$((silent + 1)); else silent=0; fi
    lead=$(cat env/lead 2>/dev/null)
    if [ "$silent" -ge 90 ]; then
      echo "hackathon: node 0 has been silent for $silent s: node $number ends"
      exit 70
    fi
  done
  wait "$agent"
  code=$?
  printf '%s\n' "$code" >"env/.ended-$attempt-$number" && mv "env/.ended-$attempt-$number" "env/ended-$attempt-$number"
  exit 0 # node 0 reads the code: it alone decides how the job ends
}

