#!/usr/bin/env bash
# The end of the job, once all is reported: the worst of what was found, in the order of docs' exit codes.
set -euo pipefail
for code in 70 2 1 3 4; do
  if [ "${LINT_CODE:-70}" = "$code" ] || [ "${CERTIFY_CODE:-0}" = "$code" ]; then exit "$code"; fi
done
exit "$LINT_CODE"
