#!/usr/bin/env bash
# The main job on the embedded data: describe it, judge the two floors on it, see the figures.
set -euo pipefail
targcn=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

step() {
  printf '\n$ targcn %s\n' "$*"
  "$targcn" "$@"
}

step data info congress
for model in seen decayed-copy; do
  step train congress --model "$model" --out "$folder/$model"
  step evaluate "$folder/$model"
done
