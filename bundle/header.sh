#!/bin/sh
# The hackathon toolkit with all that it needs, for CPython on Linux; unpacked once into ~/.cache/hackathon/bundle.
# `python3` is tried first: the one of a loaded module. An old one looks for a newer one itself.
for python in python3 python3.14 python3.13 python3.12 python3.11; do
  if command -v "$python" >/dev/null 2>&1; then exec "$python" -I -S "$0" "$@"; fi
done
echo 'error: no Python 3 on PATH. Load one first, for example: module load python' >&2
exit 3
