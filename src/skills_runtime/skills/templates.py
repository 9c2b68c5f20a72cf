"""The files of a new skill, as text: instructions, and for a language a program with schemas, a sample and a test.

Pure. The program works as it is, so that `skills exec` succeeds before anything is edited.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Runtime = Literal["python", "node", "shell"]
Language = Literal["en", "zh"]

DESCRIPTIONS: Mapping[Language, str] = {
    "en": "Say here what this skill does and when to use it.",
    "zh": "在这里说明这个技能做什么、何时使用。",
}
_INSTRUCTIONS: Mapping[Language, str] = {
    "en": """
# {title}

Write the steps of the task here. The model that follows them knows the task, and nothing else that you know.

1. Look at what the task asks for.
2. Do it.
3. Check the result.

Put long texts into `references/`, programs into `scripts/`, and name them here by their paths.
""",
    "zh": """
# {title}

在这里写出任务的步骤。执行这些步骤的模型只知道任务本身，不了解你的其他背景。

1. 弄清任务要求。
2. 完成任务。
3. 检查结果。

较长的文本放进 `references/`，程序放进 `scripts/`，并在这里写出它们的路径。
""",
}
_PROGRAM: Mapping[Language, str] = {
    "en": """
# {title}

Call `skill_exec` with the action `run` and this input:

```json
{sample}
```

`input.schema.json` describes the input, `output.schema.json` the output. Report the output to the user.
""",
    "zh": """
# {title}

调用 `skill_exec`，操作为 `run`，输入如下：

```json
{sample}
```

`input.schema.json` 描述输入，`output.schema.json` 描述输出。把输出告诉用户。
""",
}

_PYTHON = '''"""Count the lines, words and characters of a text: read a JSON object, write a JSON object."""

import json
import sys


def count(text):
    """Return the counts of a text. Replace this function with your own."""
    return {"lines": len(text.splitlines()), "words": len(text.split()), "characters": len(text)}


def main():
    """Read and check the input, then write the output; messages go to standard error."""
    try:
        data = json.load(sys.stdin)
    except ValueError as error:
        print(f"the input is not JSON: {error}", file=sys.stderr)
        return 2
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        print("the input needs a text named `text`", file=sys.stderr)
        return 2
    print(json.dumps(count(data["text"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
_PYTHON_TEST = '''"""Run the program as the runtime does. Start with: python3 -m unittest discover TESTS_DIRECTORY"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

SKILL = Path(__file__).resolve().parent.parent


def run(text):
    """Run the program with this standard input."""
    command = [sys.executable, str(SKILL / "run.py")]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


class RunTest(unittest.TestCase):
    """The program writes what its output schema promises."""

    def test_it_counts(self):
        output = json.loads(run(json.dumps({"text": "one two"})).stdout)
        self.assertEqual(output, {"lines": 1, "words": 2, "characters": 7})
        schema = json.loads((SKILL / "output.schema.json").read_text(encoding="utf-8"))
        self.assertEqual(set(output), set(schema["required"]))

    def test_a_wrong_input_fails_with_a_message(self):
        result = run("{}")
        self.assertEqual(result.returncode, 2)
        self.assertIn("`text`", result.stderr)


if __name__ == "__main__":
    unittest.main()
