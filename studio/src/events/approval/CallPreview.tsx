import type { Approval } from "../../api/approvals";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { CodeBlock } from "../../ui/CodeBlock";
import { DiffView } from "../../ui/DiffView";
import { ChevronDownIcon, ChevronRightIcon } from "../../ui/icons";
import { JsonView } from "../../ui/JsonView";

/** The exact command and the changes to files; for any other call its arguments. */
export function CallPreview({
  approval,
  diffOpen,
  onDiff,
}: {
  approval: Approval;
  diffOpen: boolean;
  onDiff: (open: boolean) => void;
}) {
  const words = useWords("approvals");
  const typed = typeof approval.intent.typed === "string";
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {approval.command === null ? null : (
        <div className="min-w-0">
          <p className="mb-1 text-soft">{typed ? words.typed : words.command}</p>
          <CodeBlock text={approval.command} label={typed ? words.typed : words.command} lines={20} />
        </div>
      )}
      {approval.patch ? (
        <div className="min-w-0">
          <Button
            small
            tone="quiet"
            aria-expanded={diffOpen}
            icon={diffOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}
            onClick={() => onDiff(!diffOpen)}
          >
            {diffOpen ? words.hidePatch : words.showPatch}
          </Button>
          {diffOpen ? (
            <section aria-label={words.patch} className="mt-1 min-w-0">
              <DiffView patch={approval.patch} />
            </section>
          ) : null}
        </div>
      ) : null}
      {approval.command === null && !approval.patch ? (
        <section aria-label={words.args} className="min-w-0 rounded-md bg-sunken px-2 py-1.5">
          <JsonView value={approval.details} depth={3} />
        </section>
      ) : null}
    </div>
  );
}
