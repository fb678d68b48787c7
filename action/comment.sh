#!/usr/bin/env bash
# The same as one comment on the pull request, which every run writes anew. A fork's token may not: then it is said.
set -euo pipefail
source "$ACTION_PATH/action/common.sh"

number="$("$tool/bin/python" -I -c '
import json, os
event = json.load(open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8"))
print(int(event.get("pull_request", {}).get("number") or 0) or "")
')"
if [ -z "$number" ]; then
  say notice "no comment: this run is not about a pull request"
  exit 0
fi
marker="<!-- policycheck: ${INPUT_CATEGORY//[^A-Za-z0-9._-]/-} -->"
{
  printf '%s\n' "$marker"
  head -c 60000 "$made/summary.md" | iconv -c -f utf-8 -t utf-8
} > "$made/comment.md"
comments="repos/$GITHUB_REPOSITORY/issues/$number/comments"
known="$(gh api --paginate "$comments" --jq \
  ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$marker\"))) | .id" 2> "$made/gh.log" | head -n 1)" || known=""
if [ -n "$known" ]; then
  written=(--method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known")
else
  written=(--method POST "$comments")
fi
if ! gh api "${written[@]}" -F "body=@$made/comment.md" > /dev/null 2>> "$made/gh.log"; then
  say notice "the comment could not be written ($(tail -n 1 "$made/gh.log")): it needs \`pull-requests: write\`, which a fork's run never has; the summary holds the same"
fi
