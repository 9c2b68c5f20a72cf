import { useLocation } from "wouter";
import { useForkRun } from "../../../api/runs";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { useProblemText } from "../../../ui/ErrorNote";
import { RetryIcon } from "../../../ui/icons";
import { toast } from "../../../ui/Toast";

/** Goes on where a run failed: what has ended cannot be resumed, so a fork takes over everything it did. */
export function TryAgain({ runId }: { runId: string }) {
  const words = useWords("run");
  const problemText = useProblemText();
  const [, navigate] = useLocation();
  const fork = useForkRun();
  const start = () =>
    fork.mutate(
      { id: runId, request: {} },
      {
        onSuccess: ({ run_id }) => {
          toast(words.triedAgain);
          navigate(`/runs/${encodeURIComponent(run_id)}`);
        },
        onError: (error) => toast(problemText(error), { bad: true }),
      },
    );
  return (
    <Button small tone="primary" icon={<RetryIcon />} busy={fork.isPending} onClick={start}>
      {words.tryAgain}
    </Button>
  );
}
