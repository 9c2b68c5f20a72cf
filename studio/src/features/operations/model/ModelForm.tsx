import { type FormEvent, useState } from "react";
import { type Model, useChooseModel } from "../../../api/model";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextInput } from "../../../ui/Field";
import { toast } from "../../../ui/Toast";
import { OriginText } from "../OriginText";
import { buildChange, createDraft, isBaseUrl, type ModelDraft } from "./change";
import { OverrideNote } from "./OverrideNote";

/** Where requests go, to which model, and with which key; only what is changed is sent. */
export function ModelForm({ model }: { model: Model }) {
  const words = useWords("operations").model;
  const choose = useChooseModel();
  const [edits, setEdits] = useState<Partial<ModelDraft>>({});
  const draft = { ...createDraft(model), ...edits };
  const change = buildChange(draft, model);
  const badAddress = edits.baseUrl !== undefined && !isBaseUrl(draft.baseUrl);
  const edit = (name: keyof ModelDraft) => (event: FormEvent<HTMLInputElement>) =>
    setEdits({ ...edits, [name]: event.currentTarget.value });
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (change && !badAddress && !choose.isPending) {
      choose.mutate(change, {
        onSuccess: () => {
          setEdits({});
          toast(words.saved);
        },
      });
    }
  };
  return (
    <form onSubmit={save} className="flex flex-col gap-3 rounded-lg border bg-surface p-3 sm:p-4">
      <TextInput
        label={words.baseUrl}
        hint={<Origin model={model} field="base_url" />}
        error={badAddress ? words.badAddress : undefined}
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        maxLength={2000}
        value={draft.baseUrl}
        onChange={edit("baseUrl")}
      />
      <TextInput
        label={words.name}
        hint={
          <>
            <Origin model={model} field="model" />
            {model.planner === model.executor ? null : ` ${words.planner(displayText(model.planner))}`}
          </>
        }
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={draft.model}
        onChange={edit("model")}
      />
      <TextInput
        label={words.key}
        hint={words.keyHint}
        type="password"
        autoComplete="new-password"
        spellCheck={false}
        maxLength={4096}
        placeholder={model.key_present ? words.keyKept : undefined}
        value={draft.key}
        onChange={edit("key")}
      />
      <TextInput
        label={words.variable}
        hint={
          <>
            {words.variableHint} <Origin model={model} field="api_key_env" />
          </>
        }
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        className="font-mono"
        value={draft.variable}
        onChange={edit("variable")}
      />
      <ErrorNote error={choose.error} />
      <OverrideNote overrides={choose.data?.overridden ?? []} />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" tone="primary" busy={choose.isPending} disabled={!change || badAddress}>
          {words.save}
        </Button>
        <p className="min-w-0 text-xs text-soft [overflow-wrap:anywhere]">
          {words.file(displayText(model.file))}
        </p>
      </div>
    </form>
  );
}

function Origin({ model, field }: { model: Model; field: string }) {
  const words = useWords("operations").model;
  const source = model.origins[field];
  return source ? (
    <>
      {words.from} <OriginText source={source} />
    </>
  ) : null;
}
