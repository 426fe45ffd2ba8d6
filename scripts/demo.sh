#!/usr/bin/env bash
# The main job on the embedded data: describe it, train evidence and TARGCN, compare them with the two rules
# that learn nothing, ask both one question and see why.
set -euo pipefail
targcn=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

step() {
  printf '\n$ targcn %s\n' "$*"
  "$targcn" "$@"
}

step data info congress
for model in evidence targcn; do
  step train congress --model "$model" --out "$folder/$model"
done
for model in decayed-copy seen; do
  "$targcn" train congress --model "$model" --out "$folder/$model" > /dev/null
done
step compare "$folder"/{evidence,targcn,decayed-copy,seen}
for model in evidence targcn; do
  step predict "$folder/$model" "Ted Kennedy" "serves beside" "?" 2009 --top 3 --explain
done
