import { useState } from "react";
import { type Artifact, useArtifacts } from "../../../api/files";
import { useFormat, useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { displayText } from "../../../lib/hiddenCharacters";
import { useSearchValues } from "../../../lib/search";
import { Button } from "../../../ui/Button";
import { CopyButton } from "../../../ui/CopyButton";
import { EmptyState } from "../../../ui/EmptyState";
import { ErrorNote } from "../../../ui/ErrorNote";
import { FileIcon } from "../../../ui/icons";
import { Skeleton } from "../../../ui/Skeleton";
import { Download } from "./Download";
import { Preview } from "./Preview";

const INITIAL_FILES = 200;
const ROLES = ["deliverable", "workspace", "archive", "execution"];

/** The files of a run: those it hands over first; the chosen one is shown as far as that is safe. */
export function Files({ runId }: { runId: string }) {
  const words = useWords("artifacts");
  const { data, error, refetch } = useArtifacts(runId);
  const [{ file: selectedName }, change] = useSearchValues();
  if (error) {
    return <ErrorNote error={error} onRetry={() => refetch()} />;
  }
  if (!data) {
    return <Skeleton lines={4} />;
  }
  if (data.artifacts.length === 0) {
    return <EmptyState title={words.none}>{data.final ? words.noneEver : words.noneYet}</EmptyState>;
  }
  const selectedFile = data.artifacts.find((artifact) => artifact.name === selectedName);
  return (
    <div className="grid min-w-0 grid-cols-1 items-start gap-4 lg:h-full lg:overflow-y-auto lg:grid-cols-[minmax(18rem,26rem)_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-3">
        {data.final ? null : <p className="text-xs text-soft">{words.notFinal}</p>}
        {groupByRole(data.artifacts).map(([role, files]) => (
          <Group
            key={role}
            role={role}
            files={files}
            selectedName={selectedFile?.name}
            onChoose={(name) => change({ file: name }, true)}
          />
        ))}
      </div>
      {selectedFile ? (
        <SelectedFile key={selectedFile.name} runId={runId} file={selectedFile} />
      ) : (
        <p className="rounded-md border border-dashed border-line p-6 text-center text-soft">
          {words.choose}
        </p>
      )}
    </div>
  );
}

function groupByRole(files: readonly Artifact[]): [string, Artifact[]][] {
  const groups = new Map<string, Artifact[]>();
  for (const file of files) {
    groups.set(file.role, [...(groups.get(file.role) ?? []), file]);
  }
  const rank = (role: string) => (ROLES.includes(role) ? ROLES.indexOf(role) : ROLES.length);
  return [...groups].toSorted(([a], [b]) => rank(a) - rank(b));
}

function Group({
  role,
  files,
  selectedName,
  onChoose,
}: {
  role: string;
  files: readonly Artifact[];
  selectedName: string | undefined;
  onChoose: (name: string) => void;
}) {
  const words = useWords("artifacts");
  const format = useFormat();
  const [limit, setLimit] = useState(INITIAL_FILES);
  return (
    <section className="min-w-0">
      <h2 className="mb-1 flex items-baseline gap-2 text-xs font-semibold text-soft">
        {words.roles[role] ?? displayText(role)}
        <span className="font-normal tabular-nums">{format.number(files.length)}</span>
      </h2>
      <ul className="overflow-hidden rounded-md border border-line bg-surface">
        {files.slice(0, limit).map((file) => (
          <li key={file.name} className="border-b last:border-b-0">
            <button
              type="button"
              aria-pressed={file.name === selectedName}
              onClick={() => onChoose(file.name)}
              className={classes(
                "flex w-full items-start gap-2 px-2 py-1.5 text-left hover:bg-sunken",
                file.name === selectedName && "bg-accent-soft",
              )}
            >
              <FileIcon className="mt-0.5 size-4 shrink-0 text-soft" />
              <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
                {displayText(shortName(file.name))}
              </span>
              <span className="shrink-0 text-xs text-soft tabular-nums">{format.bytes(file.size)}</span>
            </button>
          </li>
        ))}
      </ul>
      {files.length > limit ? (
        <Button small tone="quiet" onClick={() => setLimit(limit * 5)}>
          {words.more(files.length - limit)}
        </Button>
      ) : null}
    </section>
  );
}

/** The name below the folder that all files of a role share. */
function shortName(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

function SelectedFile({ runId, file }: { runId: string; file: Artifact }) {
  const words = useWords("artifacts");
  const format = useFormat();
  const { sha256 } = file.digest;
  return (
    <section
      aria-label={words.previewOf(displayText(file.name))}
      className="flex min-w-0 flex-col gap-3 rounded-md border border-line bg-surface p-3"
    >
      <header className="flex flex-wrap items-start gap-2">
        <div className="min-w-0 flex-1 basis-48">
          <h2 className="font-semibold [overflow-wrap:anywhere]">{displayText(file.name)}</h2>
          <p className="text-xs text-soft">
            {format.bytes(file.size)} · {displayText(file.mediaType)}
          </p>
          <p className="flex items-center gap-1 text-xs text-soft">
            <span className="min-w-0 truncate">
              {words.hash} <code className="font-mono">{displayText(sha256)}</code>
            </span>
            <CopyButton text={sha256} name={words.copyHash} />
          </p>
        </div>
        <Download runId={runId} name={file.name} />
      </header>
      <div className="min-w-0">
        <Preview runId={runId} file={file} />
      </div>
    </section>
  );
}
