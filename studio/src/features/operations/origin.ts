/** The kind of place a setting comes from. */
export type OriginKind = "default" | "profile" | "chosen" | "file" | "variable" | "server" | "other";

/** Where a setting comes from: what kind of place, and which one. */
export interface Origin {
  kind: OriginKind;
  place: string;
}

const CHOICE = /[\\/]model\.yaml$/;

/** Reads where a setting comes from; a value that several places made has several. */
export function originsOf(source: string): Origin[] {
  return source.split(" + ").map(originOf);
}

function originOf(source: string): Origin {
  const place = source.replace(/#[^#]*$/, "");
  if (place === "yaml:embedded_default") {
    return { kind: "default", place: "" };
  }
  if (place.startsWith("profile:")) {
    return { kind: "profile", place: place.slice("profile:".length) };
  }
  if (place.startsWith("env:")) {
    return { kind: "variable", place: place.slice("env:".length) };
  }
  if (place.startsWith("session_settings")) {
    return { kind: "server", place: "" };
  }
  if (place.startsWith("yaml:")) {
    const file = place.slice("yaml:".length);
    return { kind: CHOICE.test(file) ? "chosen" : "file", place: file };
  }
  return { kind: "other", place: source };
}

/** Whether somebody set it: everything but a default. */
export function isChanged(source: string): boolean {
  return originsOf(source).some(({ kind }) => kind !== "default");
}
