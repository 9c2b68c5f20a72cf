import { describe, expect, it, vi } from "vitest";
import { apiUrl, appPath } from "./baseUrl";
import { filterCommands } from "./commands";
import { displayText, revealHidden } from "./hiddenCharacters";
import { bindingFor, type KeyBinding } from "./keys";
import { withValues } from "./search";
import { createStore } from "./store";
import { tableOf } from "./table";

describe("text of programs", () => {
  it("loses what steers a terminal", () => {
    expect(displayText("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe(
      "red link",
    );
    expect(displayText("10%\r50%\r100%\r\nnext")).toBe("100%\nnext");
  });

  it("shows what is hidden", () => {
    expect(revealHidden("a\u202eb\u0000c\u200bd")).toBe("a‹U+202E›b‹U+0000›c‹U+200B›d");
    expect(revealHidden("tab\tline\n中文 👨‍👩‍👧")).toBe("tab\tline\n中文 👨‍👩‍👧");
    expect(revealHidden("rm b\u200duild\u200c")).toBe("rm b‹U+200D›uild‹U+200C›");
    expect(revealHidden("a\u009b31m\u{e0041}\u3164b\ufe0f")).toBe("a‹U+009B›31m‹U+E0041›‹U+3164›b‹U+FE0F›");
    expect(revealHidden("❤\ufe0f\u200d🔥 می\u200cخواهم 1\ufe0f\u20e3")).toBe(
      "❤\ufe0f\u200d🔥 می\u200cخواهم 1\ufe0f\u20e3",
    );
  });

  it("copes with a line of a million characters, and with escapes that never end", () => {
    expect(displayText("x".repeat(1_000_000)).length).toBe(1_000_000);
    expect(displayText("\u001b]".repeat(100_000))).toBe("");
  });
});

describe("keys", () => {
  const run = vi.fn();
  const candidates: KeyBinding[] = [
    { keys: "j", label: "old", run },
    { keys: "j", label: "new", run },
    { keys: "mod+k", label: "palette", run },
  ];
  const press = (name: string, on: Element, more: KeyboardEventInit = {}) => {
    let match: KeyBinding | undefined;
    const listen = (event: Event) => {
      match = bindingFor(event as KeyboardEvent, candidates, true);
    };
    document.body.append(on);
    on.addEventListener("keydown", listen);
    on.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, ...more }));
    return match?.label;
  };

  it("mean what was bound last", () => {
    expect(press("j", document.createElement("div"))).toBe("new");
    expect(press("J", document.createElement("div"))).toBe("new");
  });

  it("are ignored while typing, except with Ctrl or Cmd", () => {
    expect(press("j", document.createElement("textarea"))).toBeUndefined();
    expect(press("k", document.createElement("textarea"), { ctrlKey: true })).toBe("palette");
  });

  it("mean nothing when single keys are off", () => {
    expect(bindingFor(new KeyboardEvent("keydown", { key: "j" }), candidates, false)).toBeUndefined();
    expect(
      bindingFor(new KeyboardEvent("keydown", { key: "k", metaKey: true }), candidates, false)?.label,
    ).toBe("palette");
  });
});

describe("places", () => {
  it("come from the base of the page, wherever the app is served", () => {
    expect(appPath("http://h/studio/")).toBe("/studio");
    expect(apiUrl("http://h/studio/")).toBe("http://h/api/v1/");
    expect(apiUrl("http://h/below/studio/")).toBe("http://h/below/api/v1/");
  });
});

it("a query changes only in what was changed", () => {
  expect(withValues("b=2&a=1", { a: undefined, c: "3" })).toBe("b=2&c=3");
});

it("commands are found by all their words", () => {
  const all = ["Go to runs", "Go to skills", "Language"].map((label) => ({ id: label, label, run: vi.fn() }));
  expect(filterCommands(all, "go sk").map((command) => command.label)).toEqual(["Go to skills"]);
  expect(filterCommands(all, "").length).toBe(3);
});

it("a store tells those who listen, and only of changes", () => {
  const store = createStore(1);
  const listener = vi.fn();
  const leave = store.subscribe(listener);
  store.set(1);
  store.set((before) => before + 1);
  leave();
  store.set(5);
  expect(listener).toHaveBeenCalledTimes(1);
});

describe("a table", () => {
  it("has only its own entries", () => {
    const table = tableOf<Record<string, string>>({ present: "yes" });
    expect(["present", "constructor", "__proto__"].map((name) => table[name])).toEqual([
      "yes",
      undefined,
      undefined,
    ]);
  });
});
