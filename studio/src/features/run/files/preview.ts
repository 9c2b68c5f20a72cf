import { tableOf } from "../../../lib/table";

/** How a file is shown; `none` can only be downloaded. */
export type PreviewKind = "text" | "markdown" | "json" | "csv" | "image" | "pdf" | "html" | "none";

const KIND_BY_EXTENSION = tableOf<Record<string, PreviewKind>>({
  md: "markdown",
  markdown: "markdown",
  json: "json",
  ipynb: "json",
  csv: "csv",
  tsv: "csv",
  html: "html",
  htm: "html",
  svg: "html",
  pdf: "pdf",
  png: "image",
  jpg: "image",
  jpeg: "image",
  gif: "image",
  webp: "image",
  bmp: "image",
  avif: "image",
  ico: "image",
});
const TEXT_EXTENSIONS = new Set(
  "txt log py js ts tsx jsx css yaml yml toml ini cfg conf sh bash sql xml jsonl ndjson rst c h cpp hpp cs go rs java kt rb php swift diff patch tex env dockerfile".split(
    " ",
  ),
);

/** Above these sizes a file is only downloaded; of text the beginning is shown. A PDF has to fit into an address. */
export const MAX_BYTES: Partial<Record<PreviewKind, number>> = {
  image: 20_000_000,
  pdf: 1_400_000,
  html: 10_000_000,
};

/** How much of a text is fetched. */
export const TEXT_BYTES = 1_000_000;

/** How a file is best shown, by its name and its type. */
export function previewKind(name: string, mediaType: string): PreviewKind {
  const ending = /\.([^./]+)$/.exec(name.toLowerCase())?.[1] ?? "";
  const kind = KIND_BY_EXTENSION[ending];
  if (kind) {
    return kind;
  }
  return TEXT_EXTENSIONS.has(ending) || mediaType.startsWith("text/") || /json|yaml|toml|xml/.test(mediaType)
    ? "text"
    : "none";
}

/** Whether a file of a kind is too large to be shown at all. */
export function isTooLarge(kind: PreviewKind, size: number): boolean {
  return size > (MAX_BYTES[kind] ?? Number.POSITIVE_INFINITY);
}

/** Rows of a table in text, with quoted cells; at most so many rows. */
export function readCsv(
  text: string,
  separator: string,
  mostRows: number,
): { rows: string[][]; complete: boolean } {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endCell = () => {
    row.push(cell);
    cell = "";
  };
  const endRow = () => {
    endCell();
    if (row.length > 1 || row[0] !== "") {
      rows.push(row);
    }
    row = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (rows.length >= mostRows) {
      return { rows, complete: false };
    }
    if (quoted) {
      if (char !== '"') {
        cell += char;
      } else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else {
        quoted = false;
      }
    } else if (char === '"' && cell === "") {
      quoted = true;
    } else if (char === separator) {
      endCell();
    } else if (char === "\n") {
      endRow();
    } else if (char !== "\r") {
      cell += char;
    }
  }
  endRow();
  return { rows, complete: true };
}
