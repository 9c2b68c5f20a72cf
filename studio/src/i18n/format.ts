import { useMemo } from "react";
import { type Language, useLanguage } from "./language";

/** Numbers, times and amounts as people of one language write them. */
export interface Format {
  /** `1,234`. */
  number(value: number): string;
  /** `18.2K`: short, for figures in a header. */
  short(value: number): string;
  /** `42%` of a value between 0 and 1. */
  percent(value: number): string;
  /** `$0.0712`: small amounts keep their digits; a dash where it is unknown. */
  money(usd: number | null): string;
  /** `1.4 MB`. */
  bytes(count: number): string;
  /** `48 s`, `3 min 12 s`, `412 ms`. */
  duration(milliseconds: number): string;
  /** Date and time, to the minute. */
  date(time: string | number): string;
  /** Time of day, to the second. */
  time(time: string | number): string;
  /** `5 minutes ago`, of something that has happened; for the exact time show `date` as a title. */
  relative(time: string | number, now: number): string;
}

const BYTES = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** The formats of a language. */
export function formatOf(language: Language): Format {
  const number = new Intl.NumberFormat(language);
  const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
  const date = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  const time = new Intl.DateTimeFormat(language, { timeStyle: "medium" });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  return {
    number: (value) => number.format(value),
    short: (value) => short.format(value),
    percent: (value) => percent.format(value),
    money: (usd) => moneyText(language, usd),
    bytes: (count) => bytesText(language, count),
    duration: (milliseconds) => durationText(language, milliseconds),
    date: (value) => dateText(date, value),
    time: (value) => dateText(time, value),
    relative: (value, now) => relativeText(relative, value, now),
  };
}

/** The formats of the language in use. */
export function useFormat(): Format {
  const language = useLanguage();
  return useMemo(() => formatOf(language), [language]);
}

/** A time as milliseconds; not a number where it makes no sense. */
export function millisecondsOf(time: string | number): number {
  return typeof time === "number" ? time : Date.parse(time);
}

function dateText(format: Intl.DateTimeFormat, value: string | number): string {
  const time = millisecondsOf(value);
  return Number.isFinite(time) ? format.format(time) : "";
}

function moneyText(language: Language, usd: number | null): string {
  if (usd === null) {
    return "–";
  }
  const digits = usd !== 0 && Math.abs(usd) < 1 ? 4 : 2;
  return new Intl.NumberFormat(language, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(usd);
}

function bytesText(language: Language, count: number): string {
  const power = count < 1000 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(count) / 3));
  return unitText(language, count / 1000 ** power, BYTES[power] ?? "byte", power === 0 ? 0 : 1);
}

function unitText(language: Language, value: number, unit: string, digits: number): string {
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit,
    unitDisplay: unit === "byte" ? "long" : "short", // the short form has no plural
    maximumFractionDigits: digits,
  }).format(value);
}

function durationText(language: Language, milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) {
    return "";
  }
  if (milliseconds < 1000) {
    return unitText(language, Math.round(milliseconds), "millisecond", 0);
  }
  const seconds = milliseconds / 1000;
  if (seconds < 60) {
    return unitText(language, seconds, "second", seconds < 10 ? 1 : 0);
  }
  const wholeSeconds = Math.floor(seconds);
  const parts: [number, string][] = [
    [Math.floor(wholeSeconds / 86_400), "day"],
    [Math.floor(wholeSeconds / 3600) % 24, "hour"],
    [Math.floor(wholeSeconds / 60) % 60, "minute"],
    [wholeSeconds % 60, "second"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => unitText(language, value, unit, 0))
    .join(" ");
}

function relativeText(format: Intl.RelativeTimeFormat, value: string | number, now: number): string {
  const time = millisecondsOf(value);
  if (!Number.isFinite(time)) {
    return "";
  }
  // `now` is as old as the last tick, and the clock of the server may be ahead: what happened is never in the future.
  const seconds = Math.min(0, Math.round((time - now) / 1000));
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [
    [86_400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  for (const [size, unit] of steps) {
    if (Math.abs(seconds) >= size) {
      return format.format(Math.trunc(seconds / size), unit);
    }
  }
  return format.format(seconds, "second");
}
