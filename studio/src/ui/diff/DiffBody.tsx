import { useMemo, useState } from "react";
import { useWords } from "../../i18n";
import { readStored, writeStored } from "../../lib/localStorage";
import { Button } from "../Button";
import { CodeBlock } from "../CodeBlock";
import { CopyButton } from "../CopyButton";
import type { DiffSource } from "../DiffView";
import { Checkbox } from "../Field";
import { DiffCounts } from "./DiffCounts";
import { DiffFile } from "./DiffFile";
import { diffTexts, patchText } from "./make";
import { parsePatch } from "./parse";

const FIRST_FILES = 30;
const WIDE_PX = 1100;

/** Totals, choices and files of a change. */
export default function DiffBody(source: DiffSource) {
  const words = useWords("ui").diff;
  const { patch, files: texts } = source;
  const [layout, setLayout] = useState(initialLayout);
  const [ignoreWhitespace, setIgnoreWhitespace] = useState(false);
  const [limit, setLimit] = useState(FIRST_FILES);
  const files = useMemo(
    () => (patch === undefined ? (texts ?? []).map(diffTexts) : parsePatch(patch)),
    [patch, texts],
  );
  const visibleFiles = files.slice(0, limit).map((file, at) => ({ file, key: `${at}-${file.path}` }));
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const choose = (next: "unified" | "split") => {
    writeStored("diff-layout", next);
    setLayout(next);
  };
  if (files.length === 0) {
    return patch?.trim() ? (
      <>
        <p className="text-soft">{words.unreadable}</p>
        <CodeBlock text={patch} label={words.text} />
      </>
    ) : (
      <p className="text-soft">{words.none}</p>
    );
  }
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <span>{words.files(files.length)}</span>
        <DiffCounts added={added} removed={removed} />
        <fieldset className="ml-auto flex overflow-hidden rounded-md border border-line-strong">
          <legend className="sr-only">{words.layout}</legend>
          {(["unified", "split"] as const).map((option) => (
            <Button
              key={option}
              small
              tone="quiet"
              aria-pressed={layout === option}
              className="rounded-none! aria-pressed:bg-accent-soft"
              onClick={() => choose(option)}
            >
              {words[option]}
            </Button>
          ))}
        </fieldset>
        <Checkbox
          label={words.whitespace}
          checked={ignoreWhitespace}
          onChange={(event) => setIgnoreWhitespace(event.target.checked)}
        />
        <CopyButton label={words.copyPatch} text={() => patch ?? (texts ?? []).map(patchText).join("")} />
      </div>
      {visibleFiles.map(({ file, key }) => (
        <DiffFile key={key} file={file} split={layout === "split"} ignoreWhitespace={ignoreWhitespace} />
      ))}
      {files.length > limit ? (
        <Button onClick={() => setLimit(limit + FIRST_FILES * 3)}>
          {words.moreFiles(files.length - limit)}
        </Button>
      ) : null}
    </div>
  );
}

function initialLayout(): "unified" | "split" {
  const stored = readStored("diff-layout");
  return stored === "split" && window.innerWidth >= WIDE_PX ? "split" : "unified";
}
