import type { ApprovalItem } from "../../../events";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { HandIcon } from "../../../ui/icons";
import { CallDecisions } from "./CallDecisions";
import { Frame } from "./Frame";
import { OpenApproval } from "./OpenApproval";

/** A request for approval that belongs to no call. */
export function ApprovalEntry({ item }: { item: ApprovalItem }) {
  const words = useWords("run");
  const { approval } = item;
  const open = approval.decision === null && !approval.refused;
  return (
    <Frame
      item={item}
      icon={<HandIcon />}
      tone={open ? "wait" : "plain"}
      title={`${words.asksApproval}: ${displayText(approval.tool)}`}
    >
      {open ? <OpenApproval approval={approval} /> : <CallDecisions approvals={[approval]} />}
    </Frame>
  );
}
