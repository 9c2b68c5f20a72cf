import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type NewFork, useForkRun } from "../../../api/runs";
import { useStartOptions } from "../../../api/startRun";
import { foldLog, type RunView, useRunLog } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Select, TextArea, TextInput } from "../../../ui/Field";
import { CheckIcon, ForkIcon, InfoIcon, RetryIcon } from "../../../ui/icons";
import { toast } from "../../../ui/Toast";
import { buildForkPlan, type ForkPlan } from "./plan";

interface ForkProps {
  runId: string;
  /** The number of the last event that the fork keeps. */
  event: number;
  view: RunView;
  open: boolean;
  onClose: () => void;
}

/** Begins a new run that goes on from an event of this one, perhaps with other words, another model or other rules. */
export function ForkDialog({ runId, event, view, open, onClose }: ForkProps) {
  return open ? (
    <ForkForm key={event} runId={runId} event={event} view={view} open onClose={onClose} />
  ) : null;
}

function ForkForm({ runId, event, view, onClose }: ForkProps) {
  const words = useWords("fork");
  const [, navigate] = useLocation();
  const plan = usePlan(runId, event, view);
  const options = useStartOptions().data;
  const fork = useForkRun();
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState<string | null>(null);
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const { modes, policy } = useWords("start");
  const message = text ?? plan.message;
  const start = () => {
    const request: NewFork = { at: event };
    if (message.trim() && message.trim() !== plan.message.trim()) {
      request.prompt = message;
    }
    if (model.trim() && model.trim() !== view.state.model) {
      request.model = model.trim();
    }
    if (mode) {
      request.policy_mode = mode as NewFork["policy_mode"];
    }
    fork.mutate(
      { id: runId, request },
      {
        onSuccess: ({ run_id }) => {
          toast(words.done);
          onClose();
          navigate(`/runs/${run_id}`);
        },
      },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.title(event)}
      description={words.description}
      initialFocus={field}
      actions={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button tone="primary" icon={<ForkIcon />} busy={fork.isPending} onClick={start}>
            {words.start}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <TextArea
          ref={field}
          label={words.message}
          rows={5}
          value={message}
          hint={plan.replacesTask ? words.replacesTask : words.followsTask}
          onChange={(change) => setText(change.target.value)}
        />
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <TextInput
            label={words.model}
            value={model}
            placeholder={displayText(view.state.model)}
            list="fork-models"
            autoComplete="off"
            hint={words.modelHint}
            onChange={(change) => setModel(change.target.value)}
          />
          <datalist id="fork-models">
            {[...new Set(Object.values(options?.models ?? {}))].map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <Select
            label={policy}
            value={mode}
            options={[
              { value: "", label: words.samePolicy },
              ...(options?.policy_modes ?? []).map((name) => ({
                value: name,
                label: modes[name] ?? name,
              })),
            ]}
            onChange={(change) => setMode(change.target.value)}
          />
        </div>
        <Consequences plan={plan} shared={view.state.workspace_mode !== "isolated"} />
        <ErrorNote error={fork.error} />
      </div>
    </Dialog>
  );
}

/** What happens at once in the fork, and what does not. */
function Consequences({ plan, shared }: { plan: ForkPlan; shared: boolean }) {
  const words = useWords("fork");
  const format = useFormat();
  return (
    <section className="flex flex-col gap-1.5 rounded-md bg-sunken p-3">
      <h3 className="font-medium">{words.what}</h3>
      <ul className="flex flex-col gap-1">
        <li className="flex gap-2">
          <CheckIcon className="mt-0.5 size-4 shrink-0 text-good" />
          {words.reusedCalls(plan.reusedCalls, format.number(plan.reusedCalls))}
        </li>
        {plan.executed.map((call) => (
          <li key={call.call_id} className="flex gap-2">
            <RetryIcon className="mt-0.5 size-4 shrink-0 text-wait" />
            <span>
              <code className="font-mono text-xs">{displayText(call.tool)}</code>{" "}
              {call.again ? words.executedAgain : words.executed}
            </span>
          </li>
        ))}
        <li className="flex gap-2">
          <RetryIcon className="mt-0.5 size-4 shrink-0 text-wait" />
          {plan.discarded ? words.askedAnew : plan.executed.length > 0 ? words.askedAfter : words.continues}
        </li>
        <li className="flex gap-2">
          <InfoIcon className="mt-0.5 size-4 shrink-0 text-soft" />
          {shared ? words.sharedFiles : words.isolatedFiles}
        </li>
      </ul>
    </section>
  );
}

/** The log of the run is at hand where the dialog can be opened; without it the whole view is the point. */
function usePlan(runId: string, event: number, view: RunView): ForkPlan {
  const { events } = useRunLog(runId);
  return useMemo(() => {
    const before = events.filter((candidate) => candidate.seq <= event);
    return buildForkPlan(before.length > 0 ? foldLog(before) : view);
  }, [events, event, view]);
}
