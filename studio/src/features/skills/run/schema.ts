/** A form field for one property of an input schema. */
export interface InputField {
  name: string;
  kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json";
  required: boolean;
  title: string;
  description: string;
  /** Values to choose from, as JSON. */
  choices: { value: string; label: string }[];
  initial: string;
  rules: Rules;
}

/** What a value must keep to. */
export interface Rules {
  type?: "array" | "object";
  minimum?: number;
  maximum?: number;
  above?: number;
  below?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/** What is wrong with a value; `limit` is what it would have to keep to. */
export interface InputError {
  code:
    | "required"
    | "number"
    | "integer"
    | "json"
    | "array"
    | "object"
    | "minimum"
    | "maximum"
    | "above"
    | "below"
    | "minLength"
    | "maxLength"
    | "pattern";
  limit?: number | string;
}

/** The values of a form, as they were typed. */
export type InputValues = Readonly<Record<string, string>>;

type Schema = Readonly<Record<string, unknown>>;

const LONG = 200;

/** The fields of a schema of an object, or nothing where no form can be made from it. */
export function parseFields(schema: Schema | null): InputField[] | null {
  const properties = record(schema?.properties);
  if (!schema || !properties || (schema.type !== undefined && schema.type !== "object")) {
    return null;
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, value]) =>
    parseField(name, record(value) ?? {}, required.includes(name)),
  );
}

function parseField(name: string, schema: Schema, required: boolean): InputField {
  const choices = choicesOf(schema);
  const kind = choices.length > 0 ? "choice" : kindOf(schema);
  return {
    name,
    kind,
    required,
    title: text(schema.title) || name,
    description: text(schema.description),
    choices,
    initial: initialOf(kind, schema.default),
    rules: rulesOf(schema),
  };
}

function kindOf(schema: Schema): InputField["kind"] {
  switch (typeOf(schema)) {
    case "string":
      return (number(schema.maxLength) ?? 0) > LONG || schema.format === "textarea" ? "long" : "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

function typeOf(schema: Schema): string {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((name) => name !== "null");
  return types.length === 1 ? text(types[0]) : "";
}

function choicesOf(schema: Schema): InputField["choices"] {
  const values = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : [];
  return values.map((value) => ({
    value: JSON.stringify(value),
    label: typeof value === "string" ? value : JSON.stringify(value),
  }));
}

function initialOf(kind: InputField["kind"], value: unknown): string {
  if (value === undefined) {
    return "";
  }
  if (kind === "choice" || kind === "json") {
    return kind === "choice" ? JSON.stringify(value) : JSON.stringify(value, null, 2);
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function rulesOf(schema: Schema): Rules {
  const type = typeOf(schema);
  const rules = {
    type: type === "array" || type === "object" ? type : undefined,
    minimum: number(schema.minimum),
    maximum: number(schema.maximum),
    above: number(schema.exclusiveMinimum),
    below: number(schema.exclusiveMaximum),
    minLength: number(schema.minLength),
    maxLength: number(schema.maxLength),
    pattern: text(schema.pattern) || undefined,
  } as const;
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined));
}

/** The values with which a form begins. */
export function initialValues(fields: readonly InputField[]): InputValues {
  return Object.fromEntries(fields.map((field) => [field.name, field.initial]));
}

function record(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
