#!/usr/bin/env bash
# Findings, in every form that somebody looks at. Never fails itself: the last step does, once all is reported.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

rm -rf "$made"
mkdir -p "$made"
common_options
add --context= "$INPUT_CONTEXT"
add --select= "$INPUT_SELECT"
add --ignore= "$INPUT_IGNORE"
add --phase= "$INPUT_PHASE"
add --fail-on= "$INPUT_FAIL_ON"
add --baseline= "$INPUT_BASELINE"
base=""
if [ -n "$INPUT_BASE_REF" ]; then
  base="$(base)"
  if [ -n "$base" ]; then
    args+=("--new-from=$base")
  else
    say notice "the history to $INPUT_BASE_REF is not here, so that every finding counts as new: check out with \`fetch-depth: 0\`"
  fi
fi
args+=(--format=text --color=never)
for form in json=json markdown=md sarif=sarif junit=xml github=annotations; do
  args+=("--format=${form%%=*}=$made/policycheck.${form#*=}")
done
args+=(--)
add "" "$INPUT_PATHS"

code=0
"$tool/bin/policycheck" lint "${args[@]}" || code=$?
if [ "$INPUT_ANNOTATIONS" = true ] && [ -s "$made/policycheck.annotations" ]; then
  cat "$made/policycheck.annotations"
fi
output base "$base"
"$tool/bin/python" -I "$ACTION_PATH/action/outputs.py" "$code" "$made" >> "$GITHUB_OUTPUT"
