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
  const fieldProps = {
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
          label={fieldProps.label}
          hint={fieldProps.hint}
          checked={value === "true"}
          onChange={(event) => onChange(event.target.checked ? "true" : "false")}
        />
      );
    case "choice": {
      const none = field.required && value !== "" ? [] : [{ value: "", label: words.notChosen }];
      return (
        <Select
          {...fieldProps}
          {...typed}
          options={[
            ...none,
            ...field.choices.map((choice) => ({ ...choice, label: displayText(choice.label) })),
          ]}
        />
      );
    }
    case "long":
      return <TextArea {...fieldProps} {...typed} rows={5} />;
    case "json":
      return (
        <TextArea
          {...fieldProps}
          {...typed}
          label={words.asJsonLabel(fieldProps.label)}
          rows={3}
          spellCheck={false}
          className="font-mono text-xs"
          placeholder={field.rules.type === "array" ? "[]" : "{}"}
        />
      );
    case "number":
    case "integer":
      return (
        <TextInput {...fieldProps} {...typed} inputMode={field.kind === "integer" ? "numeric" : "decimal"} />
      );
    default:
      return <TextInput {...fieldProps} {...typed} autoComplete="off" />;
  }
}
