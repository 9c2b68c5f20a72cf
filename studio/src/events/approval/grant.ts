import type { Approval } from "../../api/approvals";
import { displayText } from "../../lib/hiddenCharacters";

const MAX_LENGTH = 60;

/** What a rule would allow, in backquotes: the command, the file, or the tool; long ones are cut, the rule shows all. */
export function describeGrant(approval: Approval): string {
  const text = displayText(approval.command ?? filesOf(approval) ?? approval.tool)
    .replace(/\s+/g, " ")
    .trim();
  return `\`${text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text}\``;
}

function filesOf(approval: Approval): string | null {
  const [first] = approval.files;
  if (!first) {
    return null;
  }
  const more = approval.files.length - 1;
  return `${approval.tool} ${first.path}${more > 0 ? ` +${more}` : ""}`;
}
