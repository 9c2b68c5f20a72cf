import type { RefObject } from "react";
import { useState } from "react";
import type { Approval, NewDecision, RuleScope } from "../../api/approvals";
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

/** Rules that outlive the run, by the button that offers them; always means the skill's calls where a skill asks. */
const OFFERS = { folder: ["folder"], always: ["user", "skill"] } as const;
type Offer = keyof typeof OFFERS;

/** Every way to decide; nothing here is chosen beforehand, a rule is shown before it is added, and rejecting asks why. */
export function DecisionForm({
  approval,
  busy,
  editing,
  onEditing,
  rejecting,
  onRejecting,
  onChoose,
  refs,
}: {
  approval: Approval;
  busy: boolean;
  editing: boolean;
  onEditing: (open: boolean) => void;
  rejecting: boolean;
  onRejecting: (open: boolean) => void;
  onChoose: (choice: Choice) => void;
  refs: FormRefs;
}) {
  const words = useWords("approvals");
  const [offer, setOffer] = useState<Offer | null>(null);
  const [last, setLast] = useState("");
  const choose = (name: string, choice: Choice) => {
    setLast(name);
    onChoose(choice);
  };
  const isBusy = (name: string) => busy && last === name;
  const findRule = (name: Offer) =>
    approval.rules.find((rule) => (OFFERS[name] as readonly RuleScope[]).includes(rule.scope));
  const offered = offer && findRule(offer);
  return (
    <div className="flex min-w-0 flex-col gap-2 border-t pt-3">
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
        <Button
          title={words.sessionHint}
          busy={isBusy("session")}
          onClick={() => choose("session", { decision: "approved_for_session" })}
        >
          {words.reach.session}
        </Button>
        {(["folder", "always"] as const).filter(findRule).map((name) => (
          <Button
            key={name}
            aria-expanded={offer === name}
            icon={offer === name ? <ChevronDownIcon /> : <ChevronRightIcon />}
            onClick={() => setOffer(offer === name ? null : name)}
          >
            {words.reach[name]}
          </Button>
        ))}
        <Button
          ref={refs.opener}
          aria-expanded={editing}
          icon={<EditIcon />}
          onClick={() => onEditing(!editing)}
        >
          {words.edit}
        </Button>
        <Button
          tone="danger"
          className="sm:ml-auto"
          aria-expanded={rejecting}
          icon={<CrossIcon />}
          onClick={() => onRejecting(!rejecting)}
        >
          {words.reject}
        </Button>
      </div>
      {approval.rules.length === 0 && approval.no_rule ? (
        <p className="text-xs text-soft">
          {words.noRule}: <ServerText text={approval.no_rule.replace(NO_RULE, "")} />
        </p>
      ) : null}
      {rejecting ? <RejectForm noteRef={refs.note} isBusy={isBusy} onReject={choose} /> : null}
      {offered ? (
        <RuleOffer
          approval={approval}
          rule={offered}
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

/** The reason of a rejection, and whether the run goes on. */
function RejectForm({
  noteRef,
  isBusy,
  onReject,
}: {
  noteRef: RefObject<HTMLTextAreaElement | null>;
  isBusy: (name: string) => boolean;
  onReject: (name: string, choice: Choice) => void;
}) {
  const words = useWords("approvals");
  const [note, setNote] = useState("");
  const reject = (name: string, decision: "denied" | "abort") =>
    onReject(name, note.trim() ? { decision, note: note.trim() } : { decision });
  return (
    <section
      aria-label={words.reject}
      className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3"
    >
      <TextArea
        ref={noteRef}
        label={words.note}
        hint={words.noteHint}
        rows={2}
        maxLength={10_000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing) {
            event.preventDefault();
            reject("reject", "denied");
          }
        }}
      />
      <div className="grid gap-2 sm:flex sm:flex-wrap">
        <Button
          tone="danger"
          icon={<CrossIcon />}
          busy={isBusy("reject")}
          onClick={() => reject("reject", "denied")}
        >
          {words.rejectCall}
        </Button>
        <Button
          tone="danger"
          icon={<StoppedIcon />}
          busy={isBusy("abort")}
          onClick={() => reject("abort", "abort")}
        >
          {words.rejectStop}
        </Button>
      </div>
    </section>
  );
}
