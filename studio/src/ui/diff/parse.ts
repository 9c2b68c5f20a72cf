import { type FileDiff, FileDraft } from "./model";

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Reads a patch, of git, of `diff -u` or of the `apply_patch` tool; nothing where the text is none of them. */
export function parsePatch(text: string): FileDiff[] {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  const files = lines.some((line) => line.startsWith("*** Begin Patch"))
    ? readToolPatch(lines)
    : new Reader(lines).read();
  return files.map((file) => file.done()).filter((file) => file.path !== "");
}

class Reader {
  private readonly files: FileDraft[] = [];
  private at = 0;
  private file: FileDraft | null = null;

  constructor(private readonly lines: readonly string[]) {}

  read(): FileDraft[] {
    while (this.at < this.lines.length) {
      const line = this.lines[this.at] ?? "";
      this.at += 1;
      if (line.startsWith("diff --git ")) {
        this.begin();
        this.gitNames(line.slice("diff --git ".length));
      } else if (line.startsWith("--- ") && this.lines[this.at]?.startsWith("+++ ")) {
        this.names(line, this.lines[this.at] ?? "");
      } else if (HUNK.test(line)) {
        this.hunk(line);
      } else {
        this.header(line);
      }
    }
    return this.files;
  }

  private begin(): FileDraft {
    this.file = new FileDraft();
    this.files.push(this.file);
    return this.file;
  }

  private gitNames(text: string): void {
    const match = /^"?a\/(.*?)"? "?b\/(.*?)"?$/.exec(text);
    if (match && this.file) {
      this.file.oldPath = match[1] ?? null;
      this.file.path = match[2] ?? "";
    }
  }

  private names(oldLine: string, newLine: string): void {
    this.at += 1;
    const file = this.file && !this.file.lines.length ? this.file : this.begin();
    const before = nameOf(oldLine);
    const after = nameOf(newLine);
    file.path = after ?? before ?? "";
    file.oldPath = before;
    if (before === null) {
      file.change = "created";
    } else if (after === null) {
      file.change = "deleted";
    }
  }

  private header(line: string): void {
    const { file } = this;
    if (!file) {
      return;
    }
    const [, word = "", rest = ""] =
      /^(new file mode|deleted file mode|old mode|new mode|rename from|rename to|copy from|copy to|Binary files|GIT binary patch) ?(.*)$/.exec(
        line,
      ) ?? [];
    const acts: Record<string, () => void> = {
      "new file mode": () => Object.assign(file, { change: "created", newMode: rest }),
      "deleted file mode": () => Object.assign(file, { change: "deleted", oldMode: rest }),
      "old mode": () => Object.assign(file, { oldMode: rest }),
      "new mode": () => Object.assign(file, { newMode: rest }),
      "rename from": () => Object.assign(file, { oldPath: rest }),
      "copy from": () => Object.assign(file, { oldPath: rest }),
      "rename to": () => Object.assign(file, { path: rest }),
      "copy to": () => Object.assign(file, { path: rest }),
      "Binary files": () => Object.assign(file, { binary: true }),
      "GIT binary patch": () => Object.assign(file, { binary: true }),
    };
    acts[word]?.();
  }

  /** Reads as many lines as the heading promises, so that a line such as `--- x` inside is no heading. */
  private hunk(line: string): void {
    const file = this.file ?? this.begin();
    const [, oldAt, oldCount = "1", newAt, newCount = "1"] = HUNK.exec(line) ?? [];
    const at = { old: Number(oldAt) as number | null, new: Number(newAt) as number | null };
    addGap(file, at.old ?? 1);
    let before = Number(oldCount);
    let after = Number(newCount);
    while ((before > 0 || after > 0) && this.at < this.lines.length) {
      const text = this.lines[this.at] ?? "";
      this.at += 1;
      if (text.startsWith("+")) {
        file.add("added", text.slice(1), at);
        after -= 1;
      } else if (text.startsWith("-")) {
        file.add("removed", text.slice(1), at);
        before -= 1;
      } else if (!text.startsWith("\\")) {
        file.add("context", text.slice(1), at);
        before -= 1;
        after -= 1;
      }
    }
  }
}

function addGap(file: FileDraft, nextOld: number): void {
  const last = file.lines.findLast((line) => line.kind !== "gap" && line.old !== null);
  const lastLine = last && last.kind !== "gap" ? (last.old ?? 0) : 0;
  if (nextOld - lastLine > 1) {
    file.lines.push({ kind: "gap", count: nextOld - lastLine - 1 });
  }
}

function nameOf(line: string): string | null {
  const name = line.slice(4).split("\t")[0]?.trim() ?? "";
  const plain = name.startsWith('"') && name.endsWith('"') ? name.slice(1, -1) : name;
  return plain === "/dev/null" ? null : plain.replace(/^[ab]\//, "");
}

/** The form that models write: files by headings, places by context, no line numbers. */
function readToolPatch(lines: readonly string[]): FileDraft[] {
  const files: FileDraft[] = [];
  const nowhere = { old: null, new: null };
  for (const line of lines) {
    const [, operation, name] = /^\*\*\* (Add File|Update File|Delete File|Move to): (.*)$/.exec(line) ?? [];
    const file = files.at(-1);
    if (operation === "Move to" && file && name) {
      file.oldPath = file.path;
      file.path = name;
    } else if (operation && name) {
      const next = new FileDraft();
      next.path = name;
      next.change =
        operation === "Add File" ? "created" : operation === "Delete File" ? "deleted" : "changed";
      files.push(next);
    } else if (file && line.startsWith("@@")) {
      file.lines.push({ kind: "gap", count: null });
    } else if (file && !line.startsWith("***") && /^[ +-]/.test(line)) {
      const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "context";
      file.add(kind, line.slice(1), nowhere);
    }
  }
  return files;
}
