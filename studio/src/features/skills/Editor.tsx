import { useRef, useState } from "react";
import { problemOf } from "../../api/problem";
import { type SkillDocument, useSaveSkill, useValidateSkill } from "../../api/skills";
import { useWords } from "../../i18n";
import { useDebouncedValue } from "../../lib/debounce";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { TextArea } from "../../ui/Field";
import { DoneIcon } from "../../ui/icons";
import { toast } from "../../ui/Toast";
import { ConflictNote } from "./ConflictNote";
import { DiagnosticList } from "./DiagnosticList";
import { type Draft, loadDraft, saveDraft } from "./drafts";
import { useLeaveGuard } from "./useLeaveGuard";

const CHECK_MS = 300;

/** An editor for the text of a skill that validates while typing and never overwrites unseen changes. */
export function Editor({ name, skill }: { name: string; skill: SkillDocument }) {
  const words = useWords("skills");
  const area = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(() => loadDraft(skill.mention));
  const text = draft?.text ?? skill.text;
  const changed = text !== skill.text;
  useLeaveGuard(changed);
  const save = useSaveSkill(name);
  const debouncedText = useDebouncedValue(text, CHECK_MS);
  const checked = useValidateSkill(debouncedText, skill.name);
  const change = (next: Draft | undefined) => {
    setDraft(next);
    saveDraft(skill.mention, next);
    if (save.error) {
      save.reset();
    }
  };
  const submit = () => {
    if (draft && changed && !save.isPending) {
      save.mutate(
        { text, content_hash: draft.hash },
        {
          onSuccess: () => {
            change(undefined);
            toast(words.saved);
          },
        },
      );
    }
  };
  const problem = save.error ? problemOf(save.error) : null;
  const conflict = changed && (problem?.kind === "conflict" || draft?.hash !== skill.content_hash);
  return (
    <div className="flex flex-col gap-3">
      {conflict ? (
        <ConflictNote
          name={name}
          localText={text}
          onKeep={(current) => change({ text, hash: current.content_hash })}
          onTake={() => change(undefined)}
        />
      ) : (
        <ErrorNote error={problem} />
      )}
      <TextArea
        ref={area}
        label={words.wholeFile}
        rows={24}
        spellCheck={false}
        dir="ltr"
        className="font-mono text-xs leading-5"
        value={text}
        onChange={(event) => change({ text: event.target.value, hash: draft?.hash ?? skill.content_hash })}
        onKeyDown={(event) => {
          if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button tone="primary" busy={save.isPending} disabled={!changed} onClick={submit}>
          {words.save}
        </Button>
        <Button disabled={!changed} onClick={() => change(undefined)}>
          {words.discard}
        </Button>
        <span role="status" className="flex items-center gap-1 text-soft">
          {checked.data && debouncedText === text && checked.data.diagnostics.length === 0 ? (
            <>
              <DoneIcon className="size-4 text-good" />
              {words.valid}
            </>
          ) : null}
          {changed ? <span>{words.unsaved}</span> : null}
        </span>
      </div>
      <ErrorNote error={checked.error} />
      {checked.data && checked.data.diagnostics.length > 0 ? (
        <DiagnosticList
          diagnostics={checked.data.diagnostics}
          onLine={(line) => area.current && showLine(area.current, line)}
        />
      ) : null}
    </div>
  );
}

/** Selects a line of a text field, and brings it into view. */
function showLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
