"""What the names in an action's expressions stand for: inputs, steps, github, runner and the place in a matrix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.forges.expressions import ExpressionError, Value, filled_in


class Contexts:
    """They grow while the steps run."""

    def __init__(
        self, action: Mapping[str, Any], inputs: Mapping[str, str], environment: dict[str, str], token: str
    ) -> None:
        self.environment = environment
        self.outputs: dict[str, Mapping[str, str]] = {}  # by step
        self.outcomes: dict[str, str] = {}
        self.conclusions: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self._token = token
        self._steps = {step["id"] for step in action["runs"]["steps"] if "id" in step}
        declared = action.get("inputs") or {}
        if unknown := sorted(inputs.keys() - declared.keys()):
            raise ExpressionError(f"no input of the action: {', '.join(unknown)}")
        for name, each in declared.items():
            self.inputs[name] = inputs[name] if name in inputs else self.fill(each.get("default"))

    def fill(self, value: object) -> str:
        """A value of action.yml as text, with its expressions filled in."""
        written = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
        return filled_in(written, self.look_up)

    def look_up(self, name: str) -> Value:
        """What a dotted name stands for.

        Raises:
            ExpressionError: the action has no such input or step, or the test has not set such a variable.
        """
        match name.split("."):
            case ["inputs", key] if key in self.inputs:
                return self.inputs[key]
            case ["steps", step, *path] if step in self._steps:
                return self._of_step(step, path)
            case ["github", "token"]:
                return self._token
            case ["github", "event", *path]:
                return self._of_event(path)
            case ["strategy", "job-index"]:
                return self.environment.get("STRATEGY_JOB_INDEX", "0")
            case ["github" | "runner" as where, key] if f"{where}_{key}".upper() in self.environment:
                return self.environment[f"{where}_{key}".upper()]
        raise ExpressionError(f"stands for nothing: {name}")

    def _of_step(self, step: str, path: list[str]) -> Value:
        match path:
            case ["outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
            case ["outcome"]:
                return self.outcomes.get(step, "")
            case ["conclusion"]:
                return self.conclusions.get(step, "")
        raise ExpressionError(f"no step has this: {'.'.join(path)}")

    def _of_event(self, path: list[str]) -> Value:
        found: Any = json.loads(Path(self.environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict | list):
            raise ExpressionError(f"not a single value: github.event.{'.'.join(path)}")
        value: Value = found
        return value
