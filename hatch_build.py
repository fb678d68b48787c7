"""Compiles the rules into the wheel, so that the first run of a hook in a new environment does not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RulebookHook(BuildHookInterface[Any]):
    """Puts ``policycheck/_data/rulebook.json`` into a wheel. An editable install reads the checkout."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile every rule; a rule that is not in order ends the build."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from policycheck.app import book
        from policycheck.lint import rulebook

        target = Path(self.directory) / "rulebook.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        made = rulebook.seal(Path(self.root) / "rules", target, book.systems(), book.stamp())
        if made.problems:
            raise ValueError("\n".join(str(problem) for problem in made.problems))
        build_data["force_include"][str(target)] = "policycheck/_data/rulebook.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the hook's signature
        """Leave nothing beside the wheel."""
        (Path(self.directory) / "rulebook.json").unlink(missing_ok=True)
