import { useQuery } from "@tanstack/react-query";
import type { Approval } from "../../api/approvals";
import { fetchEvents } from "../../api/events";
import { expiredOutcome, findOutcome, type Outcome, sentOutcome } from "./outcome";

const RETRY_MS = 1_000;
const MAX_PAGES = 10;

/** What became of a request, read from the log of its run; looked for until it is there. */
export function useOutcome(approval: Approval): Outcome | null {
  const { data } = useQuery({
    queryKey: ["outcome", approval.run_id, approval.approval_id],
    queryFn: ({ signal }) => fetchOutcome(approval, signal),
    refetchInterval: (query) => (query.state.data ? false : RETRY_MS),
  });
  if (data) {
    return data;
  }
  return approval.decided ? sentOutcome(approval.decided) : expiredOutcome(approval.expires_at, Date.now());
}

async function fetchOutcome(approval: Approval, signal: AbortSignal): Promise<Outcome | null> {
  let after = approval.seq;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { events, next_after } = await fetchEvents(approval.run_id, after, 1000, signal);
    const outcome = findOutcome(events, approval.approval_id);
    if (outcome || events.length === 0) {
      return outcome;
    }
    after = next_after;
  }
  return null;
}
