import { useEffect, useRef } from "react";
import type { Skill } from "../../api/skills";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";

const MAX_LENGTH = 160;

/** The skills that fit a mention; the text field keeps the focus and names the marked one. */
export function MentionList({
  id,
  skills,
  at,
  onHover,
  onChoose,
}: {
  id: string;
  skills: readonly Skill[];
  at: number;
  onHover: (index: number) => void;
  onChoose: (skill: Skill) => void;
}) {
  const words = useWords("start");
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView?.({ block: "nearest" });
  }, [at]);
  return (
    <div
      ref={list}
      id={id}
      role="listbox"
      aria-label={words.mentions}
      className="absolute inset-x-0 top-full z-20 mt-1 max-h-72 overflow-y-auto rounded-md border border-line-strong bg-raised p-1 shadow-lg"
    >
      {skills.map((skill, index) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the text field has the focus and names the active entry
        <div
          key={skill.mention}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          // A click would take the focus from the text first.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(skill);
          }}
          onMouseMove={() => onHover(index)}
          className="flex cursor-pointer flex-col rounded px-2.5 py-1.5 aria-selected:bg-accent-soft"
        >
          <span className="flex flex-wrap items-baseline gap-x-2">
            <span className="font-medium">{displayText(skill.name)}</span>
            <span className="font-mono text-xs text-soft">{displayText(skill.namespace)}</span>
          </span>
          <span dir="auto" className="line-clamp-2 text-xs text-soft">
            {displayText(skill.description.slice(0, MAX_LENGTH))}
          </span>
        </div>
      ))}
    </div>
  );
}
