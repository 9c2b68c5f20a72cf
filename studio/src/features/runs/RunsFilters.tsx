import type { Ref } from "react";
import { useRef } from "react";
import type { RunRow } from "../../api/runs";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Select } from "../../ui/Field";
import { CrossIcon } from "../../ui/icons";
import { SearchField } from "../../ui/SearchField";
import type { RunFilterValues } from "./useRunFilter";

/** What narrows the list; all of it stands in the address. */
export function RunsFilters({
  filter,
  onChange,
  rows,
  search,
}: {
  filter: RunFilterValues;
  onChange: (change: RunFilterValues) => void;
  rows: readonly RunRow[];
  search: Ref<HTMLInputElement>;
}) {
  const words = useWords("runs");
  const states = useWords("states").run;
  const skills = useSeenValues(
    rows.flatMap((row) => row.skills),
    filter.skill,
  );
  const models = useSeenValues(
    rows.map((row) => row.model),
    filter.model,
  );
  const filtered = Object.values(filter).some(Boolean);
  return (
    <search aria-label={words.filters} className="flex flex-wrap items-end gap-2">
      <div className="min-w-40 flex-1 basis-full sm:basis-0">
        <SearchField
          ref={search}
          value={filter.text ?? ""}
          onChange={(text) => onChange({ text })}
          label={words.search}
          hint={words.searchHint}
        />
      </div>
      <Choice
        label={words.status}
        any={words.anyStatus}
        value={filter.status}
        options={Object.entries(states).map(([value, label]) => ({ value, label }))}
        onChange={(status) => onChange({ status })}
      />
      <Choice
        label={words.skill}
        any={words.anySkill}
        value={filter.skill}
        options={skills.map((value) => ({ value, label: value }))}
        onChange={(skill) => onChange({ skill })}
      />
      <Choice
        label={words.model}
        any={words.anyModel}
        value={filter.model}
        options={models.map((value) => ({ value, label: value }))}
        onChange={(model) => onChange({ model })}
      />
      {filtered ? (
        <Button
          tone="quiet"
          icon={<CrossIcon />}
          onClick={() => onChange({ status: "", skill: "", model: "", text: "" })}
        >
          {words.clear}
        </Button>
      ) : null}
    </search>
  );
}

function Choice({
  label,
  any,
  value,
  options,
  onChange,
}: {
  label: string;
  any: string;
  value: string | undefined;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}) {
  return (
    <div className="w-[calc(50%-0.25rem)] sm:w-40">
      <Select
        label={label}
        hideLabel
        value={value ?? ""}
        options={[{ value: "", label: any }, ...options]}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

/** Every value that was seen since the page was opened, so that narrowing the list does not narrow the choices. */
function useSeenValues(values: readonly string[], selected: string | undefined): string[] {
  const seenValues = useRef(new Set<string>());
  for (const value of [...values, selected ?? ""]) {
    if (value) {
      seenValues.current.add(value);
    }
  }
  return [...seenValues.current].sort();
}
