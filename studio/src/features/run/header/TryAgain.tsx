import { useLocation } from "wouter";
import { problemOf } from "../../../api/problem";
import { useForkRun } from "../../../api/runs";
import { useSaid, useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { AgainIcon } from "../../../ui/icons";
import { toast } from "../../../ui/Toast";

/** Goes on where a run failed: what has ended cannot be resumed, so a fork takes over everything it did. */
export function TryAgain({ runId }: { runId: string }) {
  const words = useWords("run");
  const said = useSaid();
  const [, navigate] = useLocation();
  const fork = useForkRun();
  const start = () =>
    fork.mutate(
      { id: runId, wanted: {} },
      {
        onSuccess: ({ run_id }) => {
          toast(words.triedAgain);
          navigate(`/runs/${encodeURIComponent(run_id)}`);
        },
        onError: (error) => toast(said(problemOf(error).message) || words.resumeFailed, { bad: true }),
      },
    );
  return (
    <Button small tone="primary" icon={<AgainIcon />} busy={fork.isPending} onClick={start}>
      {words.tryAgain}
    </Button>
  );
}
