import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { abortWhenHidden, waitUntilVisible } from "./visible";

function show(hidden: boolean) {
  vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
  document.dispatchEvent(new Event("visibilitychange"));
}

describe("a page out of sight", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("gives up its connection after a while", () => {
    const cut = new AbortController();
    abortWhenHidden(cut, 1000);
    show(true);
    vi.advanceTimersByTime(999);
    expect(cut.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(cut.signal.aborted).toBe(true);
  });

  it("keeps it when it is back in time, or nothing is watched any more", () => {
    const [back, left] = [new AbortController(), new AbortController()];
    abortWhenHidden(back, 1000);
    const leave = abortWhenHidden(left, 1000);
    show(true);
    leave();
    show(false);
    vi.advanceTimersByTime(5000);
    expect([back.signal.aborted, left.signal.aborted]).toEqual([false, false]);
  });

  it("waits until the page is visible", async () => {
    show(true);
    const seen = vi.fn();
    const waiting = waitUntilVisible(new AbortController().signal).then(seen);
    await Promise.resolve();
    expect(seen).not.toHaveBeenCalled();
    show(false);
    await waiting;
    expect(seen).toHaveBeenCalled();
  });

  it("waits no longer when it is told to stop", async () => {
    show(true);
    const stopping = new AbortController();
    const waiting = waitUntilVisible(stopping.signal);
    stopping.abort();
    await waiting;
  });
});
