import { useState } from "react";
import { useResumeRun } from "../../../api/runs";
import { useMessages, useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextInput } from "../../../ui/Field";
import { HandIcon, PlayIcon } from "../../../ui/icons";
import { ServerText } from "../../../ui/ServerText";

/** Says why a run stands still, and lets it go on, with more room if that is given. */
export function WaitingBox({ runId, kind, message }: { runId: string; kind: string; message: string }) {
  const words = useWords("run");
  const meaning = useMessages().error(kind);
  const [steps, setSteps] = useState("");
  const [cost, setCost] = useState("");
  const resume = useResumeRun();
  return (
    <section
      aria-label={words.stands}
      className="flex flex-col gap-2 rounded-md border border-wait bg-wait-soft p-3"
    >
      <div className="flex gap-2">
        <HandIcon className="mt-0.5 size-4 shrink-0 text-wait" />
        <div className="min-w-0">
          <p className="font-medium">{[words.stands, meaning].filter(Boolean).join(" · ")}</p>
          {message ? <ServerText text={message} /> : null}
        </div>
      </div>
      <ErrorNote error={resume.error} />
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          const limits = {
            ...(steps ? { max_steps: Number(steps) } : {}),
            ...(cost ? { max_cost_usd: Number(cost) } : {}),
          };
          resume.mutate({ id: runId, limits });
        }}
      >
        <div className="w-36">
          <TextInput
            type="number"
            min={1}
            label={words.maxSteps}
            value={steps}
            onChange={(event) => setSteps(event.target.value)}
          />
        </div>
        <div className="w-36">
          <TextInput
            type="number"
            min={0}
            step="any"
            label={words.maxCost}
            value={cost}
            onChange={(event) => setCost(event.target.value)}
          />
        </div>
        <Button type="submit" tone="primary" icon={<PlayIcon />} busy={resume.isPending}>
          {words.resume}
        </Button>
      </form>
    </section>
  );
}
