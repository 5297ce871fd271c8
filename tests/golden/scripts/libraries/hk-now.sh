# ---- markers: one JSON line each; a marker that can not be written never ends the job ----
hk_now() {
  local now=${EPOCHREALTIME:-$(date +%s.%N)}
  now=${now/,/.}
  printf '%s' "${now:0:14}"
}
hk_event() { # name, further members of the object
  { printf '{"t":%s,"event":"%s","attempt":%s,"host":"%s"%s}\n' "$(hk_now)" "$1" "$HK_ATTEMPT" "$HK_HOST" "${2:-}" \
    >>events/job.jsonl; } 2>/dev/null || :
}
hk_text() { # a text as the inside of a JSON string
  printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'
}
hk_warn() { # word, text for people
  echo "hackathon: $2"
  hk_event warned ",\"about\":\"$1\",\"text\":\"$(hk_text "$2")\""
}

