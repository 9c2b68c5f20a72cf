import type { LogEvent, RunView } from "../../../events";
import { isFinished } from "../displayStatus";
import { ContinueBox } from "./ContinueBox";
import { ReviewBox } from "./ReviewBox";
import { SteerBox } from "./SteerBox";
import { WaitingBox } from "./WaitingBox";

/** What a person can say to a run now: steer it, let it go on, review it, or continue after its end. */
export function Composer({
  runId,
  view,
  events,
  trouble,
}: {
  runId: string;
  view: RunView;
  events: readonly LogEvent[];
  trouble: string | null;
}) {
  const { state } = view;
  if (isFinished(view)) {
    return state.session_id ? <ContinueBox sessionId={state.session_id} /> : null;
  }
  if (state.status === "review_required") {
    return <ReviewBox runId={runId} />;
  }
  const hasOpenRequests = view.approvals.length > 0 || view.questions.length > 0;
  const isPaused = trouble !== null || (state.status === "waiting_for_user" && !hasOpenRequests);
  return (
    <div className="flex flex-col gap-2">
      {isPaused ? (
        <WaitingBox
          runId={runId}
          kind={trouble ? "" : (state.waiting_kind ?? "")}
          message={trouble ?? state.waiting_message}
        />
      ) : null}
      <SteerBox runId={runId} events={events} />
    </div>
  );
}
