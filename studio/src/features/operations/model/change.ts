import type { Model, ModelChange, Provider } from "../../../api/model";

/** The preset for services that have none. */
export const OTHER = "other";

/** What stands in the form. */
export interface ModelDraft {
  provider: string;
  baseUrl: string;
  model: string;
  variable: string;
  key: string;
}

/** The form as the server has it; of the key nothing is known. */
export function createDraft(model: Model, providers: readonly Provider[] = []): ModelDraft {
  const preset = providers.find(({ base_url }) => base_url && base_url === trimUrl(model.base_url));
  return {
    provider: preset?.id ?? OTHER,
    baseUrl: model.base_url,
    model: model.model,
    variable: model.api_key_env,
    key: "",
  };
}

/** The changes of a draft when a preset is chosen; none if it is the one in use. */
export function choosePreset(preset: Provider, model: Model): Partial<ModelDraft> {
  if (preset.base_url && preset.base_url === trimUrl(model.base_url)) {
    return {};
  }
  return {
    provider: preset.id,
    baseUrl: preset.base_url,
    model: preset.model,
    // A key that is entered here is stored under a name of its own; a service without keys still needs a variable.
    variable: preset.needs_key ? model.api_key_env : preset.key_env,
    key: "",
  };
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
  // The server sends no key to a new address unless it is told which one.
  if (variable && (variable !== before.variable || (change.base_url && !key))) {
    change.api_key_env = variable;
  }
  if (key) {
    change.api_key = key;
  }
  return Object.keys(change).length > 0 ? change : null;
}

/** Whether a new address lacks its key: only a server on the same machine may need none. */
export function lacksKey(draft: ModelDraft, model: Model): boolean {
  if (draft.key.trim() || !isBaseUrl(draft.baseUrl)) {
    return false;
  }
  const { origin, hostname } = new URL(draft.baseUrl.trim());
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return !isLocal && !(isBaseUrl(model.base_url) && origin === new URL(model.base_url.trim()).origin);
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

function trimUrl(url: string): string {
  return url.trim().replace(/\/+$/, "");
}
