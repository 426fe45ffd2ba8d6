#!/usr/bin/env bash
# The main job on the embedded data: describe it, train TARGCN, evaluate it beside the two rules that
# learn nothing, ask one question and see why.
set -euo pipefail
targcn=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

step() {
  printf '\n$ targcn %s\n' "$*"
  "$targcn" "$@"
}

step data info congress
step train congress --out "$folder/targcn"
for model in seen decayed-copy; do
  "$targcn" train congress --model "$model" --out "$folder/$model" > /dev/null
done
for model in targcn seen decayed-copy; do
  step evaluate "$folder/$model"
done
step predict "$folder/targcn" "Ted Kennedy" "serves beside" "?" 2009 --top 5 --explain
