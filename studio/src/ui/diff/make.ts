import { formatPatch, structuredPatch } from "diff";
import { type FileDiff, FileDraft } from "./model";

/** One file before and after; `null` where it did not exist. */
export interface FileTexts {
  path: string;
  before: string | null;
  after: string | null;
}

const MAX_EDITS = 4_000;

/** What changed between two texts, with all unchanged lines. */
export function diffTexts({ path, before, after }: FileTexts): FileDiff {
  const file = new FileDraft();
  file.path = path;
  file.change = before === null ? "created" : after === null ? "deleted" : "changed";
  file.binary = [before, after].some((text) => text?.includes("\u0000"));
  if (!file.binary) {
    addLines(file, before ?? "", after ?? "");
  }
  return file.done();
}

function addLines(file: FileDraft, before: string, after: string): void {
  const at = { old: 1 as number | null, new: 1 as number | null };
  const options = { context: Number.MAX_SAFE_INTEGER, maxEditLength: MAX_EDITS };
  const patch = structuredPatch("a", "b", before, after, "", "", options);
  if (!patch) {
    // Too different to be compared line by line in a moment: all of it was replaced.
    for (const text of linesOf(before)) {
      file.add("removed", text, at);
    }
    for (const text of linesOf(after)) {
      file.add("added", text, at);
    }
    return;
  }
  if (patch.hunks.length === 0) {
    return;
  }
  for (const line of patch.hunks.flatMap((hunk) => hunk.lines)) {
    if (!line.startsWith("\\")) {
      file.add(
        line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "context",
        line.slice(1),
        at,
      );
    }
  }
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** The change as the text of a patch, to be copied. */
export function patchText({ path, before, after }: FileTexts): string {
  const from = before === null ? "/dev/null" : `a/${path}`;
  const to = after === null ? "/dev/null" : `b/${path}`;
  const patch = structuredPatch(from, to, before ?? "", after ?? "", "", "", {
    context: 3,
    maxEditLength: MAX_EDITS,
  });
  return patch ? formatPatch(patch) : "";
}
