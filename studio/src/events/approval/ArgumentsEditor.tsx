import { type Ref, useDeferredValue, useMemo, useState } from "react";
import type { Approval } from "../../api/approvals";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { DiffView } from "../../ui/DiffView";
import { TextArea } from "../../ui/Field";
import { CheckIcon } from "../../ui/icons";
import { argumentsText, type ReadArguments, readArguments } from "./readArguments";

/** Changes the arguments of a call before it is approved, and shows what differs from what was asked. */
export function ArgumentsEditor({
  approval,
  busy,
  onApprove,
  onCancel,
  ref,
}: {
  approval: Approval;
  busy: boolean;
  onApprove: (edited: Record<string, unknown>) => void;
  onCancel: () => void;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const words = useWords("approvals");
  const requested = useMemo(() => argumentsText(approval.details), [approval.details]);
  const [text, setText] = useState(requested);
  const read = useMemo(() => readArguments(text), [text]);
  const edited = read.value ? argumentsText(read.value) : null;
  const changed = edited !== null && edited !== requested;
  const compared = useDeferredValue(changed ? edited : null);
  const files = useMemo(
    () => (compared === null ? [] : [{ path: "arguments.json", before: requested, after: compared }]),
    [requested, compared],
  );
  return (
    <section
      aria-label={words.edit}
      className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3"
    >
      <TextArea
        ref={ref}
        label={words.editLabel}
        hint={words.editHint}
        error={useProblemText(read)}
        rows={Math.min(16, Math.max(4, text.split("\n").length))}
        spellCheck={false}
        dir="ltr"
        className="font-mono text-xs"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <section aria-label={words.editDiff} className="min-w-0">
        {files.length > 0 ? <DiffView files={files} /> : <p className="text-soft">{words.editSame}</p>}
      </section>
      <div className="flex flex-wrap gap-2">
        <Button
          busy={busy}
          icon={<CheckIcon />}
          disabled={!changed}
          onClick={() => read.value && changed && onApprove(read.value)}
        >
          {words.editApprove}
        </Button>
        <Button tone="quiet" onClick={onCancel}>
          {words.editCancel}
        </Button>
      </div>
    </section>
  );
}

function useProblemText({ problem }: ReadArguments): string | undefined {
  const words = useWords("approvals").editErrors;
  if (!problem) {
    return undefined;
  }
  if (problem.kind === "object") {
    return words.object;
  }
  return words.json(problem.line, problem.column);
}
