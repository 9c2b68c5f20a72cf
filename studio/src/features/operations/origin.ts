/** The kind of place a setting comes from. */
export type OriginKind = "default" | "profile" | "chosen" | "file" | "variable" | "server" | "other";

/** Where a setting comes from: what kind of place, and which one. */
export interface Origin {
  kind: OriginKind;
  location: string;
}

const MODEL_FILE = /[\\/]model\.yaml$/;

/** Reads where a setting comes from; a value that several places made has several. */
export function parseOrigins(source: string): Origin[] {
  return source.split(" + ").map(parseOrigin);
}

function parseOrigin(source: string): Origin {
  const prefix = source.replace(/#[^#]*$/, "");
  if (prefix === "yaml:embedded_default") {
    return { kind: "default", location: "" };
  }
  if (prefix.startsWith("profile:")) {
    return { kind: "profile", location: prefix.slice("profile:".length) };
  }
  if (prefix.startsWith("env:")) {
    return { kind: "variable", location: prefix.slice("env:".length) };
  }
  if (prefix.startsWith("session_settings")) {
    return { kind: "server", location: "" };
  }
  if (prefix.startsWith("yaml:")) {
    const file = prefix.slice("yaml:".length);
    return { kind: MODEL_FILE.test(file) ? "chosen" : "file", location: file };
  }
  return { kind: "other", location: source };
}

/** Whether the setting differs from its default source. */
export function isChanged(source: string): boolean {
  return parseOrigins(source).some(({ kind }) => kind !== "default");
}
