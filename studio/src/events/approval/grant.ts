import type { Approval } from "../../api/approvals";
import { shownText } from "../../lib/hidden";

const LONGEST = 60;

/** What a rule would allow, in backquotes: the command, the file, or the tool; long ones are cut, the rule shows all. */
export function grantOf(approval: Approval): string {
  const text = shownText(approval.command ?? filesOf(approval) ?? approval.tool)
    .replace(/\s+/g, " ")
    .trim();
  return `\`${text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text}\``;
}

function filesOf(approval: Approval): string | null {
  const [first] = approval.files;
  if (!first) {
    return null;
  }
  const more = approval.files.length - 1;
  return `${approval.tool} ${first.path}${more > 0 ? ` +${more}` : ""}`;
}
