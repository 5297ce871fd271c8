#!/bin/sh
# A scheduler for tests of hackathon.runs: jobs are folders of a spool. `down`, `refuse`, `slow` in the spool change it.
spool=$1 verb=$2
shift 2
[ ! -e "$spool/down" ] || { echo "server down" >&2; exit 9; }
echo "$verb $*" >>"$spool/calls"
case $verb in
submit)
  [ ! -e "$spool/refuse" ] || { cat "$spool/refuse" >&2; exit 1; }
  while [ -e "$spool/slow" ]; do : >"$spool/waiting"; sleep 0.02; done
  number=1
  until mkdir "$spool/jobs/$number" 2>/dev/null; do number=$((number + 1)); done
  printf '%s\n' "$1" >"$spool/jobs/$number/name"
  [ ! -e "$spool/silent" ] || { echo "socket timed out" >&2; exit 9; }
  echo "$number"
  ;;
status)
  for number; do
    if [ -d "$spool/jobs/$number" ]; then
      echo "$number $(cat "$spool/jobs/$number/state" 2>/dev/null || echo QUEUED)"
    fi
  done
  ;;
find) grep -lx -- "$1" "$spool"/jobs/*/name 2>/dev/null | sed 's|/name$||; s|.*/||' | sort -n ;;
cancel) [ -d "$spool/jobs/$1" ] && echo "CANCELLED by user" >"$spool/jobs/$1/state" ;;
esac
exit 0
