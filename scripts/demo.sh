#!/usr/bin/env bash
# The main job on the embedded data, some four minutes on two cores: see what is missing, train
# evidence and TARGCN, compare and ask. The first argument is the program; what it trains is removed.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

targcn() {
  printf '\n$ targcn'
  printf ' %q' "$@"
  printf '\n'
  "$program" "$@"
}

question=("Ted Kennedy" "serves beside" "?" "2009" --top 3 --explain)
targcn data info congress
targcn missing congress --context train --top 5
targcn train congress --model evidence --out evidence
for model in targcn decayed-copy seen; do
  targcn train congress --model "$model" --gaps none --out "$model"
done
targcn compare evidence targcn decayed-copy seen
targcn predict evidence "${question[@]}"
targcn predict evidence "Ted Kennedy" "holds Senate seat" "Massachusetts Senate seat, class 1" 2015
targcn predict targcn "${question[@]}"
