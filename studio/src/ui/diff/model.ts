/** One line of a changed file; numbers are absent where a patch does not tell them. */
export interface DiffLine {
  kind: "context" | "added" | "removed";
  text: string;
  old: number | null;
  new: number | null;
}

/** Lines that a patch leaves out. */
export interface DiffGap {
  kind: "gap";
  count: number | null;
}

/** What happened to one file. */
export interface FileDiff {
  path: string;
  /** Its name before, when that was another one. */
  oldPath: string | null;
  change: "changed" | "created" | "deleted";
  binary: boolean;
  oldMode: string | null;
  newMode: string | null;
  lines: readonly (DiffLine | DiffGap)[];
  added: number;
  removed: number;
}

/** A file while its patch is read. */
export class FileDraft {
  path = "";
  oldPath: string | null = null;
  change: FileDiff["change"] = "changed";
  binary = false;
  oldMode: string | null = null;
  newMode: string | null = null;
  readonly lines: (DiffLine | DiffGap)[] = [];

  /** Adds a line; its numbers follow from the line before. */
  add(kind: DiffLine["kind"], text: string, at: { old: number | null; new: number | null }): void {
    this.lines.push({
      kind,
      text,
      old: kind === "added" ? null : at.old,
      new: kind === "removed" ? null : at.new,
    });
    if (kind !== "added" && at.old !== null) {
      at.old += 1;
    }
    if (kind !== "removed" && at.new !== null) {
      at.new += 1;
    }
  }

  /** The finished file. */
  done(): FileDiff {
    const count = (kind: DiffLine["kind"]) => this.lines.filter((line) => line.kind === kind).length;
    const { path, oldPath, change, binary, oldMode, newMode, lines } = this;
    return {
      path,
      oldPath: oldPath === path ? null : oldPath,
      change,
      binary,
      oldMode,
      newMode,
      lines,
      added: count("added"),
      removed: count("removed"),
    };
  }
}
