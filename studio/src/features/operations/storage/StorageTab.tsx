import { Link } from "wouter";
import { type Storage, type StoragePart, useStorage } from "../../../api/storage";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { RetryIcon } from "../../../ui/icons";
import { QueryContent } from "../QueryContent";
import { Section } from "../Section";
import { Bar } from "./Bar";
import { sumBytes } from "./shares";

const LOW_FREE_SHARE = 0.1;

/** What runs, executions and caches take on the disk of the server, and what is left. */
export default function StorageTab() {
  const words = useWords("operations").storage;
  const query = useStorage();
  const again = (
    <Button icon={<RetryIcon />} busy={query.isFetching} onClick={() => query.refetch()}>
      {words.again}
    </Button>
  );
  return (
    <Section title={words.title} hint={words.hint} actions={again}>
      <QueryContent query={query} lines={6}>
        {(storage) => (
          <div className="flex max-w-4xl flex-col gap-4">
            <Disk disk={storage.disk} />
            <Parts parts={storage.parts} />
            <LargestRuns runs={storage.largest_runs} />
          </div>
        )}
      </QueryContent>
    </Section>
  );
}

function Disk({ disk }: { disk: Storage["disk"] }) {
  const words = useWords("operations").storage;
  const format = useFormat();
  const isLow = disk.free < disk.total * LOW_FREE_SHARE;
  return (
    <section aria-label={words.disk} className="flex flex-col gap-1.5 rounded-lg border bg-surface p-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <h3 className="font-semibold">{words.disk}</h3>
        <p className={isLow ? "font-medium text-bad" : "text-soft"}>
          {words.free(format.bytes(disk.free), format.bytes(disk.total))}
        </p>
      </div>
      <Bar
        part={disk.total - disk.free}
        total={disk.total}
        className={isLow ? "bg-bad-strong" : "bg-line-strong"}
      />
      {isLow ? <p className="text-bad">{words.few}</p> : null}
    </section>
  );
}

function Parts({ parts }: { parts: readonly StoragePart[] }) {
  const words = useWords("operations").storage;
  const format = useFormat();
  const totalBytes = sumBytes(parts);
  return (
    <section className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <h3 className="font-semibold">{words.parts}</h3>
        <p className="text-soft">{words.sum(format.bytes(totalBytes))}</p>
      </div>
      <ul aria-label={words.parts} className="divide-y overflow-hidden rounded-lg border bg-surface">
        {parts.map((part) => (
          <li key={part.name} className="flex min-w-0 flex-col gap-1 px-3 py-2.5">
            <div className="flex flex-wrap items-baseline gap-x-3">
              <span className="font-medium">{words.names[part.name] ?? displayText(part.name)}</span>
              <span className="text-soft">{words.count(part.count, part.files)}</span>
              <span className="ml-auto tabular-nums">
                {part.complete ? format.bytes(part.bytes) : words.atLeast(format.bytes(part.bytes))}
              </span>
            </div>
            <Bar part={part.bytes} total={totalBytes} />
            <p className="font-mono text-xs text-soft [overflow-wrap:anywhere]">{displayText(part.path)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function LargestRuns({ runs }: { runs: Storage["largest_runs"] }) {
  const words = useWords("operations").storage;
  const format = useFormat();
  const largestBytes = Math.max(0, ...runs.map((run) => run.bytes));
  return (
    <section className="flex flex-col gap-1.5">
      <h3 className="font-semibold">{words.largest}</h3>
      {runs.length === 0 ? (
        <p className="text-soft">{words.noRuns}</p>
      ) : (
        <ol aria-label={words.largest} className="divide-y overflow-hidden rounded-lg border bg-surface">
          {runs.map((run) => (
            <li key={run.run_id} className="flex min-w-0 flex-col gap-1 px-3 py-2">
              <div className="flex min-w-0 items-baseline gap-3">
                <Link
                  href={`/runs/${encodeURIComponent(run.run_id)}`}
                  className="min-w-0 truncate font-mono text-xs"
                >
                  {displayText(run.run_id)}
                </Link>
                <span className="ml-auto shrink-0 tabular-nums">{format.bytes(run.bytes)}</span>
              </div>
              <Bar part={run.bytes} total={largestBytes} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
