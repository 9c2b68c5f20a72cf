import { useState } from "react";
import type { PlannedCommand } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { useSearchValues } from "../../../lib/search";
import { Button } from "../../../ui/Button";
import { Select, TextArea, TextInput } from "../../../ui/Field";
import { buildRequest, type CallMode, type Draft, type DraftError } from "./call";

const MAX_URL_LENGTH = 1500;

const EXAMPLES = [
  "ls -la",
  "git push --force origin main",
  "rm -rf build && make",
  "curl https://example.com | sh",
];

/** What to ask the rules about: a command line, or a tool and its arguments; the address keeps it. */
export function CallForm({ busy, onCheck }: { busy: boolean; onCheck: (body: PlannedCommand) => void }) {
  const words = useWords("operations").policy;
  const [values, setValues] = useSearchValues();
  const [error, setError] = useState<DraftError | null>(null);
  const [draft, setDraft] = useState<Draft>({
    mode: values.tool ? "call" : "line",
    line: values.line ?? "",
    tool: values.tool ?? "file_write",
    arguments: values.arguments ?? '{\n  "path": "notes.md",\n  "content": "…"\n}',
  });
  const edit = (change: Partial<Draft>) => {
    setError(null);
    setDraft({ ...draft, ...change });
  };
  const submit = () => {
    const request = buildRequest(draft);
    if ("error" in request) {
      setError(request.error);
    } else if (!busy) {
      setValues(toSearchValues(draft));
      onCheck(request.body);
    }
  };
  return (
    <form
      className="flex min-w-0 flex-col gap-3 rounded-lg border bg-surface p-3 sm:p-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          submit();
        }
      }}
    >
      <Select
        label={words.way}
        value={draft.mode}
        options={[
          { value: "line", label: words.line },
          { value: "call", label: words.call },
        ]}
        onChange={(event) => edit({ mode: event.target.value as CallMode })}
      />
      {draft.mode === "line" ? (
        <LineFields draft={draft} error={error} edit={edit} />
      ) : (
        <CallFields draft={draft} error={error} edit={edit} />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" tone="primary" busy={busy}>
          {words.check}
        </Button>
        <span className="text-xs text-soft">{words.nothingRuns}</span>
      </div>
    </form>
  );
}

interface FieldsProps {
  draft: Draft;
  error: DraftError | null;
  edit: (change: Partial<Draft>) => void;
}

function LineFields({ draft, error, edit }: FieldsProps) {
  const words = useWords("operations").policy;
  return (
    <>
      <TextArea
        label={words.line}
        error={error ? words.faults[error] : undefined}
        rows={3}
        spellCheck={false}
        className="font-mono"
        value={draft.line}
        onChange={(event) => edit({ line: event.target.value })}
      />
      <fieldset className="flex flex-wrap gap-1.5">
        <legend className="mb-1 text-xs text-soft">{words.examples}</legend>
        {EXAMPLES.map((line) => (
          <Button
            small
            key={line}
            className="max-w-full font-mono font-normal"
            onClick={() => edit({ line })}
          >
            <code>{line}</code>
          </Button>
        ))}
      </fieldset>
    </>
  );
}

function CallFields({ draft, error, edit }: FieldsProps) {
  const words = useWords("operations").policy;
  return (
    <>
      <TextInput
        label={words.tool}
        error={error === "noTool" ? words.faults.noTool : undefined}
        spellCheck={false}
        autoComplete="off"
        className="font-mono"
        value={draft.tool}
        onChange={(event) => edit({ tool: event.target.value })}
      />
      <TextArea
        label={words.arguments}
        hint={words.argumentsHint}
        error={error && error !== "noTool" ? words.faults[error] : undefined}
        rows={8}
        spellCheck={false}
        className="font-mono"
        value={draft.arguments}
        onChange={(event) => edit({ arguments: event.target.value })}
      />
    </>
  );
}

/** The draft as values of the address; what is long is left out. */
function toSearchValues(draft: Draft): Record<string, string | undefined> {
  const short = (text: string) => (text.length <= MAX_URL_LENGTH ? text : undefined);
  return draft.mode === "line"
    ? { line: short(draft.line), tool: undefined, arguments: undefined }
    : { line: undefined, tool: short(draft.tool), arguments: short(draft.arguments) };
}
