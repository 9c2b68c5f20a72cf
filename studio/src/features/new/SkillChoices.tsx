import { Link } from "wouter";
import { problemOf } from "../../api/problem";
import { type RoutedSkill, useRouting } from "../../api/skills";
import { useWords } from "../../i18n";
import { useDebouncedValue } from "../../lib/debounce";
import { displayText } from "../../lib/hiddenCharacters";
import { Badge } from "../../ui/Badge";
import { Checkbox } from "../../ui/Field";
import { ServerText } from "../../ui/ServerText";

const QUOTED = /`([^`]*)`/g;

/** Which skills the router would choose for the task, and why; those it only suggests can be given from the start. */
export function SkillChoices({
  task,
  selectedSkills,
  onChange,
}: {
  task: string;
  selectedSkills: readonly string[];
  onChange: (mentions: readonly string[]) => void;
}) {
  const words = useWords("start");
  const debouncedTask = useDebouncedValue(task);
  const { data, error } = useRouting(debouncedTask);
  const hasTask = debouncedTask.trim() !== "";
  const choices = hasTask ? (data?.choices ?? []) : [];
  return (
    <section aria-label={words.skills} className="flex flex-col gap-2">
      <h2 className="font-semibold">{words.skills}</h2>
      {hasTask && error ? (
        <p role="alert" className="text-bad">
          <ServerText text={problemOf(error).detail} />
        </p>
      ) : null}
      {!error ? (
        <p className="text-soft" role="status">
          {!hasTask || !data
            ? words.routeIdle
            : choices.length === 0
              ? words.routeNone(data.considered)
              : words.decidedBy[
                  data.decided_by === "words" || data.decided_by === "model" ? "model" : "rule"
                ]}
        </p>
      ) : null}
      {choices.length > 0 && !error ? (
        <ul className="divide-y rounded-md border border-line bg-surface">
          {choices.map((choice) => (
            <Choice
              key={choice.mention}
              choice={choice}
              isSelected={selectedSkills.includes(choice.mention)}
              onToggle={(on) =>
                onChange(
                  on
                    ? [...selectedSkills, choice.mention]
                    : selectedSkills.filter((mention) => mention !== choice.mention),
                )
              }
            />
          ))}
        </ul>
      ) : null}
    </section>
  );
}

function Choice({
  choice,
  isSelected,
  onToggle,
}: {
  choice: RoutedSkill;
  isSelected: boolean;
  onToggle: (on: boolean) => void;
}) {
  const words = useWords("start");
  const certain = choice.rule !== "words";
  const pieces = [...choice.reason.matchAll(QUOTED)].map((match) => displayText(match[1] ?? ""));
  const first = choice.rule === "words" ? pieces.join(", ") : (pieces[0] ?? "");
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2">
      <Link
        href={`/skills/${encodeURIComponent(choice.mention)}`}
        className="min-w-0 font-medium [overflow-wrap:anywhere]"
      >
        {displayText(choice.name)}
      </Link>
      <Badge tone={certain ? "accent" : "neutral"}>{words.rules[choice.rule] ?? choice.rule}</Badge>
      <span className="min-w-0 flex-1 basis-56 text-soft [overflow-wrap:anywhere]">
        {(first && words.reasons[choice.rule]?.(first, pieces[1] ?? first)) || displayText(choice.reason)}
      </span>
      {certain ? (
        <span className="text-xs text-soft">{words.givenAnyway}</span>
      ) : (
        <Checkbox
          label={words.give}
          aria-label={words.giveNamed(choice.name)}
          checked={isSelected}
          onChange={(event) => onToggle(event.target.checked)}
        />
      )}
    </li>
  );
}
