import type { Language } from "./language";

/** What a message may be filled with; only texts and numbers count. */
export type Values = Readonly<Record<string, unknown>>;

const ARGUMENT = /^\s*(\w+)\s*(?:,\s*(plural|select)\s*,)?/;
const CASE = /^\s*(=\d+|\w+)\s*\{/;

/**
 * Fills an ICU message: `{name}`, `{name, plural, =0 {…} one {# …} other {…}}` and `{name, select, run {…} other {…}}`.
 * A value that is missing is `none`, for which a `select` may have a case. Quoting is not supported.
 */
export function formatMessage(message: string, values: Values, language: Language): string {
  const reader = new Reader(message, values, language);
  const text = reader.text(null);
  if (reader.rest !== "") {
    throw new Error(`not an ICU message: ${message}`);
  }
  return text;
}

class Reader {
  rest: string;

  constructor(
    message: string,
    private readonly values: Values,
    private readonly language: Language,
  ) {
    this.rest = message;
  }

  /** Text with arguments in it up to a closing brace, or to the end; `count` stands for `#`. */
  text(count: number | null): string {
    let done = "";
    while (this.rest !== "" && !this.rest.startsWith("}")) {
      const plain = /^[^{}]+/.exec(this.rest)?.[0] ?? "";
      this.rest = this.rest.slice(plain.length);
      done += count === null ? plain : plain.replaceAll("#", this.number(count));
      if (this.rest.startsWith("{")) {
        this.rest = this.rest.slice(1);
        done += this.argument();
      }
    }
    return done;
  }

  private argument(): string {
    const [, name = "", type] = this.take(ARGUMENT);
    const argument = this.values[name];
    const value =
      typeof argument === "number" || (typeof argument === "string" && argument !== "") ? argument : "none";
    const text = type === undefined ? this.format(value) : this.selectCase(type, value);
    this.take(/^\s*\}/);
    return text;
  }

  /** Reads all cases, and gives the one that applies. */
  private selectCase(type: string, value: string | number): string {
    const count = type === "plural" ? Number(value) || 0 : null;
    const names =
      count === null
        ? [String(value), "other"]
        : [`=${count}`, new Intl.PluralRules(this.language).select(count), "other"];
    const cases = new Map<string, string>();
    while (CASE.test(this.rest)) {
      const [, name = ""] = this.take(CASE);
      cases.set(name, this.text(count));
      this.take(/^\}/);
    }
    return cases.get(names.find((name) => cases.has(name)) ?? "") ?? "";
  }

  private format(value: string | number): string {
    return typeof value === "number" ? this.number(value) : value;
  }

  private number(value: number): string {
    return new Intl.NumberFormat(this.language).format(value);
  }

  private take(pattern: RegExp): RegExpExecArray {
    const match = pattern.exec(this.rest);
    if (match === null) {
      throw new Error(`not an ICU message, at: ${this.rest}`);
    }
    this.rest = this.rest.slice(match[0].length);
    return match;
  }
}
