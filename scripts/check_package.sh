#!/usr/bin/env bash
# The package as users get it: built in an empty environment, installed in another one, used without this repository,
# and its types checked there; every extra resolved alone; and the oldest versions that pyproject.toml allows.
set -euo pipefail
python=${1:-python3}
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

environment() { # an empty one, whose pip is quiet
  "$python" -m venv "$work/$1"
  pip="$work/$1/bin/python -m pip --quiet --disable-pip-version-check"
}

try() { # the program of an environment, in an empty folder
  mkdir "$work/$1-folder"
  cd "$work/$1-folder"
  "$work/$1/bin/targcn" --version
  "$work/$1/bin/targcn" train congress --model targcn --epochs 1 --dim 8 --out run > /dev/null 2>&1
  "$work/$1/bin/targcn" predict run "Ted Kennedy" "serves beside" "?" 2009 --top 2
  "$work/$1/bin/python" "$here/tests/user_program.py" 2> /dev/null | tail -1
  cd "$here"
}

echo "== build"
environment builder
$pip install build
"$work/builder/bin/python" -m build --quiet --outdir "$work/dist" "$here" > /dev/null
ls "$work/dist"
wheel=$(echo "$work"/dist/*.whl)

echo "== install and use the wheel alone"
environment user
$pip install --constraint "$here/constraints.txt" "$wheel"
try user
packages=$("$work/user/bin/python" -m pip --disable-pip-version-check list --format=freeze | grep -cv '^\(pip\|setuptools\)=')
echo "the core is $packages packages in $(du -sm "$work/user/lib" | cut -f1) MB, $(du -sm "$work"/user/lib/*/site-packages/torch | cut -f1) MB of it torch"

echo "== its types, as a user's checkers see them"
environment checkers
$pip install mypy pyright
PATH="$work/checkers/bin:$PATH" "$python" scripts/check_types.py "$work/user/bin/python" mypy pyright

echo "== every extra alone"
extras=$("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"])')
for extra in $extras; do
  report=$(mktemp -p "$work")
  "$work/user/bin/python" -m pip --quiet --disable-pip-version-check install --dry-run --report "$report" \
    --constraint "$here/constraints.txt" "$wheel[$extra]"
  "$python" -c 'import json, sys; names = {one["metadata"]["name"] for one in json.load(open(sys.argv[1]))["install"]} - {"targcn"}; print(f"{sys.argv[2]:12} {len(names):3} more packages")' "$report" "$extra"
done

echo "== the oldest versions allowed"
environment oldest
"$python" - > "$work/oldest.txt" << 'END'
# The least version of every direct dependency; torch is the one of constraints.txt, as others bring gigabytes.
import re, tomllib

for one in tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]:
    name, least = re.match(r"([\w-]+)>=([\d.]+)", one).groups()
    print(f"{name}=={least}" if name != "torch" else re.search("torch==.*", open("constraints.txt").read())[0])
END
cat "$work/oldest.txt"
$pip install --constraint "$work/oldest.txt" "$wheel"
try oldest
