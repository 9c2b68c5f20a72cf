import { useState } from "react";
import { type Approval, type RuleScope, requestKey } from "../../api/approvals";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { CodeBlock } from "../../ui/CodeBlock";
import { CheckIcon } from "../../ui/icons";
import { describeGrant } from "./grant";

/** The rule that an approval could add: how far it reaches, its text, and a button that names the grant. */
export function RuleOffer({
  approval,
  busy,
  onAllow,
}: {
  approval: Approval;
  busy: boolean;
  onAllow: (scope: RuleScope) => void;
}) {
  const words = useWords("approvals");
  const [scope, setScope] = useState<RuleScope>("run");
  const selectedRule = approval.rules.find((rule) => rule.scope === scope) ?? approval.rules[0];
  if (!selectedRule) {
    return null;
  }
  return (
    <section
      aria-label={words.ruleTitle}
      className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3"
    >
      <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
        <legend className="mb-0.5 font-medium">{words.ruleScope}</legend>
        {approval.rules.map((rule) => (
          <label key={rule.scope} className="inline-flex min-h-7 items-center gap-1.5">
            <input
              type="radio"
              name={`scope ${requestKey(approval)}`}
              className="size-4 accent-accent-strong"
              checked={rule.scope === selectedRule.scope}
              onChange={() => setScope(rule.scope)}
            />
            {words.scopes[rule.scope]}
          </label>
        ))}
      </fieldset>
      <div className="min-w-0">
        <p className="mb-1 text-soft">{words.ruleTitle}</p>
        <CodeBlock text={selectedRule.text} label={words.ruleTitle} />
        <p className="mt-1 text-xs text-soft [overflow-wrap:anywhere]">
          {selectedRule.file ? words.ruleFile(displayText(selectedRule.file)) : words.ruleRun}
        </p>
      </div>
      <div>
        <Button
          busy={busy}
          icon={<CheckIcon />}
          className="max-w-full py-1 text-left [overflow-wrap:anywhere]"
          onClick={() => onAllow(selectedRule.scope)}
        >
          <span>{words.allow[selectedRule.scope](describeGrant(approval))}</span>
        </Button>
      </div>
    </section>
  );
}
