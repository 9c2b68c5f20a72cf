import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { newIdempotencyKey } from "../../api/client";
import { problemOf } from "../../api/problem";
import { type StartOptions, useStartRun } from "../../api/startRun";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { ErrorNote, useProblemText } from "../../ui/ErrorNote";
import { PlayIcon } from "../../ui/icons";
import { KeyName } from "../../ui/KeyName";
import { Budgets } from "./Budgets";
import { buildRequest, createDraft, type Draft, findField, LIMITS, validateLimits } from "./draft";
import { NoModel } from "./NoModel";
import { RunSettings } from "./RunSettings";
import { SkillChoices } from "./SkillChoices";
import { TaskField } from "./TaskField";

const FIELDS = ["prompt", "model", "workspace", "sandbox_profile", "policy_mode", ...LIMITS];

/** The form that starts a run, and goes to it. */
export function NewRunForm({
  options,
  task,
  sessionId,
}: {
  options: StartOptions;
  task: string;
  sessionId?: string;
}) {
  const words = useWords("start");
  const problemText = useProblemText();
  const [draft, setDraft] = useState<Draft>(() => createDraft(task));
  const [untouched, setUntouched] = useState(true);
  const start = useStart(draft, sessionId);
  const wrong = validateLimits(draft, options.limits);
  const empty = draft.prompt.trim() === "";
  const problem = start.error ? problemOf(start.error) : null;
  const field = problem ? findField(problem, FIELDS) : null;
  const errors =
    problem && field
      ? { [field]: [problemText(problem), displayText(problem.hint)].filter(Boolean).join(" · ") }
      : {};
  const change = (some: Partial<Draft>) => {
    start.reset();
    setDraft((before) => ({ ...before, ...some }));
  };
  const submit = () => {
    setUntouched(false);
    if (!empty && Object.keys(wrong).length === 0 && options.model_ready) {
      start.send();
    }
  };
  return (
    <form
      aria-label={words.title}
      className="flex max-w-5xl flex-col gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {options.model_ready ? null : <NoModel />}
      <TaskField
        value={draft.prompt}
        onChange={(prompt) => change({ prompt })}
        onSubmit={submit}
        error={errors.prompt ?? (empty && !untouched ? words.taskMissing : undefined)}
      />
      <SkillChoices
        task={draft.prompt}
        selectedSkills={draft.skills}
        onChange={(skills) => change({ skills })}
      />
      <RunSettings draft={draft} options={options} errors={errors} onChange={change} />
      <Budgets draft={draft} allowed={options.limits} wrong={wrong} errors={errors} onChange={change} />
      {problem && !field ? <ErrorNote error={problem} /> : null}
      <div className="flex flex-wrap items-center gap-3 border-t pt-3">
        <Button
          type="submit"
          tone="primary"
          icon={<PlayIcon />}
          busy={start.busy}
          disabled={!options.model_ready}
        >
          {words.start}
        </Button>
        <span className="text-xs text-soft max-sm:hidden">
          <KeyName keys="mod+Enter" />
        </span>
      </div>
    </form>
  );
}

/** Sends a draft; the same draft has the same key, so that two clicks are one run. */
function useStart(draft: Draft, sessionId: string | undefined) {
  const [, navigate] = useLocation();
  const { mutate, error, isPending, isSuccess, reset } = useStartRun();
  const lastRequest = useRef({ body: "", key: "" });
  return {
    error,
    busy: isPending || isSuccess,
    reset: () => {
      if (error) {
        reset();
      }
    },
    send: () => {
      const request = buildRequest(draft, sessionId);
      const body = JSON.stringify(request);
      if (lastRequest.current.body !== body) {
        lastRequest.current = { body, key: newIdempotencyKey() };
      }
      mutate(
        { request, key: lastRequest.current.key },
        { onSuccess: ({ run_id }) => navigate(`/runs/${encodeURIComponent(run_id)}`) },
      );
    },
  };
}
