#!/usr/bin/env bash
# Promises held against the configuration. As lint, it leaves failing to the last step.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

mkdir -p "$made"
umask 077
key="$RUNNER_TEMP/policycheck-signing-key.pem"
trap 'rm -f "$key"' EXIT
common_options
add --accept= "$INPUT_ACCEPT"
add --claim= "$INPUT_CLAIMS"
add --promises= "$INPUT_PROMISES"
args+=("--output=$made/verdicts.md" --format=markdown)
# A certificate is about all claims.
if [ -z "$INPUT_CLAIMS" ]; then args+=("--certificate=$made/certificate.json"); fi
if [ -n "$SIGNING_KEY" ] && [ -z "$INPUT_CLAIMS" ]; then
  printf '%s\n' "$SIGNING_KEY" > "$key"
  args+=("--sign=$key")
fi
args+=(--)
add "" "$INPUT_PATHS"
code=0
"$tool/bin/policycheck" certify "${args[@]}" || code=$?
output exit-code "$code"
case "$code" in
  0) output outcome CERTIFIED ;;
  1) output outcome REFUSED ;;
  4) output outcome UNDECIDED ;;
  *) output outcome ERROR ;;
esac
if [ -s "$made/certificate.json" ]; then output certificate-file "$made/certificate.json"; fi
if [ -s "$made/verdicts.md" ]; then cat "$made/verdicts.md"; fi
