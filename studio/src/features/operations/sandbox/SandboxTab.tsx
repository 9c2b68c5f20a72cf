import { type Doctor, type Gap, useDoctor } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { Button } from "../../../ui/Button";
import { RetryIcon } from "../../../ui/icons";
import { ServerText } from "../../../ui/ServerText";
import { Note } from "../Note";
import { QueryContent } from "../QueryContent";
import { Section } from "../Section";
import { AdapterCard } from "./AdapterCard";

/** The sandbox doctor: which adapters work on the server's machine, what is missing, and how to fix it. */
export default function SandboxTab() {
  const words = useWords("operations").sandbox;
  const query = useDoctor();
  const again = (
    <Button icon={<RetryIcon />} busy={query.isFetching} onClick={() => query.refetch()}>
      {words.again}
    </Button>
  );
  return (
    <Section title={words.title} hint={words.hint} actions={again}>
      <QueryContent query={query} lines={6}>
        {(doctor) => <Findings doctor={doctor} />}
      </QueryContent>
    </Section>
  );
}

function Findings({ doctor }: { doctor: Doctor }) {
  const words = useWords("operations").sandbox;
  const first = doctor.adapters.find((adapter) => adapter.works);
  return (
    <>
      {doctor.required_promises_kept ? (
        <Note tone="good" title={words.ready} label={words.state}>
          <p>{first ? words.uses(displayText(first.adapter)) : null}</p>
        </Note>
      ) : (
        <Note tone="bad" title={words.notKept} label={words.state}>
          <p>{first ? words.notKeptHint : words.noSandbox}</p>
        </Note>
      )}
      <h3 className="font-semibold">{words.sandboxes}</h3>
      {doctor.adapters.length === 0 ? <p className="text-soft">{words.noSandbox}</p> : null}
      <ul aria-label={words.sandboxes} className="grid gap-3 md:grid-cols-2">
        {doctor.adapters.map((adapter) => (
          <AdapterCard key={adapter.adapter} adapter={adapter} inUse={adapter === first} />
        ))}
      </ul>
      <h3 className="font-semibold">{words.gaps}</h3>
      {doctor.gaps.length === 0 ? (
        <p className="text-soft">{words.noGaps}</p>
      ) : (
        <ul aria-label={words.gaps} className="divide-y overflow-hidden rounded-lg border bg-surface">
          {doctor.gaps.map((gap) => (
            <GapLine key={`${gap.promise} ${gap.text}`} gap={gap} />
          ))}
        </ul>
      )}
    </>
  );
}

function GapLine({ gap }: { gap: Gap }) {
  const words = useWords("operations").sandbox;
  return (
    <li className="flex min-w-0 flex-col gap-1 px-3 py-2.5 sm:flex-row sm:gap-4">
      <div className="flex shrink-0 flex-wrap items-start gap-1.5 sm:w-48">
        <span className="font-medium">{words.promises[gap.promise] ?? displayText(gap.promise)}</span>
        {gap.partial ? <Badge tone="wait">{words.partial}</Badge> : null}
      </div>
      <div className="min-w-0 flex-1">
        <ServerText text={gap.text} className="block" />
        {gap.fix ? (
          <div className="mt-1 flex flex-wrap gap-x-1.5">
            <span className="font-medium">{words.fix}</span>
            <ServerText text={gap.fix} className="min-w-0" />
          </div>
        ) : null}
      </div>
    </li>
  );
}
