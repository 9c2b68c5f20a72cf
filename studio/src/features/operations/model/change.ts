import type { Model, ModelChange } from "../../../api/model";

/** What stands in the form. */
export interface ModelDraft {
  baseUrl: string;
  model: string;
  variable: string;
  key: string;
}

/** The form as the server has it; of the key nothing is known. */
export function createDraft(model: Model): ModelDraft {
  return { baseUrl: model.base_url, model: model.model, variable: model.api_key_env, key: "" };
}

/** Only what differs from what holds; nothing where nothing does, so that no default is written down as a choice. */
export function buildChange(draft: ModelDraft, model: Model): ModelChange | null {
  const before = createDraft(model);
  const change: ModelChange = {};
  const baseUrl = draft.baseUrl.trim();
  const name = draft.model.trim();
  const variable = draft.variable.trim();
  const key = draft.key.trim();
  if (baseUrl && baseUrl !== before.baseUrl) {
    change.base_url = baseUrl;
  }
  if (name && name !== before.model) {
    change.model = name;
  }
  if (variable && variable !== before.variable) {
    change.api_key_env = variable;
  }
  if (key) {
    change.api_key = key;
  }
  return Object.keys(change).length > 0 ? change : null;
}

/** Whether an address can be that of a model: http or https, without a name and password. */
export function isBaseUrl(text: string): boolean {
  try {
    const address = new URL(text.trim());
    return /^https?:$/.test(address.protocol) && !address.username && !address.password;
  } catch {
    return false;
  }
}
