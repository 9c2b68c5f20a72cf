import { useState } from "react";
import { useLocation } from "wouter";
import { type Finding, useImportRun } from "../../api/importRun";
import { problemOf } from "../../api/problem";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { ErrorNote } from "../../ui/ErrorNote";
import { TextInput } from "../../ui/Field";
import { DoneIcon } from "../../ui/icons";
import { PlainText } from "../../ui/PlainText";
import { ServerText } from "../../ui/ServerText";

/** Brings an exported run here; what the server refuses, and why, is shown. */
export function ImportDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("runs");
  const [file, setFile] = useState<File | null>(null);
  const [, navigate] = useLocation();
  const { mutate, reset, data, error, isPending } = useImportRun();
  const close = () => {
    reset();
    setFile(null);
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={words.importTitle}
      description={words.importHint}
      actions={
        data ? (
          <Button tone="primary" onClick={() => navigate(`/runs/${encodeURIComponent(data.run_id)}`)}>
            {words.importOpen}
          </Button>
        ) : (
          <Button
            tone="primary"
            disabled={file === null}
            busy={isPending}
            onClick={() => file && mutate(file)}
          >
            {words.importDo}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <TextInput
          type="file"
          accept=".zip,.tar.gz,.tgz,application/zip,application/gzip"
          label={words.importFile}
          className="py-1.5"
          onChange={(event) => {
            reset();
            setFile(event.target.files?.[0] ?? null);
          }}
        />
        <ErrorNote error={error} />
        {error ? <Findings findings={findingsOf(problemOf(error).details.findings)} /> : null}
        {data ? (
          <div role="status" className="flex flex-col gap-2">
            <p className="flex items-center gap-1.5 font-medium text-good">
              <DoneIcon />
              {words.importDone(data.events)}
            </p>
            {data.authentic ? null : <p className="text-soft">{words.importForeign}</p>}
            <Findings findings={data.findings} />
          </div>
        ) : null}
      </div>
    </Dialog>
  );
}

function findingsOf(value: unknown): Finding[] {
  return Array.isArray(value) ? (value as Finding[]) : [];
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  const words = useWords("runs");
  return findings.length === 0 ? null : (
    <section aria-label={words.importFindings}>
      <ul className="flex max-h-60 flex-col gap-1 overflow-y-auto rounded-md bg-sunken p-2 text-xs">
        {findings.map((finding, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
          <li key={index}>
            <PlainText text={[finding.code, finding.where].filter(Boolean).join(" · ")} />
            <ServerText text={finding.message ?? ""} />
          </li>
        ))}
      </ul>
    </section>
  );
}
