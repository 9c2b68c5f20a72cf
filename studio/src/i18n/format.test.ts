import { describe, expect, it } from "vitest";
import { formatOf } from "./format";
import { preferredLanguage } from "./language";

describe("formats", () => {
  const english = formatOf("en");
  const chinese = formatOf("zh-CN");

  it("write durations in at most two units", () => {
    expect([412, 3_200, 48_000, 192_000, 3_600_000, 93_784_000].map(english.duration)).toEqual([
      "412 ms",
      "3.2 sec",
      "48 sec",
      "3 min 12 sec",
      "1 hr",
      "1 day 2 hr",
    ]);
    expect(chinese.duration(192_000)).toBe("3分钟 12秒");
    expect(english.duration(Number.NaN)).toBe("");
  });

  it("write sizes and amounts", () => {
    expect([0, 999, 1_400_000].map(english.bytes)).toEqual(["0 bytes", "999 bytes", "1.4 MB"]);
    expect([null, 0, 0.0712, 12.5].map(english.money)).toEqual(["–", "$0.00", "$0.0712", "$12.50"]);
    expect(english.short(18_200)).toBe("18.2K");
  });

  it("write times relative to now, and nothing for what is no time", () => {
    const now = Date.parse("2026-01-01T12:00:00Z");
    expect(english.relative("2026-01-01T11:55:00Z", now)).toBe("5 minutes ago");
    expect(chinese.relative("2026-01-01T11:55:00Z", now)).toBe("5分钟前");
    expect(english.relative("2026-01-01T12:00:01Z", now)).toBe("now");
    expect(english.relative("soon", now)).toBe("");
    expect(english.date("never")).toBe("");
  });
});

describe("the language", () => {
  it("is the one that was chosen, or the first of the browser's that there is", () => {
    expect(preferredLanguage("zh-CN", ["en"])).toBe("zh-CN");
    expect(preferredLanguage(null, ["fr", "zh-TW", "en"])).toBe("zh-CN");
    expect(preferredLanguage("xx", ["fr"])).toBe("en");
  });
});
