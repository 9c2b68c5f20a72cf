import { cleanup, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { renderApp } from "../../testing";
import { DiffView } from "../DiffView";
import { diffTexts, patchText } from "./make";
import { parsePatch } from "./parse";
import { piecesOf, rowsOf } from "./rows";

afterEach(cleanup);

const GIT = `diff --git a/old.py b/new.py
old mode 100644
new mode 100755
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -10,3 +10,3 @@ def f():
 same
--- not a heading
+++ not a heading either
 end
diff --git a/x.png b/x.png
new file mode 100644
Binary files /dev/null and b/x.png differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
\\ No newline at end of file
`;

describe("a patch of git", () => {
  const [renamed, binary, gone] = parsePatch(GIT);

  it("shows a rename, a changed mode, and lines that look like headings as lines", () => {
    expect(renamed).toMatchObject({
      path: "new.py",
      oldPath: "old.py",
      oldMode: "100644",
      newMode: "100755",
    });
    expect(renamed).toMatchObject({ added: 1, removed: 1 });
    expect(renamed?.lines[0]).toEqual({ kind: "gap", count: 9 });
    expect(renamed?.lines[2]).toEqual({ kind: "removed", text: "-- not a heading", old: 11, new: null });
  });

  it("shows what is binary, new or deleted", () => {
    expect(binary).toMatchObject({ path: "x.png", binary: true, change: "created" });
    expect(gone).toMatchObject({ path: "gone", change: "deleted", removed: 1 });
  });
});

it("reads the patches that models write", () => {
  const text =
    "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ def f():\n x\n-y\n+z\n*** Add File: c\n+new\n*** End Patch";
  const [moved, created] = parsePatch(text);
  expect(moved).toMatchObject({ path: "b", oldPath: "a", added: 1, removed: 1 });
  expect(created).toMatchObject({ path: "c", change: "created", added: 1 });
});

it("folds unchanged lines of two texts, and numbers the rest", () => {
  const before = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");
  const file = diffTexts({ path: "f", before, after: before.replace("line 15", "line fifteen") });
  const rows = rowsOf(file, false);
  expect(rows.map((row) => row.kind)).toEqual(["folded", ...Array(7).fill("pair"), "folded"]);
  expect(rows[4]).toMatchObject({
    old: { old: 16, text: "line 15" },
    new: { new: 16, text: "line fifteen" },
  });
});

it("marks the words that differ", () => {
  const [row] = rowsOf(diffTexts({ path: "f", before: "one two three", after: "one 2 three" }), false);
  const pieces = row?.kind === "pair" ? piecesOf(row) : null;
  expect(pieces?.old.filter((piece) => piece.isChanged).map((piece) => piece.text)).toEqual(["two"]);
});

it("can ignore whitespace", () => {
  const file = diffTexts({ path: "f", before: "a  b", after: "a b" });
  expect(rowsOf(file, true)[0]).toMatchObject({ old: { kind: "context" } });
  expect(rowsOf(file, false)[0]).toMatchObject({ old: { kind: "removed" } });
});

it("makes a patch that reads back as the same change", () => {
  const texts = { path: "f", before: "a\nb\n", after: "a\nc\n" };
  expect(parsePatch(patchText(texts))[0]).toMatchObject({ path: "f", added: 1, removed: 1 });
});

it("shows a patch of ten thousand files without drawing them all", async () => {
  const patch = Array.from(
    { length: 10_000 },
    (_, at) => `--- a/f${at}\n+++ b/f${at}\n@@ -1 +1 @@\n-a\n+b\n`,
  ).join("");
  renderApp(<DiffView patch={patch} />);
  expect(await screen.findByText("10000 files", {}, { timeout: 20_000 })).toBeTruthy();
  expect(document.querySelectorAll("table").length).toBe(30);
});

it("keeps hostile text literal, and shows hidden characters", async () => {
  renderApp(<DiffView files={[{ path: "<img src=x>", before: "a", after: "<script>\u202e</script>" }]} />);
  expect(await screen.findByText(/<script>‹U\+202E›<\/script>/)).toBeTruthy();
  expect(document.querySelector("script, img")).toBeNull();
});

it("switches between one and two columns", async () => {
  renderApp(<DiffView files={[{ path: "f", before: "a", after: "b" }]} />);
  await userEvent.click(await screen.findByRole("button", { name: "Side by side" }));
  expect(screen.getByRole("columnheader", { name: "Before" })).toBeTruthy();
});
