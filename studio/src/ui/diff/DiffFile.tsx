import { useId, useMemo, useState } from "react";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Badge } from "../Badge";
import { Button } from "../Button";
import { ChevronDownIcon, ChevronRightIcon } from "../icons";
import { DiffCounts } from "./DiffCounts";
import { DiffTable } from "./DiffTable";
import type { FileDiff } from "./model";
import { rowsOf } from "./rows";

const LONG = 1_500;

/** One changed file: its name, what kind of change it is, and its lines. */
export function DiffFile({
  file,
  split,
  ignoreWhitespace,
}: {
  file: FileDiff;
  split: boolean;
  ignoreWhitespace: boolean;
}) {
  const { diff: words, json } = useWords("ui");
  const id = useId();
  const [open, setOpen] = useState(true);
  const [limit, setLimit] = useState(0);
  const long = file.lines.length > LONG && limit === 0;
  const rows = useMemo(
    () => (open && !long && !file.binary ? rowsOf(file, ignoreWhitespace) : []),
    [file, ignoreWhitespace, open, long],
  );
  const path = displayText(file.path);
  return (
    <section aria-labelledby={id} className="min-w-0 overflow-hidden rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-2 bg-sunken px-2 py-1">
        <button
          type="button"
          id={id}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="inline-flex min-h-7 min-w-0 items-center gap-1 rounded text-left font-mono text-xs [overflow-wrap:anywhere]"
        >
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
          {path}
        </button>
        {file.change === "created" ? <Badge tone="good">{words.created}</Badge> : null}
        {file.change === "deleted" ? <Badge tone="bad">{words.deleted}</Badge> : null}
        {file.oldPath && file.change === "changed" ? (
          <Badge>{words.renamed(displayText(file.oldPath))}</Badge>
        ) : null}
        {file.oldMode && file.newMode && file.oldMode !== file.newMode ? (
          <Badge tone="wait">{words.mode(displayText(file.oldMode), displayText(file.newMode))}</Badge>
        ) : null}
        <span className="ml-auto">
          <DiffCounts added={file.added} removed={file.removed} />
        </span>
      </div>
      {open ? (
        <>
          {file.binary ? <p className="px-3 py-2 text-soft">{words.binary}</p> : null}
          {long && !file.binary ? (
            <p className="flex items-center gap-2 px-3 py-2 text-soft">
              {words.tooLarge}
              <Button small onClick={() => setLimit(LONG)}>
                {words.showFile}
              </Button>
            </p>
          ) : null}
          {rows.length > 0 ? (
            <DiffTable rows={rows.slice(0, Math.max(limit, LONG))} split={split} label={path} />
          ) : null}
          {rows.length > Math.max(limit, LONG) ? (
            <Button small onClick={() => setLimit(limit + LONG)}>
              {json.more(rows.length - Math.max(limit, LONG))}
            </Button>
          ) : null}
        </>
      ) : null}
    </section>
  );
}
