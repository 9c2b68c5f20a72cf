import type { ReactNode } from "react";
import type { Data } from "../../../events";
import { displayText } from "../../../lib/hiddenCharacters";
import { CodeBlock } from "../../../ui/CodeBlock";
import { JsonView } from "../../../ui/JsonView";

/** A heading and what stands below it. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h3 className="text-xs font-semibold text-soft">{title}</h3>
      {children}
    </section>
  );
}

const LONG = 80;

/** The fields of something: long texts as they are, the rest as a tree. */
export function Fields({ of, name }: { of: Data; name: string }) {
  const entries = Object.entries(of);
  const long = entries.filter(([, value]) => isLong(value)) as [string, string][];
  const rest = Object.fromEntries(entries.filter(([, value]) => !isLong(value)));
  return (
    <>
      {Object.keys(rest).length > 0 ? <JsonView value={rest} name={name} /> : null}
      {long.map(([field, text]) => (
        <Section key={field} title={displayText(field)}>
          <CodeBlock text={text} label={displayText(field)} />
        </Section>
      ))}
    </>
  );
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && (value.length > LONG || value.includes("\n"));
}
