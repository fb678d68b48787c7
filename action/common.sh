# What the steps share. Everything comes through the environment: INPUT_*, RUNNER_TEMP, GITHUB_*.
# What is set here is used by the scripts that read this:
# shellcheck shell=bash disable=SC2034
tool="$RUNNER_TEMP/policycheck"
made="$RUNNER_TEMP/policycheck-reports"
args=()

# One argument for each line of a value: nothing in it can become an option of its own or code.
add() {
  local value
  while IFS= read -r value; do
    value="${value%$'\r'}"
    if [ -n "$value" ]; then args+=("$1$value"); fi
  done <<< "$2"
}

# A message at the top of the run, which ends where the text does.
say() {
  local text="${2//'%'/%25}"
  text="${text//$'\r'/%0D}"
  printf '::%s title=policycheck::%s\n' "$1" "${text//$'\n'/%0A}"
}

output() {
  printf '%s=%s\n' "$1" "$2" >> "$GITHUB_OUTPUT"
}

# The revision that the change is held against; nothing where it or the history to it is not there.
base() {
  local name
  for name in "origin/$INPUT_BASE_REF" "$INPUT_BASE_REF"; do
    if git rev-parse --quiet --verify --end-of-options "$name^{commit}" > /dev/null 2>&1 \
      && git merge-base "$name" HEAD > /dev/null 2>&1; then
      printf '%s' "$name"
      return
    fi
  done
}

common_options() {
  add --inventory= "$INPUT_INVENTORY"
  add --config= "$INPUT_CONFIG"
  add --target= "$INPUT_TARGET"
  add --rules= "$INPUT_RULES"
}
