#!/usr/bin/env bash
# All that was found on the page of the job, which takes 1 MiB a step and shows nothing at all beyond it.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

if [ ! -s "$made/policycheck.md" ]; then
  mkdir -p "$made"
  printf '## policycheck\n\nNothing was checked (exit code %s); the log says why.\n' "${CODE:-unknown}" \
    > "$made/policycheck.md"
fi
for part in policycheck comparison verdicts; do
  if [ -s "$made/$part.md" ]; then
    printf '\n'
    cat "$made/$part.md"
  fi
done > "$made/summary.md"
if [ "$(wc -c < "$made/summary.md")" -gt 1000000 ]; then
  cut="$(head -c 990000 "$made/summary.md" | iconv -c -f utf-8 -t utf-8 | sed '$d')"
  printf '%s\n\nThe rest is longer than a summary may be; the reports have all of it.\n' "$cut" > "$made/summary.md"
fi
if [ "$INPUT_SUMMARY" = true ]; then cat "$made/summary.md" >> "$GITHUB_STEP_SUMMARY"; fi
