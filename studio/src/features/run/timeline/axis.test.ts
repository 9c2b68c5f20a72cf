import { describe, expect, it } from "vitest";
import { buildAxis, mergeIntervals, positionOf, roundStep, subtractIntervals, ticksBetween } from "./axis";

const HOUR = 3_600_000;

describe("stretches", () => {
  it("become one where they touch", () => {
    const intervals = mergeIntervals([
      { from: 5, to: 7 },
      { from: 0, to: 3 },
      { from: 3, to: 4 },
    ]);
    expect(intervals).toEqual([
      { from: 0, to: 4 },
      { from: 5, to: 7 },
    ]);
  });

  it("lose what is taken from them", () => {
    expect(subtractIntervals([{ from: 0, to: 10 }], [{ from: 4, to: 6 }])).toEqual([
      { from: 0, to: 4 },
      { from: 6, to: 10 },
    ]);
    expect(subtractIntervals([{ from: 0, to: 10 }], [{ from: -1, to: 11 }])).toEqual([]);
  });
});

describe("an axis", () => {
  it("collapses a night between two seconds of work", () => {
    const axis = buildAxis(0, 8 * HOUR + 2000, [
      { from: 0, to: 1000 },
      { from: 8 * HOUR + 1000, to: 8 * HOUR + 2000 },
    ]);
    expect(axis.parts.map((part) => part.quiet)).toEqual([false, true, false]);
    expect(axis.length).toBe(2080);
    expect(positionOf(axis, 1000)).toBe(1000);
    expect(positionOf(axis, 4 * HOUR + 1000)).toBeCloseTo(1040);
    expect(positionOf(axis, 8 * HOUR + 1000)).toBe(1080);
    expect(positionOf(axis, 8 * HOUR + 2000)).toBe(2080);
  });

  it("keeps short pauses as they are", () => {
    const axis = buildAxis(0, 1010, [
      { from: 0, to: 500 },
      { from: 510, to: 1010 },
    ]);
    expect(axis.parts.every((part) => !part.quiet)).toBe(true);
    expect(axis.length).toBe(1010);
  });

  it("never goes back, for any times", () => {
    const axis = buildAxis(100, 900, [
      { from: 0, to: 200 },
      { from: 150, to: 160 },
      { from: 400, to: 380 },
      { from: 500, to: 2000 },
    ]);
    const places = Array.from({ length: 41 }, (_, index) => positionOf(axis, 100 + index * 20));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBe(0);
    expect(places.at(-1)).toBe(axis.length);
  });

  it("holds moments outside at its ends", () => {
    const axis = buildAxis(100, 200, [{ from: 100, to: 200 }]);
    expect(positionOf(axis, 0)).toBe(0);
    expect(positionOf(axis, 999)).toBe(axis.length);
  });

  it("of nothing has a length all the same", () => {
    expect(buildAxis(5, 5, []).length).toBeGreaterThan(0);
  });
});

describe("ticks", () => {
  it("are round times since the start, and none stands in what is collapsed", () => {
    const axis = buildAxis(0, HOUR + 10_000, [
      { from: 0, to: 5000 },
      { from: HOUR + 5000, to: HOUR + 10_000 },
    ]);
    const ticks = ticksBetween(axis, 0, axis.length, 10);
    expect(ticks.map((tick) => tick.elapsed / 1000)).toEqual([0, 2, 4, 3606, 3608, 3610]);
    expect(ticks.every((tick) => tick.at <= 5000 || tick.at >= 5400)).toBe(true);
  });

  it("are only those that can be seen", () => {
    const axis = buildAxis(0, 10_000, [{ from: 0, to: 10_000 }]);
    expect(ticksBetween(axis, 4000, 6000, 4).map((tick) => tick.at)).toEqual([4000, 4500, 5000, 5500, 6000]);
  });

  it("have steps that people count in", () => {
    expect(roundStep(700, 10)).toBe(100);
    expect(roundStep(100_000, 10)).toBe(10_000);
    expect(roundStep(10 * HOUR, 10)).toBe(HOUR);
  });
});
