import type { Provider } from "../../../api/model";
import { useWords } from "../../../i18n";
import { Select } from "../../../ui/Field";
import { OutsideIcon } from "../../../ui/icons";

/** The presets; choosing one fills the form. */
export function ProviderField({
  providers,
  value,
  onChoose,
}: {
  providers: readonly Provider[];
  value: string;
  onChoose: (provider: Provider) => void;
}) {
  const words = useWords("model");
  const preset = providers.find(({ id }) => id === value);
  return (
    <Select
      label={words.provider}
      hint={preset?.key_page ? <KeyPage provider={preset} /> : undefined}
      value={value}
      onChange={(event) => {
        const chosen = providers.find(({ id }) => id === event.currentTarget.value);
        if (chosen) {
          onChoose(chosen);
        }
      }}
      options={providers.map(({ id, title }) => ({ value: id, label: words.providers[id] ?? title }))}
    />
  );
}

function KeyPage({ provider }: { provider: Provider }) {
  const words = useWords("model");
  return (
    <a
      href={provider.key_page}
      target="_blank"
      rel="noopener noreferrer"
      className="inline-flex items-center gap-1"
    >
      {provider.needs_key ? words.getKey : words.setUp}
      <OutsideIcon className="size-3" />
    </a>
  );
}
