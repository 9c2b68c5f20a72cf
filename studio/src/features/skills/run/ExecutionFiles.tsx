import { useState } from "react";
import { type Execution, executionFileAddress } from "../../../api/executions";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { DownloadIcon, FileIcon } from "../../../ui/icons";
import { ServerText } from "../../../ui/ServerText";
import { FilePreview } from "./FilePreview";

/** The files that an execution left; one can be opened, each can be saved. */
export function ExecutionFiles({ execution }: { execution: Execution }) {
  const words = useWords("execute");
  const format = useFormat();
  const [open, setOpen] = useState<string | null>(null);
  const refused = Array.isArray(execution.refused)
    ? (execution.refused as { path: string; reason: string }[])
    : [];
  if (execution.artifacts.length === 0 && refused.length === 0) {
    return null;
  }
  return (
    <section aria-label={words.files} className="flex flex-col gap-1.5">
      <h3 className="font-semibold">{words.files}</h3>
      <ul className="divide-y rounded-lg border border-line bg-surface">
        {execution.artifacts.map((file) => (
          <li key={file.path} className="flex flex-col">
            <div className="flex items-center gap-1 pr-2">
              <button
                type="button"
                aria-expanded={open === file.path}
                onClick={() => setOpen(open === file.path ? null : file.path)}
                className="flex min-h-9 min-w-0 flex-1 items-center gap-2 px-3 text-left hover:bg-sunken"
              >
                <FileIcon className="size-4 shrink-0 text-soft" />
                <span className="min-w-0 [overflow-wrap:anywhere]">{displayText(file.path)}</span>
                <span className="text-xs whitespace-nowrap text-soft">{format.bytes(file.size)}</span>
              </button>
              <a
                href={executionFileAddress(execution.execution_id, file.path)}
                download
                aria-label={words.save(displayText(file.path))}
                title={words.save(displayText(file.path))}
                className="inline-flex size-8 items-center justify-center rounded-md text-text hover:bg-sunken"
              >
                <DownloadIcon />
              </a>
            </div>
            {open === file.path ? (
              <div className="px-3 pb-3">
                <FilePreview id={execution.execution_id} path={file.path} />
              </div>
            ) : null}
          </li>
        ))}
        {refused.map((file) => (
          <li key={file.path} className="px-3 py-2 text-soft [overflow-wrap:anywhere]">
            {words.notKept(displayText(file.path))} <ServerText text={file.reason} />
          </li>
        ))}
      </ul>
    </section>
  );
}
