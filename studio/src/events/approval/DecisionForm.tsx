import type { RefObject } from "react";
import { useState } from "react";
import type { Approval, NewDecision } from "../../api/approvals";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { TextArea } from "../../ui/Field";
import {
  CheckIcon,
  ChevronDownIcon,
  ChevronRightIcon,
  CrossIcon,
  EditIcon,
  StoppedIcon,
} from "../../ui/icons";
import { ServerText } from "../../ui/ServerText";
import { ArgumentsEditor } from "./ArgumentsEditor";
import { RuleOffer } from "./RuleOffer";

/** How the server begins to say it; the page says so itself, in its own language. */
const NO_RULE = /^no rule can be made of this call: /;

/** What is decided, without what names the request. */
export type Choice = Pick<NewDecision, "decision" | "note" | "arguments" | "rule">;

/** The places in the form that keys lead to. */
export interface FormRefs {
  approve: RefObject<HTMLButtonElement | null>;
  note: RefObject<HTMLTextAreaElement | null>;
  editor: RefObject<HTMLTextAreaElement | null>;
  /** The button that opens the editor. */
  opener: RefObject<HTMLButtonElement | null>;
}

/** The reason and every way to decide; nothing here is chosen beforehand. */
export function DecisionForm({
  approval,
  busy,
  editing,
  onEditing,
  onChoose,
  refs,
}: {
  approval: Approval;
  busy: boolean;
  editing: boolean;
  onEditing: (open: boolean) => void;
  onChoose: (choice: Choice) => void;
  refs: FormRefs;
}) {
  const words = useWords("approvals");
  const [note, setNote] = useState("");
  const [ruling, setRuling] = useState(false);
  const [last, setLast] = useState("");
  const choose = (name: string, choice: Choice) => {
    setLast(name);
    onChoose(note.trim() ? { ...choice, note: note.trim() } : choice);
  };
  const isBusy = (name: string) => busy && last === name;
  const reject = () => choose("reject", { decision: "denied" });
  return (
    <div className="flex min-w-0 flex-col gap-2 border-t pt-3">
      <TextArea
        ref={refs.note}
        label={words.note}
        hint={words.noteHint}
        rows={2}
        maxLength={10_000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing) {
            event.preventDefault();
            reject();
          }
        }}
      />
      <div className="grid gap-2 sm:flex sm:flex-wrap">
        <Button
          ref={refs.approve}
          tone={approval.risk.level === "high" ? "plain" : "primary"}
          icon={<CheckIcon />}
          busy={isBusy("approve")}
          onClick={() => choose("approve", { decision: "approved" })}
        >
          {editing ? words.approveAsked : words.approve}
        </Button>
        {approval.rules.length > 0 ? (
          <Button
            aria-expanded={ruling}
            icon={ruling ? <ChevronDownIcon /> : <ChevronRightIcon />}
            onClick={() => setRuling(!ruling)}
          >
            {words.addRule}
          </Button>
        ) : null}
        <Button
          ref={refs.opener}
          aria-expanded={editing}
          icon={<EditIcon />}
          onClick={() => onEditing(!editing)}
        >
          {words.edit}
        </Button>
        <span className="grid gap-2 sm:ml-auto sm:flex sm:flex-wrap">
          <Button tone="danger" icon={<CrossIcon />} busy={isBusy("reject")} onClick={reject}>
            {words.reject}
          </Button>
          <Button
            tone="danger"
            icon={<StoppedIcon />}
            busy={isBusy("abort")}
            onClick={() => choose("abort", { decision: "abort" })}
          >
            {words.rejectStop}
          </Button>
        </span>
      </div>
      {approval.rules.length === 0 && approval.no_rule ? (
        <p className="text-xs text-soft">
          {words.noRule}: <ServerText text={approval.no_rule.replace(NO_RULE, "")} />
        </p>
      ) : null}
      {ruling ? (
        <RuleOffer
          approval={approval}
          busy={isBusy("rule")}
          onAllow={(rule) => choose("rule", { decision: "approved", rule })}
        />
      ) : null}
      {editing ? (
        <ArgumentsEditor
          ref={refs.editor}
          approval={approval}
          busy={isBusy("edit")}
          onApprove={(edited) => choose("edit", { decision: "approved", arguments: edited })}
          onCancel={() => onEditing(false)}
        />
      ) : null}
    </div>
  );
}