'''
_NODE = """"use strict";
// Count the lines, words and characters of a text: read a JSON object, write a JSON object.

const fs = require("node:fs");

/** Return the counts of a text. Replace this function with your own. */
function count(text) {
  const lines = text === "" ? 0 : text.replace(/\\n$/, "").split("\\n").length;
  return { lines, words: text.split(/\\s+/).filter(Boolean).length, characters: [...text].length };
}

function fail(message) {
  process.stderr.write(`${message}\\n`);
  process.exitCode = 2;
}

function main() {
  let data;
  try {
    data = JSON.parse(fs.readFileSync(0, "utf8"));
  } catch (error) {
    return fail(`the input is not JSON: ${error.message}`);
  }
  if (typeof data?.text !== "string") return fail("the input needs a text named `text`");
  process.stdout.write(`${JSON.stringify(count(data.text))}\\n`);
}

main();
"""
_NODE_TEST = """"use strict";
// Run the program as the runtime does. Start with: node --test THIS_FILE

const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const skill = path.dirname(__dirname);
const run = (input) => spawnSync(process.execPath, [path.join(skill, "run.js")], { input, encoding: "utf8" });

test("it counts, and writes what its output schema promises", () => {
  const output = JSON.parse(run(JSON.stringify({ text: "one two" })).stdout);
  assert.deepEqual(output, { lines: 1, words: 2, characters: 7 });
  const schema = JSON.parse(fs.readFileSync(path.join(skill, "output.schema.json"), "utf8"));
  assert.deepEqual(Object.keys(output).sort(), [...schema.required].sort());
});

test("a wrong input fails with a message", () => {
  const result = run("{}");
  assert.equal(result.status, 2);
  assert.match(result.stderr, /`text`/);
});
"""
_SHELL = """#!/bin/sh
# Greet a person by name: read a JSON object, write a JSON object.
set -eu

# Enough for one plain text without quotes or backslashes; use `jq` for anything else.
name=$(tr -d '\\n' | sed -n 's/.*"name"[[:space:]]*:[[:space:]]*"\\([^"\\\\]*\\)".*/\\1/p')
if [ -z "$name" ]; then
  echo 'the input needs a text named `name`' >&2
  exit 2
fi
printf '{"greeting": "Hello, %s"}\\n' "$name"
"""
_SHELL_TEST = """#!/bin/sh
# Run the program as the runtime does. Start with: sh THIS_FILE
set -eu

skill=$(cd "$(dirname "$0")/.." && pwd)
output=$(printf '{"name": "Ada"}' | sh "$skill/run.sh")
if [ "$output" != '{"greeting": "Hello, Ada"}' ]; then
  echo "wrong output: $output" >&2
  exit 1
fi
if printf '{}' | sh "$skill/run.sh" 2>/dev/null; then
  echo "a wrong input was accepted" >&2
  exit 1
fi
echo "2 tests passed"
"""

_TEXT_INPUT = {"text": {"type": "string", "title": "Text", "description": "The text to count"}}
_COUNTS = {name: {"type": "integer", "minimum": 0} for name in ("lines", "words", "characters")}
_NAME_INPUT = {"name": {"type": "string", "title": "Name", "description": "The name to greet"}}
_GREETING = {"greeting": {"type": "string"}}


class ProgramTemplate(msgspec.Struct, frozen=True):
    """The program of a new skill, its schemas, a sample input and its test."""

    file: str
    program: str
    test_file: str
    test: str
    test_command: str
    """The command that runs the test, with `{directory}` for the skill's directory."""
    sample: Mapping[str, Any]
    input_fields: Mapping[str, Any]
    output_fields: Mapping[str, Any]


_TEXT_SAMPLE = {"text": "one two"}
PROGRAMS: Mapping[Runtime, ProgramTemplate] = {
    "python": ProgramTemplate(
        "run.py", _PYTHON, "tests/test_run.py", _PYTHON_TEST, "python3 -m unittest discover {directory}/tests",
        _TEXT_SAMPLE, _TEXT_INPUT, _COUNTS,
    ),
    "node": ProgramTemplate(
        "run.js", _NODE, "tests/run.test.js", _NODE_TEST, "node --test {directory}/tests/run.test.js",
        _TEXT_SAMPLE, _TEXT_INPUT, _COUNTS,
    ),
    "shell": ProgramTemplate(
        "run.sh", _SHELL, "tests/run_test.sh", _SHELL_TEST, "sh {directory}/tests/run_test.sh",
        {"name": "Ada"}, _NAME_INPUT, _GREETING,
    ),
}  # fmt: skip


def choose_language(environ: Mapping[str, str]) -> Language:
    """Return the language of the shell: Chinese, or else English."""
    names = (environ.get(variable, "") for variable in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, names), "").lower().startswith("zh") else "en"


def render_files(
    name: str, description: str, runtime: Runtime | None = None, language: Language = "en"
) -> dict[str, str]:
    """Render the files of a new skill by their paths; JSON is valid YAML."""
    text = description or DESCRIPTIONS[language]
    program = PROGRAMS[runtime] if runtime is not None else None
    body = (_PROGRAM if program is not None else _INSTRUCTIONS)[language]
    sample = json.dumps(program.sample, ensure_ascii=False) if program is not None else ""
    title = name.replace("-", " ").capitalize()
    front_matter = f"---\nname: {name}\ndescription: {_quote(text)}\n---\n"
    files = {"SKILL.md": front_matter + body.format(title=title, sample=sample)}
    if program is None:
        return files
    definition = {"name": name, "description": text, "runtime": {"type": runtime}, "timeout": 10_000}
    return {
        **files,
        "skill.yaml": _document(definition),
        program.file: program.program,
        "input.schema.json": _document(_object_schema(program.input_fields)),
        "output.schema.json": _document(_object_schema(program.output_fields)),
        program.test_file: program.test,
    }


def _object_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _document(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()
