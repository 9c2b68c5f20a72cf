import { useMemo, useState } from "react";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextArea, TextInput } from "../../../ui/Field";
import { PlayIcon } from "../../../ui/icons";
import { InputControl } from "./InputControl";
import { readInput, readJson } from "./readInput";
import { initialValues, parseFields } from "./schema";
import type { ExecutionRequest } from "./useExecuteSkill";

/** The input of a skill: a field for each property of its schema, or JSON where there is no schema. */
export function InputForm({
  schema,
  busy,
  error,
  onSubmit,
}: {
  schema: Record<string, unknown> | null;
  busy: boolean;
  error: unknown;
  onSubmit: (request: ExecutionRequest) => void;
}) {
  const words = useWords("execute");
  const fields = useMemo(() => parseFields(schema), [schema]);
  const [values, setValues] = useState(() => initialValues(fields ?? []));
  const [json, setJson] = useState<string | null>(fields ? null : "{}");
  const [limit, setLimit] = useState("");
  const [isSubmitted, setIsSubmitted] = useState(false);
  const read = readInput(fields ?? [], values);
  const readAsJson = json === null ? null : readJson(json || "null");
  const wrongLimit = limit.trim() !== "" && !/^[1-9]\d*$/.test(limit.trim());
  const submit = () => {
    setIsSubmitted(true);
    const timeout = limit.trim() ? { timeout_ms: Number(limit) * 1000 } : {};
    if (wrongLimit) {
      return;
    }
    if (readAsJson === null) {
      if (Object.keys(read.errors).length === 0) {
        onSubmit({ input: read.input, ...timeout });
      }
    } else if ("value" in readAsJson) {
      onSubmit({ input: readAsJson.value, ...timeout });
    }
  };
  return (
    <form
      aria-label={words.input}
      noValidate
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) {
          submit();
        }
      }}
    >
      <div className="flex items-center justify-between gap-2">
        <h2 className="font-semibold">{words.input}</h2>
        {fields ? (
          <Button
            small
            tone="quiet"
            aria-pressed={json !== null}
            onClick={() => setJson(json === null ? JSON.stringify(read.input, null, 2) : null)}
          >
            {words.asJson}
          </Button>
        ) : null}
      </div>
      {json === null && fields ? (
        fields.map((field) => (
          <InputControl
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            error={isSubmitted ? read.errors[field.name] : undefined}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))
      ) : (
        <TextArea
          label={words.json}
          hint={fields ? undefined : words.noSchema}
          rows={8}
          spellCheck={false}
          className="font-mono text-xs"
          error={isSubmitted && readAsJson && "error" in readAsJson ? words.errors.json("") : undefined}
          value={json ?? ""}
          onChange={(event) => setJson(event.target.value)}
        />
      )}
      {json === null && fields?.length === 0 ? <p className="text-soft">{words.noFields}</p> : null}
      <TextInput
        label={words.limit}
        hint={words.limitHint}
        inputMode="numeric"
        autoComplete="off"
        error={wrongLimit ? words.errors.integer("") : undefined}
        value={limit}
        onChange={(event) => setLimit(event.target.value)}
      />
      <ErrorNote error={error} />
      <div>
        <Button type="submit" tone="primary" icon={<PlayIcon />} busy={busy}>
          {words.run}
        </Button>
      </div>
    </form>
  );
}
