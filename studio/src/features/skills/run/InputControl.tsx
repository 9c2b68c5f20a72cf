import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Checkbox, Select, TextArea, TextInput } from "../../../ui/Field";
import type { InputError, InputField } from "./schema";

/** The control for one property of an input. */
export function InputControl({
  field,
  value,
  error,
  onChange,
}: {
  field: InputField;
  value: string;
  error: InputError | undefined;
  onChange: (value: string) => void;
}) {
  const words = useWords("execute");
  const title = displayText(field.title);
  const about = {
    label: field.required ? words.required(title) : title,
    hint: field.description ? <bdi>{displayText(field.description)}</bdi> : undefined,
    error: error ? words.errors[error.code](displayText(String(error.limit ?? ""))) : undefined,
  };
  const typed = {
    value,
    required: field.required,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (field.kind) {
    case "boolean":
      return (
        <Checkbox
          label={about.label}
          hint={about.hint}
          checked={value === "true"}
          onChange={(event) => onChange(event.target.checked ? "true" : "false")}
        />
      );
    case "choice": {
      const none = field.required && value !== "" ? [] : [{ value: "", label: words.notChosen }];
      return (
        <Select
          {...about}
          {...typed}
          options={[
            ...none,
            ...field.choices.map((choice) => ({ ...choice, label: displayText(choice.label) })),
          ]}
        />
      );
    }
    case "long":
      return <TextArea {...about} {...typed} rows={5} />;
    case "json":
      return (
        <TextArea
          {...about}
          {...typed}
          label={words.asJsonLabel(about.label)}
          rows={3}
          spellCheck={false}
          className="font-mono text-xs"
          placeholder={field.rules.type === "array" ? "[]" : "{}"}
        />
      );
    case "number":
    case "integer":
      return <TextInput {...about} {...typed} inputMode={field.kind === "integer" ? "numeric" : "decimal"} />;
    default:
      return <TextInput {...about} {...typed} autoComplete="off" />;
  }
}
