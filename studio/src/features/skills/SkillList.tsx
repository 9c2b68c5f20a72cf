import { memo, useState } from "react";
import { Link } from "wouter";
import type { Skill } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { PlayIcon } from "../../ui/icons";
import { StateBadge } from "./StateBadge";
import { skillPath } from "./skillPath";
import { TrustButton } from "./TrustButton";

const PAGE_SIZE = 100;
const MAX_LENGTH = 400;

/** The skills, some at a time. */
export function SkillList({ skills }: { skills: readonly Skill[] }) {
  const words = useWords("skills");
  const [limit, setLimit] = useState(PAGE_SIZE);
  return (
    <>
      <ul
        aria-label={words.title}
        className="divide-y overflow-hidden rounded-lg border border-line bg-surface"
      >
        {skills.slice(0, limit).map((skill) => (
          <Line key={`${skill.mention} ${skill.path}`} skill={skill} />
        ))}
      </ul>
      {skills.length > limit ? (
        <div>
          <Button small onClick={() => setLimit(limit + PAGE_SIZE)}>
            {words.more(skills.length - limit)}
          </Button>
        </div>
      ) : null}
    </>
  );
}

const Line = memo(function Line({ skill }: { skill: Skill }) {
  const words = useWords("skills");
  return (
    <li className="relative flex min-w-0 flex-col gap-1 px-3 py-2.5 hover:bg-sunken">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Link
          href={skillPath(skill)}
          className="font-medium text-text no-underline [overflow-wrap:anywhere] after:absolute after:inset-0 hover:underline"
        >
          {displayText(skill.name)}
        </Link>
        {skill.runnable ? (
          <Badge tone="accent" icon={<PlayIcon className="size-3" />}>
            {words.runnable(skill.runtime ?? "")}
          </Badge>
        ) : null}
        <StateBadge state={skill.state} />
        {skill.state === "untrusted" ? <TrustButton skill={skill} small /> : null}
      </div>
      <p dir="auto" className="line-clamp-2 [overflow-wrap:anywhere]">
        {displayText(skill.description.slice(0, MAX_LENGTH))}
      </p>
      <p className="truncate text-xs text-soft">
        <span className="font-mono">{displayText(skill.mention)}</span> · {displayText(skill.source)}
      </p>
    </li>
  );
});
