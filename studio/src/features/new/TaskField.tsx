import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { type Skill, useSkills } from "../../api/skills";
import { useWords } from "../../i18n";
import { Field } from "../../ui/Field";
import { announce } from "../../ui/LiveRegion";
import { MentionList } from "./MentionList";
import { filterSkills, findMentionAt, insertMention, mentionOf } from "./mention";

/** The task, in several lines; a dollar sign offers the skills that fit what follows it. */
export function TaskField({
  value,
  onChange,
  onSubmit,
  error,
}: {
  value: string;
  onChange: (text: string) => void;
  onSubmit: () => void;
  error?: ReactNode;
}) {
  const words = useWords("start");
  const list = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(value, onChange, area);
  const { offered, at, setAt, choose } = completion;
  useEffect(() => {
    if (offered.length > 0) {
      announce(words.mentionsFound(offered.length));
    }
  }, [offered.length, words]);
  return (
    <Field label={words.task} hint={words.taskHint} error={error}>
      {({ id, describedBy, invalid }) => (
        <div className="relative">
          <textarea
            ref={area}
            id={id}
            rows={6}
            // biome-ignore lint/a11y/noAutofocus: the form is opened to type a task
            autoFocus
            value={value}
            aria-describedby={describedBy}
            aria-invalid={invalid}
            aria-autocomplete="list"
            aria-haspopup="listbox"
            aria-controls={offered.length > 0 ? list : undefined}
            aria-activedescendant={offered.length > 0 ? `${list}-${at}` : undefined}
            placeholder={words.taskExample}
            onChange={(event) => {
              onChange(event.target.value);
              completion.look(event.target.selectionStart);
            }}
            onSelect={(event) => completion.look(event.currentTarget.selectionStart)}
            onBlur={completion.close}
            onKeyDown={(event) => {
              if (event.nativeEvent.isComposing) {
                return;
              }
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                onSubmit();
              } else if (completion.take(event.key)) {
                event.preventDefault();
              }
            }}
            className="block w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-sm text-text aria-[invalid=true]:border-bad"
          />
          {offered.length > 0 ? (
            <MentionList id={list} skills={offered} at={at} onHover={setAt} onChoose={choose} />
          ) : null}
        </div>
      )}
    </Field>
  );
}

/** Which skills are offered at the caret, which of them is marked, and what keys do about it. */
function useCompletion(
  value: string,
  onChange: (text: string) => void,
  area: React.RefObject<HTMLTextAreaElement | null>,
) {
  const skills = useSkills();
  const [caret, setCaret] = useState<number | null>(null);
  const [closedAt, setClosedAt] = useState<number | null>(null);
  const [at, setAt] = useState(0);
  const wantedCaret = useRef<number | null>(null);
  const typing = caret === null ? null : findMentionAt(value, caret);
  const offered =
    typing && typing.from !== closedAt ? filterSkills(skills.data?.skills ?? [], typing.typed) : [];
  if (closedAt !== null && typing?.from !== closedAt) {
    setClosedAt(null);
  }
  // A controlled field puts the caret at its end when its text is set; this puts it where it belongs.
  useLayoutEffect(() => {
    if (wantedCaret.current !== null) {
      area.current?.setSelectionRange(wantedCaret.current, wantedCaret.current);
      wantedCaret.current = null;
    }
  });
  const choose = (skill: Skill | undefined) => {
    if (skill && typing) {
      const next = insertMention(value, typing, mentionOf(skill));
      wantedCaret.current = next.caret;
      onChange(next.text);
      setCaret(next.caret);
      setAt(0);
    }
  };
  const last = offered.length - 1;
  const keys: Record<string, () => void> = {
    ArrowDown: () => setAt(at >= last ? 0 : at + 1),
    ArrowUp: () => setAt(at <= 0 ? last : at - 1),
    Enter: () => choose(offered[Math.min(at, last)]),
    Tab: () => choose(offered[Math.min(at, last)]),
    Escape: () => setClosedAt(typing?.from ?? null),
  };
  return {
    offered,
    at: Math.max(0, Math.min(at, last)),
    setAt,
    choose,
    close: () => setCaret(null),
    look: (position: number) => {
      if (position !== caret) {
        setCaret(position);
        setAt(0);
      }
    },
    take: (key: string): boolean => {
      const act = offered.length > 0 ? keys[key] : undefined;
      act?.();
      return act !== undefined;
    },
  };
}
