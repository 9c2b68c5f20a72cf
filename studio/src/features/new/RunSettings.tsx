import type { StartOptions } from "../../api/startRun";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Select, TextInput } from "../../ui/Field";
import type { Draft } from "./draft";

type Errors = Readonly<Record<string, string | undefined>>;

/** Who works and how far it may go: model, workspace, sandbox and policy; only what is allowed is offered. */
export function RunSettings({
  draft,
  options,
  errors,
  onChange,
}: {
  draft: Draft;
  options: StartOptions;
  errors: Errors;
  onChange: (change: Partial<Draft>) => void;
}) {
  const words = useWords("start");
  const models = [...new Set(Object.values(options.models))];
  const model = options.models.executor ?? "";
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-2 font-semibold">{words.how}</legend>
      <div className="grid gap-3 sm:grid-cols-2">
        <TextInput
          label={words.model}
          list="start-models"
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          placeholder={displayText(model)}
          hint={model ? words.modelHint(displayText(model)) : undefined}
          error={errors.model}
          value={draft.model}
          onChange={(event) => onChange({ model: event.target.value })}
        />
        <datalist id="start-models">
          {models.map((model) => (
            <option key={model} value={model} />
          ))}
        </datalist>
        <Choice
          label={words.workspace}
          names={words.workspaces}
          hints={words.workspaceHints}
          allowed={options.workspaces}
          defaultValue={options.defaults.workspace}
          value={draft.workspace}
          error={errors.workspace}
          onChange={(workspace) => onChange({ workspace })}
        />
        <Choice
          label={words.sandbox}
          names={words.profiles}
          hints={words.profileHints}
          allowed={options.sandbox_profiles}
          defaultValue={options.defaults.sandbox_profile}
          value={draft.sandbox_profile}
          error={errors.sandbox_profile}
          onChange={(sandbox_profile) => onChange({ sandbox_profile })}
        />
        <Choice
          label={words.policy}
          names={words.modes}
          hints={words.modeHints}
          allowed={options.policy_modes}
          defaultValue={options.defaults.policy_mode}
          value={draft.policy_mode}
          error={errors.policy_mode}
          onChange={(policy_mode) => onChange({ policy_mode })}
        />
      </div>
      <p className="text-xs text-soft [overflow-wrap:anywhere]">
        {words.workspaceRoot}: <code className="font-mono">{displayText(options.workspace_root)}</code>
      </p>
    </fieldset>
  );
}

function Choice({
  label,
  names,
  hints,
  allowed,
  defaultValue,
  value,
  error,
  onChange,
}: {
  label: string;
  names: Record<string, string>;
  hints: Record<string, string>;
  allowed: readonly string[];
  defaultValue: string | undefined;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}) {
  const words = useWords("start");
  const effectiveValue = value || defaultValue || "";
  return (
    <Select
      label={label}
      value={effectiveValue}
      hint={hints[effectiveValue]}
      error={error}
      options={allowed.map((name) => ({
        value: name,
        label: name === defaultValue ? words.isDefault(names[name] ?? name) : (names[name] ?? name),
      }))}
      // What holds anyway is not asked for.
      onChange={(event) => onChange(event.target.value === defaultValue ? "" : event.target.value)}
    />
  );
}
