import type {
  InputHTMLAttributes,
  ReactNode,
  Ref,
  SelectHTMLAttributes,
  TextareaHTMLAttributes,
} from "react";
import { useId } from "react";
import { classes } from "../lib/classes";
import { displayText } from "../lib/hiddenCharacters";

const BOX =
  "w-full rounded-md border border-line-strong bg-surface px-2.5 text-sm text-text disabled:opacity-55 aria-[invalid=true]:border-bad";

interface FieldProps {
  label: ReactNode;
  /** The label is there for who listens, but not shown. */
  hideLabel?: boolean;
  hint?: ReactNode;
  error?: ReactNode;
}

/** A label, a control, a hint and an error that belong together. */
export function Field({
  label,
  hideLabel,
  hint,
  error,
  children,
}: FieldProps & {
  children: (ids: { id: string; describedBy: string | undefined; invalid: boolean }) => ReactNode;
}) {
  const id = useId();
  const describedBy = [hint ? `${id}-hint` : "", error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={hideLabel ? "sr-only" : "font-medium"}>
        {label}
      </label>
      {children({ id, describedBy: describedBy || undefined, invalid: Boolean(error) })}
      {hint ? (
        <p id={`${id}-hint`} className="text-xs text-soft">
          {hint}
        </p>
      ) : null}
      {error ? (
        <p id={`${id}-error`} className="text-xs text-bad">
          {error}
        </p>
      ) : null}
    </div>
  );
}

/** One line of text. */
export function TextInput({
  label,
  hideLabel,
  hint,
  error,
  className,
  ...rest
}: FieldProps & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {({ id, describedBy, invalid }) => (
        <input
          type="text"
          {...rest}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={invalid}
          className={classes(BOX, "min-h-8", className)}
        />
      )}
    </Field>
  );
}

/** Several lines of text. */
export function TextArea({
  label,
  hideLabel,
  hint,
  error,
  className,
  ...rest
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {({ id, describedBy, invalid }) => (
        <textarea
          rows={4}
          {...rest}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={invalid}
          className={classes(BOX, "py-1.5", className)}
        />
      )}
    </Field>
  );
}

/** One of several choices. */
export function Select({
  label,
  hideLabel,
  hint,
  error,
  options,
  className,
  ...rest
}: FieldProps &
  SelectHTMLAttributes<HTMLSelectElement> & { options: readonly { value: string; label: string }[] }) {
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {({ id, describedBy, invalid }) => (
        <select
          {...rest}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={invalid}
          className={classes(BOX, "min-h-8", className)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {displayText(option.label)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Something that holds or does not. */
export function Checkbox({
  label,
  hint,
  ...rest
}: { label: ReactNode; hint?: ReactNode } & Omit<InputHTMLAttributes<HTMLInputElement>, "type">) {
  const id = useId();
  return (
    <div className="flex flex-col gap-0.5">
      <label className="inline-flex min-h-7 items-center gap-2">
        <input
          type="checkbox"
          {...rest}
          aria-describedby={hint ? `${id}-hint` : undefined}
          className="size-4 accent-accent-strong"
        />
        <span>{label}</span>
      </label>
      {hint ? (
        <p id={`${id}-hint`} className="pl-6 text-xs text-soft">
          {hint}
        </p>
      ) : null}
    </div>
  );
}
