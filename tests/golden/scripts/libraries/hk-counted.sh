# ---- who and where ----
umask 022
HK_RUN=$PWD
HK_HOST=$(hostname)
HK_HOST=${HK_HOST//[^A-Za-z0-9._-]/_}
HK_PROJECT=$(cd "$HK_RUN/../.." && pwd -P)
export HK_RUN HK_PROJECT HK_JOB_ID
HK_SIGNAL=null # the number of the one that ended the job
hk_counted() { # number, word for one, word for several
  if [ "$1" -eq 1 ]; then printf '1 %s' "$2"; else printf '%s %s' "$1" "$3"; fi
}

