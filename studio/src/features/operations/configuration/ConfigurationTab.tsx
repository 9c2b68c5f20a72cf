import { type Configuration, useConfiguration } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { useSearchValues } from "../../../lib/search";
import { Button } from "../../../ui/Button";
import { EmptyState } from "../../../ui/EmptyState";
import { Checkbox, TextInput } from "../../../ui/Field";
import { Note } from "../Note";
import { QueryContent } from "../QueryContent";
import { Section } from "../Section";
import { SettingList } from "./SettingList";
import { groupSettings } from "./settings";

/** Every setting with its value and where it comes from; the search and the filter stand in the address. */
export default function ConfigurationTab() {
  const words = useWords("operations").configuration;
  const query = useConfiguration();
  return (
    <Section title={words.title} hint={words.hint}>
      <QueryContent query={query} lines={8}>
        {(configuration) => <Settings configuration={configuration} />}
      </QueryContent>
    </Section>
  );
}

function Settings({ configuration }: { configuration: Configuration }) {
  const words = useWords("operations").configuration;
  const [{ q = "", changed }, setValues] = useSearchValues();
  const groups = groupSettings(configuration.origins, q, changed === "1");
  const count = groups.reduce((sum, group) => sum + group.settings.length, 0);
  return (
    <>
      {configuration.notices.map((notice) => (
        <Note key={notice} tone="wait">
          <p>{displayText(notice)}</p>
        </Note>
      ))}
      <search className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-56 sm:max-w-md">
          <TextInput
            label={words.search}
            type="search"
            spellCheck={false}
            value={q}
            onChange={(event) => setValues({ q: event.target.value })}
          />
        </div>
        <Checkbox
          label={words.changedOnly}
          checked={changed === "1"}
          onChange={(event) => setValues({ changed: event.target.checked ? "1" : undefined })}
        />
        <p role="status" className="min-h-7 content-center text-soft">
          {words.count(count, configuration.origins.length)}
        </p>
      </search>
      {count === 0 ? (
        <EmptyState
          title={words.none}
          actions={
            <Button onClick={() => setValues({ q: undefined, changed: undefined })}>{words.showAll}</Button>
          }
        />
      ) : null}
      {groups.map((group) => (
        <SettingList key={group.name} group={group} />
      ))}
    </>
  );
}
