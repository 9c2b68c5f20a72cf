/** What a sandboxed command can read and write; each list may be truncated. */
export interface FileAccess {
  workspace: string;
  writable: PathList;
  readable: PathList;
  system: PathList;
  protected: PathList;
  hidden: PathList;
  /** Its own place for temporary files, if it has one. */
  temporary: string;
}

/** Paths, and how many more there are. */
export interface PathList {
  paths: string[];
  more: number;
}

/** Reads what a request or a log says of it; nothing where it says nothing. */
export function parseFileAccess(value: unknown): FileAccess | null {
  const data = recordOf(value);
  if (data === null) {
    return null;
  }
  const leftOut = recordOf(data.left_out) ?? {};
  const places = (name: string): PathList => {
    const more = leftOut[name];
    return { paths: textsOf(data[name]), more: typeof more === "number" && more > 0 ? more : 0 };
  };
  return {
    workspace: textOf(data.workspace),
    writable: places("writable"),
    readable: places("readable"),
    system: places("system"),
    protected: places("protected"),
    hidden: places("hidden"),
    temporary: textOf(data.temporary),
  };
}

/** How many there are in all. */
export function countPaths({ paths, more }: PathList): number {
  return paths.length + more;
}

/** A path as short as it can be: what lies in the workspace by its way from there. */
export function shortPath(path: string, workspace: string): string {
  return workspace && path.startsWith(`${workspace}/`) ? `./${path.slice(workspace.length + 1)}` : path;
}

/** A list of texts; what is none is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** Plain data, or nothing where it is something else. */
export function recordOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
