import { expect, it } from "vitest";
import { barWidth, sumBytes } from "./shares";

it.each([
  [0, 100, 0],
  [1, 100_000, 1],
  [50, 100, 50],
  [200, 100, 100],
  [5, 0, 0],
  [Number.NaN, 10, 0],
])("a bar for %d of %d is %d wide", (part, whole, width) => {
  expect(barWidth(part, whole)).toBe(width);
});

it("adds up what parts take", () => {
  expect(sumBytes([{ bytes: 1 }, { bytes: 2 }])).toBe(3);
  expect(sumBytes([])).toBe(0);
});
