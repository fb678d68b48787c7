#!/usr/bin/env bash
# What the change does to each team. It informs: a comparison that can not be made fails nothing.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

if [ -z "$BASE" ]; then
  say notice "nothing to compare with: compare needs a pull request, or base-ref, and a checkout with \`fetch-depth: 0\`"
  exit 0
fi
mkdir -p "$made"
paths=()
while IFS= read -r path; do
  if [ -n "$path" ]; then paths+=("$path"); fi
done <<< "${INPUT_COMPARE_PATHS:-$INPUT_PATHS}"
common_options
add --mix= "$INPUT_MIX"
add --horizon= "$INPUT_HORIZON"
add --seeds= "$INPUT_SEEDS"
add --claim= "$INPUT_COMPARE_CLAIMS"
failed=""
for path in "${paths[@]}"; do
  code=0
  "$tool/bin/policycheck" compare "${args[@]}" --format=markdown --quiet -- "git:$BASE:$path" "$path" \
    >> "$made/comparison.md" || code=$?
  if [ "$code" != 0 ]; then failed+=" $path"; fi
done
if [ -n "$failed" ]; then say warning "could not be compared with $BASE:$failed; the log says why"; fi
if [ -s "$made/comparison.md" ]; then output comparison-file "$made/comparison.md"; fi
