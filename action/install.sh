#!/usr/bin/env bash
# policycheck in an environment of its own, from the action's own commit: no other version can come in between.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

python=""
for name in python3 python3.13 python3.12 python3.11; do
  if command -v "$name" > /dev/null && "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))'; then
    python="$name"
    break
  fi
done
if [ -z "$python" ]; then
  say error "Python 3.11 or newer is needed and not on this runner: put actions/setup-python before this step"
  exit 2
fi
extras=""
if [ "$INPUT_CERTIFY" = true ]; then extras="[sign]"; fi
"$python" -m venv "$tool"
"$tool/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c "$ACTION_PATH/constraints.txt" "$ACTION_PATH$extras"
