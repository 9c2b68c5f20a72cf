import { type FormEvent, useState } from "react";
import { type Model, type Provider, useChooseModel, useTestModel } from "../../../api/model";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { Disclosure } from "../../../ui/Disclosure";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Select, TextInput } from "../../../ui/Field";
import { toast } from "../../../ui/Toast";
import { OriginText } from "../OriginText";
import { ConnectionTest } from "./ConnectionTest";
import { buildChange, choosePreset, createDraft, isBaseUrl, lacksKey, type ModelDraft } from "./change";
import { OverrideNote } from "./OverrideNote";
import { ProviderField } from "./ProviderField";

/** Where requests go, to which model, and with which key; only what is changed is sent. */
export function ModelForm({ model, providers }: { model: Model; providers: readonly Provider[] }) {
  const words = useWords("model");
  const choose = useChooseModel();
  const test = useTestModel();
  const [edits, setEdits] = useState<Partial<ModelDraft>>({});
  const draft = { ...createDraft(model, providers), ...edits };
  const preset = providers.find(({ id }) => id === draft.provider);
  const change = buildChange(draft, model);
  const badAddress = edits.baseUrl !== undefined && !isBaseUrl(draft.baseUrl);
  const noKey = lacksKey(draft, model);
  const listed = edits.baseUrl === undefined ? (test.data?.models ?? []) : [];
  const edit = (name: keyof ModelDraft) => (event: FormEvent<HTMLInputElement | HTMLSelectElement>) =>
    setEdits({ ...edits, [name]: event.currentTarget.value });
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (change && !badAddress && !noKey && !choose.isPending) {
      choose.mutate(change, {
        onSuccess: () => {
          setEdits({});
          test.reset();
          toast(words.saved);
        },
      });
    }
  };
  return (
    <form onSubmit={save} className="flex flex-col gap-3 rounded-lg border bg-surface p-3 sm:p-4">
      {providers.length > 0 ? (
        <ProviderField
          providers={providers}
          value={draft.provider}
          onChoose={(chosen) => setEdits(choosePreset(chosen, model))}
        />
      ) : null}
      <TextInput
        label={words.baseUrl}
        hint={edits.baseUrl === undefined ? <Origin model={model} field="base_url" /> : undefined}
        error={badAddress ? words.badAddress : undefined}
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        maxLength={2000}
        placeholder={preset?.url_example || undefined}
        value={draft.baseUrl}
        onChange={edit("baseUrl")}
      />
      <TextInput
        label={words.key}
        hint={words.keyHint}
        error={noKey ? words.keyNeeded : undefined}
        type="password"
        autoComplete="new-password"
        spellCheck={false}
        maxLength={4096}
        placeholder={model.key_present && edits.baseUrl === undefined ? words.keyKept : undefined}
        value={draft.key}
        onChange={edit("key")}
      />
      <TextInput
        label={words.name}
        hint={<ModelHint model={model} draft={draft} edited={edits.model !== undefined} />}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={draft.model}
        onChange={edit("model")}
      />
      {listed.length > 0 ? (
        <Select
          label={words.listed(listed.length)}
          value={listed.includes(draft.model) ? draft.model : ""}
          onChange={edit("model")}
          options={[
            ...(listed.includes(draft.model) ? [] : [{ value: "", label: words.choose }]),
            ...listed.map((name) => ({ value: name, label: name })),
          ]}
        />
      ) : null}
      <Disclosure title={words.advanced}>
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
      </Disclosure>
      <ErrorNote error={choose.error} />
      <OverrideNote overrides={choose.data?.overridden ?? []} />
      <div className="flex flex-wrap items-center gap-2">
        <Button
          type="submit"
          tone="primary"
          busy={choose.isPending}
          disabled={!change || badAddress || noKey}
        >
          {words.save}
        </Button>
        <Button busy={test.isPending} disabled={change !== null} onClick={() => test.mutate()}>
          {words.test}
        </Button>
        <p className="min-w-0 text-xs text-soft">{change ? words.saveFirst : words.testHint}</p>
      </div>
      <ConnectionTest test={test} model={model.model} />
      <p className="text-xs text-soft [overflow-wrap:anywhere]">{words.file(displayText(model.file))}</p>
    </form>
  );
}

function ModelHint({ model, draft, edited }: { model: Model; draft: ModelDraft; edited: boolean }) {
  const words = useWords("model");
  if (edited) {
    return draft.model ? null : words.modelLater;
  }
  return (
    <>
      <Origin model={model} field="model" />
      {model.planner === model.executor ? null : ` ${words.planner(displayText(model.planner))}`}
    </>
  );
}

function Origin({ model, field }: { model: Model; field: string }) {
  const words = useWords("model");
  const source = model.origins[field];
  return source ? (
    <>
      {words.from} <OriginText source={source} />
    </>
  ) : null;
}
