#!/bin/sh
# List the programs on PATH: reads {"tools": [...]}, writes {"available": {...}, "missing": [...]}.
set -eu

common="bash git curl wget jq python3 uv pip node npm gcc make go cargo java docker sqlite3 psql redis-cli
ffmpeg convert pandoc pdftotext tesseract rg zip unzip tar"

# The quoted names; other characters do not occur in program names.
requested=$(tr -d '\n' | sed -n 's/.*"tools"[[:space:]]*:[[:space:]]*\[\([^]]*\)\].*/\1/p' | tr ',' '\n' |
  sed -n 's/^[[:space:]]*"\([A-Za-z0-9][A-Za-z0-9._+-]*\)"[[:space:]]*$/\1/p')

quoted() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }

available=
missing=
for tool in ${requested:-$common}; do
  path=$(command -v -- "$tool" 2>/dev/null) || path=
  case $path in
    /*) available="$available${available:+, }$(quoted "$tool"): $(quoted "$path")" ;;
    *) missing="$missing${missing:+, }$(quoted "$tool")" ;;
  esac
done
printf '{"available": {%s}, "missing": [%s]}\n' "$available" "$missing"
