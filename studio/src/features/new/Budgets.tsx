import type { StartOptions } from "../../api/startRun";
import { useFormat, useWords } from "../../i18n";
import { Checkbox, Select, TextInput } from "../../ui/Field";
import { type Draft, LIMITS, type Limit, type LimitError } from "./draft";

/** How much the run may use, and what happens when that is not enough. */
export function Budgets({
  draft,
  allowed,
  wrong,
  errors,
  onChange,
}: {
  draft: Draft;
  allowed: StartOptions["limits"];
  wrong: Partial<Record<Limit, LimitError>>;
  errors: Readonly<Record<string, string | undefined>>;
  onChange: (change: Partial<Draft>) => void;
}) {
  const words = useWords("start");
  const format = useFormat();
  const formatLimit = (name: Limit, value: number) =>
    name === "max_cost_usd"
      ? format.money(value)
      : name === "max_wall_time_sec"
        ? format.duration(value * 1000)
        : format.number(value);
  const problem = (name: Limit) => {
    const error = wrong[name];
    if (!error) {
      return errors[name];
    }
    return error.code === "most"
      ? words.atMost(formatLimit(name, error.maximum))
      : words.limitErrors[error.code];
  };
  return (
    <fieldset className="min-w-0">
      <legend className="mb-2 font-semibold">{words.budget}</legend>
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {LIMITS.map((name) => {
          const maximum = allowed[name];
          return (
            <TextInput
              key={name}
              label={words.limits[name]}
              inputMode={name === "max_cost_usd" ? "decimal" : "numeric"}
              autoComplete="off"
              placeholder={typeof maximum === "number" ? String(maximum) : words.unlimited}
              hint={typeof maximum === "number" ? words.atMost(formatLimit(name, maximum)) : words.noLimit}
              error={problem(name)}
              value={draft.limits[name] ?? ""}
              onChange={(event) => onChange({ limits: { ...draft.limits, [name]: event.target.value } })}
            />
          );
        })}
      </div>
      <div className="mt-3 grid gap-3 sm:grid-cols-2">
        <Select
          label={words.onLimit}
          value={draft.on_limit}
          options={["", "park", "fail"].map((value) => ({
            value,
            label: words.onLimits[value || "same"] ?? value,
          }))}
          onChange={(event) => onChange({ on_limit: event.target.value })}
        />
        <div className="sm:pt-6">
          <Checkbox
            label={words.review}
            checked={draft.review}
            onChange={(event) => onChange({ review: event.target.checked })}
          />
        </div>
      </div>
    </fieldset>
  );
}
