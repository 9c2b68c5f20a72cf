import { RunPage } from "../features/run/RunPage";

/** One run. */
export default function RunRoute({ id, view }: { id: string; view?: string }) {
  return <RunPage key={id} runId={id} viewName={view} />;
}
