import type { Approval, RulePreview, RuleScope } from "../../api/approvals";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { CodeBlock } from "../../ui/CodeBlock";
import { CheckIcon } from "../../ui/icons";
import { describeGrant } from "./grant";

/** The rule that an approval would add: its text, its file, and a button that names the grant. */
export function RuleOffer({
  approval,
  rule,
  busy,
  onAllow,
}: {
  approval: Approval;
  rule: RulePreview;
  busy: boolean;
  onAllow: (scope: RuleScope) => void;
}) {
  const words = useWords("approvals");
  return (
    <section
      aria-label={words.ruleTitle}
      className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3"
    >
      <div className="min-w-0">
        <p className="mb-1 text-soft">{words.ruleTitle}</p>
        <CodeBlock text={rule.text} label={words.ruleTitle} />
        <p className="mt-1 text-xs text-soft [overflow-wrap:anywhere]">
          {rule.file ? words.ruleFile(displayText(rule.file)) : words.ruleRun}
        </p>
      </div>
      <div>
        <Button
          busy={busy}
          icon={<CheckIcon />}
          className="max-w-full py-1 text-left [overflow-wrap:anywhere]"
          onClick={() => onAllow(rule.scope)}
        >
          <span>{words.allow[rule.scope](describeGrant(approval))}</span>
        </Button>
      </div>
    </section>
  );
}
